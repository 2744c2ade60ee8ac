"""`softbandit policies`: what each policy does, who published it, which settings it needs, what it guarantees."""

import inspect
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from softbandit import validation
from softbandit.baselines import POLICIES, settings_of
from softbandit.cli.shared import console, messages


def policies(
    name: Annotated[str | None, typer.Argument(help="A policy, to see its settings too.")] = None,
) -> None:
    """List the policies: what each does, who published it, which settings it needs, what it guarantees."""
    with messages():
        for each in POLICIES if name is None else [name]:
            _print_policy(each)
        if name is not None:
            _print_indented(f"settings: {', '.join(map(_setting, settings_of(name).values()))}")
            _print_indented(f"in Python: sb.baselines.make({name!r}, **problem.settings(), horizon=1000)")


def _print_policy(name: str) -> None:
    _, about = validation.named("policy", name, POLICIES)
    console.print(Text.assemble((name, "bold"), f"  ({about.citation})"))
    for text in (about.idea, f"needs: {about.needs}", f"guarantees: {about.guarantee}"):
        _print_indented(text)


def _print_indented(text: str) -> None:
    console.print(Padding(text, (0, 0, 0, 4)))


def _setting(parameter: inspect.Parameter) -> str:
    """Return a setting as text, with its default if it has one."""
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
