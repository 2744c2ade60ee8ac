import pytest
from experiments.tiny import TOML, written
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
    assert max(map(len, result.output.splitlines())) <= 80 + len(str(tmp_path))


def test_reproduce_knows_experiments_by_their_figures_too(tmp_path):
    result = run("reproduce", "--only", "fig1d", "--out", tmp_path)
    assert result.exit_code == 1
    assert "Did you mean 'fig1" in said(result)


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
