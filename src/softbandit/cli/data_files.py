"""`softbandit data`: what is known of the paper's data, where it lies, and how to get it."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from softbandit import validation
from softbandit.cli.shared import console, explained, progress_bar
from softbandit.data.download import fetch as download
from softbandit.data.sources import ABSENT, KNOWN, SOURCES, Source, Status

data = typer.Typer(add_completion=False)


@data.callback(invoke_without_command=True)
def overview(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Option("--data", help="Where to look; else SOFTBANDIT_DATA, else the cache.")
    ] = None,
) -> None:
    """List the paper's data files, where they lie and whether they are the originals; or fetch one."""
    if context.invoked_subcommand is not None:
        return
    with explained():
        table = Table("data", "file", "checksum", "where", show_lines=True)
        for name, source in SOURCES.items():
            found = source.status(folder)
            table.add_row(name, source.known.file, found.checked, Text(_where(source, found), overflow="fold"))
        console.print(table, highlight=False)
        for known in KNOWN.values():
            console.print(f"{known.name}: {known.about}", highlight=False)
            console.print(f"  {known.page}\n  sha256 {known.sha256}", highlight=False)
        console.print("Fetch one with: softbandit data fetch NAME", highlight=False)


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(KNOWN)}.")],
    to: Annotated[Path | None, typer.Option(help="Folder; else SOFTBANDIT_DATA, else the cache.")] = None,
) -> None:
    """Download a data file from its address and check its sha256. Run it again to go on where it broke off."""
    with explained():
        known = validation.named("data", name, KNOWN)
        with progress_bar("bytes") as bar:
            task = bar.add_task(name, total=known.bytes)
            path = download(known, to, lambda done, total: bar.update(task, completed=done))
            bar.update(task, completed=known.bytes)  # where it was there already
        console.print(f"{name}: {path}, sha256 as it should be.", highlight=False, markup=False, soft_wrap=True)
        console.print(f"It was {known.licence}.", highlight=False)


def _where(source: Source[Any], found: Status) -> str:
    if found.checked != ABSENT:
        return str(found.file.parent)
    return f"not in {found.file.parent}" if found.named_by else f"not here: stand-in, {source.stand_in_title}"
