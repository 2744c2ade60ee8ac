"""Run experiments on all cores, and keep what is finished.

An experiment's folder holds its table and, written last, its manifest. A table is used again
if its manifest has the same key: the hash of the specification, of the code that computes the
numbers, and of the data.
"""

import json
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import softbandit
from softbandit.atomic_write import replacing
from softbandit.data.sources import sha256
from softbandit.errors import ArgumentError, Description, FileError, SoftbanditError
from softbandit.experiments.cells import Cell, all_cells, choose_engines, play, prepare
from softbandit.experiments.spec import Experiment
from softbandit.experiments.tables import Table, join
from softbandit.problems import Problem
from softbandit.simulation.simulator import check_fit
from softbandit.simulation.worker_pool import run_all

PRESENTATION = ("cli", "__main__.py", "experiments/claims", "experiments/figures", "experiments/report")
"""Code that shows numbers and computes none: a change there runs nothing again."""

Progress = Callable[[str, int], None]  # called with an experiment's name and the work done on it since the last call

DataSources = list[dict[str, str]]  # the source and the sha256 of each data set


class Outcome(NamedTuple):
    """A finished experiment."""

    spec: Experiment
    table: Table
    manifest: dict[str, Any]
    folder: Path
    reused: bool

    @property
    def sources(self) -> list[str]:
        """The data sets that were used."""
        return [source["source"] for source in self.manifest["data"]]


def run(
    specs: Sequence[Experiment],
    sources: Sequence[DataSources],
    out: Path,
    data: str | None = None,
    backend: str = "local",
    jobs: int = 1,
    progress: Progress = lambda name, work: None,
) -> Iterator[Outcome]:
    """Run experiments, and yield each when it is finished, given the `sources` that `check` returned for each.

    First come those whose table an earlier run left, then those that measure times, alone on this machine. The cells of
    all others are one queue for all workers, in the order of the experiments.
    """
    queue: list[tuple[Experiment, DataSources]] = []
    for spec, data_sources in zip(specs, sources, strict=True):
        if finished := load_finished(spec, out, data_sources):
            progress(spec.name, work(spec))
            yield finished
        else:
            queue.append((spec, data_sources))
    for measure, where, processes in (("time", "local", 1), ("scores", backend, jobs)):
        pairs = {spec.name: (spec, data_sources) for spec, data_sources in queue if spec.measure == measure}
        start = time.perf_counter()
        for name, engines, table in _play_all([spec for spec, _ in pairs.values()], data, where, processes, progress):
            yield _saved(*pairs[name], out, engines, table, time.perf_counter() - start)
            start = time.perf_counter()


def _saved(
    spec: Experiment, sources: DataSources, out: Path, engines: Mapping[str, str], table: Table, seconds: float
) -> Outcome:
    """Write the table of an experiment, then its manifest."""
    folder = out / spec.name
    folder.mkdir(parents=True, exist_ok=True)
    table.write(folder / table_name(spec))
    manifest = {
        "key": _key(spec, sources),
        "spec": asdict(spec),
        "data": sources,
        "versions": {name: version(name) for name in ("numpy", "scipy", "matplotlib")}
        | {"python": platform.python_version(), "softbandit": softbandit.__version__},
        "code": _code_hash(),
        "engines": engines,
        "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),  # since the experiment before it was finished
        "table": {"file": table_name(spec), "sha256": sha256((folder / table_name(spec)).read_bytes())},
    }
    write_json(folder / "manifest.json", manifest)
    return Outcome(spec, table, manifest, folder, reused=False)


def check(spec: Experiment, data: str | None) -> DataSources:
    """Build every policy once, so that mistakes are found before the work, and return the data sets in use."""
    sources = {}
    for cell in all_cells(spec):
        if cell.instance == 0:
            problem = _checked_problem(cell, data)
            sources[problem.source] = {"source": problem.source, "sha256": problem.data_hash}
    return list(sources.values())


