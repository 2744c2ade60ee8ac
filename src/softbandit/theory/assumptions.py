"""The assumptions behind CKB's guarantee: one function per row of the ledger, which returns status and evidence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.gp import FREQUENCIES, Features, checked_features
from softbandit.model import NAMES, VALID, Exploration, Thompson
from softbandit.policies import CKB, StepPolicy
from softbandit.theory.optimum import largest_margin

GIVEN, VERIFIED, VIOLATED, UNKNOWN = "given", "verified", "violated", "unknown"
EXACT = 1e-9  # the largest error of a factorised kernel that counts as none
SEARCH = "maximiser to C / sqrt(t)"
SLIGHT = 1e-6  # relative: the largest rounding error of a norm or a margin


class Truth(Protocol):
    """A problem whose functions are known, so that assumptions can be verified on it."""

    @property
    def arms(self) -> Floats: ...
    @property
    def reward(self) -> Floats: ...
    @property
    def costs(self) -> Floats: ...
    @property
    def sub_gaussian(self) -> Floats: ...  # R of each output, (1 + m,)


@dataclass(frozen=True)
class Row:
    assumption: str
    status: str  # given by the user, verified, violated, or unknown
    detail: str


def norm_on_arms(features: Features, values: Floats) -> tuple[float, float]:
    """Return the norm of the smallest function with these values on the arms, and its largest relative error there."""
    checked_features(features)
    values = validation.vector("values", values, len(features.diag))
    weights, *_ = np.linalg.lstsq(features.phi, values, rcond=None)
    error = np.abs(features.phi @ weights - values).max() / max(np.abs(values).max(), np.finfo(float).tiny)
    return float(np.linalg.norm(weights)), float(error)


def explorations(policy: CKB) -> list[Exploration]:
    """Return the exploration of each output."""
    return [exploration for _, exploration in policy.model.by_output()]


def regularisations(policy: CKB) -> Floats:
    """Return lambda of each output."""
    return np.array([group.regularisation for group, _ in policy.model.by_output()], dtype=float)


def _checked(assumption: str, holds: bool, detail: str) -> Row:
    return Row(assumption, VERIFIED if holds else VIOLATED, detail)


def norm_rows(policy: StepPolicy, problem: Truth | None) -> list[Row]:
    bounds, m = policy.bounds[:, 0], policy.constraints
    costs = [f"norm of g_{i} <= G_{i}" for i in range(m)] if m > 1 else ["norm of g <= G"] * m
    names = ["norm of f <= B", *costs]
    given = [Row(name, GIVEN, f"{bound:.4g}") for name, bound in zip(names, bounds, strict=True)]
    if problem is None:
        return given
    if policy.continuous:
        return _norm_rows_on_space(policy, problem, names) or given
    functions = [problem.reward, *problem.costs.T]  # a policy without constraints ignores the costs
    per_output = zip(names, bounds, policy.model.by_output(), functions, strict=False)
    return [_norm_row(name, bound, group.features, values) for name, bound, (group, _), values in per_output]


def _norm_row(name: str, bound: float, phi: Features, values: Floats) -> Row:
    norm, error = norm_on_arms(phi, values)
    if error > SLIGHT:
        return Row(name, VIOLATED, f"the function is not in the kernel's space (relative error {error:.1e})")
    return _checked(name, norm <= bound * (1 + SLIGHT), f"{norm:.4g} against {bound:.4g}")


def _norm_rows_on_space(policy: StepPolicy, problem: Truth, names: Sequence[str]) -> list[Row]:
    """Compare with the norms that a problem states, if it does, and for the policy's kernel."""
    bounds, norms = policy.bounds[:, 0], getattr(problem, "norms", None)
    of_its_kernel = all(prior.kernel == getattr(problem, "kernel", None) for prior, _ in policy.model.by_output())
    if norms is None or not of_its_kernel:
        return []
    return [
        _checked(name, norm <= bound * (1 + SLIGHT), f"{norm:.4g} against {bound:.4g}")
        for name, bound, norm in zip(names, bounds, norms, strict=False)  # without constraints, costs are ignored
    ]


def kernel_rows(policy: StepPolicy) -> list[Row]:
    features = [group.features for group in policy.model.groups]
    largest, error = max(float(phi.diag.max()) for phi in features), max(phi.residual for phi in features)
    detail = f"factorisation error below {EXACT:g}" if error <= EXACT else f"factorisation error up to {error:.1e}"
    whole = _checked("kernel kept whole", error <= EXACT, detail)
    return [Row("k(x, x) <= 1", VERIFIED, f"at most {largest:.4g}"), whole]


def space_rows(policy: CKB) -> list[Row]:
    """Return the rows about the search of a space, and about what represents the posterior there."""
    rows = [
        Row("k(x, x) <= 1", VERIFIED, "at corners of the space and 1,024 points of it"),
        Row(SEARCH, UNKNOWN, "searched for, C = 0.01 B; agent.acquisition(grid) measures it"),
    ]
    if policy.budget is not None:
        detail = f"a dictionary of {policy.budget} points represents the data"
        rows.append(Row("posterior kept whole", VIOLATED, detail))
    if any(isinstance(exploration, Thompson) for exploration in explorations(policy)):
        rows.append(Row("prior sampled exactly", VIOLATED, f"by {FREQUENCIES} random frequencies"))
    return rows


def gain_row(policy: CKB, gain: Floats) -> Row:
    """Return the row of the bounds on gamma_T over a space, (1 + m,)."""
    trivial = policy.horizon / 2 * np.log1p(1 / regularisations(policy))
    note = ", the trivial T/2 ln(1 + 1 / lambda)" if np.any(gain >= trivial) else ""
    return Row("gamma_T bounded", VERIFIED, f"at most {gain.max():,.4g}{note}")


