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
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
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
    return {"space": {}, **plain, **added, "limits": [*plain.get("limits", []), *limits]}


def settings_from(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of `Tuner`, given with parameters and limits as text."""
    _check_form(plain)
    settings = dict(plain)
    for part in {"space", "context"} & settings.keys():
        settings[part] = Space({name: parameter_from(name, text) for name, text in settings[part].items()})
    if "limits" in settings:
        settings["limits"] = [limit_from(text) for text in settings["limits"]]
    if {"baseline", "space"} <= settings.keys():
        settings["baseline"] = values_from(settings["space"], settings["baseline"])
    if "noise" in settings:
        settings["noise"] = {name: json_or_text(text) for name, text in settings["noise"].items()}
    return settings


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


def values_from(space: Space, texts: Mapping[str, Any]) -> Values:
    """Return values from text: the text itself if it is a choice of the parameter, and else what JSON reads."""
    parameters = dict(space.parameters)
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
