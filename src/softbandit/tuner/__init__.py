"""Live tuning in the user's own words: metrics, limits in their units, and an append-only log of what happened."""

from softbandit.tuner.description import Description
from softbandit.tuner.limits import Excess, Limit, Mean, Share
