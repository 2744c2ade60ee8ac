"""The command line. Every command prints its results and the paths of the files that it wrote."""

from typing import Annotated

import typer

from softbandit import __version__
from softbandit.cli.data_files import data
from softbandit.cli.demonstration import demo
from softbandit.cli.experiments import reproduce, run
from softbandit.cli.policy_list import policies
from softbandit.cli.shared import console
from softbandit.cli.tuning import tune

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(__version__)
        raise typer.Exit()


@app.callback()
def about(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Choose actions online so that reward is high while soft constraints hold over time."""


@app.command()
def version() -> None:
    """Print the version."""
    console.print(__version__)


for command in (policies, demo, run, reproduce):
    app.command()(command)
app.add_typer(data, name="data")
app.add_typer(tune, name="tune")
