"""From a policy's settings to its model: every check, and the defaults."""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from softbandit import validation
from softbandit.backend import POLICY, Floats, HostOnly, Traced, draw
from softbandit.domains import Domain
from softbandit.errors import ArgumentError, Description, KernelError
from softbandit.gp import Kernel, checked_kernel
from softbandit.gp.data_space import some_arms
from softbandit.model.continuous import ContinuousModel, continuous_model
from softbandit.model.explorations import Exploration, as_exploration
from softbandit.model.finite import Factors, FiniteModel, Output, finite_model
from softbandit.model.widths import checked_confidence, tight_regularisation, width_rule

PerConstraint = float | Sequence[float]  # one number, or one per constraint
LEAST_NOISE = 1e-6  # in the default lambda
SPECTRUM_POINTS = 256  # at most, from which the tight width's lambda is computed


class ModelDefaults:
    """Class attributes that a policy may change; CKB makes the first three settings."""

    explore: str | Exploration = "ucb"
    explore_cost: str | Exploration | None = None
    budget: int | None = None
    calibrated: ClassVar[bool] = False  # lambda is R^2 by default, the posterior of Gaussian noise
    width_share: ClassVar[float] = 1.0  # of alpha, for the theory's widths
    shared_posterior: ClassVar[bool] = True  # False: each output has its own, and may be observed alone


@dataclass(frozen=True, eq=False)
class ModelSettings(ModelDefaults):
    """The settings that describe a model; CKB's docstring explains them."""

    arms: Traced[Any]  # (n, d), or a continuous domain
    kernel: HostOnly[Kernel]
    _: KW_ONLY
    reward_bound: Traced[float]
    cost_bound: Traced[PerConstraint | None] = None
    noise: Traced[float]
    cost_noise: Traced[PerConstraint | None] = None
    cost_kernel: HostOnly[Kernel | Sequence[Kernel] | None] = None
    horizon: Traced[int]
    confidence: Traced[float] = 0.1
    regularisation: Traced[PerConstraint | None] = None
    width: HostOnly[str | PerConstraint | Callable[[int], PerConstraint]] = "theory"
    width_scale: Traced[float] = 1.0
    constraints: int = 1
    factors: HostOnly[Factors] = None


def build_model(s: ModelSettings) -> FiniteModel | ContinuousModel:
    """Check the settings, and return the model that they describe."""
    m = s.constraints
    kernels = _kernels(s.kernel, s.cost_kernel, m, probes(s.arms))
    explorations = [as_exploration("explore", s.explore)]
    explorations += [as_exploration("explore_cost", s.explore if s.explore_cost is None else s.explore_cost)] * m
    noise = validation.nonnegative("noise", s.noise)
    cost_noise = noise if s.cost_noise is None else s.cost_noise
    R = np.append(noise, validation.numbers_above("cost_noise", cost_noise, m, least=0.0, strict=False))
    bounds = np.append(*norm_bounds(s.reward_bound, s.cost_bound, m))
    given = _default_regularisation(s, kernels, bounds, R) if s.regularisation is None else s.regularisation
    what = "regularisation" if s.regularisation is not None else "regularisation, which follows from noise and bounds"
    lambdas = validation.numbers_above(what, given, 1 + m, least=0.0, strict=True)
    scale = validation.nonnegative("width_scale", s.width_scale)
    sign = np.append(scale, np.full(m, -scale))  # up for the reward, down for a cost
    rule = width_rule(s.width, bounds, R, lambdas, sign, s.width_share * checked_confidence(s.confidence))
    outputs = [Output(*output) for output in zip(kernels, lambdas.tolist(), explorations, R, strict=True)]
    if isinstance(s.arms, Domain):
        points = None if s.budget is None else validation.whole("budget", s.budget, least=2)
        model: FiniteModel | ContinuousModel = continuous_model(s.arms, outputs, rule, points)
    elif s.budget is None:
        model = finite_model(s.arms, outputs, rule, s.horizon, s.factors, s.shared_posterior)
    else:
        raise ArgumentError.of("budget", "None, on finite arms", s.budget, "Their cost does not grow; leave it out.")
    _try(model)
    return model


