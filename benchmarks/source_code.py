"""Measure the source itself: lines, import layers, function lengths, and annotations that mention Any.

`python benchmarks/source_code.py` needs only the standard library. Lengths include docstrings; an
annotation is that of a parameter, a result, a field or a variable.
"""

import ast
import re
import statistics
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def nodes():
    for path in SOURCES:
        yield from ast.walk(ast.parse(path.read_text()))


def functions():
    return [node for node in nodes() if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def annotations():
    for function in functions():
        a = function.args
        arguments = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        yield from (argument.annotation for argument in arguments if argument.annotation)
        yield from [function.returns] if function.returns else []
    yield from (node.annotation for node in nodes() if isinstance(node, ast.AnnAssign))


def main():
    lines = sum(len(path.read_text().splitlines()) for path in SOURCES)
    lengths = sorted(function.end_lineno - function.lineno + 1 for function in functions())
    texts = [ast.unparse(annotation) for annotation in annotations()]
    mentions = sum(bool(re.search(r"\bAny\b", text)) for text in texts)
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    private = sum("numpy._" in path.read_text() for path in SOURCES)
    print(f"{len(SOURCES)} files, {lines:,} lines")
    print(f"{len(contract['layers'])} import layers, {len(contract['ignore_imports'])} declared exception")
    print(f"{len(lengths)} functions: median {statistics.median(lengths):g} lines,", end=" ")
    print(f"90% at most {lengths[int(0.9 * len(lengths))]}, longest {lengths[-1]}")
    print(f"{len(texts)} annotations, {mentions / len(texts):.1%} mention Any")
    print(f"{private} files name a private module of NumPy")


if __name__ == "__main__":
    main()
