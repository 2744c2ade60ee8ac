"""Problems: the functions to optimise, the noise on them, and the constants that a policy may know."""

from softbandit.problems.cloud_service import cloud, cloud_configurations
from softbandit.problems.light_sensors import sensors
from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise, StudentNoise, UniformNoise
from softbandit.problems.power_control import channel_gains, wireless
from softbandit.problems.problem import Problem
from softbandit.problems.space_problem import SpaceProblem
from softbandit.problems.standard_functions import STANDARD, Standard, standard
from softbandit.problems.stock_prices import stocks
from softbandit.problems.synthetic import rkhs, rkhs_on

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
