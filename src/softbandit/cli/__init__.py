"""The command line. Every command prints its results and the paths of the files that it wrote."""

import typer
from rich.padding import Padding
from rich.text import Text

from softbandit import __version__
from softbandit.baselines import POLICIES
from softbandit.cli.data_files import data
from softbandit.cli.demonstration import demo
from softbandit.cli.experiments import reproduce, run
from softbandit.cli.shared import console
from softbandit.cli.tuning import tune

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def about() -> None:
    """Choose actions online so that reward is high while soft constraints hold over time."""


@app.command()
def version() -> None:
    """Print the version."""
    console.print(__version__)


@app.command()
def policies() -> None:
    """List the policies: what each does, who published it, which settings it needs, what it guarantees."""
    for name, (_, about) in POLICIES.items():
        console.print(Text.assemble((name, "bold"), f"  ({about.citation})"))
        for text in (about.idea, f"needs: {about.needs}", f"guarantees: {about.guarantee}"):
            console.print(Padding(text, (0, 0, 0, 4)))


for command in (demo, run, reproduce):
    app.command()(command)
app.add_typer(data, name="data")
app.add_typer(tune, name="tune")
