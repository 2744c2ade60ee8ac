"""The competitors, behind the same interface as CKB. One algorithm per file; `softbandit policies` lists them."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from softbandit.baselines.cei import ConstrainedEI
from softbandit.baselines.config_algorithm import CONFIG
from softbandit.baselines.epbo import EPBO
from softbandit.baselines.gp_ts import GPTS
from softbandit.baselines.gp_ucb import GPUCB
from softbandit.baselines.losbo import LoSBO
from softbandit.baselines.opb import OPB
from softbandit.baselines.optimistic_lp import OptimisticLP
from softbandit.baselines.pdcbo import PDCBO
from softbandit.baselines.pobo import POBO
from softbandit.baselines.rpol import RPOL
from softbandit.baselines.safe_bocp import SafeBOCP
from softbandit.baselines.safeopt import SafeOpt
from softbandit.baselines.scbo import ConstrainedTS
from softbandit.baselines.sgp_ucb import SGPUCB
from softbandit.baselines.stageopt import StageOpt
from softbandit.baselines.time_varying import TimeVarying
from softbandit.baselines.ucb_d import UCBD
from softbandit.errors import UnknownNameError
from softbandit.policies import CKB, About, Autopilot, Doubling, Policy
from softbandit.validation import named

__all__ = [
    "CONFIG",
    "EPBO",
    "GPTS",
    "GPUCB",
    "OPB",
    "PDCBO",
    "POBO",
    "POLICIES",
    "RPOL",
    "SGPUCB",
    "UCBD",
    "ConstrainedEI",
    "ConstrainedTS",
    "LoSBO",
    "OptimisticLP",
    "SafeBOCP",
    "SafeOpt",
    "StageOpt",
    "TimeVarying",
    "make",
]


def _time_varying(every: int | None = None, **settings: Any) -> Policy:
    policy = CKB(**settings)
    return TimeVarying(policy, every=policy.horizon // 10 or 1 if every is None else every)


def _autopilot(**settings: Any) -> Policy:
    """Build Autopilot, which learns the rest of what CKB must be told."""
    own = inspect.signature(Autopilot).parameters.keys() - {"kernel"}
    return Autopilot(**{name: value for name, value in settings.items() if name in own})


POLICIES: dict[str, tuple[Callable[..., Policy], About]] = {
    "ckb": (CKB, CKB.about),
    "ckb-ucb": (partial(CKB, explore="ucb"), CKB.about),
    "ckb-ts": (partial(CKB, explore="ts"), CKB.about),
    "ckb-rand": (partial(CKB, explore="rand"), CKB.about),
    "ckb-doubling": (lambda **settings: Doubling(CKB(**settings)), Doubling.about),
    "ckb-time-varying": (_time_varying, TimeVarying.about),
    "autopilot": (_autopilot, Autopilot.about),
    "safeopt": (SafeOpt, SafeOpt.about),
    "stageopt": (StageOpt, StageOpt.about),
    "sgp-ucb": (SGPUCB, SGPUCB.about),
    "gp-ucb": (GPUCB, GPUCB.about),
    "gp-ts": (GPTS, GPTS.about),
    "rpol": (RPOL, RPOL.about),
    "pobo": (POBO, POBO.about),
    "pdcbo": (PDCBO, PDCBO.about),
    "config": (CONFIG, CONFIG.about),
    "epbo": (EPBO, EPBO.about),
    "cei": (ConstrainedEI, ConstrainedEI.about),
    "cts": (ConstrainedTS, ConstrainedTS.about),
    "opb": (OPB, OPB.about),
    "optimistic-lp": (OptimisticLP, OptimisticLP.about),
    "safe-bocp": (SafeBOCP, SafeBOCP.about),
    "losbo": (LoSBO, LoSBO.about),
    "ucb-d": (UCBD, UCBD.about),
}


FURTHER = {"ckb-time-varying": {"every"}, "autopilot": {"contexts", "optimism"}}
"""Settings of policies that are built from CKB's."""


def make(name: str, **settings: Any) -> Policy:
    """Build the policy of that name: `make("rpol", **problem.settings(), horizon=1000)`."""
    build, _ = named("policy", name, POLICIES)
    kind = build if isinstance(build, type) else CKB
    known = set(inspect.signature(kind).parameters) | FURTHER.get(name, set())
    known -= {"explore"} if name in ("ckb-ucb", "ckb-ts", "ckb-rand") else set()  # part of the name
    for setting in settings:
        if setting not in known:
            raise UnknownNameError.among(f"{name}, setting", setting, known)
    return build(**settings)
