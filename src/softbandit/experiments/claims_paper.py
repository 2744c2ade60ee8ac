"""The claims of the paper's simulation section, in its own sentences."""

import math

from softbandit.experiments import judges
from softbandit.experiments.claims import Claim, Condition

CKB = ("ckb-ucb", "ckb-ts", "ckb-rand")
SAFE = ("stageopt", "sgp-ucb")
SCALED = Condition("with all confidence widths scaled by 0.2", {"width_scale": 0.2})
FEASIBLE = Condition("on instances whose unconstrained maximiser is feasible", {"maximiser": "feasible"})
BOTH = Condition(f"{FEASIBLE.words}, {SCALED.words}", {**FEASIBLE.rows, **SCALED.rows})
SYNTHETIC = (FEASIBLE, SCALED, BOTH)
REGRET, VIOLATION, POSITIVE, COUNT = "strong_regret", "violation", "positive_violation", "violated_rounds"

REGRET_CLAIM = (
    "Our three CKB algorithms achieve a better (or similar) regret performance compared to the existing safe BO "
    "algorithms."
)
RAND_CLAIM = "Among the three CKB algorithms, CKB-Rand appears to have reasonably good performance at all times."
ZERO = "We have V(T) = 0 under all the algorithms."
SUBLINEAR = "All CKB algorithms achieve sublinear performance even with respect to this stronger metric."
SIGNIFICANT_GAIN = "Our three CKB algorithms have significant performance gain over existing safe KB algorithms."
SAME_COST = "Our proposed CKB algorithms have the same computational complexity as the unconstrained case."
LINEAR_COST = "They scale linearly with the number of actions in the discrete-domain case."
QUADRATIC_COST = "StageOpt scales quadratically due to the construction of the safe set."
START = "SGP-UCB requires the additional random initialization stage, which leads to linear regret at the beginning."
STAGEOPT_SUPERIOR = "StageOpt (which has a superior performance compared to SafeOpt)."
N5 = "In the synthetic data setting, our proposed CKB algorithms have N <= 5 over T = 10,000 rounds."
N0 = "In the real-world data setting, CKB-UCB enjoys N = 0 over a horizon T = 1,000."
N38 = "CKB-Rand has an average N = 38 over a horizon T = 1,000."
N21 = "CKB-Rand enjoys an average N = 21 within the horizon of T = 10,000."
N47 = "CKB-UCB has an average N = 47 within the horizon of T = 10,000."
SLACK = "One can achieve a bounded and even zero constraint violation by trading the regret slightly (section 4)."

_low_regret = judges.better_or_similar(CKB, SAFE, REGRET)
_rand_good = judges.always_good("ckb-rand", CKB, REGRET)
_zero = judges.all_zero((*CKB, *SAFE), VIOLATION)
_sublinear = judges.sublinear(CKB, POSITIVE)
_lower_regret = judges.better(CKB, SAFE, REGRET)
_beats_safeopt = judges.better_or_similar(("stageopt",), ("safeopt",), REGRET)
_n5 = judges.at_most(CKB, COUNT, limit=5)
_n0, _n38 = judges.equals("ckb-ucb", COUNT, 0), judges.equals("ckb-rand", COUNT, 38)
_n21, _n47 = judges.equals("ckb-rand", COUNT, 21), judges.equals("ckb-ucb", COUNT, 47)
_same_cost = judges.as_fast_as({"ckb-ucb": "gp-ucb", "ckb-rand": "gp-ucb", "ckb-ts": "gp-ts"}, factor=3.0)
_linear_cost = judges.cost_in_arms(CKB, sign="<=", limit=1.15)
_quadratic_cost = judges.cost_in_arms(("stageopt",), sign=">=", limit=1.7)
_linear_start = judges.linear_until("sgp-ucb", REGRET, lambda T: math.isqrt(int(T)))

CLAIMS = (
    Claim("Regret, synthetic", REGRET_CLAIM, "a plot", "synthetic", "fig1a", _low_regret, SYNTHETIC),
    Claim("Regret, sensors", REGRET_CLAIM, "a plot", "sensors", "fig1b", _low_regret, (SCALED,)),
    Claim("CKB-Rand at all times, synthetic", RAND_CLAIM, "a plot", "synthetic", "fig1a", _rand_good, SYNTHETIC),
    Claim("CKB-Rand at all times, sensors", RAND_CLAIM, "a plot", "sensors", "fig1b", _rand_good, (SCALED,)),
    Claim("No violation, synthetic", ZERO, "V(T) = 0", "synthetic", "fig1a-violation", _zero, SYNTHETIC),
    Claim("No violation, sensors", ZERO, "V(T) = 0", "sensors", "fig1c", _zero, (SCALED,)),
    Claim("Violated rounds, synthetic", N5, "N <= 5", "synthetic", "fig1a-kinds", _n5, SYNTHETIC, 10_000),
    Claim("Violated rounds, sensors, UCB", N0, "N = 0", "sensors-grid", "sensors-grid", _n0, (SCALED,), 1_000),
    Claim("Violated rounds, sensors, Rand", N38, "N = 38", "sensors-grid", "sensors-grid", _n38, (SCALED,), 1_000),
    Claim("Positive violation, sensors", SUBLINEAR, "a plot", "sensors", "fig1c", _sublinear, (SCALED,)),
    Claim("Cost as in the unconstrained case", SAME_COST, "the same", "arms", "arms", _same_cost),
    Claim("Cost of CKB", LINEAR_COST, "linear", "arms", "arms", _linear_cost),
    Claim("Cost of StageOpt", QUADRATIC_COST, "quadratic", "arms", "arms", _quadratic_cost),
    Claim("SGP-UCB begins with linear regret", START, "linear", "synthetic", "fig1a", _linear_start),
    Claim("StageOpt against SafeOpt", STAGEOPT_SUPERIOR, "cited", "sensors", "fig1b", _beats_safeopt),
    Claim("Regret, heavy tails", SIGNIFICANT_GAIN, "a plot", "stocks", "fig2a", _lower_regret, (SCALED,)),
    Claim("Violated rounds, stocks, Rand", N21, "N = 21", "stocks", "stocks-grid", _n21, (SCALED,), 10_000),
    Claim("Violated rounds, stocks, UCB", N47, "N = 47", "stocks", "stocks-grid", _n47, (SCALED,), 10_000),
    Claim("Positive violation, stocks", SUBLINEAR, "a plot", "stocks", "fig2c", _sublinear, (SCALED,)),
    Claim("Zero violation by slack", SLACK, "V(T) = 0", "slack", "slack", judges.all_zero(CKB, VIOLATION)),
)
