import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import softbandit as sb
from softbandit import errors

ROOT = Path(__file__).parent.parent


def test_the_public_names_are_sorted_and_exist():
    # As ruff sorts __all__: constants, then classes, then the rest.
    assert all(hasattr(sb, name) for name in sb.__all__)
    assert len(set(sb.__all__)) == len(sb.__all__)


def test_every_error_has_one_base_and_stands_in_the_tree():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), sb.SoftbanditError)
        assert name in errors.__doc__


def test_the_core_needs_numpy_and_scipy_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [re.match(r"\w+", need)[0] for need in project["dependencies"]] == ["numpy", "scipy"]


def test_importing_brings_nothing_heavy():
    code = "import sys, softbandit; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"scipy.optimize", "scipy.special", "scipy.stats", "scipy.io", "matplotlib", "typer", "rich", "jax"}
    heavy |= {"skfolio", "pandas", "urllib.request"}
    assert not heavy & set(loaded)


def test_the_versions_agree():
    assert f"version: {sb.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {sb.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_no_numeric_step_uses_numpy_by_name():
    """The steps that run every round take their functions from the arrays, so that any engine can run them."""
    steps = {
        "ckb.py": {"decide", "update"},
        "policy.py": {"_best", "_choice", "_learn"},
        "dual.py": {"price", "step"},
        "explore.py": {"estimate"},
        "posterior/finite.py": {"condition", "mean", "variance", "covariance", "std", "correlated", "sample"},
        "surrogate.py": {"estimate", "condition", "own", "_in_order"},
        "problems/problem.py": {"observe"},
    }
    for path, names in steps.items():
        tree = ast.parse((ROOT / "src" / "softbandit" / path).read_text())
        found = {f.name: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name in names}
        assert set(found) == names
        for function in found.values():
            used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            assert "np" not in used, f"{path}: {function.name}"
