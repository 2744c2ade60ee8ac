"""Drawing that all figures share. Nothing here touches a display."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softbandit.errors import ArgumentError, needs_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe & Ito: safe for the colour-blind
FORMATS = (".png", ".pdf", ".svg")

Floats = NDArray[np.float64]


def draw_band(axes: "Axes", x: Floats, band: Floats, label: str, colour: str, line: str = "-") -> None:
    """Draw a line and the area around it: band holds its height, the lower edge and the upper edge (3, points)."""
    axes.plot(x, band[0], color=colour, ls=line, label=label, lw=1.5)
    axes.fill_between(x, band[1], band[2], color=colour, alpha=0.18, lw=0)


def finish(axes: "Axes", title: str, xlabel: str, ylabel: str) -> None:
    """Write the title and the labels, and remove the box."""
    axes.set_title(title, size=10)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.spines[["top", "right"]].set_visible(False)


def figure_path(path: Path, name: str) -> Path:
    """Return the file for a figure: `path`, or `name` in it if it is a folder. Checks what saving needs."""
    _matplotlib()
    if os.path.isdir(path):  # False, and no error, for a name that is too long
        return path / name
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError.of("figure", f"a name ending in {', '.join(FORMATS)}", str(path), "Rename it.")
    return path


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure; sizes are in inches."""
    return _matplotlib()(figsize=(width, height), dpi=150)


def _matplotlib() -> type["Figure"]:
    with needs_extra("matplotlib", "plot"):
        from matplotlib.figure import Figure
    return Figure
