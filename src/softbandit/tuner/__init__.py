"""Live tuning in the user's own words: a durable log of events, shared by many processes."""

from softbandit.tuner.suggestion import Suggestion
from softbandit.tuner.tuner import Tuner, tuners
