"""Draw rooms.svg, the picture in architecture.md: which folder of src/softbandit imports which.

A room is a folder or a top-level module. Its layer comes from pyproject.toml, its purpose from
the first sentence of its docstring, its arrows from its import statements; an arrow that follows
from others is left out. Run `python docs/draw_rooms.py` after changing any of these.
"""

import ast
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "softbandit"
PICTURE = ROOT / "docs" / "rooms.svg"

Edges = set[tuple[str, str]]  # (importing room, imported room)

# -- What is drawn. --


def layers() -> tuple[list[list[str]], Edges]:
    """Return the rooms of each layer, highest first, and the declared exceptions to the order."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    exceptions = {tuple(name.split(".")[1] for name in line.split(" -> ")) for line in settings["ignore_imports"]}
    return [layer.split(" | ") for layer in settings["layers"]], exceptions


def imports() -> Edges:
    """Return which room imports which."""
    edges = set()
    for file in sorted(PACKAGE.rglob("*.py")):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        edges |= {(room, target) for target in imported_rooms(file) if target != room}
    return edges


def imported_rooms(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("softbandit."))


def purpose(room: str) -> str:
    """Return the first sentence of the room's docstring."""
    file = PACKAGE / room / "__init__.py" if (PACKAGE / room).is_dir() else PACKAGE / f"{room}.py"
    first_line = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0]
    return first_line.split(". ")[0].rstrip(".")


def reachable(room: str, edges: Edges) -> set[str]:
    """Return the rooms that a room needs, directly or not."""
    direct = {target for source, target in edges if source == room}
    return direct.union(*(reachable(target, edges) for target in direct))


def without_implied(edges: Edges) -> Edges:
    """Return the edges that do not follow from others: the transitive reduction."""
    return {
        (source, target)
        for source, target in edges
        if not any(target in reachable(via, edges) for start, via in edges if start == source)
    }


def use(room: str, edges: Edges) -> str:
    """Return what a room is for, by whether it and the room of each use need one another."""

    def related(root: str) -> bool:
        return room == root or room in reachable(root, edges) or root in reachable(room, edges)

    live, research = related("agent"), related("experiments")
    return "both" if live == research else "live" if live else "research"


# -- How it is drawn: a stack of boxes, with short arrows between neighbours and rails on the right. --

WIDTH, TOP, LEFT, RIGHT = 900, 76, 44, 760  # of the picture, and of its boxes
NAME, TEXT, SPINE = LEFT + 14, LEFT + 132, LEFT + 34
LINE, LETTERS = 16, 86  # height of a line of text, and its length at most
LANE = 16  # between rails
GAP, SIBLING_GAP = 15, 4
INK, PALE_INK = "#1f2933", "#52606d"
STYLES = {  # fill, line and rail
    "both": ("#e8eef7", "#3b6ea8"),
    "live": ("#e3f4ec", "#1d7a55"),
    "research": ("#fdf0e1", "#a85b0a"),
}
LEGEND = {"both": "needed by both", "live": "live use: an agent", "research": "research: simulations, experiments"}


class Box:
    """A room's place in the picture."""

    def __init__(self, room: str, layer: int, top: float, style: tuple[str, str]) -> None:
        self.room, self.layer, self.top = room, layer, top
        self.fill, self.line = style
        self.words = balanced(purpose(room))
        self.height = 16 + LINE * len(self.words)
        self.bottom, self.middle = top + self.height, top + self.height / 2
        self.arrival, self.departure = top + 0.3 * self.height, top + 0.7 * self.height  # of rails

    def svg(self) -> Iterator[str]:
        yield (
            f'<rect x="{LEFT}" y="{self.top:g}" width="{RIGHT - LEFT}" height="{self.height}" rx="5" '
            f'fill="{self.fill}" stroke="{self.line}"/>'
        )
        yield text(LEFT - 12, self.middle + 5, str(self.layer), 'text-anchor="end"')
        yield text(NAME, self.middle + 5, self.room, 'class="name"')
        first = self.middle + 4.5 - LINE * (len(self.words) - 1) / 2
        yield from (text(TEXT, first + LINE * i, line) for i, line in enumerate(self.words))


class Rail:
    """All arrows to one room from rooms that are not its neighbours."""

    def __init__(self, target: Box, sources: list[Box], dashed: bool = False) -> None:
        self.target, self.sources, self.dashed = target, sources, dashed
        ends = [target.arrival, *(source.departure for source in sources)]
        self.top, self.bottom = min(ends), max(ends)
        self.x = 0.0

    def stub(self, source: Box) -> str:
        return self._line(f"M{RIGHT} {source.departure:g}H{self.x:g}")

    def svg(self) -> Iterator[str]:
        yield f'<path d="M{self.x:g} {self.top:g}V{self.bottom:g}" stroke="#fff" stroke-width="5"/>'
        yield self._line(f"M{self.x:g} {self.top:g}V{self.bottom:g}")
        yield self._line(f"M{self.x:g} {self.target.arrival:g}H{RIGHT + 6}")
        yield head(RIGHT + 1, self.target.arrival, "left", self.target.line)
        for source in self.sources:
            yield f'<circle cx="{self.x:g}" cy="{source.departure:g}" r="3" fill="{self.target.line}"/>'

    def _line(self, path: str) -> str:
        dashes = ' stroke-dasharray="4 3"' if self.dashed else ""
        return f'<path d="{path}" stroke="{self.target.line}" stroke-width="1.6"{dashes}/>'


