"""What the commands share: the console, progress bars, and errors as messages."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from softbandit.errors import SoftbanditError

console = Console()


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
        # Unwrapped, so that an address or a path in it can be copied whole.
        Console(stderr=True).print(f"error: {error}", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted.")
        raise typer.Exit(130) from None
