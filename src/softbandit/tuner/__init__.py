"""Live tuning in the user's own words: metrics, limits in their units, and a durable log shared by many processes."""

from softbandit.tuner.description import Description
from softbandit.tuner.limits import Excess, Limit, Mean, Share
from softbandit.tuner.live import DEFAULT_STORE, Tuner, tuners
from softbandit.tuner.suggestion import Suggestion
