"""`softbandit data`: the paper's data files, where they are on this machine, and how to get them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from softbandit import validation
from softbandit.cli.shared import console, messages, progress_bar
from softbandit.data.download import fetch as download
from softbandit.data.sources import ABSENT, KNOWN, SOURCES, Status

data = typer.Typer(add_completion=False)


@data.callback(invoke_without_command=True)
def overview(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Option("--data", help="Folder to look in; else SOFTBANDIT_DATA, else the cache.")
    ] = None,
) -> None:
    """List the paper's data files, where they are and whether they are the originals; or fetch one."""
    if context.invoked_subcommand is not None:
        return
    with messages():
        table = Table("data", "file", "checksum", "where", show_lines=True)
        for name, source in SOURCES.items():
            status = source.status(folder)
            where = Text(_where(status, source.stand_in_title), overflow="fold")
            table.add_row(name, source.known.file, status.checked, where)
        console.print(table)
        for known in KNOWN.values():
            console.print(f"{known.name}: {known.about}")
            console.print(f"  {known.page}\n  sha256 {known.sha256}")
        console.print("Fetch one with: softbandit data fetch NAME")


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(KNOWN)}.")],
    to: Annotated[Path | None, typer.Option(help="Folder; else SOFTBANDIT_DATA, else the cache.")] = None,
) -> None:
    """Download a data file from its address and check its sha256. Run it again to resume a broken download."""
    with messages():
        known = validation.named("data", name, KNOWN)
        with progress_bar("bytes") as bar:
            task = bar.add_task(name, total=known.bytes)
            path = download(known, to, lambda done, total: bar.update(task, completed=done))
            bar.update(task, completed=known.bytes)  # also if it was there before
        console.print(f"{name}: {path}, sha256 is correct.", soft_wrap=True)
        console.print(f"It was {known.licence}.")


def _where(status: Status, stand_in: str) -> str:
    if status.checked != ABSENT:
        return str(status.file.parent)
    return f"not in {status.file.parent}" if status.named_by else f"not here: stand-in, {stand_in}"
