"""`softbandit tune`: live tuning from shell scripts and cron. Values are printed as NAME=VALUE lines, or as JSON."""

import json
import re
import shlex
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from softbandit.cli.shared import messages
from softbandit.domains import Values
from softbandit.errors import ArgumentError, Description
from softbandit.tuner import DEFAULT_STORE, Tuner, tuners
from softbandit.tuner.reporting import history_table
from softbandit.tuner.words import from_text

tune = typer.Typer(no_args_is_help=True, add_completion=False)

Name = Annotated[str, typer.Argument(help="The name of the tuner.")]
Store = Annotated[
    str, typer.Option(envvar="SOFTBANDIT_STORE", help="A SQLite file, or the URL of a PostgreSQL database.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Texts = list[str] | None
File = Annotated[Path | None, typer.Option(help="A TOML file with the settings; options add to it.")]
Parameters = Annotated[Texts, typer.Option(help="Such as 'clients=Integer(1, 16)'; may be repeated.")]
Contexts = Annotated[Texts, typer.Option(help="Such as 'hour=Cyclic(24)'; may be repeated.")]
Maximize = Annotated[str | None, typer.Option(help="The metric to maximise,")]
Minimize = Annotated[str | None, typer.Option(help="or the one to minimise.")]
Limits = Annotated[Texts, typer.Option(help="Such as 'Mean(\"ms\", at_most=12)'; may be repeated.")]
Baseline = Annotated[Texts, typer.Option(help="NAME=VALUE of a known-good configuration.")]
Noise = Annotated[Texts, typer.Option(help="METRIC=NUMBER where the noise is known.")]
Setting = Annotated[
    Texts, typer.Option(help="NAME=VALUE: rounds, forget, explore_share, deadline, or (in init) seed; may be repeated.")
]
NOT_IN_NAMES = r"\W"
Context = Annotated[Texts, typer.Option(help="NAME=VALUE of the round's context; may be repeated.")]


@tune.callback()
def about() -> None:
    """Tune a live system: ask for values, try them, tell what was measured."""


@tune.command()
def init(
    name: Name,
    store: Store = DEFAULT_STORE,
    file: File = None,
    parameter: Parameters = None,
    context: Contexts = None,
    maximize: Maximize = None,
    minimize: Minimize = None,
    limit: Limits = None,
    baseline: Baseline = None,
    noise: Noise = None,
    setting: Setting = None,
) -> None:
    """Create a tuner. If the store has it already, check that its settings are the same."""
    with messages():
        tables = {"space": parameter, "context": context, "baseline": baseline, "noise": noise}
        goal = {key: metric for key, metric in (("maximize", maximize), ("minimize", minimize)) if metric is not None}
        plain = {"space": {}} | _plain(file, tables, limit, setting) | goal
        typer.echo(repr(Tuner(name, store=store, **from_text.settings_from(plain))))  # which hides passwords


@tune.command()
def change(
    name: Name,
    store: Store = DEFAULT_STORE,
    file: File = None,
    parameter: Parameters = None,
    limit: Limits = None,
    baseline: Baseline = None,
    noise: Noise = None,
    setting: Setting = None,
) -> None:
    """Change settings, keep what was learned, and print what is different.

    Limits that are given are the new limits, all of them. A parameter is added, or replaces the one of its name.
    """
    with messages():
        tuner = Tuner.open(name, store)
        before = tuner.description
        tables = {"space": parameter, "baseline": baseline, "noise": noise}
        tuner.change(**from_text.settings_from(_plain(file, tables, limit, setting), before))
        typer.echo("\n".join(before.differences(tuner.description)) or "Nothing is different.")


@tune.command()
def ask(name: Name, store: Store = DEFAULT_STORE, context: Context = None, as_json: Json = False) -> None:
    """Print the id of the next round and the values to try, such as id=7 and clients=4; for a shell: eval "$(...)"."""
    with messages():
        tuner = Tuner.open(name, store)
        suggestion = tuner.ask(_context(tuner, context))
        if as_json:
            _print_json({"id": suggestion.id, "kind": suggestion.kind, "values": suggestion.values})
        else:
            _print_assignments({"id": suggestion.id}, suggestion.values)


@tune.command()
def tell(
    name: Name,
    id: Annotated[int, typer.Argument(help="The id of the round.")],
    metrics: Annotated[Texts, typer.Argument(help="METRIC=NUMBER, such as rows_per_s=41200.")] = None,
    failed: Annotated[str | None, typer.Option(help="Why the round failed, in place of metrics.")] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Tell what was measured in a round, or that it failed. It is on disk when the command ends."""
    with messages():
        given = {"failed": failed, **from_text.values_from({}, from_text.pairs_from("metrics", metrics or []))}
        Tuner.open(name, store).tell(id, **given)


@tune.command()
def status(name: Name, store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """Print limits and how far they are used, the reward against the baseline, and the recommended values."""
    with messages():
        now = Tuner.open(name, store).status()
        _print_json(now.to_json()) if as_json else typer.echo(str(now))


@tune.command()
def history(name: Name, store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """Print all rounds as CSV, or as one JSON object per line."""
    with messages():
        rounds = Tuner.open(name, store).history()
        if not as_json:
            typer.echo(history_table.csv_text(rounds), nl=False)
            return
        for row in history_table.rows_of(rounds):
            _print_json(row)


@tune.command()
def recommend(name: Name, store: Store = DEFAULT_STORE, context: Context = None, as_json: Json = False) -> None:
    """Print the values to keep, by what is known now."""
    with messages():
        tuner = Tuner.open(name, store)
        best = tuner.recommend(_context(tuner, context))
        if as_json:
            expected = {"metric": best.metric._asdict(), "limits": [limit._asdict() for limit in best.limits]}
            _print_json({"values": best.values, **expected, "feasible": best.feasible})
        else:
            _print_assignments({}, best.values)


@tune.command()
def observe(
    name: Name,
    file: Annotated[Path, typer.Argument(help="A .csv file with a header, or one with a JSON object in each line.")],
    store: Store = DEFAULT_STORE,
) -> None:
    """Learn from what was measured without asking, such as last week's log. It counts in no limit."""
    with messages():
        tuner = Tuner.open(name, store)
        rows = from_text.rows_from(file, tuner.description)
        tuner.observe(rows)
        typer.echo(f"Measurements: {len(rows)}")


@tune.command()
def pause(name: Name, store: Store = DEFAULT_STORE) -> None:
    """Suggest the baseline, or the best known values without one, until `resume`."""
    with messages():
        Tuner.open(name, store).pause()


@tune.command()
def resume(name: Name, store: Store = DEFAULT_STORE) -> None:
    """Tune again after `pause`."""
    with messages():
        Tuner.open(name, store).resume()


@tune.command()
def export(
    name: Name, file: Annotated[Path, typer.Argument(help="The file to write.")], store: Store = DEFAULT_STORE
) -> None:
    """Write the whole log as JSON lines."""
    with messages():
        Tuner.open(name, store).export(file)
        typer.echo(f"Log: {file}")


@tune.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `export` wrote.")], store: Store = DEFAULT_STORE
) -> None:
    """Put an exported tuner into a store that has none of its name."""
    with messages():
        typer.echo(repr(Tuner.restore(file, store)))


@tune.command("list")
def list_tuners(store: Store = DEFAULT_STORE) -> None:
    """Print the names of the tuners in a store."""
    with messages():
        for name in tuners(store):
            typer.echo(name)


@tune.command()
def plot(
    name: Name,
    out: Annotated[Path | None, typer.Option(help="A .png, .pdf or .svg file; NAME.png by default.")] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Draw budget used, reward, price, and the effect of each parameter at the recommended values."""
    with messages():
        path = out or Path(f"{re.sub(NOT_IN_NAMES, '_', name)}.png")
        Tuner.open(name, store).plot(path)
        typer.echo(f"Figure: {path}")


def _plain(file: Path | None, tables: Mapping[str, Texts], limits: Texts, settings: Texts) -> dict[str, Any]:
    """Return the settings that a file and options give, as text."""
    plain = {} if file is None else from_text.read_settings(file)
    plain |= from_text.values_from({}, from_text.pairs_from("setting", settings or []))
    return from_text.add_options(plain, {part: texts or [] for part, texts in tables.items()}, limits or [])


def _context(tuner: Tuner, texts: Texts) -> Values | None:
    given, space = from_text.pairs_from("context", texts or []), tuner.description.context
    return given or None if space is None else from_text.values_from(dict(space.parameters), given)


def _print_assignments(first: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Print lines that a shell can evaluate: names with underscores in place of other characters, values quoted."""
    names = [re.sub(NOT_IN_NAMES, "_", name, flags=re.ASCII) for name in [*first, *values]]
    if len(set(names)) < len(names) or any(name[:1].isdigit() for name in names):
        got = Description(", ".join(names))
        raise ArgumentError.of("parameters", "different names that a shell accepts", got, "Use --json.")
    for name, value in zip(names, [*first.values(), *values.values()], strict=True):
        typer.echo(f"{name}={shlex.quote(value if isinstance(value, str) else json.dumps(value))}")


def _print_json(value: Mapping[str, Any]) -> None:
    typer.echo(json.dumps(value, default=datetime.isoformat))
