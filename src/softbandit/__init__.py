"""softbandit: choose actions online so that reward is high while soft constraints hold over time."""

from softbandit import baselines, data, problems, theory
from softbandit.agent import Agent, Decision, HorizonWarning, PolicyWarning
from softbandit.backend import DrawCount, Draws, namespace
from softbandit.domains import (
    Box,
    Categorical,
    Cyclic,
    Fixed,
    Float,
    Integer,
    LogFloat,
    LogInteger,
    Ordinal,
    Space,
)
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
    StoreError,
    UnknownNameError,
)
from softbandit.gp import Fit, Kernel, Linear, Matern, SquaredExponential, Tabular, fit, kernels
from softbandit.model import UCB, Exploration, Gaussian, Greedy, RandUCB, Thompson, TruncatedGaussian, UniformDiscrete
from softbandit.policies import CKB, Autopilot, Doubling, Practical
from softbandit.simulation.engine_choice import EngineHint
from softbandit.simulation.scores import score
from softbandit.simulation.simulator import simulate
from softbandit.simulation.sweeps import sweep
from softbandit.simulation.trace import ComplaintWarning
from softbandit.theory import randomized_optimum, suggest_settings
from softbandit.tuner import Excess, Mean, Share, Suggestion, Tuner, tuners

__version__ = "0.2.0"

__all__ = [
    "CKB",
    "UCB",
    "Agent",
    "ArgumentError",
    "Autopilot",
    "Box",
    "Categorical",
    "ChecksumError",
    "ClusterError",
    "ComplaintWarning",
    "Cyclic",
    "DataError",
    "Decision",
    "DecisionError",
    "DeviceError",
    "DiskFullError",
    "Doubling",
    "DrawCount",
    "Draws",
    "EngineHint",
    "Excess",
    "Exploration",
    "FeedbackError",
    "FetchError",
    "FileError",
    "Fit",
    "Fixed",
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
    "LogInteger",
    "Matern",
    "Mean",
    "MissingExtraError",
    "MovedError",
    "OfflineError",
    "Ordinal",
    "PolicyWarning",
    "Practical",
    "RandUCB",
    "SafeSeedError",
    "Share",
    "SoftbanditError",
    "Space",
    "SquaredExponential",
    "StoreError",
    "Suggestion",
    "Tabular",
    "Thompson",
    "TruncatedGaussian",
    "Tuner",
    "UniformDiscrete",
    "UnknownNameError",
    "__version__",
    "baselines",
    "data",
    "fit",
    "kernels",
    "namespace",
    "problems",
    "randomized_optimum",
    "score",
    "simulate",
    "suggest_settings",
    "sweep",
    "theory",
    "tuners",
]


def __dir__() -> list[str]:
    return sorted(__all__)
