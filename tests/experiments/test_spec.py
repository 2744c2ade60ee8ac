import datetime
import re
import tomllib
from pathlib import Path

import pytest
from softbandit_tests.tiny_experiment import TINY, TOML, tiny, written

import softbandit as sb
from softbandit.experiments.runner import check
from softbandit.experiments.spec import load, parse


def test_load_reads_the_settings_and_the_grid_of_a_file(tmp_path):
    spec = load(written(tmp_path))
    assert (spec.name, spec.horizon, spec.trials, spec.instances) == ("tiny", 40, 6, 3)
    assert list(spec.combinations()) == [{"width_scale": 1.0}, {"width_scale": 0.2}]


def test_the_primary_setting_is_the_first_of_the_grid_by_default():
    assert tiny(primary={}).primary == {"width_scale": 1.0}
    assert tiny(primary={"width_scale": 0.2}).primary == {"width_scale": 0.2}


def test_an_experiment_without_a_grid_has_one_point():
    assert list(tiny(grid={}, primary={}, figures={}).combinations()) == [{}]


def test_a_quick_run_replaces_the_settings_under_quick(tmp_path):
    path = written(tmp_path, TOML + "\n[quick]\nhorizon = 7\n")
    assert load(path).horizon == 40
    assert load(path, quick=True).horizon == 7
    assert load(path, quick=True, trials=2).trials == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"horizn": 3}, "Did you mean 'horizon'"),
        ({"quick": {"trails": 3}}, "Did you mean 'trials'"),
        ({"horizon": 0}, "horizon: expected a whole number from 1 to"),
        ({"trials": "many"}, "trials: expected a whole number"),
        ({"measure": "tme"}, "Did you mean 'time'"),
        ({"problem": {"kind": "rkh"}}, "Did you mean 'rkhs'"),
        ({"problem": {}}, "kind: expected one of"),
        ({"policies": {"ckb-ucbb": {}}}, "Did you mean 'ckb-ucb'"),
        ({"policies": {}}, "at least one"),
        ({"policies": {"ckb-ucb": 3}}, r"Write it as \[policies.ckb-ucb\]"),
        ({"policies": {"ckb-ucb": {"only": {"width_scal": [1]}}}}, "Did you mean 'width_scale'"),
        ({"grid": {"width_scale": 1.0}}, "a list of values"),
        ({"primary": {"width_scal": 1.0}}, "Did you mean 'width_scale'"),
        ({"primary": {"width_scale": 0.5}}, "expected one of"),
        ({"settings": 3}, r"Write it as \[settings\]"),
        ({"title": 5}, "title: expected text"),
        ({"about": 5}, "about: expected text"),
        ({"quick": 3}, r"Write it as \[quick\]"),
        ({"quick": {"quick": {}}}, "expected one of"),
        ({"engine": "jx"}, "Did you mean 'jax'"),
        ({"problem": {"kind": "rkhs", "noise": datetime.date(2020, 1, 1)}}, "text, numbers or true and false"),
        ({"problem": {"kind": "rkhs", "seed": 3}}, "none with several instances"),
        ({"grid": {"width_scale": [1, 1.0]}, "primary": {}}, "different values"),
        ({"grid": {"policy": ["gp-ucb"]}, "primary": {}}, "the name of a setting"),
        ({"settings": {"policy": "gp-ucb"}}, "the name of a setting"),
        ({"grid": {"width_scale": list(range(50_000))}, "primary": {}}, "at most 100,000 runs"),
        ({"policies": {"ckb-ucb": {"only": 3}}}, "expected a table"),
        ({"policies": {"ckb-ucb": {"only": {"width_scale": 1.0}}}}, "some of"),
        ({"policies": {"ckb-ucb": {"only": {"width_scale": [7]}}}}, "some of"),
        ({"policies": {"ckb-ucb": {"only": {"width_scale": [1.0, datetime.date(2020, 1, 1)]}}}}, "text, numbers"),
        ({"grid": {"width_scale": [10**400]}, "primary": {}}, "whole numbers up to"),
        ({"trials": 10**9}, "trials: expected a whole number from 1 to 1000000"),
        ({"horizon": 10**9, "trials": 6, "instances": 3}, "at most 1,000,000,000 rounds"),
        ({"seed": 2**64 - 1}, "seed: expected a whole number from 0 to"),
        (
            {"figures": {"f": {"kind": "heat", "y": "regret", "rows": "maximiser", "columns": "maximiser"}}},
            "that differ",
        ),
        ({"measure": "time", "figures": {"f": {"kind": "times", "x": "maximiser"}}}, "expected one of"),
        (
            {
                "measure": "time",
                "grid": {"explore": ["ts"]},
                "primary": {},
                "figures": {"f": {"kind": "times", "x": "explore"}},
            },
            "numbers above 0",
        ),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_place(changes, says):
    with pytest.raises(sb.ArgumentError, match=says) as caught:
        tiny(**changes)
    assert str(caught.value).startswith("tiny.toml")


