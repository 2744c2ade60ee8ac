import hashlib
import json
import os
from pathlib import Path

import pytest
from softbandit_tests.tiny_experiment import TOML, written

from softbandit.errors import install_command
from softbandit.simulation import engine_choice

CliRunner = pytest.importorskip("typer.testing").CliRunner
app = pytest.importorskip("softbandit.cli").app
pytestmark = pytest.mark.extra


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "80"})


def words(result):
    return " ".join(result.output.split())


def test_run_prints_scores_and_writes_a_report(tmp_path):
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
        (TOML.replace('"Tiny"', "'$x_{$'"), "[figures.one]: expected a figure that can be drawn"),
        (
            TOML.replace("policies.stageopt", "policies.'$x_{$'").replace("[grid]", "policy='cts'\n[grid]"),
            "can be drawn",
        ),
        (TOML.replace("12", "1" + "0" * 5000), "expected a TOML file"),
    ],
)
def test_a_mistake_in_a_file_is_reported_and_nothing_is_run(tmp_path, text, says):
    result = run("run", written(tmp_path, text), "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert says in words(result)
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_a_file_name_of_dots_writes_nothing_outside_the_folder(tmp_path):
    (tmp_path / "...toml").write_text(TOML)
    result = run("run", tmp_path / "...toml", "--out", tmp_path / "out" / "in")
    assert result.exit_code == 1
    assert "does not start with a dot" in words(result)
    assert [path.name for path in tmp_path.iterdir()] == ["...toml"]


def test_reproduce_runs_the_experiment_named_and_judges_its_claims(tmp_path):
    options = ("--quick", "--trials", 2, "--out", tmp_path, "--jobs", 1)
    result = run("reproduce", "--only", "slack", *options)
    assert result.exit_code == 0, result.output
    assert "Zero violation by slack" in words(result)
    assert (tmp_path / "index.html").exists()
    assert json.loads((tmp_path / "claims.json").read_text())[0]["claim"] == "Zero violation by slack"
    assert max(map(len, result.output.splitlines())) <= 80 + len(str(tmp_path))


def test_reproduce_suggests_the_nearest_figure_for_a_misspelt_one(tmp_path):
    result = run("reproduce", "--only", "fig1d", "--out", tmp_path)
    assert result.exit_code == 1
    assert "Did you mean 'fig1" in words(result)


def test_paths_with_markup_are_printed_verbatim(tmp_path):
    odd = tmp_path / ":x: [red]"
    odd.mkdir()
    result = run("run", written(tmp_path, TOML.replace("[policies.stageopt]", "")), "--out", odd, "--jobs", 1)
    assert f"Report: {odd}" in result.output
    assert str(odd) in run("run", odd / "none.toml").output


def test_run_quick_uses_the_quick_settings_of_the_file(tmp_path):
    text = TOML + "[quick]\nhorizon = 5\ntrials = 2\n"
    assert run("run", written(tmp_path, text), "--quick", "--out", tmp_path, "--jobs", 1).exit_code == 0
    assert json.loads((tmp_path / "tiny" / "manifest.json").read_text())["spec"]["horizon"] == 5


@pytest.mark.filterwarnings("always")
def test_run_without_jax_says_once_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_choice, "find_spec", lambda name: None)
    monkeypatch.setattr(engine_choice, "COMPILATION", 0.0)  # any run is long enough
    engine_choice._hint_at_jax.cache_clear()
    result = run("run", written(tmp_path), "--out", tmp_path, "--jobs", 2)
    assert result.exit_code == 0, result.output
    assert words(result).count("note: This would run several times faster with JAX") == 1
    assert result.output.count(install_command("jax")) == 1


@pytest.mark.parametrize("option", [("--trials", 0), ("--jobs", 0)])
def test_options_below_one_are_refused(tmp_path, option):
    result = run("reproduce", "--only", "slack", *option, "--out", tmp_path)
    assert result.exit_code == 1
    assert "expected a whole number of at least 1" in words(result)


def test_an_output_folder_that_is_a_file_is_an_error(tmp_path):
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
def test_a_missing_or_damaged_data_file_stops_the_run_before_it_begins(tmp_path, content, says):
    folder = tmp_path / "data"
    folder.mkdir()
    if content is not None:
        (folder / "iw_data_all.mat").write_bytes(content)
    options = ("--data", folder, "--out", tmp_path / "out", "--jobs", 1)
    result = run("run", written(tmp_path, SENSORS), *options)
    assert result.exit_code == 1
    assert says in words(result)
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()
    assert run("reproduce", "--only", "fig1b", *options).exit_code == 1


def test_a_run_without_the_original_data_names_the_stand_in(tmp_path, monkeypatch):
    monkeypatch.delenv("SOFTBANDIT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert run("run", written(tmp_path, SENSORS), "--out", tmp_path, "--jobs", 1).exit_code == 0
    manifest = json.loads((tmp_path / "tiny" / "manifest.json").read_text())
    assert manifest["data"][0]["source"].startswith("stand-in: simulated office")
    assert "stand-in: simulated office" in (tmp_path / "tiny" / "index.html").read_text()


@pytest.mark.skipif("SOFTBANDIT_DATA" not in os.environ, reason="SOFTBANDIT_DATA names no folder with the originals")
def test_a_run_on_the_original_data_has_their_hashes_in_its_manifest(tmp_path):
    assert run("run", written(tmp_path, SENSORS), "--out", tmp_path, "--jobs", 1).exit_code == 0
    manifest = json.loads((tmp_path / "tiny" / "manifest.json").read_text())
    original = Path(os.environ["SOFTBANDIT_DATA"]) / "iw_data_all.mat"
    assert [source["sha256"] for source in manifest["data"]] == [hashlib.sha256(original.read_bytes()).hexdigest()]
