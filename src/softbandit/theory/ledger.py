"""The ledger: each assumption behind a guarantee, how it stands, and the bound that follows or why none does."""

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

from softbandit.checks import Floats
from softbandit.explore import UCB, Exploration
from softbandit.features import Features
from softbandit.theory.bounds import Bound, Setting, theorem_1, theorem_2
from softbandit.theory.certificates import SATISFIED, Condition, certify
from softbandit.theory.gain import greedy_gain, spectral_gain
from softbandit.theory.law import Trial
from softbandit.theory.optimum import largest_margin, optimal_dual, randomized_optimum

GIVEN, VERIFIED, VIOLATED, UNKNOWN = "given", "verified", "violated", "unknown"
DESIGN_STEPS = 400  # of the design that bounds the information gain
SLIGHT = 1e-6  # relative: what rounding may do to a norm or a margin


class Truth(Protocol):
    """What a problem knows: enough to verify assumptions on it."""

    @property
    def reward(self) -> Floats: ...
    @property
    def costs(self) -> Floats: ...
    @property
    def noise(self) -> float: ...


@dataclass(frozen=True, eq=False)
class Subject:
    """A policy, as far as its guarantee goes. Lists over outputs have the reward first, then each cost."""

    name: str
    horizon: int
    bound: Floats
    noise: Floats
    regularisation: Floats
    features: Sequence[Features]
    explorations: Sequence[Exploration]
    confidence: float
    theory_width: bool
    width_scale: float
    projected: bool  # the dual is that of Algorithm 1
    slater: float | None
    slack: float
    rho: float
    V: Floats


@dataclass(frozen=True)
class Row:
    assumption: str
    status: str  # given by the user, verified, violated, or unknown
    detail: str


@dataclass(frozen=True)
class Guarantees:
    """The ledger of one policy. Print it, or export it with `to_json`."""

    policy: str
    horizon: int
    rows: Sequence[Row]
    verdict: str  # of the sufficient condition
    reason: str  # which inequality decides it
    bound: Bound | None
    why_not: str | None  # why there is no bound
    trivial: tuple[float, float] = field(default=(math.inf, math.inf))  # 2 B T and the largest G_i T

    @property
    def covered(self) -> bool:
        return self.bound is not None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "bound": self.bound and self.bound._asdict(), "covered": self.covered}

    def to_json(self) -> str:
        """As JSON; an infinite number is null."""
        return json.dumps(_finite(self.to_dict()), indent=2)

    def __str__(self) -> str:
        lines = [f"Guarantees of {self.policy}, T = {self.horizon:,}", ""]
        for row in self.rows:
            lines += _wrapped(f"{row.status:9}{row.assumption:26}", row.detail)
        lines += ["", *_wrapped("sufficient condition: ", f"{self.verdict}; {self.reason}"), ""]
        if self.bound is None:
            return "\n".join([*lines, *_wrapped("NOT COVERED. ", str(self.why_not))])
        lines.append(f"COVERED by {self.bound.theorem}, with probability at least {self.bound.probability:g}:")
        lines.append(_against("R_+(T)", self.bound.regret, self.trivial[0], "2 B T"))
        if self.trivial[1]:
            lines.append(_against("V(T)  ", self.bound.violation, self.trivial[1], "G T"))
        return "\n".join(lines)


def assess(subject: Subject, problem: Truth | None = None) -> Guarantees:
    """The ledger of a policy; with a problem, assumptions are verified on it."""
    s = subject
    price = None if problem is None else _dual_price(s, problem)
    one_arm = None if problem is None else _on_one_arm(problem)
    condition = certify(s.explorations, _trials(s, problem), one_arm)
    rows = [
        *_norms(s, problem),
        _kernel(s),
        _noise(s, problem),
        _regularisation(s),
        _width(s),
        _horizon(s),
        Row("draws independent", VERIFIED, "every output has its own"),
    ]
    if len(s.V):
        rows += [_slater(s, problem), _cap(s, price), _dual(s)]
    if any(law.one_arm for law in condition.laws):
        rows.append(_one_arm(one_arm))
    why_not = _obstacle(rows, condition)
    bound = None if why_not else _bound(s, condition, price)
    m_bounds = s.bound[1:]
    trivial = (2 * float(s.bound[0]) * s.horizon, float(m_bounds.max(initial=0.0)) * s.horizon)
    return Guarantees(s.name, s.horizon, rows, condition.verdict, condition.reason, bound, why_not, trivial)


def _obstacle(rows: Sequence[Row], condition: Condition) -> str | None:
    violated = [row for row in rows if row.status == VIOLATED]
    if violated:
        return "; ".join(f"{row.assumption}: {row.detail}" for row in violated)
    if condition.verdict != SATISFIED:
        return condition.reason
    unknown = [row for row in rows if row.status == UNKNOWN]
    return "; ".join(f"{row.assumption}: {row.detail}" for row in unknown) or None


def _bound(s: Subject, condition: Condition, price: float | None) -> Bound:
    T = s.horizon
    gain = np.empty(len(s.bound))
    known: dict[tuple[int, float], float] = {}
    for i, (phi, lam) in enumerate(zip(s.features, s.regularisation, strict=True)):
        key = (id(phi), float(lam))
        if key not in known:
            design = greedy_gain(phi, T, lam, steps=DESIGN_STEPS).upper[-1]
            known[key] = float(min(design, spectral_gain(phi, T, lam)[0]))
        gain[i] = known[key]
    setting = Setting(
        horizon=T,
        bound=s.bound,
        noise=s.noise,
        gain=gain,
        regularisation=s.regularisation,
        confidence=s.confidence,
        width_scale=s.width_scale,
        slater=s.slater or math.nan,
        slack=s.slack,
        rho=s.rho if len(s.V) else 0.0,
        V=s.V,
        dual_bound=_dual_bound(s) if price is None else price,
    )
    ucb = all(isinstance(each, UCB) for each in s.explorations)
    return theorem_1(setting) if ucb else theorem_2(setting, condition)


