"""Saved agents that were damaged or crafted, and what loading them leads to.

    python -m softbandit_tests.damaged_files 10000

loads that many, in a process of its own, and prints a table.
"""

import io
import itertools
import json
import struct
import sys
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import softbandit as sb
from softbandit.agent import archive

STORED = Path(__file__).parents[1] / "agent" / "files"
MEMORY = 2**26  # bytes that loading may take here: less than a user's limit, so that a test can be strict

ODD_NUMBERS = [0, -1, 1, 2**31, 2**53, 2**63, 10**9, 10**30, -(2**70), 0.5, 1e-320, 1e308, -1e308]
ODD_VALUES = [*ODD_NUMBERS, float("nan"), float("inf"), None, True, "", "x" * 1000, "ucb", [], [[]], [1] * 1000, {}]
ODD_VALUES += [{"array": "state0"}, {"array": "none"}, {"class": "CKB", "settings": {}}, {"class": "Box"}]


# -- Reading and writing files without the checks of the library. --


def content_of(data: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(data)) as members:
        return dict(members)


def file_of(content: Mapping[str, Any]) -> bytes:
    """Return a file with a correct checksum."""
    file = io.BytesIO()
    archive.write(file, content)
    return file.getvalue()


def signed(data: bytes) -> bytes:
    """Return the bytes with the checksum that belongs to them, if they have room for one."""
    digest = archive._digest(io.BytesIO(data), len(data) - archive.DIGITS)
    return data[: -archive.DIGITS] + digest.encode()


def with_header(data: bytes, change: Callable[[dict], Any]) -> bytes:
    """Return a file with another header: `change` changes it in place, or returns another."""
    content = content_of(data)
    header = json.loads(str(content["header"]))
    changed = change(header)
    return file_of(content | {"header": np.array(json.dumps(header if changed is None else changed))})


def with_setting(data: bytes, **settings: Any) -> bytes:
    """Return a file of a policy with other settings."""
    return with_header(data, lambda header: header["policy"]["settings"].update(settings))


# -- Damage: the checksum is as it was. --


def flipped(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for i in rng.integers(len(data), size=rng.integers(1, 9)):
        changed[i] ^= int(rng.integers(1, 256))
    return bytes(changed) if bytes(changed) != data else flipped(data, rng)


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data))]


def spliced(data: bytes, rng: np.random.Generator) -> bytes:
    """Remove some bytes, or insert a copy of others."""
    i, j = sorted(rng.integers(len(data), size=2).tolist())
    k = int(rng.integers(len(data)))
    changed = data[:i] + data[j:] if rng.random() < 0.5 else data[:k] + data[i:j] + data[k:]
    return changed if changed != data else cut(data, rng)


DAMAGE = (flipped, cut, spliced)


# -- Crafted files: their checksum is right. --


def flipped_and_signed(data: bytes, rng: np.random.Generator) -> bytes:
    return signed(flipped(data[: -archive.DIGITS], rng) + data[-archive.DIGITS :])


def members_swapped(data: bytes, rng: np.random.Generator) -> bytes:
    content = content_of(data)
    a, b = rng.choice(list(content), size=2, replace=False)
    return file_of(content | {a: content[b], b: content[a]})


def member_missing(data: bytes, rng: np.random.Generator) -> bytes:
    content = content_of(data)
    content.pop(str(rng.choice(list(content))))
    return file_of(content)


