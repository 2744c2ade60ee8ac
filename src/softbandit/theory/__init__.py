"""The paper's theory as numbers: information gain, optimum and dual, bounds, certificates, the ledger.

`guarantees(policy, problem)` says what is known before a run, `agent.certificate()` and `certify_run(policy, trace)`
what is known after it; these are the parts.
"""

from softbandit.gp import Features, features
from softbandit.theory.arm_elimination import plausible_arms
from softbandit.theory.assumptions import Row, norm_on_arms
from softbandit.theory.bounds import Bound, Setting, Slack, cancelling_slack, deviation_sum, theorem_1, theorem_2
from softbandit.theory.certificate_report import Certificate
from softbandit.theory.certificates import Condition, certify
from softbandit.theory.confidence_sequences import bernstein_radius, sub_gaussian_radius
from softbandit.theory.deviation import Law, Trial, law
from softbandit.theory.gain_on_spaces import SpaceGain, gain_on_space
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
from softbandit.theory.recommendation import Mixture, Recommendation
from softbandit.theory.run_bounds import Bounds
from softbandit.theory.run_certificates import RunCertificates, certify_run
from softbandit.theory.suggested_settings import suggest_settings

__all__ = [
    "Bound",
    "Bounds",
    "Certificate",
    "Condition",
    "Features",
    "Guarantees",
    "Law",
    "MaximumGain",
    "Mixture",
    "OptimalDual",
    "Optimum",
    "Recommendation",
    "Row",
    "RunCertificates",
    "Setting",
    "Slack",
    "Slater",
    "SpaceGain",
    "Trial",
    "bernstein_radius",
    "cancelling_slack",
    "certify",
    "certify_run",
    "deviation_sum",
    "features",
    "gain_on_space",
    "gain_rate",
    "greedy_gain",
    "guarantees",
    "largest_margin",
    "law",
    "norm_on_arms",
    "optimal_dual",
    "plausible_arms",
    "randomized_optimum",
    "realised_gain",
    "slater_condition",
    "spectral_gain",
    "sub_gaussian_radius",
    "suggest_settings",
    "theorem_1",
    "theorem_2",
]
