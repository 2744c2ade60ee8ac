"""The competitors, behind the same interface as CKB. One algorithm a file; `softbandit policies` lists them."""

from softbandit.baselines.cei import ConstrainedEI
from softbandit.baselines.config_algorithm import CONFIG
from softbandit.baselines.epbo import EPBO
from softbandit.baselines.gp_ts import GPTS
from softbandit.baselines.gp_ucb import GPUCB
from softbandit.baselines.pdcbo import PDCBO
from softbandit.baselines.pobo import POBO
from softbandit.baselines.registry import POLICIES, make
from softbandit.baselines.rpol import RPOL
from softbandit.baselines.safeopt import SafeOpt
from softbandit.baselines.scbo import ConstrainedTS
from softbandit.baselines.sgp_ucb import SGPUCB
from softbandit.baselines.stageopt import StageOpt
from softbandit.baselines.time_varying import TimeVarying

__all__ = [
    "CONFIG",
    "EPBO",
    "GPTS",
    "GPUCB",
    "PDCBO",
    "POBO",
    "POLICIES",
    "RPOL",
    "SGPUCB",
    "ConstrainedEI",
    "ConstrainedTS",
    "SafeOpt",
    "StageOpt",
    "TimeVarying",
    "make",
]
