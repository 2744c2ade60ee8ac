"""Run an experiment on all cores, and keep what is finished.

An experiment's folder holds its table and, written last, its manifest. A table is used again
if its manifest has the same key: the hash of the specification, of the code that computes the
numbers, and of the data.
"""

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
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
from softbandit.experiments.build import cached_problem
from softbandit.experiments.cells import Cell, all_cells, choose_engines, play, prepare
from softbandit.experiments.spec import Experiment
from softbandit.experiments.tables import Table, join
from softbandit.problems import Problem
from softbandit.simulation.simulator import check_fit
from softbandit.simulation.worker_pool import run_all

PRESENTATION = ("cli", "__main__.py", "experiments/claims", "experiments/figures", "experiments/report")
"""Code that shows numbers and computes none: a change there runs nothing again."""

Progress = Callable[[int], None]  # called with the work done since the last call, in the units of `work`

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
    spec: Experiment,
    out: Path,
    data: str | None = None,
    backend: str = "local",
    jobs: int = 1,
    progress: Progress = lambda work: None,
    sources: DataSources | None = None,
) -> Outcome:
    """Run an experiment, or load its table if an earlier run left it; pass the `sources` that `check` returned."""
    sources = check(spec, data) if sources is None else sources
    finished = load_finished(spec, out, sources)
    if finished is not None:
        progress(work(spec))
        return finished
    start = time.perf_counter()
    engines = choose_engines(spec, data)
    workers = (backend, jobs) if spec.measure == "scores" else ("local", 1)
    table = join(_play_all(all_cells(spec), engines, data, *workers, progress))
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
        "seconds": round(time.perf_counter() - start, 1),
        "table": {"file": table_name(spec), "sha256": sha256((folder / table_name(spec)).read_bytes())},
    }
    write_json(folder / "manifest.json", manifest)
    return Outcome(spec, table, manifest, folder, reused=False)


def check(spec: Experiment, data: str | None) -> DataSources:
    """Build every policy once, so that mistakes are found before the work, and return the data sets in use."""
    cached_problem.cache_clear()  # its data may have changed
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
    cells: Sequence[Cell], engines: Mapping[str, str], data: str | None, backend: str, jobs: int, progress: Progress
) -> list[Table]:
    """Run the cells, the longest first, and return their tables in the order of the cells."""
    tables: dict[int, Table] = {}
    order = sorted(range(len(cells)), key=lambda i: -cells[i].work)
    for place, table in run_all(partial(play, engines=engines, data=data), [cells[i] for i in order], backend, jobs):
        tables[order[place]] = table
        progress(cells[order[place]].work)
    return [tables[index] for index in range(len(cells))]


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
