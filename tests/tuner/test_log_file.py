"""Export and restore: a tuner as JSON lines."""

import hashlib
import json
import math
from pathlib import Path

import pytest
from softbandit_tests import stressed_tuners as stressed

import softbandit as sb

pytestmark = pytest.mark.extra


@pytest.fixture
def exported(file_store, tmp_path):
    """A tuner with some history, and the file of its export."""
    tuner = stressed.new_tuner(file_store, deadline=1e6)
    for x in (math.pi, 0.1 + 0.2, 5e-324):
        tuner.tell(tuner.ask(), rows=x, latency=1 / 3, note="a\n\u2028\0b")
    tuner.fail(tuner.ask(), "timeout")
    tuner.observe({"a": 1, "b": 2, "c": 3}, {"rows": 1e-300, "latency": 12})
    tuner.change(limits=[sb.Share("latency", above=1 / 3, at_most=0.01)])
    tuner.pause()
    tuner.ask()
    path = tmp_path / "export.jsonl"
    tuner.export(path)
    return tuner, path


def test_a_restored_tuner_is_the_same_to_the_bit(exported, tmp_path):
    tuner, path = exported
    restored = sb.Tuner.restore(path, store=tmp_path / "restored.db")
    assert restored.history() == tuner.history()
    assert restored.description == tuner.description
    assert stressed.fingerprint(restored) == stressed.fingerprint(tuner)
    restored.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    restored.resume()
    assert restored.ask().id == 6


def test_a_tuner_moves_from_a_file_to_a_server(exported, server):
    tuner, path = exported
    restored = sb.Tuner.restore(path, store=server.empty_database())
    assert stressed.fingerprint(restored) == stressed.fingerprint(tuner)


def test_a_tuner_is_not_restored_over_another(exported, file_store):
    tuner, path = exported
    with pytest.raises(sb.ArgumentError, match="no tuner 'stressed'"):
        sb.Tuner.restore(path, store=file_store)
    assert len(tuner.history()) == 5


def rewrite(path: Path, change) -> None:
    """Change the lines of an export, and give it a fitting digest."""
    header, *events, _ = map(json.loads, path.read_text().splitlines())
    lines = change([header, *events])
    content = "".join(f"{json.dumps(line)}\n" for line in lines)
    end = {"events": len(lines) - 1, "sha256": hashlib.sha256(content.encode()).hexdigest()}
    path.write_text(f"{content}{json.dumps(end)}\n")


CHANGES = {
    "a newer version": (lambda lines: [lines[0] | {"version": 2}, *lines[1:]], "update softbandit"),
    "another file": (lambda lines: [{"a": 1}, *lines[1:]], r"export\(\) wrote"),
    "an unknown event": (lambda lines: [*lines, lines[-1] | {"number": 14, "kind": "danced"}], "got 'danced'"),
    "a missing event": (lambda lines: [*lines[:3], *lines[4:]], "event 3 next"),
    "a repeated event": (lambda lines: [*lines, lines[-1]], "event 14 next"),
    "a missing field": (lambda lines: [*lines[:-1], {"number": 13}], "line 14"),
    "a second start": (lambda lines: [*lines, lines[1] | {"number": 14}], "can follow"),
    "a report of no ask": (lambda lines: [*lines, lines[3] | {"number": 14, "ask": 9}], "can follow"),
    "a second report": (lambda lines: [*lines, lines[3] | {"number": 14}], "can follow"),
    "a description of nothing": (
        lambda lines: [*lines, lines[1] | {"number": 14, "kind": "changed", "body": {"description": {}}}],
        "version",
    ),
    "no events": (lambda lines: lines[:1], "lines"),
    "an odd time": (lambda lines: [*lines[:-1], lines[-1] | {"at": None}], "damaged"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_no_version_wrote_is_refused_whole(exported, tmp_path, name):
    _, path = exported
    change, message = CHANGES[name]
    rewrite(path, change)
    with pytest.raises(sb.FileError, match=message):
        sb.Tuner.restore(path, store=tmp_path / "restored.db")
    assert not (tmp_path / "restored.db").exists()


@pytest.mark.parametrize("damage", ["cut off", "a changed digit", "a broken line", "not text", "empty"])
def test_a_damaged_file_is_refused(exported, tmp_path, damage):
    _, path = exported
    content = path.read_bytes()
    damaged = {
        "cut off": content[: len(content) // 2],
        "a changed digit": content.replace(b"3.14159", b"3.24159"),
        "a broken line": content.replace(b'"told"', b'"told', 1),
        "not text": b"\xff\xfe\n" * 9,
        "empty": b"",
    }[damage]
    assert damaged != content
    path.write_bytes(damaged)
    with pytest.raises(sb.FileError):
        sb.Tuner.restore(path, store=tmp_path / "restored.db")


def test_a_file_that_does_not_exist_is_a_file_error(tmp_path):
    with pytest.raises(sb.FileError, match="could not be read"):
        sb.Tuner.restore(tmp_path / "none.jsonl", store=tmp_path / "a.db")
