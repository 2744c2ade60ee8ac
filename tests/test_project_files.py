"""The files around the code agree with it, and with one another."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import softbandit as sb

yaml = pytest.importorskip("yaml")
pytest.importorskip("check_jsonschema")
pytestmark = pytest.mark.extra

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(set((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) - {ROOT / ".github/ISSUE_TEMPLATE/config.yml"})
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": FORMS,
    "github-issue-config": [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}


def read(*parts):
    return yaml.safe_load(ROOT.joinpath(*parts).read_text())


def plain(requirement):
    """Return a requirement without blanks and without its extras: pip's and conda's are written differently."""
    return re.sub(r"\[.*?\]|\s", "", requirement)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_for_github_and_citations_follow_their_schema(schema):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, *map(str, SCHEMAS[schema])], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_fast_tests_run_on_every_python_that_is_promised():
    promised = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert read(".github", "workflows", "check.yml")["jobs"]["check"]["strategy"]["matrix"]["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_oldest_numpy_and_scipy_of_the_workflow_are_those_promised():
    commands = " ".join(
        step.get("run", "") for step in read(".github", "workflows", "check.yml")["jobs"]["oldest"]["steps"]
    )
    for requirement in PROJECT["dependencies"]:
        name, _, version = requirement.partition(">=")
        assert f"{name}=={version}.0" in commands


def test_workflows_call_targets_of_the_makefile():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    called = {name for path in WORKFLOWS for name in re.findall(r"run: make (\w+)", path.read_text())}
    assert called == {"check", "docs", "test"}
    assert called < targets


def test_the_conda_recipe_has_the_version_and_the_dependencies_of_the_package():
    recipe = read("conda", "recipe.yaml")
    extras = PROJECT["optional-dependencies"]
    expected = {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"], *extras["cli"], *extras["tuner"]}
    assert recipe["context"]["version"] == sb.__version__
    assert set(map(plain, recipe["requirements"]["run"])) == set(map(plain, expected))
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_commits_are_checked_by_the_tools_of_make_check():
    hooks = {hook["id"] for repository in read(".pre-commit-config.yaml")["repos"] for hook in repository["hooks"]}
    assert hooks == {"ruff", "ruff-format", "mypy"}


def test_every_development_requirement_is_pinned():
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements-dev.lock").read_text(), flags=re.MULTILINE))
    names = {re.match(r"[\w.-]+", requirement)[0] for requirement in PROJECT["optional-dependencies"]["dev"]}
    assert names - {"softbandit"} <= pinned
    assert {re.match(r"\w+", requirement)[0] for requirement in PROJECT["dependencies"]} <= pinned
