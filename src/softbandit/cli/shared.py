"""Parts that the commands share: the console, progress bars, and errors and warnings as messages."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import typer
from rich import progress
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softbandit.errors import SoftbanditError

console = Console(markup=False, emoji=False, highlight=False)  # paths and labels are printed verbatim


def progress_bar(unit: str | None = None) -> progress.Progress:
    """Return a bar with the number of units done, or the percentage and the time so far, and the time left."""
    percentage = (progress.TaskProgressColumn(), progress.TimeElapsedColumn(), progress.TextColumn("left"))
    done = (progress.MofNCompleteColumn(), progress.TextColumn(unit)) if unit else percentage
    name, left = progress.TextColumn("{task.description:24}"), progress.TimeRemainingColumn()
    return progress.Progress(name, progress.BarColumn(), *done, left, console=console)


def print_table(title: str, names: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print rows of text under the headings `names` and then, aligned to the right, `numbers`."""
    table = Table(title=title, title_justify="left")
    for index, name in enumerate((*names, *numbers)):
        table.add_column(name, justify="left" if index < len(names) else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


@contextmanager
def messages() -> Iterator[None]:
    """Print warnings as notes, and errors as one message with exit code 1, not a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print_error(f"note: {message}")
            yield
    except (SoftbanditError, OSError) as error:
        print_error(f"error: {error}")
        raise typer.Exit(1) from None
    except MemoryError:
        print_error("error: there is not enough memory. Ask for fewer arms, trials or rounds at a time.")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print_error("Interrupted.")
        raise typer.Exit(130) from None


def print_error(message: str) -> None:
    """Print to the error stream, unwrapped, so that an address or a path can be copied whole."""
    Console(stderr=True, markup=False, emoji=False, highlight=False).print(message, soft_wrap=True)
