"""Live tuning in the user's own words: metrics, limits in their units, and a durable log shared by many processes.

`live.py` has the Tuner. `events.py`, `rounds.py` and `replay.py` are its log and the folds over it. `words/` says what
is tuned, `storage/` keeps the log, `deciding/` learns from it, and `reporting/` shows where it stands.
"""

from softbandit.tuner.live import DEFAULT_STORE, Tuner, tuners
from softbandit.tuner.suggestion import Suggestion
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.limits import Excess, Limit, Mean, Share
