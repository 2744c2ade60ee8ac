"""What the commands share: the console, progress bars, and errors as messages."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from softbandit.errors import SoftbanditError

console = Console(markup=False, emoji=False, highlight=False)  # paths and labels are printed as they are


def progress_bar(unit: str) -> Progress:
    """How much is done of each task, and the time left."""
    columns = (
        TextColumn("{task.description:16}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console)


@contextmanager
def explained() -> Iterator[None]:
    """Errors as one message and exit code 1, not a traceback."""
    try:
        yield
    except (SoftbanditError, OSError) as error:
        complain(f"error: {error}")
        raise typer.Exit(1) from None
    except MemoryError:
        complain("error: this needs more memory than there is. Ask for fewer arms, trials or rounds at a time.")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        complain("Interrupted.")
        raise typer.Exit(130) from None


def complain(message: str) -> None:
    """To the error stream; unwrapped, so that an address or a path in it can be copied whole."""
    Console(stderr=True, markup=False, emoji=False, highlight=False).print(message, soft_wrap=True)
