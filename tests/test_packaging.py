"""The wheel and the source archive install in an empty environment, and work there as the README says."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import softbandit as sb

for tool in ("build", "hatchling", "twine", "pyright"):
    pytest.importorskip(tool)
pytestmark = [pytest.mark.extra, pytest.mark.slow]

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE)
EXAMPLE = next(block for language, block in BLOCKS if language == "python")
OUTPUT = next(block for language, block in BLOCKS if not language)
OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # what is installed, not src
RIGHT = """# pyright: strict
import softbandit as sb

agent = sb.Agent(sb.Autopilot([[0.0], [0.5], [1.0]], horizon=100), seed=0)
decision = agent.ask()
agent.tell(decision, reward=1.3, cost=-0.2)
arm: int | None = decision.arm
"""
WRONG = "import softbandit as sb\n\nname: str = sb.Agent(sb.Autopilot([[0.0], [1.0]])).ask()\n"
CHECKERS = {"mypy": ["mypy", "--strict", "--python-executable"], "pyright": ["pyright", "--pythonpath"]}


def run(*command, env=OUTSIDE, cwd=None):
    """Return what a command prints on both streams; fail if it fails."""
    done = subprocess.run(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


class Environment:
    """A virtual environment, at first without any package."""

    def __init__(self, folder):
        run(sys.executable, "-m", "venv", "--without-pip", str(folder))
        self.programs = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = str(self.programs / "python")

    def pip(self, *arguments):
        return run(sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", *arguments)

    def install(self, requirement):
        self.pip("install", "--quiet", "--no-compile", requirement)

    def softbandit(self, *arguments):
        return run(str(self.programs / "softbandit"), *arguments, env={**OUTSIDE, "COLUMNS": "80"})


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Return the paths of the wheel and of the source archive that it was built from."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "source": source}


@pytest.fixture(scope="module")
def core(archives, tmp_path_factory):
    """Return an environment with the wheel, and no extra."""
    environment = Environment(tmp_path_factory.mktemp("core"))
    environment.install(str(archives["wheel"]))
    environment.at_first = environment.pip("list", "--format=freeze").split()  # tests add extras
    return environment


def test_the_package_index_would_accept_the_archives(archives):
    printed = run(sys.executable, "-m", "twine", "check", "--strict", *map(str, archives.values()))
    assert printed.count("PASSED") == 2


def test_the_wheel_brings_numpy_and_scipy_and_nothing_else(core):
    assert [line.partition("==")[0] for line in core.at_first] == ["numpy", "scipy", "softbandit"]
    assert core.at_first[-1] == f"softbandit=={sb.__version__}"


needs_node = pytest.mark.skipif(not shutil.which("node"), reason="pyright runs on Node.js, which is not installed")


@pytest.mark.parametrize("checker", ["mypy", pytest.param("pyright", marks=needs_node)])
def test_type_checkers_use_the_types_of_the_package(checker, core, tmp_path):
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(WRONG)
    command = [sys.executable, "-m", *CHECKERS[checker], core.python]
    run(*command, str(right), cwd=tmp_path)
    with pytest.raises(AssertionError, match=r'wrong.py:3.*"Decision".*"str"'):
        run(*command, str(wrong), cwd=tmp_path)


def test_the_command_line_of_the_core_says_how_to_get_the_commands_and_that_works(core):
    assert core.softbandit("--version").strip() == sb.__version__
    hint = core.softbandit("--help").partition("Install them with: ")[2]
    pip, *arguments = shlex.split(hint)
    assert pip == "pip"
    core.pip(*arguments, "--quiet", "--no-compile")
    assert "reproduce" in core.softbandit("--help")
    assert "safeopt" in run(core.python, "-m", "softbandit", "policies")


def readme_output(environment, archive, folder):
    """Return what the README's example prints, with the extra that the README names."""
    environment.install(f"{archive}[tuner]")
    return run(environment.python, "-c", EXAMPLE, cwd=folder)


def test_the_example_of_the_readme_runs_with_the_wheel(core, archives, tmp_path):
    assert readme_output(core, archives["wheel"], tmp_path) == OUTPUT


def test_the_example_of_the_readme_runs_with_the_source_archive(archives, tmp_path):
    environment = Environment(tmp_path / "environment")
    assert readme_output(environment, archives["source"], tmp_path) == OUTPUT
