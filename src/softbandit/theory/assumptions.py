"""The assumptions behind a guarantee, one function each: how it stands, and by what number."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.gp.pivoted_cholesky import Features
from softbandit.model.explorations import Exploration
from softbandit.theory.certificates import CLOSED_FORMS
from softbandit.theory.optimum import largest_margin

GIVEN, VERIFIED, VIOLATED, UNKNOWN = "given", "verified", "violated", "unknown"
EXACT = 1e-9  # what the factors of a kernel may miss
SLIGHT = 1e-6  # relative: what rounding may do to a norm or a margin


class Truth(Protocol):
    """What a problem knows: enough to verify assumptions on it."""

    @property
    def arms(self) -> Floats: ...
    @property
    def reward(self) -> Floats: ...
    @property
    def costs(self) -> Floats: ...
    @property
    def sub_gaussian(self) -> float: ...


@dataclass(frozen=True, eq=False)
class Subject:
    """A policy, as far as its guarantee goes. Lists over outputs have the reward first, then each cost."""

    name: str
    arms: Floats
    horizon: int
    bound: Floats
    noise: Floats
    regularisation: Floats
    features: Sequence[Features]
    explorations: Sequence[Exploration]
    confidence: float
    width: Any  # "theory", or the user's own
    width_scale: float
    projected: bool  # the dual is that of Algorithm 1
    slater: float | None
    slack: float
    rho: float
    V: Floats

    @property
    def built_in(self) -> bool:
        return all(type(each) in CLOSED_FORMS for each in self.explorations)


@dataclass(frozen=True)
class Row:
    assumption: str
    status: str  # given by the user, verified, violated, or unknown
    detail: str


def norm_on_arms(features: Features, values: Floats) -> tuple[float, float]:
    """The norm of the smallest function with these values on the arms, and the share of them it misses."""
    weights, *_ = np.linalg.lstsq(features.phi, values, rcond=None)
    missed = np.abs(features.phi @ weights - values).max() / max(np.abs(values).max(), np.finfo(float).tiny)
    return float(np.linalg.norm(weights)), float(missed)


def norm_rows(s: Subject, problem: Truth | None) -> list[Row]:
    names = ["norm of f <= B"] + [
        f"norm of g_{i} <= G_{i}" if len(s.V) > 1 else "norm of g <= G" for i in range(len(s.V))
    ]
    if problem is None:
        return [Row(name, GIVEN, f"{bound:.4g}") for name, bound in zip(names, s.bound, strict=True)]
    rows = []
    functions = [problem.reward, *problem.costs.T]
    for name, bound, phi, values in zip(names, s.bound, s.features, functions, strict=False):
        norm, missed = norm_on_arms(phi, values)
        if missed > SLIGHT:
            rows.append(Row(name, VIOLATED, f"the function is not in the kernel's space (misses {missed:.1e} of it)"))
        else:
            status = VERIFIED if norm <= bound * (1 + SLIGHT) else VIOLATED
            rows.append(Row(name, status, f"{norm:.4g} against {bound:.4g}"))
    return rows


def kernel_row(s: Subject) -> Row:
    return Row("k(x, x) <= 1", VERIFIED, f"at most {max(float(phi.diag.max()) for phi in s.features):.4g}")


def factorised_row(s: Subject) -> Row:
    most = max(phi.residual for phi in s.features)
    if most <= EXACT:
        return Row("kernel kept whole", VERIFIED, f"its factors miss less than {EXACT:g}")
    return Row("kernel kept whole", VIOLATED, f"its factors miss up to {most:.1e}")


def noise_row(s: Subject, problem: Truth | None) -> Row:
    scales = ", ".join(f"{R:.4g}" for R in (s.noise if np.ptp(s.noise) else s.noise[:1]))
    if problem is None:
        return Row("noise R-sub-Gaussian", GIVEN, f"R = {scales}")
    scale = problem.sub_gaussian
    status = VERIFIED if scale <= float(s.noise.min()) * (1 + SLIGHT) else VIOLATED
    return Row("noise R-sub-Gaussian", status, f"scale {scale:.4g} against R = {scales}")


def regularisation_row(s: Subject) -> Row:
    least = float(s.regularisation.min())
    return Row("lambda >= 1", VERIFIED if least >= 1 else VIOLATED, f"{least:.6g}")


def width_row(s: Subject) -> Row:
    name = "width at least beta_t"
    if isinstance(s.width, str):
        status = VERIFIED if s.width_scale >= 1 else VIOLATED
        return Row(name, status, f"{s.width_scale:g} x the theory's")
    first = s.bound + s.noise * math.sqrt(2 * (1 + math.log(len(s.bound) / s.confidence)))  # beta_1
    if not callable(s.width) and np.any(s.width_scale * np.asarray(s.width, dtype=float) < first):
        return Row(name, VIOLATED, f"yours is below beta_1 = {first.min():.4g}")
    return Row(name, UNKNOWN, "it is your own: the theory's is width='theory'")


def independence_row(s: Subject) -> Row:
    if s.built_in:
        return Row("draws independent", VERIFIED, "every output has its own")
    return Row("draws independent", GIVEN, "your exploration must not share draws between outputs")


def slater_row(s: Subject, problem: Truth | None) -> Row:
    name = "Slater's condition"
    if problem is None:
        return (
            Row(name, UNKNOWN, "no slater given") if s.slater is None else Row(name, GIVEN, f"delta = {s.slater:.4g}")
        )
    margin = largest_margin(problem.costs).margin
    if margin <= s.slack:
        return Row(name, VIOLATED, f"no mixture of arms has every cost below -slack: the best margin is {margin:.4g}")
    if s.slater is None:
        return Row(name, VERIFIED, f"margin {margin:.4g}")
    status = VERIFIED if margin >= s.slater * (1 - SLIGHT) else VIOLATED
    return Row(name, status, f"margin {margin:.4g} against delta = {s.slater:.4g}")


def dual_bound(s: Subject) -> float:
    """2 B / (delta - epsilon): Slater's bound on the optimal dual of the tightened problem."""
    return 2 * float(s.bound[0]) / (s.slater - s.slack) if s.slater is not None else math.inf


def cap_row(s: Subject, price: float | None) -> Row:
    """rho > phi* makes the violation bound finite; rho >= 2 phi* gives the paper's constant."""
    name = "rho above phi*"
    if price is not None:
        note = "" if s.rho >= 2 * price * (1 - SLIGHT) else ", less than twice it"
        return Row(name, VERIFIED if s.rho > price else VIOLATED, f"rho = {s.rho:.4g}, phi* = {price:.4g}{note}")
    most = dual_bound(s)
    if not math.isfinite(most):
        return Row(name, UNKNOWN, "phi* is not known without slater")
    status = VERIFIED if s.rho > most else UNKNOWN
    note = "" if s.rho > most else "; pass rho above it"
    return Row(name, status, f"rho = {s.rho:.4g}, phi* at most 2 B / (delta - slack) = {most:.4g}{note}")


def dual_row(s: Subject) -> Row:
    if s.projected:
        return Row("dual of Algorithm 1", VERIFIED, "projected to [0, rho]")
    return Row("dual of Algorithm 1", VIOLATED, "a virtual queue, for which the paper states no theorem")


def one_arm_row(one_arm: bool | None) -> Row:
    status = UNKNOWN if one_arm is None else VERIFIED if one_arm else VIOLATED
    detail = {None: "pass the problem to see", True: "it does", False: "it mixes several arms"}[one_arm]
    return Row("pi* sits on one arm", status, detail)
