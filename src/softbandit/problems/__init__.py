"""What is being optimised: functions, how they are observed, and what a policy may know of them."""

from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise, StudentNoise, UniformNoise
from softbandit.problems.problem import Problem
from softbandit.problems.rkhs import rkhs
from softbandit.problems.sensors import sensors
from softbandit.problems.stocks import stocks

__all__ = [
    "GaussianNoise",
    "Noise",
    "Problem",
    "ResampledNoise",
    "StudentNoise",
    "UniformNoise",
    "rkhs",
    "sensors",
    "stocks",
]
