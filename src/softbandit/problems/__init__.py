"""What is being optimised: functions, how they are observed, and what a policy may know of them."""

from softbandit.problems.cloud import cloud, cloud_configurations
from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise, StudentNoise, UniformNoise
from softbandit.problems.problem import Problem
from softbandit.problems.rkhs import rkhs
from softbandit.problems.sensors import sensors
from softbandit.problems.space import SpaceProblem, rkhs_on
from softbandit.problems.standard import STANDARD, Standard, standard
from softbandit.problems.stocks import stocks
from softbandit.problems.wireless import channel_gains, wireless

__all__ = [
    "STANDARD",
    "GaussianNoise",
    "Noise",
    "Problem",
    "ResampledNoise",
    "SpaceProblem",
    "Standard",
    "StudentNoise",
    "UniformNoise",
    "channel_gains",
    "cloud",
    "cloud_configurations",
    "rkhs",
    "rkhs_on",
    "sensors",
    "standard",
    "stocks",
    "wireless",
]
