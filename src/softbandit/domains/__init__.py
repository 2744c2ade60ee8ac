"""Domains of actions that are not a list, and how a function is maximised there."""

from softbandit.domains.grids import Axis, grid
from softbandit.domains.parameters import Categorical, Float, Integer, LogFloat
from softbandit.domains.search import Objective, accuracy, maximise
from softbandit.domains.spaces import FINITE_LIMIT, Box, Domain, Space, Values
