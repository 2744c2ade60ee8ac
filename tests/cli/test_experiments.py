import hashlib
import json
import os
from pathlib import Path

import pytest
from softbandit_tests.tiny_experiment import TOML, written
from typer.testing import CliRunner

from softbandit.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "80"})


def said(result):
    return " ".join(result.output.split())


def test_run_prints_scores_and_leaves_a_report(tmp_path):
    result = run("run", written(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "stageopt" in result.output
    assert "R_+(T)" in result.output
    assert (tmp_path / "out" / "tiny" / "index.html").exists()
    assert (tmp_path / "out" / "tiny" / "one.pdf").exists()
    again = run("run", written(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert "unchanged, used again" in again.output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TOML.replace("[policies.stageopt]", "[policies.stage-opt]"), "Did you mean 'stageopt'"),
        (TOML.replace("trials", "trails"), "Did you mean 'trials'"),
        (TOML.replace("arms = 12", "arm = 12"), "Did you mean 'arms'"),
        (TOML.replace("horizon = 40", "horizon = 40 x"), "expected a TOML file"),
        (TOML.replace('"curves"', '"curvs"'), "Did you mean 'curves'"),
    ],
)
def test_a_mistake_in_a_file_is_named_and_nothing_is_run(tmp_path, text, says):
    result = run("run", written(tmp_path, text), "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert says in said(result)
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_reproduce_runs_what_is_named_and_judges_its_claims(tmp_path):
    options = ("--quick", "--trials", 2, "--out", tmp_path, "--jobs", 1)
    result = run("reproduce", "--only", "slack", *options)
    assert result.exit_code == 0, result.output
    assert "Zero violation by slack" in said(result)
    assert (tmp_path / "index.html").exists()
    assert json.loads((tmp_path / "claims.json").read_text())[0]["claim"] == "Zero violation by slack"
    assert max(map(len, result.output.splitlines())) <= 80 + len(str(tmp_path))


def test_reproduce_knows_experiments_by_their_figures_too(tmp_path):
    result = run("reproduce", "--only", "fig1d", "--out", tmp_path)
    assert result.exit_code == 1
    assert "Did you mean 'fig1" in said(result)


def test_text_is_printed_as_it_is(tmp_path):
    odd = tmp_path / ":x: [red]"
    odd.mkdir()
    result = run("run", written(tmp_path, TOML.replace("[policies.stageopt]", "")), "--out", odd, "--jobs", 1)
    assert f"Report: {odd}" in result.output
    assert str(odd) in run("run", odd / "none.toml").output


def test_a_quick_run_of_a_file(tmp_path):
    text = TOML + "[quick]\nhorizon = 5\ntrials = 2\n"
    assert run("run", written(tmp_path, text), "--quick", "--out", tmp_path, "--jobs", 1).exit_code == 0
    assert json.loads((tmp_path / "tiny" / "manifest.json").read_text())["spec"]["horizon"] == 5


@pytest.mark.parametrize("option", [("--trials", 0), ("--jobs", 0)])
def test_bad_options_are_refused(tmp_path, option):
    result = run("reproduce", "--only", "slack", *option, "--out", tmp_path)
    assert result.exit_code == 1
    assert "expected a whole number of at least 1" in said(result)


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "out").write_text("")
    result = run("run", written(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 1
    assert "error:" in result.output


SENSORS = """
title = "Sensors"
horizon = 20
trials = 2

[problem]
kind = "sensors"

[policies.ckb-ucb]
"""


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "softbandit data fetch sensors"),
        (b"", "iw_data_all.mat"),
        (b"MATLAB 5.0 MAT-file" + bytes(200), "iw_data_all.mat"),
        (b"Date,AAPL\n2016-01-04,100\n", "iw_data_all.mat"),
    ],
    ids=["missing", "empty", "truncated", "foreign"],
)
def test_a_data_file_that_is_none_stops_the_run_before_it_begins(tmp_path, content, says):
    folder = tmp_path / "data"
    folder.mkdir()
    if content is not None:
        (folder / "iw_data_all.mat").write_bytes(content)
    options = ("--data", folder, "--out", tmp_path / "out", "--jobs", 1)
    result = run("run", written(tmp_path, SENSORS), *options)
    assert result.exit_code == 1
    assert says in said(result)
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()
    assert run("reproduce", "--only", "fig1b", *options).exit_code == 1


def test_a_run_without_the_originals_says_what_stood_in(tmp_path, monkeypatch):
    monkeypatch.delenv("SOFTBANDIT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert run("run", written(tmp_path, SENSORS), "--out", tmp_path, "--jobs", 1).exit_code == 0
    manifest = json.loads((tmp_path / "tiny" / "manifest.json").read_text())
    assert manifest["data"][0]["source"].startswith("stand-in: simulated office")
    assert "stand-in: simulated office" in (tmp_path / "tiny" / "index.html").read_text()


@pytest.mark.skipif("SOFTBANDIT_DATA" not in os.environ, reason="SOFTBANDIT_DATA names no folder with the originals")
def test_a_run_on_the_originals_has_their_hashes_in_its_manifest(tmp_path):
    assert run("run", written(tmp_path, SENSORS), "--out", tmp_path, "--jobs", 1).exit_code == 0
    manifest = json.loads((tmp_path / "tiny" / "manifest.json").read_text())
    original = Path(os.environ["SOFTBANDIT_DATA"]) / "iw_data_all.mat"
    assert [source["sha256"] for source in manifest["data"]] == [hashlib.sha256(original.read_bytes()).hexdigest()]
