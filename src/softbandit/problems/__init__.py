"""What is being optimised: functions, how they are observed, and what a policy may know of them."""

from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise, StudentNoise, UniformNoise
from softbandit.problems.problem import Problem
from softbandit.problems.rkhs import rkhs
from softbandit.problems.space import SpaceProblem, rkhs_on
from softbandit.problems.standard import STANDARD, Standard, standard

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
    "rkhs",
    "rkhs_on",
    "standard",
]
