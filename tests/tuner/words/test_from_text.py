import pytest
from softbandit_tests.examples_of import PARAMETERS

import softbandit as sb
from softbandit.tuner.words import from_text

FILE = """
maximize = "rows_per_s"
limits = ['Mean("latency_ms", at_most=12)', 'Share("latency_ms", above=50, at_most=0.01, over=500)']
rounds = 500
forget = "auto"

[space]
clients = "Integer(1, 16)"
codec = 'Categorical(["zstd", "lz4"])'

[baseline]
clients = 4
codec = "zstd"

[noise]
latency_ms = 2
"""


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_is_read_as_it_is_written_in_python(name):
    parameter, _ = PARAMETERS[name]
    assert repr(from_text.parameter_from("p", repr(parameter))) == repr(parameter)
    assert from_text.parameter_from("p", f" sb.{parameter!r}") == parameter


@pytest.mark.parametrize("limit", [sb.Mean("ms", at_most=12), sb.Share("ms", below=1, at_most=0.1, over=5)])
def test_a_limit_is_read_as_it_is_written_in_python(limit):
    assert from_text.limit_from(repr(limit)) == limit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Integer(1, 16", "clients: expected text such as Integer"),
        ("Integer", "clients: expected text such as Integer"),
        ("Integer(1, open('x'))", "clients: expected text such as Integer"),
        ("__import__('os').system('true')", "clients: expected one of"),
        ("Integr(1, 16)", "Did you mean 'Integer'"),
        ('Mean("ms", at_most=12)', "clients: expected one of 'Categorical'"),
        ("Integer(1)", "clients: expected text such as Integer.*high"),
        ("Integer(1, 16, step=2)", "step"),
        ("Integer(16, 1)", "low < high"),
        ("(" * 2000, "clients: expected text such as Integer"),
        (3, "clients: expected text"),
    ],
)
def test_other_text_is_refused_and_nothing_is_executed(text, message):
    with pytest.raises(sb.ArgumentError, match=message):
        from_text.parameter_from("clients", text)


def test_the_settings_of_a_tuner_are_read_from_a_file(tmp_path):
    (tmp_path / "tuner.toml").write_text(FILE)
    settings = from_text.settings_from(from_text.read_settings(tmp_path / "tuner.toml"))
    assert dict(settings["space"].parameters) == {
        "clients": sb.Integer(1, 16),
        "codec": sb.Categorical(["zstd", "lz4"]),
    }
    assert settings["limits"] == [
        sb.Mean("latency_ms", at_most=12),
        sb.Share("latency_ms", above=50, at_most=0.01, over=500),
    ]
    assert settings["baseline"] == {"clients": 4, "codec": "zstd"}
    rest = {name: settings[name] for name in ("maximize", "rounds", "forget", "noise")}
    assert rest == {"maximize": "rows_per_s", "rounds": 500, "forget": "auto", "noise": {"latency_ms": 2}}


def test_a_file_that_is_missing_or_no_toml_is_refused(tmp_path):
    with pytest.raises(sb.FileError, match="could not be read"):
        from_text.read_settings(tmp_path / "tuner.toml")
    (tmp_path / "tuner.toml").write_text("space = {")
    with pytest.raises(sb.FileError, match="is not a TOML file"):
        from_text.read_settings(tmp_path / "tuner.toml")


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"limit": []}, "setting: expected one of.*Did you mean 'limits'"),
        ({"space": "Integer(1, 16)"}, r"space: expected names and values.*Write a table \[space\]"),
        ({"limits": 'Mean("ms", at_most=12)'}, "limits: expected a list of limits"),
        ({"space": {"n": 3}}, "n: expected text"),
    ],
)
def test_settings_of_another_form_are_refused(plain, message):
    with pytest.raises(sb.ArgumentError, match=message):
        from_text.settings_from(plain)


def test_values_are_read_as_the_parameter_takes_them():
    choices = sb.Categorical(["1", 1, "a", True, (64, 64)])
    space = sb.Space({"n": sb.Integer(1, 9), "x": sb.Float(0, 1), "k": choices, "t": sb.Fixed("5")})
    texts = {"n": "4", "x": "0.25", "k": "1", "t": "5", "gone": "3"}
    assert from_text.values_from(dict(space.parameters), texts) == {"n": 4, "x": 0.25, "k": "1", "t": "5", "gone": 3}
    for text, value in {"a": "a", "true": True, "[64, 64]": [64, 64]}.items():
        assert from_text.values_from(dict(space.parameters), {"k": text}) == {"k": value}


@pytest.mark.parametrize("texts", [["clients"], ["=4"], ["a=1", "a=2"]])
def test_a_value_needs_a_name_that_is_given_once(texts):
    with pytest.raises(sb.ArgumentError, match="baseline: expected NAME=VALUE, each name once"):
        from_text.pairs_from("baseline", texts)


def test_a_value_may_contain_an_equals_sign():
    assert from_text.pairs_from("x", ["a=b=c"]) == {"a": "b=c"}
