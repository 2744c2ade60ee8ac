"""The joint model of reward and costs that policies consult: posteriors, widths, explorations."""

from softbandit.model.beliefs import ArmBelief
from softbandit.model.continuous import Field, generator
from softbandit.model.explorations import (
    NAMES,
    UCB,
    Exploration,
    Gaussian,
    Greedy,
    RandUCB,
    Thompson,
    TruncatedGaussian,
    UniformDiscrete,
)
from softbandit.model.finite import FiniteModel
from softbandit.model.from_settings import ModelSettings, PerConstraint, build_model, norm_bounds
from softbandit.model.widths import LEAST_RATIO, VALID, checked_confidence
