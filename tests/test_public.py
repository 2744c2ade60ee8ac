import ast
import contextlib
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import softbandit as sb
from softbandit import errors

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "softbandit"


def test_every_public_name_exists_once():
    assert all(hasattr(sb, name) for name in sb.__all__)
    assert len(set(sb.__all__)) == len(sb.__all__)


def test_dir_shows_the_public_names_and_no_modules_besides():
    assert dir(sb) == sorted(sb.__all__)


@pytest.mark.extra
def test_no_module_shares_its_name_with_an_object_in_it_or_is_hidden_in_its_package():
    paths = {info.name for info in pkgutil.walk_packages(sb.__path__, "softbandit.")} - {"softbandit.__main__"}
    modules = {}
    for path in sorted(paths):
        with contextlib.suppress(sb.MissingExtraError):
            modules[path] = importlib.import_module(path)
    assert [path for path, module in modules.items() if hasattr(module, path.rpartition(".")[2])] == []
    for path, module in modules.items():
        package, _, name = path.rpartition(".")
        assert getattr(importlib.import_module(package), name) is module, f"{path} is hidden"


def test_every_error_is_public_derives_from_softbandit_error_and_is_in_the_docstring_tree():
    kinds = {name: value for name, value in vars(errors).items() if name.endswith("Error")}
    assert kinds.keys() <= set(sb.__all__)
    for name, kind in kinds.items():
        assert issubclass(kind, sb.SoftbanditError)
        assert name in errors.__doc__


def test_the_core_depends_on_numpy_and_scipy_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [re.match(r"\w+", requirement)[0] for requirement in project["dependencies"]] == ["numpy", "scipy"]


def test_importing_softbandit_loads_no_heavy_module():
    code = "import sys, softbandit; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"scipy.optimize", "scipy.special", "scipy.stats", "scipy.io", "matplotlib", "typer", "rich", "jax"}
    heavy |= {"skfolio", "pandas", "polars", "optuna", "sklearn", "torch", "urllib.request", "sqlalchemy", "psycopg"}
    assert not heavy & set(loaded)


def test_citation_and_changelog_name_the_current_version():
    assert f"version: {sb.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {sb.__version__}" in (ROOT / "CHANGELOG.md").read_text()


NUMERIC_FILES = (
    "simulation/rounds.py",
    "policies/base.py",
    "policies/ckb.py",
    "policies/dual.py",
    "baselines/*.py",
    "model/beliefs.py",
    "model/explorations.py",
    "model/finite.py",
    "gp/weight_space.py",
    "problems/noise.py",
    "problems/problem.py",
)
RUNS_ON_NUMPY_ONLY = {"_decide_on_space"}
USES_NUMPY_ON_SETTINGS = {"_blocks", "pairs", "sample", "support"}  # constants to a compiled round


def test_no_numeric_step_uses_numpy_by_name():
    """Whatever a round calls takes its functions from its arrays, so that any engine can run it."""
    functions = defaultdict(list)
    for path in (path for pattern in NUMERIC_FILES for path in PACKAGE.glob(pattern)):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                functions[node.name].append(node)
    steps, remaining = set(), {"play_round"}
    while remaining:
        name = remaining.pop()
        steps.add(name)
        called = {called for function in functions[name] for called in names_in(function)}
        remaining |= (called & functions.keys()) - steps - RUNS_ON_NUMPY_ONLY
    assert {"decide", "update", "next_dual", "price", "step", "estimate", "condition", "observe"} <= steps
    assert {name for name in steps if any(map(calls_numpy, functions[name]))} <= USES_NUMPY_ON_SETTINGS


def names_in(function):
    """Return the names and attributes that a function mentions."""
    nodes = list(ast.walk(function))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def calls_numpy(function):
    attributes = (node for node in ast.walk(function) if isinstance(node, ast.Attribute))
    return any(isinstance(node.value, ast.Name) and node.value.id == "np" and node.attr != "inf" for node in attributes)
