"""Runs an experiment over all cores, and keeps what is finished.

An experiment's folder holds its table and, written last, its manifest. What is there is
used again if the manifest has the same key: the hash of the specification, of the code
that makes the numbers, and of the data.
"""

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import softbandit
from softbandit.atomic_write import replacing
from softbandit.errors import FileError, SoftbanditError
from softbandit.experiments.build import forget_problems
from softbandit.experiments.cells import Cell, cells, engine, join, play, prepare
from softbandit.experiments.spec import Experiment
from softbandit.experiments.tables import Table
from softbandit.simulation.worker_pool import run_all

PRESENTATION = ("cli", "__main__.py", "experiments/claims", "experiments/figures", "experiments/report")
"""Code that shows numbers and makes none: a change there runs nothing again."""

Progress = Callable[[int], None]


class Outcome(NamedTuple):
    """A finished experiment."""

    spec: Experiment
    table: Table
    manifest: dict[str, Any]
    folder: Path
    reused: bool


def run(
    spec: Experiment,
    out: Path,
    data: str | None = None,
    backend: str = "local",
    jobs: int = 1,
    progress: Progress = lambda done: None,
    sources: list[dict[str, str]] | None = None,
) -> Outcome:
    """Run an experiment, or take what an earlier run has left of the same one; `sources` is what `check` gave."""
    sources = check(spec, data) if sources is None else sources
    folder = out / spec.name
    finished = earlier(spec, out, sources)
    if finished is not None:
        progress(work(spec))
        return finished
    begun = time.perf_counter()
    workers = (backend, jobs) if spec.measure == "scores" else ("local", 1)
    table = join(list(_play_all(cells(spec), data, *workers, progress)))
    folder.mkdir(parents=True, exist_ok=True)
    table.write(folder / table_name(spec))
    manifest = {
        "key": _key(spec, sources),
        "spec": asdict(spec),
        "data": sources,
        "versions": _versions(),
        "code": _code(),
        "engine": engine(spec),
        "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - begun, 1),
        "table": {"file": table_name(spec), "sha256": _file_hash(folder / table_name(spec))},
    }
    write_json(folder / "manifest.json", manifest)
    return Outcome(spec, table, manifest, folder, reused=False)


def check(spec: Experiment, data: str | None) -> list[dict[str, str]]:
    """Build every policy once, so that a mistake is found before the work; what the data are."""
    forget_problems()
    found = {}
    points = list(spec.combinations())
    for cell in cells(spec):
        if cell.instance == 0 and (spec.measure == "scores" or cell.point == points[0]):
            try:
                problem, _ = prepare(cell, data)
            except FileError:
                raise
            except SoftbanditError as error:
                raise type(error)(f"{spec.name}.toml: {error}") from error
            found[problem.source] = {"source": problem.source, "sha256": problem.data_hash}
    return list(found.values())


def work(spec: Experiment) -> int:
    return sum(cell.work for cell in cells(spec))


def table_name(spec: Experiment) -> str:
    """Times differ from run to run, all other tables do not: so they have another name."""
    return "times.csv" if spec.measure == "time" else "results.csv"


def write_json(path: Path, content: Any) -> None:
    with replacing(path) as file:
        file.write((json.dumps(content, indent=1, sort_keys=True) + "\n").encode())


def _play_all(parts: list[Cell], data: str | None, backend: str, jobs: int, progress: Progress) -> Iterator[Table]:
    """The cells' tables, in order."""
    done: dict[int, Table] = {}
    longest_first = sorted(range(len(parts)), key=lambda i: -parts[i].work)
    for place, table in run_all(partial(play, data=data), [parts[i] for i in longest_first], backend, jobs):
        done[longest_first[place]] = table
        progress(parts[longest_first[place]].work)
    return (done[index] for index in range(len(parts)))


def earlier(spec: Experiment, out: Path, sources: list[dict[str, str]]) -> Outcome | None:
    """What an earlier run has left, if it is whole and of the same experiment."""
    folder = out / spec.name
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        same = manifest["key"] == _key(spec, sources) and {"seconds", "finished", "versions"} <= set(manifest)
        if not same or manifest["table"]["sha256"] != _file_hash(folder / table_name(spec)):
            return None
        return Outcome(spec, Table.read(folder / table_name(spec)), manifest, folder, reused=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _key(spec: Experiment, sources: list[dict[str, str]]) -> str:
    """Hash of what decides the numbers: not of titles and figures."""
    decides = {key: value for key, value in asdict(spec).items() if key not in ("title", "about", "figures", "primary")}
    content = json.dumps([decides, softbandit.__version__, _code(), sources], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


@cache
def _code() -> str:
    """Hash of the code that makes the numbers."""
    root, found = Path(softbandit.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(PRESENTATION):
            found.update(name.encode() + path.read_bytes())
    return found.hexdigest()


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _versions() -> dict[str, str]:
    names = ("numpy", "scipy", "matplotlib")
    return {"python": platform.python_version(), "softbandit": softbandit.__version__} | {n: version(n) for n in names}