def setting_rows(policy: CKB, problem: Truth | None) -> list[Row]:
    """Return the rows that are the same on arms and on a space."""
    horizon = Row("at most T rounds", GIVEN, f"T = {policy.horizon:,}")
    rows = [noise_row(policy, problem), regularisation_row(policy), width_row(policy)]
    return [*rows, horizon, independence_row(policy)]


def regularisation_row(policy: CKB) -> Row:
    least = float(regularisations(policy).min())
    if isinstance(policy.width, str) and policy.width == "tight":
        return Row("lambda > 0", VERIFIED, f"{least:.4g}; the tight width is valid for any")
    return _checked("lambda >= 1", least >= 1, f"{least:.6g}")


def noise_row(policy: StepPolicy, problem: Truth | None) -> Row:
    noise = policy.model.noise
    if problem is None:
        return Row("noise R-sub-Gaussian", GIVEN, f"R = {_listed(noise)}")
    scale = problem.sub_gaussian[: len(noise)]  # of the outputs that the policy models
    holds = bool((scale <= noise * (1 + SLIGHT)).all())
    return _checked("noise R-sub-Gaussian", holds, f"scale {_listed(scale)} against R = {_listed(noise)}")


def _listed(scales: Floats) -> str:
    """Return the numbers as text, or a single one if all are equal."""
    return ", ".join(f"{R:.4g}" for R in (scales if (scales != scales[0]).any() else scales[:1]))


def width_row(policy: CKB) -> Row:
    name, width, scale = "width at least beta_t", policy.width, policy.width_scale
    if isinstance(width, str):
        return _checked(name, scale >= 1, f"{scale:g} x the {width} width")
    lambdas, log_term = regularisations(policy), math.log((1 + policy.constraints) / policy.confidence)
    beta_1 = VALID["tight"](policy.bounds[:, 0], policy.model.noise, lambdas, log_term)(1, np.zeros(1))[0]
    if not callable(width) and np.any(scale * np.asarray(width, dtype=float) < beta_1):
        return Row(name, VIOLATED, f"your width is below beta_1 = {beta_1.min():.4g}")
    return Row(name, UNKNOWN, "the width is your own; the theory's is width='theory'")


def independence_row(policy: CKB) -> Row:
    if {type(exploration) for exploration in explorations(policy)} <= set(NAMES.values()):
        return Row("draws independent", VERIFIED, "every output has its own")
    return Row("draws independent", GIVEN, "your exploration must not share draws between outputs")


def constraint_rows(policy: CKB, problem: Truth | None, price: float | None) -> list[Row]:
    """Return the rows of a policy with constraints; `price` is the largest optimal dual, if known."""
    if not policy.constraints:
        return []
    projected = policy.dual == "projected"
    moved = ", moved by measured costs" if policy.dual_feedback == "measured" else ""
    rule = f"projected to [0, rho]{moved}" if projected else "a virtual queue, for which the paper states no theorem"
    return [slater_row(policy, problem), cap_row(policy, price), _checked("dual of Algorithm 1", projected, rule)]


def slater_row(policy: CKB, problem: Truth | None) -> Row:
    name, delta = "Slater's condition", policy.slater
    if problem is None:
        return Row(name, UNKNOWN, "no slater given") if delta is None else Row(name, GIVEN, f"delta = {delta:.4g}")
    margin = largest_margin(problem.costs).margin
    if policy.continuous:  # a larger one may exist between the points at which the costs are known
        holds = margin > policy.slack and margin >= (delta or 0.0) * (1 - SLIGHT)
        against = "" if delta is None else f" against delta = {delta:.4g}"
        return Row(name, VERIFIED if holds else UNKNOWN, f"margin {margin:.4g} found{against}")
    if margin <= policy.slack:
        return Row(name, VIOLATED, f"no mixture of arms has every cost below -slack: the best margin is {margin:.4g}")
    if delta is None:
        return Row(name, VERIFIED, f"margin {margin:.4g}")
    return _checked(name, margin >= delta * (1 - SLIGHT), f"margin {margin:.4g} against delta = {delta:.4g}")


def dual_bound(policy: CKB) -> float:
    """Return 2 B / (delta - epsilon), Slater's bound on the optimal dual of the tightened problem."""
    return math.inf if policy.slater is None else 2 * float(policy.bounds[0, 0]) / (policy.slater - policy.slack)


def cap_row(policy: CKB, price: float | None) -> Row:
    """Check the cap: rho > phi* makes the violation bound finite; rho >= 2 phi* gives the paper's constant."""
    name, rho = "rho above phi*", float(policy.rho or 0.0)
    if price is not None:
        note = "" if rho >= 2 * price * (1 - SLIGHT) else ", less than twice it"
        return _checked(name, rho > price, f"rho = {rho:.4g}, phi* = {price:.4g}{note}")
    largest = dual_bound(policy)
    if not math.isfinite(largest):
        return Row(name, UNKNOWN, "phi* is not known without slater")
    status, note = (VERIFIED, "") if rho > largest else (UNKNOWN, "; pass rho above it")
    return Row(name, status, f"rho = {rho:.4g}, phi* at most 2 B / (delta - slack) = {largest:.4g}{note}")


def one_arm_row(one_arm: bool | None) -> Row:
    if one_arm is None:
        return Row("pi* sits on one arm", UNKNOWN, "pass the problem to check it")
    return _checked("pi* sits on one arm", one_arm, "it does" if one_arm else "it mixes several arms")
