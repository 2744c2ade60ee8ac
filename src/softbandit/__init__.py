"""softbandit: choose actions online so that reward is high while soft constraints hold over time."""

from softbandit import baselines, data, problems, theory
from softbandit.agent import Agent, Decision, HorizonWarning
from softbandit.arrays import DrawCount, Draws, namespace
from softbandit.ckb import CKB
from softbandit.doubling import Doubling
from softbandit.errors import (
    ArgumentError,
    ChecksumError,
    ClusterError,
    DataError,
    DecisionError,
    DeviceError,
    DiskFullError,
    FeedbackError,
    FetchError,
    FileError,
    InfeasibleError,
    KernelError,
    MissingExtraError,
    MovedError,
    OfflineError,
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
from softbandit.learning import Fit, fit
from softbandit.metrics import score
from softbandit.parameters import Categorical, Float, Integer, LogFloat
from softbandit.practical import Practical
from softbandit.simulate import simulate
from softbandit.spaces import Box, Space
from softbandit.sweep import sweep
from softbandit.theory.optimum import randomized_optimum
from softbandit.trace import ComplaintWarning

__version__ = "0.1.0"

__all__ = [
    "CKB",
    "UCB",
    "Agent",
    "ArgumentError",
    "Box",
    "Categorical",
    "ChecksumError",
    "ClusterError",
    "ComplaintWarning",
    "DataError",
    "Decision",
    "DecisionError",
    "DeviceError",
    "DiskFullError",
    "Doubling",
    "DrawCount",
    "Draws",
    "Exploration",
    "FeedbackError",
    "FetchError",
    "FileError",
    "Fit",
    "Float",
    "Gaussian",
    "Greedy",
    "HorizonWarning",
    "InfeasibleError",
    "Integer",
    "Kernel",
    "KernelError",
    "Linear",
    "LogFloat",
    "Matern",
    "MissingExtraError",
    "MovedError",
    "OfflineError",
    "Practical",
    "RandUCB",
    "SafeSeedError",
    "SoftbanditError",
    "Space",
    "SquaredExponential",
    "Tabular",
    "Thompson",
    "TruncatedGaussian",
    "UniformDiscrete",
    "UnknownNameError",
    "__version__",
    "baselines",
    "data",
    "fit",
    "namespace",
    "problems",
    "randomized_optimum",
    "score",
    "simulate",
    "sweep",
    "theory",
]
