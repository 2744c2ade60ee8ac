"""The paper's theory as numbers: information gain, optimum and dual, bounds, certificates, the ledger.

`guarantees(policy, problem)` puts them together; these are the parts.
"""

from softbandit.gp import Features, features
from softbandit.theory.assumptions import Row, norm_on_arms
from softbandit.theory.bounds import Bound, Setting, Slack, cancelling_slack, deviation_sum, theorem_1, theorem_2
from softbandit.theory.certificates import Condition, certify
from softbandit.theory.deviation import Law, Trial, law
from softbandit.theory.information_gain import MaximumGain, gain_rate, greedy_gain, realised_gain, spectral_gain
from softbandit.theory.ledger import Guarantees
from softbandit.theory.optimum import (
    OptimalDual,
    Optimum,
    Slater,
    largest_margin,
    optimal_dual,
    randomized_optimum,
    slater_condition,
)
from softbandit.theory.policy_ledger import guarantees

__all__ = [
    "Bound",
    "Condition",
    "Features",
    "Guarantees",
    "Law",
    "MaximumGain",
    "OptimalDual",
    "Optimum",
    "Row",
    "Setting",
    "Slack",
    "Slater",
    "Trial",
    "cancelling_slack",
    "certify",
    "deviation_sum",
    "features",
    "gain_rate",
    "greedy_gain",
    "guarantees",
    "largest_margin",
    "law",
    "norm_on_arms",
    "optimal_dual",
    "randomized_optimum",
    "realised_gain",
    "slater_condition",
    "spectral_gain",
    "theorem_1",
    "theorem_2",
]