def balanced(words: str) -> list[str]:
    """Return the words in as few lines as possible, of about equal length."""
    count = len(textwrap.wrap(words, LETTERS))
    return next(
        lines for n in range(len(words) // count, LETTERS + 1) if len(lines := textwrap.wrap(words, n)) <= count
    )


def text(x: float, y: float, words: str, attributes: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" {attributes}>{escape(words)}</text>'


def head(x: float, y: float, direction: str, colour: str) -> str:
    """Return an arrowhead with its tip at (x, y)."""
    corners = "l8 -4v8z" if direction == "left" else "l-4 -8h8z"
    return f'<path d="M{x:g} {y:g}{corners}" fill="{colour}"/>'


def stack(rows: list[list[str]], edges: Edges) -> list[Box]:
    """Return the boxes of all rooms, from top to bottom."""
    boxes: list[Box] = []
    for i, row in enumerate(rows):
        for room in row:
            gap = SIBLING_GAP if boxes and boxes[-1].layer == len(rows) - i else GAP
            top = boxes[-1].bottom + gap if boxes else TOP
            boxes.append(Box(room, len(rows) - i, top, STYLES[use(room, edges)]))
    return boxes


def place(rails: list[Rail]) -> None:
    """Give each rail the innermost lane that is free along its length, the shortest first."""
    placed: list[Rail] = []
    for rail in sorted(rails, key=lambda rail: (rail.bottom - rail.top, rail.top)):
        lanes = (RIGHT + LANE * (number + 1.3) for number in range(len(rails)))
        overlapping = {other.x for other in placed if other.top <= rail.bottom and rail.top <= other.bottom}
        rail.x = next(lane for lane in lanes if lane not in overlapping)
        placed.append(rail)


def header() -> Iterator[str]:
    yield text(LEFT, 28, "The rooms of softbandit", f'style="font-size:18px;font-weight:600;fill:{INK}"')
    words = "An arrow means: imports. Arrows that follow from others are left out."
    yield text(WIDTH - 24, 28, words, 'text-anchor="end"')
    x = LEFT
    for kind, words in LEGEND.items():
        fill, line = STYLES[kind]
        yield f'<rect x="{x}" y="43" width="14" height="14" rx="3" fill="{fill}" stroke="{line}"/>'
        yield text(x + 21, 55, words)
        x += 50 + 7 * len(words)
    yield f'<path d="M{x} 50h26" stroke="{STYLES["research"][1]}" stroke-width="1.6" stroke-dasharray="4 3"/>'
    yield text(x + 34, 55, "imported inside a function")


def make_rails(boxes: list[Box], arrows: Edges, exceptions: Edges) -> list[Rail]:
    """Return a rail for each room with arrows from afar, and one for each exception."""
    by_room = {box.room: box for box in boxes}
    sources = {target: [box for box in boxes if (box.room, target.room) in arrows] for target in boxes}
    rails = [Rail(target, from_afar) for target, from_afar in sources.items() if from_afar]
    rails += [Rail(by_room[target], [by_room[source]], dashed=True) for source, target in sorted(exceptions)]
    place(rails)
    return rails


def short_arrows(boxes: list[Box], arrows: Edges) -> Iterator[str]:
    for upper, lower in pairwise(boxes):
        if (upper.room, lower.room) in arrows:
            yield f'<path d="M{SPINE} {upper.bottom:g}V{lower.top - 6:g}" stroke="{lower.line}" stroke-width="1.6"/>'
            yield head(SPINE, lower.top - 1, "down", lower.line)


def svg() -> str:
    """Return the picture."""
    rows, exceptions = layers()
    rooms = {room for row in rows for room in row}
    edges = {edge for edge in imports() - exceptions if set(edge) <= rooms}
    arrows, boxes = without_implied(edges), stack(rows, edges)
    neighbours = {(upper.room, lower.room) for upper, lower in pairwise(boxes)}
    rails = make_rails(boxes, arrows - neighbours, exceptions)
    height, width = boxes[-1].bottom + 24, max(WIDTH, *(rail.x + 23 for rail in rails))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="Helvetica, Arial, sans-serif" fill="none">',
        f"<style>text{{font-size:13px;fill:{PALE_INK}}}.name{{font-size:14px;font-weight:600;fill:{INK}}}</style>",
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#fff"/>',
        *header(),
        *(part for box in boxes for part in box.svg()),
        *short_arrows(boxes, arrows),
    ]
    for source in boxes:  # one line to the farthest rail serves the nearer ones too
        farthest = max((rail for rail in rails if source in rail.sources), key=lambda rail: rail.x, default=None)
        parts += [] if farthest is None else [farthest.stub(source)]
    parts += [part for rail in rails for part in rail.svg()]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(svg())
