"""From a policy's settings to its model: every check, and the defaults."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from softbandit import validation
from softbandit.backend.random import POLICY, draw
from softbandit.backend.shapes import Floats
from softbandit.domains.spaces import Domain
from softbandit.errors import ArgumentError, Description, KernelError
from softbandit.gp.kernels import Kernel, diagonal_limit
from softbandit.gp.pivoted_cholesky import Features
from softbandit.model.continuous import ContinuousModel, continuous_model
from softbandit.model.explorations import Exploration, as_exploration
from softbandit.model.finite import FiniteModel, Output, finite_model
from softbandit.model.widths import checked_confidence, width_rule

PerConstraint = float | Sequence[float]
"""One number, or one per constraint."""


def build_model(
    *,
    arms: Floats | Domain,
    kernel: Kernel,
    cost_kernel: Kernel | Sequence[Kernel] | None,
    explore: str | Exploration,
    explore_cost: str | Exploration | None,
    reward_bound: float,
    cost_bound: PerConstraint | None,
    noise: float,
    cost_noise: PerConstraint | None,
    horizon: int,
    confidence: float,
    regularisation: PerConstraint | None,
    calibrated: bool,
    width: str | PerConstraint | Callable[[int], PerConstraint],
    width_scale: float,
    constraints: int,
    factors: Sequence[Features | Sequence[int]] | None,
    budget: int | None,
) -> FiniteModel | ContinuousModel:
    """Check a policy's settings, and return the model that they describe.

    lambda is 1 + 2 / T by default or, if `calibrated`, R^2: the posterior of Gaussian noise.
    """
    m = constraints
    kernels = _kernels(kernel, cost_kernel, m, probes(arms))
    explorations = [as_exploration("explore", explore)]
    explorations += [as_exploration("explore_cost", explore if explore_cost is None else explore_cost)] * m
    R = _noises(noise, cost_noise, m)
    default = np.maximum(R, 1e-6) ** 2 if calibrated else 1 + 2 / horizon
    lambdas = validation.each_above(
        "regularisation", default if regularisation is None else regularisation, 1 + m, least=0.0, strict=True
    )
    scale = validation.nonnegative("width_scale", width_scale)
    sign = np.append(scale, np.full(m, -scale))  # up for the reward, down for a cost
    bounds = np.append(*norm_bounds(reward_bound, cost_bound, m))
    rule = width_rule(width, bounds, R, sign, checked_confidence(confidence))
    outputs = [Output(*output) for output in zip(kernels, lambdas.tolist(), explorations, R, strict=True)]
    if isinstance(arms, Domain):
        points = None if budget is None else validation.whole("budget", budget, least=2)
        return _tried_on_space(continuous_model(arms, outputs, rule, points))
    if budget is not None:
        raise ArgumentError.of("budget", "None, on finite arms", budget, "Their cost does not grow; leave it out.")
    return _tried(finite_model(arms, outputs, rule, factors))


def norm_bounds(reward_bound: object, cost_bound: object, constraints: int) -> tuple[float, Floats]:
    """Return B, and G of each constraint."""
    if constraints and cost_bound is None:
        remedy = "Pass a bound on the norm of the cost functions; they then lie in [-bound, bound]."
        raise ArgumentError.of("cost_bound", "a number above 0", None, remedy)
    G = validation.each_above("cost_bound", cost_bound if constraints else (), constraints, least=0.0, strict=True)
    return validation.positive("reward_bound", reward_bound), G


def _noises(noise: object, cost_noise: object, constraints: int) -> Floats:
    """Return R of the reward and of each cost."""
    R = validation.nonnegative("noise", noise)
    of_costs = R if cost_noise is None else cost_noise
    return np.append(R, validation.each_above("cost_noise", of_costs, constraints, least=0.0, strict=False))


def _kernels(kernel: object, cost_kernel: object, constraints: int, points: Floats) -> list[Kernel]:
    """Return the kernels of the reward and of each cost."""
    given = kernel if cost_kernel is None else cost_kernel
    of_costs = [given] * constraints if isinstance(given, Kernel) else given
    if not isinstance(of_costs, Sequence) or isinstance(of_costs, str) or len(of_costs) != constraints:
        remedy = "Pass one kernel, or one per constraint."
        raise KernelError.of("cost_kernel", f"a kernel, or {constraints} of them", given, remedy)
    return [_checked("kernel", kernel, points), *(_checked("cost_kernel", each, points) for each in of_costs)]


def _checked(what: str, kernel: object, points: Floats) -> Kernel:
    if not isinstance(kernel, Kernel):
        raise KernelError.of(what, "a Kernel", kernel, "For example sb.SquaredExponential(0.2).")
    diagonal_limit(kernel, points)
    return kernel


def probes(arms: Floats | Domain) -> Floats:
    """Return the points where a kernel is tried: every arm or, of a space, corners and random points."""
    if not isinstance(arms, Domain):
        return arms
    rng = np.random.default_rng(0)
    return np.concatenate([arms.corners(), arms.at(rng.random((1024, arms.dimension)))])


def _tried_on_space(model: ContinuousModel) -> ContinuousModel:
    """Return the model after one estimate from the prior: what cannot work is refused now."""
    draws = next(draw(model.draws(), 0, [0], 0, 1, POLICY).rounds())
    h = model.fields(model.prior(1), 1, draws)[0](model.space.corners()[:2])
    if not np.isfinite(h).all():
        raise ArgumentError.of("explore", "finite estimates", Description("NaN or infinity"), "Check its estimate.")
    return model


def _tried(model: FiniteModel) -> FiniteModel:
    """Return the model after one estimate from the prior: an exploration that cannot work is refused now."""
    draws = next(draw(model.draws(), 0, [0], 0, 1, POLICY).rounds())
    arms = model.groups[0].features.diag.shape[0]
    for block in model.blocks:
        expected = (1, len(block.outputs), arms)
        alone = replace(model, blocks=[block], order=np.arange(len(block.outputs)))
        h = alone.estimate(model.prior(1), 1, draws)
        if np.shape(h) != expected or not np.isfinite(h).all():
            got = Description(f"shape {np.shape(h)}" if np.shape(h) != expected else "NaN or infinity")
            remedy = f"Check {type(block.exploration).__name__}.estimate."
            raise ArgumentError.of("explore", f"finite estimates of shape {expected}", got, remedy)
    return model