@pytest.mark.parametrize("missing", ["title", "problem", "policies", "horizon"])
def test_a_missing_key_is_named(missing):
    content = {key: value for key, value in TINY.items() if key != missing}
    with pytest.raises(sb.ArgumentError, match=f"tiny.toml: expected a {missing}"):
        parse(content, "tiny")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"settings": {"width_scal": 1.0}}, "Did you mean 'width_scale'"),
        ({"policies": {"ckb-ucb": {"slak": 0.1}}}, "policy ckb-ucb.*Did you mean 'slack'"),
        ({"problem": {"kind": "rkhs", "arm": 10}}, "Did you mean 'arms'"),
        ({"grid": {"problem.nois": [0.1]}, "primary": {}, "figures": {}}, "Did you mean 'noise'"),
        ({"policies": {"ckb": {"explore": {"law": "unifrm"}}}}, "Did you mean 'uniform'"),
        (
            {"policies": {"ckb": {"explore": {"law": "uniform", "point": 3}}}},
            "settings of the UniformDiscrete",
        ),
        ({"policies": {"stageopt": {"safe": "safe"}}}, "Did you mean 'safest'"),
        ({"settings": {"width": "without gain", "confidence": -1}}, "a number in .0, 1."),
        ({"settings": {"width": "without gain", "confidence": "x"}}, "a number"),
        ({"problem": {"kind": "measured"}}, "missing 1 required positional argument: 'name'"),
        ({"settings": {"name": "x"}}, "settings of ckb-ucb"),
        ({"policies": {"ckb-ucb": {"arms": [[0.0], [1.0]]}}}, "the problem's arms"),
        ({"problem": {"kind": "wireless"}, "policies": {"safeopt": {}}, "instances": 1}, "one that takes contexts"),
        ({"policies": {"autopilot": {}}, "grid": {}, "primary": {}, "figures": {}, "engine": "jax"}, "do not compile"),
        (
            {"measure": "time", "grid": {"problem.arms": [5, -5]}, "primary": {}, "figures": {}},
            "arms: expected",
        ),
    ],
)
def test_settings_of_problems_and_policies_are_checked_before_the_work(changes, says):
    with pytest.raises(sb.ArgumentError, match=says) as caught:
        check(tiny(**changes), None)
    assert str(caught.value).startswith("tiny.toml")


def test_a_file_that_is_not_toml_is_refused(tmp_path):
    with pytest.raises(sb.ArgumentError, match=r"tiny.toml: expected a TOML file.*line 1"):
        load(written(tmp_path, "title = = 3"))
    with pytest.raises(sb.FileError, match="expected an experiment as a TOML file"):
        load(tmp_path / "none.toml")
    (tmp_path / "picture.toml").write_bytes(b"\x89PNG\xff")
    with pytest.raises(sb.FileError, match="expected an experiment as a TOML file"):
        load(tmp_path / "picture.toml")
    with pytest.raises(sb.FileError, match="expected an experiment as a TOML file"):
        load(tmp_path)


@pytest.mark.parametrize("text", ["seed = " + "9" * 5000, "about = " + "[" * 5000, "a" + ".a" * 5000 + " = 1"])
def test_a_file_of_absurd_size_or_depth_is_refused(tmp_path, text):
    with pytest.raises(sb.ArgumentError, match="tiny.toml"):
        load(written(tmp_path, f"{text}\n{TOML}"))


@pytest.mark.parametrize("name", ["..", ".", ".hidden", "two\nlines", "bell\a"])
def test_a_name_that_cannot_be_a_folder_in_out_is_refused(name):
    with pytest.raises(sb.ArgumentError, match="does not start with a dot, of printable characters"):
        parse(TINY, name)


def test_the_example_in_the_docs_is_a_valid_experiment():
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text()
    (text,) = re.findall(r"```toml\n(.*?)```", page, flags=re.S)
    spec = parse(tomllib.loads(text), "docs")
    check(spec, None)
