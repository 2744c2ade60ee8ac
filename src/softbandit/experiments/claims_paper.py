"""The sentences of the paper's simulation section, as claims."""

import math

from softbandit.experiments.claims import Claim, Condition
from softbandit.experiments.judges import (
    all_zero,
    always_good,
    as_fast_as,
    at_most,
    better_or_similar,
    cost_in_arms,
    equals,
    linear_until,
    sublinear,
)

CKB = ("ckb-ucb", "ckb-ts", "ckb-rand")
SAFE = ("stageopt", "sgp-ucb")
SCALED = Condition("with CKB's confidence width scaled by 0.2", {"width_scale": 0.2})
FEASIBLE = Condition("on instances whose unconstrained maximiser is feasible", {"maximiser": "feasible"})
BOTH = Condition(f"{FEASIBLE.words}, {SCALED.words}", {**FEASIBLE.rows, **SCALED.rows})
SYNTHETIC = (FEASIBLE, SCALED, BOTH)
REGRET, TOTAL, POSITIVE, COUNT = "strong_regret", "violation", "positive_violation", "violated_rounds"

REGRETS = (
    "Our three CKB algorithms achieve a better (or similar) regret performance compared to the existing safe BO "
    "algorithms."
)
GOOD = "Among the three CKB algorithms, CKB-Rand appears to have reasonably good performance at all times."
ZERO = "We have V(T) = 0 under all the algorithms."
STRONGER = "All CKB algorithms achieve sublinear performance even with respect to this stronger metric."
GAIN = "Our three CKB algorithms have significant performance gain over existing safe KB algorithms."
SAME = "Our proposed CKB algorithms have the same computational complexity as the unconstrained case."
LINEARLY = "They scale linearly with the number of actions in the discrete-domain case."
QUADRATICALLY = "StageOpt scales quadratically due to the construction of the safe set."
START = "SGP-UCB requires the additional random initialization stage, which leads to linear regret at the beginning."
SUPERIOR = "StageOpt (which has a superior performance compared to SafeOpt)."
FIVE = "In the synthetic data setting, our proposed CKB algorithms have N <= 5 over T = 10,000 rounds."
NONE = "In the real-world data setting, CKB-UCB enjoys N = 0 over a horizon T = 1,000."
SOME = "CKB-Rand has an average N = 38 over a horizon T = 1,000."
RAND = "CKB-Rand enjoys an average N = 21 within the horizon of T = 10,000."
UCB = "CKB-UCB has an average N = 47 within the horizon of T = 10,000."
SLACK = "One can achieve a bounded and even zero constraint violation by trading the regret slightly (section 4)."

_paired = {"ckb-ucb": "gp-ucb", "ckb-rand": "gp-ucb", "ckb-ts": "gp-ts"}
_both = (*CKB, *SAFE)
_regret = better_or_similar(CKB, SAFE, REGRET)
_good = always_good("ckb-rand", CKB, REGRET)
_zero = all_zero(_both, TOTAL)
_positive = sublinear(CKB, POSITIVE)
_gain = better_or_similar(CKB, SAFE, REGRET, strictly=True)
_safeopt = better_or_similar(("stageopt",), ("safeopt",), REGRET)
_five = at_most(CKB, COUNT, 5)
_none, _some = equals("ckb-ucb", COUNT, 0), equals("ckb-rand", COUNT, 38)
_rand, _ucb = equals("ckb-rand", COUNT, 21), equals("ckb-ucb", COUNT, 47)
_start = linear_until("sgp-ucb", REGRET, lambda T: math.isqrt(int(T)))

CLAIMS = (
    Claim("Regret, synthetic", REGRETS, "a plot", "synthetic", "fig1a", _regret, SYNTHETIC),
    Claim("Regret, sensors", REGRETS, "a plot", "sensors", "fig1b", _regret, (SCALED,)),
    Claim("CKB-Rand at all times, synthetic", GOOD, "a plot", "synthetic", "fig1a", _good, SYNTHETIC),
    Claim("CKB-Rand at all times, sensors", GOOD, "a plot", "sensors", "fig1b", _good, (SCALED,)),
    Claim("No violation, synthetic", ZERO, "V(T) = 0", "synthetic", "fig1a-violation", _zero, SYNTHETIC),
    Claim("No violation, sensors", ZERO, "V(T) = 0", "sensors", "fig1c", _zero, (SCALED,)),
    Claim("Violated rounds, synthetic", FIVE, "N <= 5", "synthetic", "fig1a-kinds", _five, SYNTHETIC, 10_000),
    Claim("Violated rounds, sensors, UCB", NONE, "N = 0", "sensors-grid", "sensors-grid", _none, (SCALED,), 1_000),
    Claim("Violated rounds, sensors, Rand", SOME, "N = 38", "sensors-grid", "sensors-grid", _some, (SCALED,), 1_000),
    Claim("Positive violation, sensors", STRONGER, "a plot", "sensors", "fig1c", _positive, (SCALED,)),
    Claim("Cost as in the unconstrained case", SAME, "the same", "arms", "arms", as_fast_as(_paired, 3.0)),
    Claim("Cost of CKB", LINEARLY, "linear", "arms", "arms", cost_in_arms(CKB, quadratic=False)),
    Claim("Cost of StageOpt", QUADRATICALLY, "quadratic", "arms", "arms", cost_in_arms(("stageopt",), quadratic=True)),
    Claim("SGP-UCB begins with linear regret", START, "linear", "synthetic", "fig1a", _start),
    Claim("StageOpt against SafeOpt", SUPERIOR, "cited", "sensors", "fig1b", _safeopt),
    Claim("Regret, heavy tails", GAIN, "a plot", "stocks", "fig2a", _gain, (SCALED,)),
    Claim("Violated rounds, stocks, Rand", RAND, "N = 21", "stocks", "stocks-grid", _rand, (SCALED,), 10_000),
    Claim("Violated rounds, stocks, UCB", UCB, "N = 47", "stocks", "stocks-grid", _ucb, (SCALED,), 10_000),
    Claim("Positive violation, stocks", STRONGER, "a plot", "stocks", "fig2c", _positive, (SCALED,)),
    Claim("Zero violation by slack", SLACK, "V(T) = 0", "slack", "slack", all_zero(CKB, TOTAL)),
)