def header_changed(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace any part of the header by something odd."""

    def change(header: dict) -> None:
        places = list(_places(header))
        holder, key = places[rng.integers(len(places))]
        holder[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]

    return with_header(data, change)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def numbers_changed(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace one or all numbers of an array by an odd one."""
    content = content_of(data)
    name = str(rng.choice([name for name in content if content[name].size and name != "header"]))
    array, value = content[name].copy(), [*ODD_NUMBERS, np.nan, np.inf, -np.inf][rng.integers(len(ODD_NUMBERS) + 3)]
    array[... if rng.random() < 0.3 else np.unravel_index(rng.integers(array.size), array.shape)] = (
        value if array.dtype.kind == "f" else np.clip(np.nan_to_num(value), -(2.0**62), 2.0**62)
    )
    return file_of(content | {name: array})


def array_changed(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace an array by one of another shape or type."""
    content = content_of(data)
    name = str(rng.choice(list(content)))
    array = content[name]
    forms = [
        lambda: array.ravel(),
        lambda: array[..., None],
        lambda: array.astype("U20"),
        lambda: np.repeat(np.atleast_1d(array), 3, axis=0),
        lambda: np.atleast_1d(array)[:0],
        lambda: np.zeros((0, 10**9)),
        lambda: np.zeros(array.shape, dtype=bool),
        lambda: np.zeros(array.shape, dtype="f4"),
        lambda: np.zeros(array.shape, dtype="c16"),
        lambda: np.zeros(array.shape, dtype="M8[s]"),
    ]
    return file_of(content | {name: forms[rng.integers(len(forms))]()})


CRAFT = (flipped_and_signed, members_swapped, member_missing, header_changed, numbers_changed, array_changed)


# -- Bombs: small files that ask for much. --


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive of these members, with a checksum."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as target:
        for name, content in members.items():
            target.writestr(name, content)
        target.comment = b"0" * archive.DIGITS
    return signed(file.getvalue())


def npy(descr: str, shape: tuple[int, ...], content: bytes = b"") -> bytes:
    """Return an .npy file that says so."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def bombs(finite: bytes, box: bytes) -> dict[str, bytes]:
    """Return files made from an agent of CKB with finite arms, and from one on a box."""
    zeros = io.BytesIO()
    np.save(zeros, np.zeros(10**6))
    members = {f"{name}.npy": _saved(array) for name, array in content_of(finite).items()}
    nested = ("[" * 10**5 + "]" * 10**5, '{"class":' * 10**4, "9" * 10**5)
    wide = file_of(content_of(box) | {"array0": np.zeros(10**5), "array1": np.ones(10**5)})
    kernel = {"class": "Tabular", "settings": {"matrix": {"array": "array0"}}}
    table = file_of(content_of(finite) | {"array0": np.eye(500)})
    return {
        "compressed": zipped({**members, "array9.npy": zeros.getvalue()}, zipfile.ZIP_DEFLATED),
        "compressed with LZMA": zipped({**members, "array9.npy": zeros.getvalue()}, zipfile.ZIP_LZMA),
        "claims a shape": zipped({**members, "record.npy": npy("<f8", (10**12, 4))}),
        "claims numbers of no size": zipped({**members, "record.npy": npy("<U0", (10**12, 4))}),
        "claims a negative shape": zipped({**members, "record.npy": npy("<f8", (-1, -4), b"0" * 32)}),
        "claims objects": zipped({**members, "record.npy": npy("|O", (1,), b"0" * 8)}),
        "20,000 members": zipped({f"array{i}.npy": b"" for i in range(20_000)}),
        "names from elsewhere": zipped({**members, "../../evil.npy": npy("<f8", ())}),
        "10^9 constraints": with_setting(finite, constraints=10**9),
        "10^9 constraints on a box": with_setting(box, constraints=10**9),
        "a budget of 10^9": with_setting(box, budget=10**9),
        "10^9 points of a distribution": with_setting(finite, explore=_truncated(10**9)),
        "10^5 dimensions": with_setting(wide, arms=_box("array0", "array1")),
        "100 tables of a kernel": with_setting(table, cost_kernel=[kernel] * 100, constraints=100),
        "a choice of 20,000": with_setting(box, arms=_choice(20_000)),
        "kernels in kernels": with_setting(finite, kernel=_sum_of(250)),
        **{f"nested {i}": file_of({"header": np.array(text)}) for i, text in enumerate(nested)},
    }


def _saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _box(lower: str, upper: str) -> dict:
    return {"class": "Box", "settings": {"lower": {"array": lower}, "upper": {"array": upper}}}


def _choice(count: int) -> dict:
    parameter = {"class": "Categorical", "settings": {"choices": list(range(count))}}
    real = {"class": "Float", "settings": {"low": 0, "high": 1}}
    return {"class": "Space", "settings": {"parameters": [["kind", parameter], ["x", real]]}}


def _truncated(points: int) -> dict:
    distribution = {"class": "TruncatedGaussian", "settings": {"lower": 0.0, "upper": 2.0, "points": points}}
    return {"class": "RandUCB", "settings": {"distribution": distribution}}


def _sum_of(count: int) -> dict:
    kernel = {
        "class": "Scaled",
        "settings": {"kernel": {"class": "Matern", "settings": {"lengthscale": 1.0}}, "scale": 1 / count},
    }
    return kernel if count == 1 else {"class": "Sum", "settings": {"left": _sum_of(count - 1), "right": kernel}}


# -- What loading leads to. --


class Load(NamedTuple):
    loaded: bool
    bytes: int = 0  # the most that it took
    seconds: float = 0.0
    fault: str | None = None  # what went wrong, other than FileError


def load(path: Path, data: bytes, memory: float = MEMORY) -> Load:
    """Load a file that may be refused with FileError. Anything else that goes wrong is raised."""
    path.write_bytes(data)
    tracemalloc.reset_peak()
    before, start, agent = tracemalloc.get_traced_memory()[0], time.monotonic(), None
    try:
        agent = sb.Agent.load(path, memory=memory)
    except sb.FileError as error:
        if isinstance(error.__cause__, MemoryError):
            raise AssertionError("memory ran out before the file was refused") from error
    result = Load(agent is not None, tracemalloc.get_traced_memory()[1] - before, time.monotonic() - start)
    if agent is not None:
        _check_decision(agent)
    return result


def _check_decision(agent: sb.Agent) -> None:
    """Check that the next decision of an agent is usable, or refused by a rule of its policy."""
    try:
        decision = agent.ask()
    except sb.SafeSeedError:
        return
    assert np.isfinite([*np.ravel(decision.x), decision.reward_estimate, *np.ravel(decision.dual)]).all()


def sources() -> list[bytes]:
    """Return agents of several policies, as files of today's version."""
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ckb", "ckb-thompson", "ckb-two-constraints", "box", "box-budget", "autopilot", "doubling"):
            agent = sb.Agent.load(STORED / "version_3" / f"{name}.npz")
            agent.ask()  # imports what decisions need, which is not counted as memory of a load
            agent.save(Path(folder) / "run.npz")
            files.append((Path(folder) / "run.npz").read_bytes())
    return files


def damaged_and_crafted(count: int, seed: int = 0) -> Iterator[tuple[str, bytes, bool]]:
    """Iterate over files, with what was done to each, and whether it must be refused whatever it says."""
    rng, agents = np.random.default_rng(seed), sources()
    for i in range(count):
        change = (*DAMAGE, *CRAFT)[i % len(DAMAGE + CRAFT)]
        yield change.__name__, change(agents[rng.integers(len(agents))], rng), change in DAMAGE


def run(count: int, seed: int = 0, progress: Callable[[int], None] = lambda done: None) -> dict[str, list[Load]]:
    """Load that many files and the bombs, and return what happened by kind."""
    loads: dict[str, list[Load]] = {}
    agents = sources()
    explosive = [("bombs", data, True) for data in bombs(agents[0], agents[3]).values()]
    files = itertools.chain(damaged_and_crafted(count, seed), explosive)
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        for i, (kind, data, must_fail) in enumerate(files):
            progress(i)
            loads.setdefault(kind, []).append(_judged(Path(folder) / "run.npz", kind, data, must_fail))
    tracemalloc.stop()
    return loads


def _judged(path: Path, kind: str, data: bytes, must_fail: bool) -> Load:
    """Load a file. One that goes wrong is kept, under a name that the fault says."""
    try:
        result = load(path, data)
        if not (result.loaded and must_fail):
            return result
        fault = "damage was not noticed"
    except Exception as error:
        fault = repr(error)
    with tempfile.NamedTemporaryFile(prefix=f"{kind}-", suffix=".npz", delete=False) as kept:
        kept.write(data)
    return Load(loaded=True, fault=f"{kind}: {fault}; the file is kept as {kept.name}")


def main(count: int, seed: int = 0) -> None:
    warnings.simplefilter("ignore")
    print(f"{'kind':22}{'files':>8}{'refused':>9}{'most MB':>9}{'slowest s':>11}")  # noqa: T201
    for kind, loads in run(count, seed).items():
        print("".join(f"{load.fault}\n" for load in loads if load.fault), end="")  # noqa: T201
        refused = Counter(load.loaded for load in loads)[False]
        most, slowest = max(load.bytes for load in loads) / 1e6, max(load.seconds for load in loads)
        print(f"{kind:22}{len(loads):8}{refused:9}{most:9.1f}{slowest:11.2f}")  # noqa: T201


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
