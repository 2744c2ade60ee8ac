"""Descriptions and values from text, for files and the command line.

Parameters and limits are written as in Python, such as `Integer(1, 16)` or `Mean("latency_ms", at_most=12)`. They are
parsed, not executed. Values are written as JSON, or as plain text. A file has the settings of `Tuner`:

    maximize = "rows_per_s"
    limits = ['Mean("latency_ms", at_most=12)']
    rounds = 500

    [space]
    clients = "Integer(1, 16)"
    codec = 'Categorical(["zstd", "lz4"])'

    [baseline]
    clients = 4
    codec = "zstd"
"""

import ast
import csv
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from softbandit import validation
from softbandit.domains import Parameter, Space, Values
from softbandit.errors import ArgumentError, Description, FileError
from softbandit.tuner.words import description
from softbandit.tuner.words.description_json import KINDS
from softbandit.tuner.words.limits import Limit

SETTINGS = ({f.name for f in fields(description.Description)} - {"metric"}) | {"minimize"}
TABLES = {"space", "context", "baseline", "noise"}
EXAMPLES: dict[type[Any], str] = {Parameter: "Integer(1, 16)", Limit: 'Mean("latency_ms", at_most=12)'}


def parameter_from(what: str, text: object) -> Parameter:
    result: Parameter = _object_from(what, text, Parameter)
    return result


def limit_from(text: object) -> Limit:
    result: Limit = _object_from("limit", text, Limit)
    return result


def _object_from(what: str, text: object, kind: type[Any]) -> Any:
    """Return the parameter or limit that a call such as `Integer(1, 16)` builds."""
    expected, remedy = f"text such as {EXAMPLES[kind]}", "Write it as in Python."
    try:
        call = ast.parse(validation.text(what, text).strip(), mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError
        name = ast.unparse(call.func).removeprefix("sb.")
        positional = [ast.literal_eval(argument) for argument in call.args]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ArgumentError.of(what, expected, text, remedy) from None
    build = validation.named(what, name, {known: k for known, k in KINDS.items() if issubclass(k, kind)})
    try:
        return build(*positional, **named)
    except TypeError as error:
        raise ArgumentError.of(what, expected, Description(f"{text}: {error}"), remedy) from None


def read_settings(path: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path} could not be read: {error}. Check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path} is not a TOML file: {error}. Correct it there.") from error


def add_options(plain: Mapping[str, Any], tables: Mapping[str, Sequence[str]], limits: Sequence[str]) -> dict[str, Any]:
    """Return settings with NAME=VALUE texts added to their tables, and further limits."""
    _check_form(plain)
    added = {part: {**plain.get(part, {}), **pairs_from(part, texts)} for part, texts in tables.items() if texts}
    more = {"limits": [*plain.get("limits", []), *limits]} if limits else {}
    return {**plain, **added, **more}


def settings_from(plain: Mapping[str, Any], before: description.Description | None = None) -> dict[str, Any]:
    """Return the settings of `Tuner`, given with parameters and limits as text.

    What is named is added to the space, context, baseline and noise of before.
    """
    _check_form(plain)
    settings, old = dict(plain), {part: _entries(before, part) for part in TABLES}
    for part in {"space", "context"} & settings.keys():
        named = {name: parameter_from(name, text) for name, text in settings[part].items()}
        settings[part] = Space(old[part] | named)
    if "limits" in settings:
        settings["limits"] = [limit_from(text) for text in settings["limits"]]
    if "baseline" in settings:
        parameters = dict(settings["space"].parameters) if "space" in settings else old["space"]
        settings["baseline"] = old["baseline"] | values_from(parameters, settings["baseline"])
    if "noise" in settings:
        settings["noise"] = old["noise"] | values_from({}, settings["noise"])
    return settings


def _entries(described: description.Description | None, part: str) -> dict[str, Any]:
    """Return the entries of a part by name."""
    entries = getattr(described, part, None) or {}
    return dict(entries.parameters if isinstance(entries, Space) else entries)


def _check_form(plain: Mapping[str, Any]) -> None:
    """Refuse unknown settings, and those of another form."""
    for name in plain:
        validation.named("setting", name, dict.fromkeys(SETTINGS))
    for part in TABLES & plain.keys():
        validation.instance(part, plain[part], Mapping, "names and values", f"Write a table [{part}].")
    validation.listed("limits", plain.get("limits", []), "a list of limits", "Write limits = [...].")


def pairs_from(what: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the names and values of texts such as "clients=4"."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or name in pairs:
            raise ArgumentError.of(what, "NAME=VALUE, each name once", text, "For example clients=4.")
        pairs[name] = value
    return pairs


def rows_from(path: Path, described: description.Description) -> list[Any]:
    """Return the rows of a CSV file with a header, or the objects in a file of JSON lines."""
    parameters = _entries(described, "space") | _entries(described, "context")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            if path.suffix == ".csv":
                return [values_from(parameters, row) for row in _csv_rows(file)]
            return [json.loads(line) for line in file if line.strip()]
    except OSError as error:
        raise FileError(f"{path} could not be read: {error}. Check the path.") from error
    except (csv.Error, ValueError) as error:
        remedy = "Pass a .csv file with a header, or a file with a JSON object in each line."
        raise FileError(f"{path} could not be read: {error}. {remedy}") from error


def _csv_rows(file: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the cells of each row by name, without the empty ones."""
    reader = csv.DictReader(file, strict=True)
    for row in reader:
        if None in row:
            raise ValueError(f"line {reader.line_num} has more cells than the header")
        yield {name: cell for name, cell in row.items() if cell}


def values_from(parameters: Mapping[str, Parameter], texts: Mapping[str, Any]) -> Values:
    """Return values from text: the text itself if it is a choice of the parameter, and else what JSON reads."""
    return {name: _value_from(parameters.get(name), text) for name, text in texts.items()}


def _value_from(parameter: Parameter | None, text: Any) -> Any:
    if parameter is not None:  # an unknown name is refused later
        with suppress(ArgumentError):
            parameter.encode("value", text)
            return text
    return json_or_text(text)


def json_or_text(text: Any) -> Any:
    """Return what JSON reads, or the text if that is no JSON; another value as it is."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