def _checked_problem(cell: Cell, data: str | None) -> Problem:
    """Return a cell's problem, after building its policy, with errors that name the file."""
    where = f"{cell.spec.name}.toml"
    try:
        problem, policy = prepare(cell, data)
        check_fit(policy, problem, cell.spec.engine)
    except FileError:
        raise
    except SoftbanditError as error:
        raise type(error)(f"{where}: {error}") from error
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:  # of a setting that Python refused
        expected, got = f"settings of {cell.policy} and its problem", Description(str(error))
        raise ArgumentError.of(where, expected, got, "Check their names, types and sizes.") from error
    return problem


def work(spec: Experiment) -> int:
    """Estimate the time of an experiment, in the units of the progress bar."""
    return sum(cell.work for cell in all_cells(spec))


def table_name(spec: Experiment) -> str:
    """Return the table's file name. Times have another: they alone differ from run to run."""
    return "times.csv" if spec.measure == "time" else "results.csv"


def write_json(path: Path, content: object) -> None:
    with replacing(path) as file:
        file.write((json.dumps(content, indent=1, sort_keys=True) + "\n").encode())


def _play_all(
    specs: Sequence[Experiment], data: str | None, backend: str, jobs: int, progress: Progress
) -> Iterator[tuple[str, dict[str, str], Table]]:
    """Run the cells of all experiments, and yield the name, the engines and the table of each when it is finished."""
    cells = {spec.name: all_cells(spec) for spec in specs}
    engines = {spec.name: choose_engines(spec, data) for spec in specs}
    tables: dict[str, dict[int, Table]] = {name: {} for name in cells}
    places = [(name, index) for name in cells for index in _order(cells[name])]
    tasks = [(cells[name][index], engines[name]) for name, index in places]
    for place, table in run_all(partial(_play, data=data), tasks, backend, jobs):
        name, index = places[place]
        tables[name][index] = table
        progress(name, cells[name][index].work)
        if len(tables[name]) == len(cells[name]):
            finished = tables.pop(name)
            yield name, engines[name], join([finished[i] for i in range(len(finished))])


def _play(task: tuple[Cell, Mapping[str, str]], data: str | None) -> Table:
    cell, engines = task
    return play(cell, engines, data)


def _order(cells: Sequence[Cell]) -> list[int]:
    """Return the longest cells first, and of equal ones each policy's in turn: workers then compile different programs.

    A program that one of them has compiled, the others find in JAX's cache.
    """
    count: Counter[str] = Counter()
    turns = []
    for cell in cells:
        turns.append(count[cell.policy])
        count[cell.policy] += 1
    return sorted(range(len(cells)), key=lambda i: (-cells[i].work, turns[i]))


def load_finished(spec: Experiment, out: Path, sources: DataSources) -> Outcome | None:
    """Return what an earlier run left, if it is complete and of the same experiment."""
    folder = out / spec.name
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        same = manifest["key"] == _key(spec, sources) and {"seconds", "finished", "versions"} <= set(manifest)
        if not same or manifest["table"]["sha256"] != sha256((folder / table_name(spec)).read_bytes()):
            return None
        return Outcome(spec, Table.read(folder / table_name(spec)), manifest, folder, reused=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _key(spec: Experiment, sources: DataSources) -> str:
    """Hash what determines the numbers: titles and figures do not."""
    presentation = ("title", "about", "figures", "primary")
    settings = {key: value for key, value in asdict(spec).items() if key not in presentation}
    content = json.dumps([settings, softbandit.__version__, _code_hash(), sources], sort_keys=True)
    return sha256(content.encode())


@cache
def _code_hash() -> str:
    """Hash the code that computes the numbers."""
    root = Path(softbandit.__file__).parent
    names = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.py"))]
    computing = [name for name in names if not name.startswith(PRESENTATION)]
    return sha256(b"".join(name.encode() + (root / name).read_bytes() for name in computing))
