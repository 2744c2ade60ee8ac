"""Scores of a run: regret and violation, measured against the optimum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softbandit import validation
from softbandit.backend import Floats, drop_single
from softbandit.backend.display import brief, html_table
from softbandit.errors import ArgumentError, Description
from softbandit.problems import Problem
from softbandit.problems.space_problem import SpaceProblem, optimum_on
from softbandit.simulation.frames import frame, trials_in_words
from softbandit.simulation.trace import Trace
from softbandit.theory.optimum import best_arm, randomized_optimum

NAMES = ("regret", "strong_regret", "violation", "positive_violation", "violated_rounds")


@dataclass(frozen=True, eq=False)
class Scores:
    """Running totals after each round, (trials, rounds); the two violations have a last axis of m if m > 1."""

    regret: Floats  # R: against the best feasible arm (NaN if no arm is feasible, or with contexts)
    strong_regret: Floats  # R_+: against pi*
    violation: Floats  # V = [sum g]_+
    positive_violation: Floats  # sum [g]_+
    violated_rounds: NDArray[np.int64]  # N: rounds with any g_i > 0
    trials: Sequence[int]  # their numbers
    resolution: float = 0.0  # on a continuous domain: error of the optimum behind strong_regret, per round

    def __repr__(self) -> str:
        final = ", ".join(f"{name} {value}" for name, value in self._final())
        return f"Scores({trials_in_words(self.regret)}, mean at the end: {final})"

    def _repr_html_(self) -> str:
        return html_table(f"{trials_in_words(self.regret)}: means at the end", self._final())

    def _final(self) -> list[tuple[str, str]]:
        """Return each score after the last round, in the mean of the trials."""
        return [(name, brief(getattr(self, name)[:, -1].mean(axis=0))) for name in NAMES]

    def frame(self, library: str = "pandas") -> Any:
        """Return a data frame of pandas or of polars, one row per trial and round."""
        return frame(self.trials, {name: getattr(self, name) for name in NAMES}, library)


def score(trace: Trace, problem: Problem | SpaceProblem) -> Scores:
    """Score a trace against the true functions (not the noisy observations).

    >>> import softbandit as sb
    >>> problem = sb.problems.rkhs(seed=3)
    >>> trace = sb.simulate(sb.CKB(**problem.settings(), horizon=20), problem)
    >>> scores = sb.score(trace, problem)
    >>> bool((scores.regret <= scores.strong_regret).all())
    True
    """
    validation.instance("trace", trace, Trace, "a trace", "Pass what simulate returned.")
    if isinstance(problem, SpaceProblem):
        return _score_on_space(trace, problem)
    validation.instance("problem", problem, Problem, "a problem", "For example sb.problems.rkhs().")
    if trace.arms.dtype.kind != "i" or trace.arms.max() >= len(problem.arms):
        got = Description(f"arm {trace.arms.max()}" if trace.arms.dtype.kind == "i" else "one on a space")
        raise ArgumentError.of("trace", f"one of this problem, with {len(problem.arms)} arms", got, "Check the pair.")
    f, g = problem.reward[trace.arms], problem.costs[trace.arms]  # (b, T), (b, T, m)
    best = best_arm(problem.reward, problem.cost) if problem.contexts is None else None
    optimum = randomized_optimum(problem.reward, problem.cost, problem.contexts)
    return _scores(trace.trials, f, g, np.nan if best is None else float(problem.reward[best]), optimum.value)


def _score_on_space(trace: Trace, problem: SpaceProblem) -> Scores:
    d = problem.arms.dimension
    if trace.arms.ndim != 3 or trace.arms.shape[2] != d:
        got = Description(f"arms of shape {trace.arms.shape}")
        raise ArgumentError.of("trace", f"one of this problem, with points of {d} coordinates", got, "Check the pair.")
    h = problem.function(trace.arms.reshape(-1, d)).reshape(*trace.arms.shape[:2], -1)
    f, g, resolution = h[..., 0], h[..., 1:], problem.candidates.resolution
    return _scores(trace.trials, f, g, problem.best_value, optimum_on(problem), resolution)


def _scores(
    trials: Sequence[int], f: Floats, g: Floats, best: float, optimum: float, resolution: float = 0.0
) -> Scores:
    t = np.arange(1, f.shape[1] + 1)
    reward = np.cumsum(f, axis=1)
    return Scores(
        regret=t * best - reward,
        strong_regret=t * optimum - reward,
        violation=drop_single(np.maximum(np.cumsum(g, axis=1), 0.0)),
        positive_violation=drop_single(np.cumsum(np.maximum(g, 0.0), axis=1)),
        violated_rounds=np.cumsum((g > 0).any(axis=2), axis=1, dtype=np.int64),
        trials=trials,
        resolution=resolution,
    )
