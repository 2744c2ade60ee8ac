"""softbandit: choose actions online so that reward is high while soft constraints hold over time."""

from softbandit import baselines, problems, theory
from softbandit.agent import Agent, Decision, HorizonWarning
from softbandit.arrays import DrawCount, Draws, namespace
from softbandit.ckb import CKB
from softbandit.doubling import Doubling
from softbandit.errors import (
    ArgumentError,
    DecisionError,
    DeviceError,
    FeedbackError,
    FileError,
    InfeasibleError,
    KernelError,
    MissingExtraError,
    SafeSeedError,
    SoftbanditError,
    UnknownNameError,
)
from softbandit.explore import (
    UCB,
    Exploration,
    Gaussian,
    Greedy,
    RandUCB,
    Thompson,
    TruncatedGaussian,
    UniformDiscrete,
)
from softbandit.kernels import Kernel, Linear, Matern, SquaredExponential, Tabular
from softbandit.metrics import score
from softbandit.simulate import simulate
from softbandit.theory.optimum import randomized_optimum
from softbandit.trace import ComplaintWarning

__version__ = "0.1.0"

__all__ = [
    "CKB",
    "UCB",
    "Agent",
    "ArgumentError",
    "ComplaintWarning",
    "Decision",
    "DecisionError",
    "DeviceError",
    "Doubling",
    "DrawCount",
    "Draws",
    "Exploration",
    "FeedbackError",
    "FileError",
    "Gaussian",
    "Greedy",
    "HorizonWarning",
    "InfeasibleError",
    "Kernel",
    "KernelError",
    "Linear",
    "Matern",
    "MissingExtraError",
    "RandUCB",
    "SafeSeedError",
    "SoftbanditError",
    "SquaredExponential",
    "Tabular",
    "Thompson",
    "TruncatedGaussian",
    "UniformDiscrete",
    "UnknownNameError",
    "__version__",
    "baselines",
    "namespace",
    "problems",
    "randomized_optimum",
    "score",
    "simulate",
    "theory",
]
