"""Run everything a reader may copy: the Python in the README and the guides, and every example."""

import contextlib
import importlib.util
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from softbandit_tests import postgres

from softbandit.baselines import POLICIES

pytestmark = pytest.mark.extra

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md"]
PROGRAMS = {"tune_postgres.py": postgres.program("initdb"), "tune_a_command.sh": shutil.which("zstd")}
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.*")) if PROGRAMS.get(path.name, "none needed")]


def page_name(page):
    return str(page.relative_to(ROOT))


every_text = pytest.mark.parametrize("page", TEXTS, ids=page_name)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Return the output of each example, by name."""
    outputs = {}
    for example in EXAMPLES:
        with contextlib.chdir(tmp_path_factory.mktemp("examples")):
            outputs[example.name] = shell_output(example) if example.suffix == ".sh" else python_output(example)
    return outputs


def python_output(example):
    """Return what an example prints, in its short form if it has one."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setattr(sys, "argv", [str(example), "--quick"])
        runpy.run_path(str(example), run_name="__main__")
    return out.getvalue()


def shell_output(example, rounds=2):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where softbandit is
    command = ["bash", example, str(rounds)]
    return subprocess.run(
        command, env={**os.environ, "PATH": path}, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs_and_prints_something(example, printed):
    assert printed[example.name]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_the_python_of_a_page_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch, capsys, printed):
    """Blocks run one after another, as a reader would type them; a block without a language is output."""
    monkeypatch.chdir(tmp_path)
    names, shown = {}, []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        if language == "python":
            exec(compile(block, str(page), "exec"), names)
        elif not language:
            shown.append(block)
    outputs = [capsys.readouterr().out, *printed.values()]
    for block in shown:
        assert any(block in output for output in outputs), block


def test_the_page_of_competitors_names_every_policy():
    page = (ROOT / "docs" / "baselines.md").read_text()
    assert all(name in page for name in POLICIES)


@pytest.mark.parametrize("page", [*TEXTS, ROOT / "CHANGELOG.md"], ids=page_name)
def test_links_to_files_exist(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@every_text
def test_python_files_that_a_page_names_exist(page):
    """Paths are relative to the repository or to the source."""
    for path in re.findall(r"`(?:python )?([\w/]+/\w+\.py)\b", page.read_text()):
        assert any((folder / path).exists() for folder in (ROOT, ROOT / "src" / "softbandit")), path


@every_text
def test_modules_that_a_page_names_exist(page):
    """`softbandit.theory.certify` is in a module, or is one."""
    for name in re.findall(r"`(softbandit(?:\.\w+)+)", page.read_text()):
        package, _, last = name.rpartition(".")
        module = importlib.import_module(package)
        assert hasattr(module, last) or importlib.util.find_spec(name), name
