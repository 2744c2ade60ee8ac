"""Models of reward and costs, learned from observations: units, kernel, noise, and which rewards are outliers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats
from softbandit.gp import Kernel, PointEffects, Repeats, learn, near_the_middle, subset_of_points, without_outliers
from softbandit.policies.output_units import Units

APART = 24  # points far apart, which decide on the transform of an output
REWARD_EVIDENCE = 20.0  # for a transform of the reward: if it is wrong, optimism grows exponentially for no reason


class OutputModel(NamedTuple):
    """The units and the model of one output, as learned."""

    units: Units
    effects: PointEffects
    theta: Floats  # where the next search starts: logarithms of the kernel's parameters, signal, own and noise

    @property
    def row(self) -> list[float]:
        """The model as numbers, for a file."""
        return [*vars(self.units).values(), self.effects.offset, *self.theta]

    @classmethod
    def from_row(cls, row: Floats, form: Kernel) -> "OutputModel":
        """Return the model in a row, whose kernel has this form."""
        units, offset, theta = Units(*row[:4].tolist()), float(row[4]), row[5:]
        *parameters, signal, own, noise = np.exp(theta).tolist()
        return cls(units, PointEffects(form.with_parameters(parameters), offset, signal, own, noise), theta)


def learn_outputs(
    form: Kernel,
    data: Repeats,
    Y: Floats,
    starts: Sequence[Floats | None],
    noises: Sequence[float | None],
) -> tuple[OutputModel, ...]:
    """Return the models of rewards and costs Y (t, 1 + m), of which `data` holds the points.

    Noises are standard deviations, or None to be learned. The reward is learned without what is far from the middle,
    and once more if that were no outliers.
    """

    def learned(i: int, y: Floats) -> OutputModel:
        return _learn_output(form, data.with_values(y), y, i > 0, len(noises), starts[i], noises[i])

    near, costs = near_the_middle(data, Y[:, 0]), [learned(i, y) for i, y in enumerate(Y.T[1:], start=1)]
    reward = learned(0, near)
    counted = as_counted((reward, *costs), data, Y)[:, 0]
    return (reward if (counted == near).all() else learned(0, counted), *costs)


def as_counted(models: Sequence[OutputModel], data: Repeats, Y: Floats) -> Floats:
    """Return observations Y (t, 1 + m) as they count; `data` holds their points.

    Costs count in full: limits are on means, and so are debts.
    """
    units, effects, _ = models[0]
    z = units.inside(Y[:, 0])
    counted = without_outliers(effects, data, z)
    return np.column_stack([np.where(counted == z, Y[:, 0], units.outside(counted, 0.0)), Y[:, 1:]])


def _learn_output(
    form: Kernel, data: Repeats, y: Floats, limited: bool, outputs: int, start: Floats | None, noise: float | None
) -> OutputModel:
    """Return the model of observations y (t,), which `data` holds by point; zero is a limit if it is `limited`.

    A transform that makes costs more normal is used: it tells values near the limit apart. For a reward, the
    observations must also be far more likely by the model that is learned with it: values that hardly differ near an
    optimum look like a peak, but need no transform. An output whose noise is known is modelled on its own scale; its
    spread is at least that of the noise, also if it was the same in all rounds.
    """
    plain, variance = Units.of(data.means), None
    if noise is None:
        likely = Units.learned(data.means, limited, data.means[data.far_apart(APART)])
        candidates = {likely} if limited else {plain, likely}
    else:
        plain = replace(plain, spread=max(plain.spread, noise))
        candidates, variance = {plain}, (noise / plain.spread) ** 2
    fits = {
        units: learn(form, data.with_values(units.inside(y)), start, outputs * len(candidates), variance)
        for units in candidates
    }
    known = y[np.isin(data.place, subset_of_points(data.counts))]

    def evidence(units: Units) -> float:
        return fits[units].log_posterior + units.log_jacobian(known) - REWARD_EVIDENCE * (units != plain)

    units = max(fits, key=evidence)
    return OutputModel(units, *fits[units][:2])