def _default_regularisation(
    s: ModelSettings, kernels: Sequence[Kernel], bounds: Floats, R: Floats
) -> Sequence[float] | float:
    """Return lambda: R^2 if `calibrated`, the posterior of Gaussian noise; else what the width suggests."""
    if s.calibrated:
        return [max(float(r), LEAST_NOISE) ** 2 for r in R]
    if isinstance(s.width, str) and s.width == "tight":
        points = _some_points(s.arms)
        outputs = zip(kernels, bounds, R, strict=True)
        return [tight_regularisation(kernel, points, float(B), float(r), s.horizon) for kernel, B, r in outputs]
    return 1 + 2 / s.horizon


def _some_points(arms: Floats | Domain) -> Floats:
    """Return at most 256 random arms, or points of a space."""
    if isinstance(arms, Domain):
        return arms.at(np.random.default_rng(0).random((SPECTRUM_POINTS, arms.dimension)))
    return some_arms(arms, SPECTRUM_POINTS)


def norm_bounds(reward_bound: object, cost_bound: object, constraints: int) -> tuple[float, Floats]:
    """Return B, and G of each constraint."""
    if constraints and cost_bound is None:
        remedy = "Pass a bound on the norm of the cost functions; they then lie in [-bound, bound]."
        raise ArgumentError.of("cost_bound", "a number above 0", None, remedy)
    G = validation.numbers_above("cost_bound", cost_bound if constraints else (), constraints, least=0.0, strict=True)
    return validation.positive("reward_bound", reward_bound), G


def _kernels(kernel: object, cost_kernel: object, constraints: int, points: Floats) -> list[Kernel]:
    """Return the kernels of the reward and of each cost."""
    given = kernel if cost_kernel is None else cost_kernel
    of_costs = [given] * constraints if isinstance(given, Kernel) else given
    if not isinstance(of_costs, Sequence) or isinstance(of_costs, str) or len(of_costs) != constraints:
        remedy = "Pass one kernel, or one per constraint."
        raise KernelError.of("cost_kernel", f"a kernel, or {constraints} of them", given, remedy)
    return [_checked("kernel", kernel, points), *(_checked("cost_kernel", k, points) for k in of_costs)]


def _checked(what: str, kernel: object, points: Floats) -> Kernel:
    """Return a kernel with k(x, x) <= 1 at the points (the paper's Assumption 2)."""
    kernel = checked_kernel(what, kernel)
    diag = kernel.diag(points)
    worst = int(diag.argmax())
    if not diag[worst] <= 1 + 16 * math.ulp(1.0):
        got = Description(f"{diag[worst]:.6g} at arm {worst}")
        remedy = "Use kernel.rescaled(arms), and pass the norm bounds for the rescaled kernel."
        raise KernelError.of("kernel", "k(x, x) <= 1 at every arm", got, remedy)
    return kernel


def probes(arms: Floats | Domain) -> Floats:
    """Return the points where a kernel is tried: every arm or, of a space, corners and random points."""
    if not isinstance(arms, Domain):
        return arms
    rng = np.random.default_rng(0)
    return np.concatenate([arms.corners(), arms.at(rng.random((1024, arms.dimension)))])


def _try(model: FiniteModel | ContinuousModel) -> None:
    """Compute one estimate from the prior: an exploration that cannot work is refused now."""
    draws = next(draw(model.draws(), 0, [0], 0, 1, POLICY).rounds())
    if isinstance(model, ContinuousModel):
        h = model.fields(model.prior(1), 1, draws)[0](model.space.corners()[:2])
        estimates = [(block, h[block.outputs][None]) for block in model.blocks]
        points = h.shape[1]
    else:
        beliefs = model.beliefs(model.prior(1), 1)
        estimates = [(b, b.exploration.estimate(belief, beta, b.draws(draws))) for b, belief, beta in beliefs]
        points = len(model.groups[0].factor.diag)
    for block, h in estimates:
        expected = (1, len(block.outputs), points)
        if np.shape(h) != expected or not np.isfinite(h).all():
            got = Description(f"shape {np.shape(h)}" if np.shape(h) != expected else "NaN or infinity")
            remedy = f"Check {type(block.exploration).__name__}.estimate."
            raise ArgumentError.of("explore", f"finite estimates of shape {expected}", got, remedy)
