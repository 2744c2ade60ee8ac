"""From a policy's settings to its surrogate: every check, and the defaults."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend.random import POLICY, draw
from softbandit.domains.spaces import Domain
from softbandit.errors import ArgumentError, KernelError, Words
from softbandit.gp.kernels import Kernel, diagonal_limit
from softbandit.model.continuous import ContinuousSurrogate, continuous_surrogate
from softbandit.model.explorations import as_exploration
from softbandit.model.finite import Output, Surrogate, surrogate
from softbandit.model.widths import checked_confidence, width_rule
from softbandit.backend.shapes import Floats


def model(
    *,
    arms: Floats | Domain,
    kernel: Any,
    explore: Any,
    explore_cost: Any,
    reward_bound: Any,
    cost_bound: Any,
    noise: Any,
    cost_noise: Any,
    cost_kernel: Any,
    horizon: int,
    confidence: Any,
    regularisation: Any,
    width: Any,
    width_scale: Any,
    constraints: int,
    factors: Any,
    budget: Any = None,
) -> Surrogate | ContinuousSurrogate:
    """The surrogate that a policy's settings describe, after checking them."""
    m = constraints
    kernels = [kernel, *_cost_kernels(kernel if cost_kernel is None else cost_kernel, m)]
    for i, one in enumerate(kernels):
        _check_kernel("kernel" if i == 0 else "cost_kernel", one, probes(arms))
    explorations = [as_exploration("explore", explore)]
    explorations += [as_exploration("explore_cost", explore if explore_cost is None else explore_cost)] * m
    default = 1 + 2 / horizon
    lambdas = validation.each_above(
        "regularisation", default if regularisation is None else regularisation, 1 + m, least=0.0, strict=True
    )
    R = validation.nonnegative("noise", noise)
    noises = validation.each_above("cost_noise", R if cost_noise is None else cost_noise, m, least=0.0, strict=False)
    bounds = np.append(*norm_bounds(reward_bound, cost_bound, m))
    scale = validation.nonnegative("width_scale", width_scale)
    sign = np.append(scale, np.full(m, -scale))  # up for the reward, down for a cost
    rule = width_rule(width, bounds, np.append(R, noises), sign, checked_confidence(confidence))
    outputs = [
        Output(*each) for each in zip(kernels, lambdas.tolist(), explorations, np.append(R, noises), strict=True)
    ]
    if isinstance(arms, Domain):
        points = None if budget is None else validation.whole("budget", budget, least=2)
        return _rehearsed_on_space(continuous_surrogate(arms, outputs, rule, points))
    if budget is not None:
        raise ArgumentError.of("budget", "None, on finite arms", budget, "Their cost does not grow; leave it out.")
    return _rehearsed(surrogate(arms, outputs, rule, factors))


def norm_bounds(reward_bound: Any, cost_bound: Any, constraints: int) -> tuple[float, Floats]:
    """B, and G of each constraint."""
    if constraints and cost_bound is None:
        remedy = "Pass a bound on the norm of the cost functions; they then lie in [-bound, bound]."
        raise ArgumentError.of("cost_bound", "a number above 0", None, remedy)
    G = validation.each_above("cost_bound", cost_bound if constraints else (), constraints, least=0.0, strict=True)
    return validation.positive("reward_bound", reward_bound), G


def _cost_kernels(value: Any, constraints: int) -> Sequence[Any]:
    if isinstance(value, Kernel):
        return [value] * constraints
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == constraints:
        return value
    remedy = "Pass one kernel, or one a constraint."
    raise KernelError.of("cost_kernel", f"a kernel, or {constraints} of them", value, remedy)


def _check_kernel(what: str, kernel: Any, arms: Floats) -> None:
    if not isinstance(kernel, Kernel):
        raise KernelError.of(what, "a Kernel", kernel, "For example sb.SquaredExponential(0.2).")
    diagonal_limit(kernel, arms)


def probes(arms: Floats | Domain) -> Floats:
    """Where a kernel is tried: every arm; of a space, corners and some points between."""
    if not isinstance(arms, Domain):
        return arms
    rng = np.random.default_rng(0)
    return np.concatenate([arms.corners(), arms.at(rng.random((1024, arms.dimension)))])


def _rehearsed_on_space(surrogate: ContinuousSurrogate) -> ContinuousSurrogate:
    """The surrogate, after one estimate from the prior: what cannot work is refused now."""
    draws = next(draw(surrogate.draws(), 0, [0], 0, 1, POLICY).rounds())
    X = surrogate.space.corners()[:2]
    h = surrogate.fields(surrogate.prior(1), 1, draws)[0](X)
    if not np.isfinite(h).all():
        remedy = "Check its estimate."
        raise ArgumentError.of("explore", "finite estimates", Words("NaN or infinity"), remedy)
    return surrogate


def _rehearsed(surrogate: Surrogate) -> Surrogate:
    """The surrogate, after one estimate from the prior: a user's exploration that cannot work is refused now."""
    draws = next(draw(surrogate.draws(), 0, [0], 0, 1, POLICY).rounds())
    arms = surrogate.groups[0].features.diag.shape[0]
    for block in surrogate.blocks:
        expected = (1, len(block.outputs), arms)
        alone = replace(surrogate, blocks=[block], order=np.arange(len(block.outputs)))
        h = alone.estimate(surrogate.prior(1), 1, draws)
        if np.shape(h) != expected or not np.isfinite(h).all():
            got = Words(f"shape {np.shape(h)}" if np.shape(h) != expected else "NaN or infinity")
            remedy = f"Check {type(block.exploration).__name__}.estimate."
            raise ArgumentError.of("explore", f"finite estimates of shape {expected}", got, remedy)
    return surrogate
