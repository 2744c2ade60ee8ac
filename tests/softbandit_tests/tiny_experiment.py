"""A small experiment, as a Python dictionary and as a TOML file."""

from pathlib import Path

from softbandit.experiments.spec import parse

TINY = {
    "title": "Tiny",
    "horizon": 40,
    "trials": 6,
    "instances": 3,
    "points": 5,
    "problem": {"kind": "rkhs", "arms": 12, "noise": 0.1},
    "policies": {"ckb-ucb": {}, "queue": {"policy": "ckb-rand", "dual": "queue"}, "stageopt": {}},
    "grid": {"width_scale": [1.0, 0.2]},
    "primary": {"width_scale": 1.0},
    "figures": {"one": {"kind": "curves", "y": ["strong_regret", "violation"], "panels": ["width_scale"]}},
}

TOML = """
title = "Tiny"
horizon = 40
trials = 6
instances = 3
points = 5

[problem]
kind = "rkhs"
arms = 12
noise = 0.1

[policies.ckb-ucb]
[policies.stageopt]

[grid]
width_scale = [1.0, 0.2]

[primary]
width_scale = 1.0

[figures.one]
kind = "curves"
y = "strong_regret"
panels = ["width_scale"]
"""


def tiny(**changes):
    return parse({**TINY, **changes}, "tiny")


def written(folder: Path, text: str = TOML) -> Path:
    path = folder / "tiny.toml"
    path.write_text(text)
    return path
