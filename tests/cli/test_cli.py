import subprocess
import sys

import pytest

from softbandit import __version__
from softbandit.baselines import POLICIES
from softbandit.errors import install_command

CliRunner = pytest.importorskip("typer.testing").CliRunner
app = pytest.importorskip("softbandit.cli").app
pytestmark = pytest.mark.extra

QUICK = ["demo", "--horizon", "60", "--trials", "2"]


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80"})


def test_the_demo_prints_a_table_and_draws_a_figure(tmp_path):
    result = run(*QUICK, "--out", str(tmp_path / "new" / "demo.png"))
    assert result.exit_code == 0, result.output
    for word in ("ckb-ucb", "ckb-ts", "ckb-rand", "R_+(T)", "V(T)", "360 rounds"):
        assert word in result.output
    assert (tmp_path / "new" / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, result.output.splitlines())) <= 80


def test_the_demo_runs_the_policies_that_are_named(tmp_path):
    result = run(*QUICK, "rpol", "stageopt", "--out", str(tmp_path / "demo.png"))
    assert result.exit_code == 0, result.output
    assert "stageopt" in result.output
    typo = run("demo", "stage-opt")
    assert typo.exit_code == 1
    assert "Did you mean 'stageopt'?" in " ".join(typo.output.split())


def test_the_demo_saves_a_pdf_if_the_name_ends_in_pdf(tmp_path):
    assert run(*QUICK, "--out", str(tmp_path / "demo.pdf")).exit_code == 0
    assert (tmp_path / "demo.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--horizon", "0"], "horizon: expected a whole number from 1 to 9007199254740992, got 0"),
        (["--trials", "-3"], "trials: expected"),
        (["--width-scale", "-1"], "width_scale: expected"),
        (["--seed", "-1"], "seed: expected"),
        (["--out", "demo.xyz"], "figure: expected a name ending in .png, .pdf, .svg, got 'demo.xyz'"),
    ],
)
def test_bad_settings_end_with_a_message_and_exit_code_1(arguments, says):
    result = run("demo", *arguments)
    assert result.exit_code == 1
    assert says in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert "━" not in result.output  # refused before the work


def test_a_figure_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    result = run(*QUICK, "--out", str(tmp_path / "file" / "demo.png"))
    assert result.exit_code == 1
    assert "error:" in result.output


def test_a_figure_saved_to_a_folder_is_called_demo_png(tmp_path):
    result = run(*QUICK, "--out", str(tmp_path))
    assert (tmp_path / "demo.png").exists()
    assert result.output.rstrip().endswith("demo.png")


def test_a_message_with_square_brackets_is_printed_in_full(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert install_command("plot") in " ".join(run(*QUICK).output.split())


def test_a_misspelt_command_gets_a_suggestion():
    result = run("dmo")
    assert result.exit_code == 2
    assert "demo" in result.output


def test_policies_lists_each_policy_with_its_citation():
    result = run("policies")
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    for name, (_, about) in POLICIES.items():
        assert name in result.output
        assert about.citation in result.output


@pytest.mark.parametrize("name", POLICIES)
def test_policies_with_a_name_prints_its_settings_and_guarantee(name):
    result = run("policies", name)
    assert result.exit_code == 0
    printed = " ".join(result.output.split())
    assert POLICIES[name][1].guarantee in printed
    assert "settings: arms, " in printed
    assert max(map(len, result.output.splitlines())) <= 80
    others = [citation for other in POLICIES if (citation := POLICIES[other][1].citation) != POLICIES[name][1].citation]
    assert not any(citation in printed for citation in others)


def test_policies_prints_defaults_and_leaves_out_what_the_name_says():
    printed = " ".join(run("policies", "ckb-ts").output.split())
    assert "explore_cost=None" in printed
    assert "explore=" not in printed
    assert "every=None" in run("policies", "ckb-time-varying").output
    assert "kernel" not in run("policies", "autopilot").output


def test_policies_suggests_the_nearest_name_for_a_misspelt_one():
    result = run("policies", "safe-opt")
    assert result.exit_code == 1
    assert "Did you mean 'safeopt'?" in " ".join(result.output.split())


def test_version_is_printed_by_the_command_and_by_the_module():
    assert run("version").output.strip() == __version__
    assert run("--version").output.strip() == __version__
    done = subprocess.run([sys.executable, "-m", "softbandit", "version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == __version__


def without_typer(*arguments):
    code = "import sys; sys.modules['typer'] = None; from softbandit.__main__ import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_a_command_without_typer_says_what_to_install():
    done = without_typer("demo")
    assert done.returncode == 1
    assert done.stderr.strip().endswith(install_command("cli"))


def test_help_and_version_work_without_typer():
    asked_for_help, asked_for_version = without_typer("--help"), without_typer("--version")
    assert asked_for_help.returncode == asked_for_version.returncode == 0
    assert asked_for_help.stdout.strip().endswith(install_command("cli"))
    assert asked_for_version.stdout.strip() == __version__
