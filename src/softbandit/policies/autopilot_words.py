"""Descriptions of what Autopilot has learned, in words, for `print(agent)`."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from softbandit.backend import Floats
from softbandit.backend.display import assigned
from softbandit.policies.autopilot_remarks import names
from softbandit.policies.dependence import influences

if TYPE_CHECKING:
    from softbandit.policies.autopilot_knowledge import Knowledge
    from softbandit.policies.output_models import OutputModel

WIDTH = 79
MOST_OUTPUTS = 5  # described one by one
MOST_PARAMETERS = 6  # named in a line
HARDLY = 0.05  # a parameter that causes less than this share of the variance hardly matters


def learned_lines(known: "Knowledge") -> list[str]:
    """Return at most 14 lines: two for each output, and the best point so far."""
    if not known.models:
        return ["nothing learned yet"]
    outputs = list(enumerate(zip(names(known), known.models, strict=True)))
    lines = [line for i, (name, model) in outputs[:MOST_OUTPUTS] for line in _output(known, i, name, model)]
    rest = len(outputs) - MOST_OUTPUTS
    lines += [f"and {rest} more limit{'s' * (rest > 1)}"] if rest > 0 else []
    return [line if len(line) <= WIDTH else line[: WIDTH - 4] + " ..." for line in [*lines, *_best(known)]]


def _output(known: "Knowledge", i: int, name: str, model: "OutputModel") -> Iterator[str]:
    """Yield what was observed of an output, and what it depends on."""
    y, noise = known.Y[known.since :, i], _noise(known, i)
    mean = f"mean {y.mean():.4g}" if len(y) else "no round since its limit was changed"
    limit = [] if i == 0 or not len(y) else [f"{side(y, noise)} its limit of 0"]
    price = [] if i == 0 else [f"price {known.outlook.phi[i - 1]:.3g}"]
    n = int((known.counted[:, i] != known.Y[:, i]).sum())
    outliers = [f"{n} outlier{'s' * (n > 1)}"] if n else []
    yield f"{name}: " + ", ".join([mean, *limit, *price, f"noise {noise:.3g}", *outliers])
    yield "  " + "; ".join([_dependence(known, i), *_shape(model)])


def side(costs: Floats, noise: float) -> str:
    """Return on which side of its limit a mean cost is; "at" if it is above by less than two standard errors."""
    mean, error = float(costs.mean()), noise / math.sqrt(len(costs))
    return "within" if mean <= 0 else "at" if mean <= 2 * error else "above"


def _noise(known: "Knowledge", i: int) -> float:
    """Return the noise's standard deviation in the user's units; with a transform, at the median."""
    units, effects, _ = known.models[i]
    slope = np.hypot(np.median(known.Y[:, i]) - units.zero, units.bend) if units.bend else 1.0
    return float(slope * units.spread * math.sqrt(effects.noise))


def _shape(model: "OutputModel") -> Iterator[str]:
    """Yield how rough an output is, and on which scale it is modelled."""
    own, bend = model.effects.own / (model.effects.signal + model.effects.own), model.units.bend
    yield f"{own:.0%} rough" if own >= 0.01 else "smooth"
    if bend:
        yield f"log scale beyond {bend:.3g}"


def _dependence(known: "Knowledge", i: int) -> str:
    """Name the parameters that matter, the most important first, with the share of the variance that each causes."""
    found = sorted(influences(known, i).items(), key=lambda pair: -pair[1])
    strong = [f"{name} ({share:.0%})" for name, share in found if share >= HARDLY]
    more = ["..."] if len(strong) > MOST_PARAMETERS else []
    return "depends on " + (", ".join(strong[:MOST_PARAMETERS] + more) or "no parameter")


def _best(known: "Knowledge") -> Iterator[str]:
    """Yield the best observed point by the posterior means: of those within the limits, the largest reward.

    With contexts there is one for each, and too many to list.
    """
    if known.policy.context is not None:
        return
    observed = np.unique(known.where) if known.posteriors else np.arange(len(np.unique(known.X, axis=0)))
    f, *g = (
        model.units.moments(mean[observed], variance[observed], model.effects.noise)[0]
        for model, (mean, variance) in zip(known.models, known.outlook.moments, strict=True)
    )
    costs = np.array(g).reshape(-1, len(f))
    excess = (np.maximum(costs, 0.0) / known.spreads[1:, None]).sum(axis=0)
    i = int(np.lexsort((-f, excess))[0])
    kept = ("within the limits" if excess[i] == 0 else "with the least violation") if len(costs) else "by its mean"
    cost = ", ".join(f"{value:.3g}" for value in costs[:, i])
    yield f"best point so far, {kept}: reward {f[i]:.4g}" + (f", cost {cost}" if cost else "")
    yield f"  {_place(known, int(observed[i]))}"


def _place(known: "Knowledge", candidate: int) -> str:
    arm, x = known.outlook.where[candidate], known.outlook.points[candidate]
    values = None if known.policy.space is None else known.policy.space.values(x)
    if values is None:
        return (f"arm {arm}: " if arm >= 0 else "") + np.array2string(x, precision=4, max_line_width=1000)
    return assigned(values)
