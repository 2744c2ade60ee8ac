"""Domains of actions that are not a list, and how a function is maximised there."""

from softbandit.domains.choices import Categorical, Fixed, Ordinal, as_choice
from softbandit.domains.cyclic import Cyclic
from softbandit.domains.grids import Axis, grid
from softbandit.domains.parameters import Parameter
from softbandit.domains.ranges import Float, Integer, LogFloat, LogInteger
from softbandit.domains.search import Objective, accuracy, maximise
from softbandit.domains.spaces import FINITE_LIMIT, Box, Domain, Space, Values
from softbandit.domains.words import extent_in_words, point_in_words