def _trials(s: Subject, problem: Truth | None) -> list[Trial]:
    target = None if problem is None else randomized_optimum(problem.reward, problem.costs).weights
    log_term = math.log(len(s.bound) / s.confidence)
    return [
        Trial(phi, float(lam), float(B), float(R), log_term, s.width_scale, 1.0 if i == 0 else -1.0, target, seed=i)
        for i, (phi, lam, B, R) in enumerate(zip(s.features, s.regularisation, s.bound, s.noise, strict=True))
    ]


def norm_on_arms(features: Features, values: Floats) -> tuple[float, float]:
    """The norm of the smallest function with these values on the arms, and the share of them it misses."""
    weights, *_ = np.linalg.lstsq(features.phi, values, rcond=None)
    missed = np.abs(features.phi @ weights - values).max() / max(np.abs(values).max(), np.finfo(float).tiny)
    return float(np.linalg.norm(weights)), float(missed)


def _norms(s: Subject, problem: Truth | None) -> list[Row]:
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


def _kernel(s: Subject) -> Row:
    return Row("k(x, x) <= 1", VERIFIED, f"at most {max(float(phi.diag.max()) for phi in s.features):.4g}")


def _noise(s: Subject, problem: Truth | None) -> Row:
    least = float(s.noise.min())
    if problem is None:
        return Row("noise R-sub-Gaussian", GIVEN, f"R = {least:.4g}")
    status = VERIFIED if problem.noise <= least * (1 + SLIGHT) else VIOLATED
    return Row("noise R-sub-Gaussian", status, f"Gaussian of scale {problem.noise:.4g} against R = {least:.4g}")


def _regularisation(s: Subject) -> Row:
    least = float(s.regularisation.min())
    return Row("lambda >= 1", VERIFIED if least >= 1 else VIOLATED, f"{least:.6g}")


def _width(s: Subject) -> Row:
    if not s.theory_width:
        return Row("width at least beta_t", UNKNOWN, "it is your own: the theory's is width='theory'")
    status = VERIFIED if s.width_scale >= 1 else VIOLATED
    return Row("width at least beta_t", status, f"{s.width_scale:g} x the theory's")


def _horizon(s: Subject) -> Row:
    return Row("at most T rounds", GIVEN, f"T = {s.horizon:,}")


def _slater(s: Subject, problem: Truth | None) -> Row:
    if s.slater is None:
        return Row("Slater's condition", UNKNOWN, "no slater given")
    if problem is None:
        return Row("Slater's condition", GIVEN, f"delta = {s.slater:.4g}")
    margin = largest_margin(problem.costs).margin
    status = VERIFIED if margin >= s.slater * (1 - SLIGHT) else VIOLATED
    return Row("Slater's condition", status, f"margin {margin:.4g} against delta = {s.slater:.4g}")


def _dual_bound(s: Subject) -> float:
    """2 B / (delta - epsilon): Slater's bound on the optimal dual of the tightened problem."""
    return 2 * float(s.bound[0]) / (s.slater - s.slack) if s.slater is not None else math.inf


def _dual_price(s: Subject, problem: Truth) -> float | None:
    """The largest optimal dual of the problem, tightened by the slack; None where it has none."""
    if not len(s.V) or largest_margin(problem.costs).margin <= s.slack:
        return None
    return float(optimal_dual(problem.reward, problem.costs + s.slack).price.max())


def _cap(s: Subject, price: float | None) -> Row:
    """rho > phi* makes the violation bound finite; rho >= 2 phi* gives the paper's constant."""
    known, star = ("phi* = ", price) if price is not None else ("phi* <= 2 B / (delta - slack) = ", _dual_bound(s))
    if not math.isfinite(star):
        return Row("rho above phi*", UNKNOWN, "phi* is not known without slater")
    note = "" if s.rho >= 2 * star * (1 - SLIGHT) else ", less than twice it"
    return Row("rho above phi*", VERIFIED if s.rho > star else VIOLATED, f"rho = {s.rho:.4g}, {known}{star:.4g}{note}")


def _dual(s: Subject) -> Row:
    if s.projected:
        return Row("dual of Algorithm 1", VERIFIED, "projected to [0, rho]")
    return Row("dual of Algorithm 1", VIOLATED, "a virtual queue, for which the paper states no theorem")


def _on_one_arm(problem: Truth) -> bool:
    return bool((randomized_optimum(problem.reward, problem.costs).weights > 0).sum() == 1)


def _one_arm(one_arm: bool | None) -> Row:
    status = UNKNOWN if one_arm is None else VERIFIED if one_arm else VIOLATED
    detail = {None: "pass the problem to see", True: "it does", False: "it mixes several arms"}[one_arm]
    return Row("pi* sits on one arm", status, detail)


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, 79, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]


def _against(name: str, bound: float, trivial: float, formula: str) -> str:
    note = "" if bound < trivial else f"   (void: {formula} = {trivial:,.0f} always holds)"
    return f"  {name} <= {bound:,.0f}{note}"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
