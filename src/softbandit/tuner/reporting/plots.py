"""The figure of a tuner: reward, budget used and price of each limit, and the effect of each parameter."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from softbandit.backend import Floats
from softbandit.domains import Categorical, LogFloat, LogInteger, Ordinal, Parameter
from softbandit.drawing import COLOURS, draw_band, finish, new_figure
from softbandit.tuner.deciding.decider import Decider
from softbandit.tuner.deciding.effects import Effect
from softbandit.tuner.rounds import Round, Rounds
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.limits import Limit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3
MOST_EFFECTS = 24  # panels; a figure with more cannot be read
SMOOTH = 20  # rounds in a moving average

Panel = Callable[["Axes"], None]


def draw_tuner(name: str, rounds: Rounds, decider: Decider) -> "Figure":
    """Draw everything that is known; the effects are those at the recommended values."""
    panels = list(_panels(list(rounds.by_id.values()), decider))
    lines = -(-len(panels) // COLUMNS)
    figure = new_figure(width=3.8 * COLUMNS, height=2.8 * lines + 0.4)
    axes = figure.subplots(lines, COLUMNS, squeeze=False).ravel()
    for draw, part in zip(panels, axes, strict=False):
        draw(part)
    for part in axes[len(panels) :]:
        part.axis("off")
    figure.suptitle(f"{name}: {decider.description.goal}", size=11)
    figure.tight_layout()
    return figure


def _panels(rounds: Sequence[Round], decider: Decider) -> Iterator[Panel]:
    """Yield the functions that draw one panel each."""
    description = decider.description
    yield partial(_draw_metric, rounds=rounds, description=description)
    for limit, costs in zip(description.limits, decider.evidence.costs_by_limit(), strict=True):
        yield partial(_draw_limit, costs=costs, limit=limit)
        yield partial(_draw_price, rounds=rounds, limit=limit)
    context = rounds[-1].context if rounds else None
    if decider.has_learned and (description.context is None or context is not None):
        parameters = dict(description.space.parameters)
        for effect in decider.effects(context)[:MOST_EFFECTS]:
            yield partial(
                _draw_effect, effect=effect, parameter=parameters[effect.parameter], metric=description.metric
            )


def _draw_metric(axes: "Axes", rounds: Sequence[Round], description: Description) -> None:
    """Draw the metric of each round, a moving average, and the mean at the baseline."""
    metric, baseline = description.metric, description.baseline
    ids, values = _measured(rounds, metric)
    axes.plot(ids, values, ".", color="0.7", ms=3)
    axes.plot(ids, moving_average(values, SMOOTH), color=COLOURS[0], lw=1.5, label=f"mean of {SMOOTH} rounds")
    at_baseline = _measured([r for r in rounds if baseline is not None and r.values == baseline], metric)[1]
    if len(at_baseline):
        axes.axhline(at_baseline.mean(), color="black", lw=0.8, ls=":", label="baseline")
    axes.legend(frameon=False, fontsize=7)
    finish(axes, f"Metric: {metric}", "round", "")


def _draw_limit(axes: "Axes", costs: Floats, limit: Limit) -> None:
    """Draw what is limited, as it was after each round since the limit counts, and the limit."""
    measured = moving_average(limit.bound + limit.sign * costs, limit.window)
    axes.plot(np.arange(1, len(costs) + 1), measured, color=COLOURS[1], lw=1.5)
    axes.axhline(limit.bound, color="black", lw=0.8, ls="--")
    finish(axes, f"Limit: {limit.text}", "rounds reported", limit.name if len(limit.name) < 30 else "")


def _draw_price(axes: "Axes", rounds: Sequence[Round], limit: Limit) -> None:
    """Draw the price of a limit in the decisions so far."""
    key = f"price of {limit.text}"
    priced = [r for r in rounds if key in r.expected]
    axes.plot([r.id for r in priced], [r.expected[key] for r in priced], color=COLOURS[3], lw=1.2)
    finish(axes, f"Price of {limit.text}", "round", "metric per unit")


def _draw_effect(axes: "Axes", effect: Effect, parameter: Parameter, metric: str) -> None:
    """Draw the metric that is expected if one parameter is changed."""
    value, low, high = effect.estimates[0].T
    if isinstance(parameter, (Categorical, Ordinal)):
        errors: Any = np.stack([value - low, high - value])
        axes.errorbar(list(map(str, effect.values)), value, errors, fmt="o", color=COLOURS[2], capsize=3)
    else:
        draw_band(axes, np.array(effect.values, dtype=float), np.stack([value, low, high]), metric, COLOURS[2])
    if isinstance(parameter, (LogFloat, LogInteger)):
        axes.set_xscale("log")
    finish(axes, f"Effect of {effect.parameter}", effect.parameter, metric)


def _measured(rounds: Sequence[Round], metric: str) -> tuple[Floats, Floats]:
    """Return the ids of the rounds that reported a metric, and its values."""
    pairs = [(r.id, r.metrics[metric]) for r in rounds if r.metrics and metric in r.metrics]
    ids, values = np.array(pairs, dtype=float).reshape(-1, 2).T
    return ids, values


def moving_average(values: Floats, window: int | None) -> Floats:
    """Return the mean of each value and of those before it, as many as the window allows.

    >>> moving_average(np.array([1.0, 3.0, 5.0, 7.0]), 2)
    array([1., 2., 4., 6.])
    """
    n = len(values)
    totals = np.concatenate([[0.0], np.cumsum(values)])
    last = np.arange(1, n + 1)
    first = np.zeros(n, dtype=int) if window is None else np.maximum(last - window, 0)
    return np.asarray((totals[last] - totals[first]) / (last - first))
