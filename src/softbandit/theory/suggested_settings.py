"""Settings of CKB from data: kernels and noise by marginal likelihood, norms and a margin by the posterior means.

The theorem takes these as known. Here they are estimates, so a guarantee that is computed from them is one too.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from softbandit import validation
from softbandit.backend import Floats, drop_single
from softbandit.errors import ArgumentError, Description, InfeasibleError
from softbandit.gp import Exact, Kernel, Matern, Repeats, checked_kernel, fit
from softbandit.theory.optimum import largest_margin

MOST_ROUNDS = 250  # used: more take many seconds, and change little
LEAST_ROUNDS = 10
INFLATION = 1.5  # of the means' norms, which are below the functions': docs/settings.md has how often that suffices
CAUTION = 0.5  # the share of the margin shown by the means that is relied on


class Rounds(Protocol):
    """The rounds played and observed, such as `agent.record`."""

    @property
    def points(self) -> Floats: ...
    @property
    def rewards(self) -> Floats: ...
    @property
    def costs(self) -> Floats: ...


class Output(NamedTuple):
    """Estimates of one output's properties, in its units."""

    kernel: Kernel
    noise: float
    bound: float  # on the norm
    mean: Floats  # (t,): of the posterior at the observed points


def suggest_settings(
    history: Rounds | tuple[ArrayLike, ArrayLike, ArrayLike], kernel: Kernel | None = None
) -> dict[str, Any]:
    """Return settings for `CKB` that suit a history: `sb.CKB(arms, **suggest_settings(history), horizon=T)`.

    Parameters
    ----------
    history
        An agent's `record`; or (X, rewards, costs), with points (t, d), rewards (t,), and costs (t,) or (t, m).
    kernel
        The form of the functions; Matern with one length scale per feature by default.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(80)
    >>> settings = suggest_settings((x[:, None], np.sin(6 * x) + 0.1 * rng.standard_normal(80), x - 0.5))
    >>> bool(0.07 < settings["noise"] < 0.13), round(settings["slater"], 1)
    (True, 0.2)
    """
    X, Y = _checked(history)
    used = _most_telling(X)
    form = Matern([1.0] * X.shape[1]) if kernel is None else checked_kernel("kernel", kernel)
    reward, *costs = (_learned(form, X[used], y) for y in Y[used].T)
    settings: dict[str, Any] = {"kernel": reward.kernel, "reward_bound": reward.bound, "noise": reward.noise}
    if costs:
        settings |= {
            "cost_kernel": [cost.kernel for cost in costs],
            "cost_bound": drop_single(np.array([cost.bound for cost in costs])),
            "cost_noise": drop_single(np.array([cost.noise for cost in costs])),
            "slater": _cautious_margin(np.stack([cost.mean for cost in costs], axis=1)),
            "dual_feedback": "measured",
        }
    return settings | {"constraints": len(costs), "width": "tight"}


def _checked(history: Any) -> tuple[Floats, Floats]:
    """Return points (t, d), and rewards and costs (t, 1 + m)."""
    names = ("points", "rewards", "costs")
    recorded = all(hasattr(history, name) for name in names)
    parts = tuple(getattr(history, name) for name in names) if recorded else history
    if not isinstance(parts, tuple) or len(parts) != 3:
        remedy = "Without costs, pass an empty list for them."
        raise ArgumentError.of("history", "a record, or (X, rewards, costs)", history, remedy)
    X = validation.points("X", parts[0])
    t = len(X)
    if t < LEAST_ROUNDS:
        raise ArgumentError.of("history", f"at least {LEAST_ROUNDS} rounds", t, "Observe more before you ask.")
    arrays = [validation.array(name, part) for name, part in zip(names[1:], parts[1:], strict=True)]
    outputs = [part.reshape(len(part) if part.ndim else 1, -1) for part in arrays if part.size]
    if not arrays[0].size or any(len(output) != t for output in outputs):
        got = Description(f"{t} points, and {[len(output) for output in outputs]} outputs")
        raise ArgumentError.of("history", "one reward, and one row of costs, per point", got, "Check the shapes.")
    return X, validation.points("rewards and costs", np.concatenate(outputs, axis=1))


def _most_telling(X: Floats) -> Floats:
    """Return at most MOST_ROUNDS rounds: every point's first, then second ones, and so on."""
    place = Repeats.of(X, np.zeros(len(X))).place
    earlier = np.array([np.count_nonzero(place[:i] == point) for i, point in enumerate(place)])
    return np.sort(np.argsort(earlier, kind="stable")[:MOST_ROUNDS])


def _learned(form: Kernel, X: Floats, y: Floats) -> Output:
    """Return an output's kernel with k(x, x) <= 1, noise, norm bound, and mean.

    CKB's prior has mean zero, so the fit has no offset. The norm of mu is sqrt(alpha^T K alpha).
    """
    result = fit(form, X, y, centred=False, restarts=1)
    largest = float(result.kernel.diag(X).max())
    kernel = result.kernel if largest <= 1 else result.kernel.rescaled(X)
    scale = result.scale * math.sqrt(max(largest, 1.0))
    posterior = Exact.of(kernel, (result.noise / scale) ** 2, X, y[:, None])
    norm = math.sqrt(max(float(np.sum(posterior.coefficients * posterior.fitted)), 0.0))
    mean = posterior.fitted[:, 0]
    if not norm:
        got, remedy = Description("one that is zero in all rounds"), "Check that the right numbers were kept."
        raise ArgumentError.of("history", "outputs to learn from", got, remedy)
    return Output(kernel, result.noise, max(INFLATION * norm, float(np.abs(mean).max())), mean)


def _cautious_margin(costs: Floats) -> float:
    """Return a margin for which mean costs (t, m) leave room, at most 1 as the theory needs."""
    margin = largest_margin(costs).margin
    if margin <= 0:
        got, remedy = Description(f"an excess of {-margin:.4g} at least"), "Observe other points, or relax the limits."
        raise InfeasibleError.of("history", "points whose mixture meets every limit", got, remedy)
    return min(1.0, CAUTION * margin)
