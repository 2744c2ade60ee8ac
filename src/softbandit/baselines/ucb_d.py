"""UCB-D: CONFIG's arm, and one output observed per round."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit.backend import ArmIndex, Bools, Ints, PerCost, PerTrial, at_arm, namespace, operations
from softbandit.baselines.config_algorithm import CONFIG
from softbandit.policies import About, Choice, State


@dataclass(frozen=True, eq=False)
class UCBD(CONFIG):
    """x_t as CONFIG, and one output is observed there, the one with the largest gap (the first of several):

    u_f(x_t) - l_f(x_t) for the reward,  u_i(x_t) for cost i  (l_i(x_t) if no arm may be feasible)

    The arm to recommend is the x_t of the round whose largest gap was the least.

    Nguyen et al. 2024, *Optimistic Bayesian optimization with unknown constraints*, after a public
    program for it, without the extra observations that it makes for the sake of hyperparameters.
    Its coupled form, UCB-C, observes every output at x_t: that is CONFIG. Decoupled observations
    serve systems where a reward and a cost are separate experiments. Here every round yields
    all of them, so UCB-D throws away all but the one that it asks for: it shows what the
    others are worth. Widths are this library's.
    """

    shared_posterior = False
    about = About(
        "CONFIG's arm, but learning only from the output with the largest gap",
        "Nguyen et al. 2024",
        "horizon",
        "regret sublinear with decoupled observations (as published)",
    )

    def init(self, trials: int) -> State:
        return super().init(trials)._replace(memory=(np.full(trials, np.inf), np.zeros(trials, dtype=int)))

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        xp, (least, best) = namespace(state.dual), state.memory
        asked, gap = self.query(state, choice)
        learned = self._learn(state, choice, reward, cost)
        pairs = enumerate(zip(learned, state.posterior, strict=True))
        posterior = tuple(_select(asked == output, new, old) for output, (new, old) in pairs)
        memory = xp.minimum(least, gap), xp.where(gap < least, choice.arm, best)
        return State(state.round + 1, state.dual, posterior, memory)

    def query(self, state: State, choice: Choice) -> tuple[Ints, PerTrial]:
        """Return the output to observe, and its gap: infinite if no arm may be feasible."""
        xp = namespace(state.dual)
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        low, up = at_arm(mean - half, choice.arm), at_arm(mean + half, choice.arm)
        hopeless = xp.any(choice.cost_estimate > 0, axis=1)
        of_reward = xp.where(hopeless, -np.inf, up[:, 0] - low[:, 0])
        gaps = xp.concat([of_reward[:, None], xp.where(hopeless[:, None], low[:, 1:], up[:, 1:])], axis=1)
        return operations(gaps).first_max(gaps), xp.where(hopeless, np.inf, xp.max(gaps, axis=1))

    def recommended(self, state: State) -> ArmIndex:
        """Return the arm to recommend in each trial."""
        arms: ArmIndex = state.memory[1]
        return arms


def _select(condition: Bools, new: tuple[Any, ...], old: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a posterior that is `new` in the trials where the condition is true, and else `old`."""
    xp = namespace(condition)

    def select(a: Any, b: Any) -> Any:
        if isinstance(a, tuple):  # one entry per trial
            return tuple(x if chosen else y for chosen, x, y in zip(condition, a, b, strict=True))
        return xp.where(condition.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    return type(new)(*map(select, new, old))
