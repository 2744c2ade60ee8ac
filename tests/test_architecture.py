"""The map for newcomers shows the code as it is."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()
SCRIPT = runpy.run_path(str(ROOT / "docs" / "draw_rooms.py"))


def test_the_picture_of_the_rooms_is_up_to_date():
    committed = (ROOT / "docs" / "rooms.svg").read_text()
    assert committed == SCRIPT["svg"](), "docs/rooms.svg is out of date. Run: python docs/draw_rooms.py"


def test_the_transitive_reduction_keeps_what_does_not_follow_from_the_rest():
    edges = {("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d"), ("b", "e")}
    assert SCRIPT["without_implied"](edges) == {("a", "b"), ("b", "c"), ("c", "d"), ("b", "e")}


@pytest.mark.parametrize(("path", "name"), re.findall(r"`([\w/]+\.py)`:\s`([\w.]+)`", PAGE))
def test_every_function_that_the_map_names_is_in_its_file(path, name):
    source = (ROOT / "src" / "softbandit" / path).read_text()
    assert all(re.search(rf"(?:def|class) {part}\b", source) for part in name.split("."))
