"""SAFE-BOCP: a safe set whose width follows how often the constraint is violated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from softbandit import validation
from softbandit.backend import (
    ArmMask,
    Draws,
    HostOnly,
    OutputsPerArm,
    PerCost,
    PerOutput,
    PerTrial,
    Traced,
    namespace,
    operations,
)
from softbandit.baselines.safe_sets import SafePolicy
from softbandit.errors import ArgumentError
from softbandit.model import PerConstraint
from softbandit.policies import About, Choice, State

WIDEST = 1 - 1e-6  # of delta, so that an interval is finite: 4.9 standard deviations


@dataclass(frozen=True, eq=False)
class SafeBOCP(SafePolicy):
    """Intervals mu_i -+ beta_i sigma_i of each cost, with beta_i = Phi^-1((1 + delta_i) / 2) for delta_i in [0, 1]:

    S_t          = the seed and {x: u_i(x) <= 0 for every i};  the seed alone where some delta_i >= 1
    x_t          = argmax over M and E of max over outputs of u(x) - l(x), as SafeOpt
    delta_i(t+1) = delta_i(t) + eta (1{c_i > 0} - alpha_i)

    So the share of rounds with c_i > 0 tends to alpha_i or less, whatever the cost is like: after
    T rounds it is at most alpha_i + (1 + eta - delta_i(1)) / (eta T), if the seed's arms never
    violate. `agent.dual` is delta. A violation is a measured one: noise counts.

    Zhang, Park & Simeone 2023, *Bayesian Optimization with Formal Safety Guarantees via Online
    Conformal Prediction*. Written from a summary: the step of delta, and that it sets the width
    of a safe set as in SafeOpt. That delta is a probability (0 is width 0, and 1 the seed
    alone), the start 1 - alpha, the default step, one delta per constraint, and the reward's
    width, which is fixed, are this library's. So is the posterior, calibrated to the noise
    (lambda = R^2) unless `regularisation` is given. Its correction for noisy costs is left out.

    Parameters
    ----------
    rate
        alpha: the share of rounds that may violate, in (0, 1); one number, or one per constraint.
    step
        eta.
    width
        Of the reward's intervals.
    """

    rate: HostOnly[PerConstraint] = 0.1
    step: Traced[float] = 0.5
    width: HostOnly[str | PerConstraint | Callable[[int], PerConstraint]] = 2.0
    lipschitz: HostOnly[float | Sequence[float] | str | None] = field(default=None, init=False, repr=False)
    intersect: bool = field(default=False, init=False, repr=False)
    rates: Traced[PerCost] = field(init=False, repr=False)  # (m,): alpha

    calibrated = True
    signed_dual = True
    about = About(
        "SafeOpt with intervals that widen when a cost is violated and narrow when it is not",
        "Zhang, Park & Simeone 2023",
        "a safe arm; the share of rounds that may violate; horizon",
        "a share alpha of violating rounds, if the seed never violates",
    )

    def _complete(self) -> None:
        super()._complete()
        rates = validation.numbers("rate", self.rate, self.constraints)
        if ((rates <= 0) | (rates >= 1)).any():
            raise ArgumentError.of("rate", "numbers in (0, 1)", self.rate, "Pass the share of rounds that may violate.")
        self._set(rates=rates, step=validation.positive("step", self.step))

    def init(self, trials: int) -> State:
        return super().init(trials)._replace(dual=np.tile(1 - self.rates, (trials, 1)), memory=())

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        delta = state.dual + self.step * ((cost > 0) - self.rates)
        return State(state.round + 1, delta, self._learn(state, choice, reward, cost))

    def cost_width(self, state: State, beta: PerOutput, i: int) -> PerOutput:
        return self._beta(state)[:, i - 1 : i]

    def _beta(self, state: State) -> PerCost:
        return operations(state.dual).normal_quantile((1 + state.dual.clip(0.0, WIDEST)) / 2)

    def intervals(self, state: State) -> tuple[OutputsPerArm, OutputsPerArm, ArmMask]:
        xp = namespace(state.dual)
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        costs = self._beta(state)[:, :, None] * self.model.std(state.posterior)[:, 1:]
        half = xp.concat([half[:, :1], costs], axis=1)
        low, up = mean - half, mean + half
        safe = (up[:, 1:] <= 0) & (state.dual < 1)[:, :, None]
        return low, up, self.known_safe | xp.all(safe, axis=1)  # S_t

    def refuted(self, state: State) -> None:
        """No interval here is a proof, so none refutes the seed."""

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        sets = self.sets(state)
        return self.widest(sets, sets.maximisers | sets.expanders, draws)  # x_t
