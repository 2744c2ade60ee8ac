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


def _autopilot(
    arms: Any,
    constraints: int = 1,
    horizon: int | None = None,
    contexts: Any = None,
    optimism: float = 1.0,
    **ignored: Any,
) -> Policy:
    """Build Autopilot, which learns the rest of what CKB must be told."""
    return Autopilot(arms, constraints, horizon, contexts, optimism=optimism)


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


def settings_of(name: str) -> dict[str, inspect.Parameter]:
    """Return the settings of the policy of that name, with their defaults."""
    build, _ = named("policy", name, POLICIES)
    parameters = dict(inspect.signature(build).parameters)
    if "settings" in parameters:  # it is built from a CKB
        parameters = _ckb_settings() | parameters
    part_of_the_name = build.keywords if isinstance(build, partial) else {}
    return {key: p for key, p in parameters.items() if p.kind is not p.VAR_KEYWORD and key not in part_of_the_name}


def make(name: str, **settings: Any) -> Policy:
    """Build the policy of that name: `make("rpol", **problem.settings(), horizon=1000)`."""
    build, _ = named("policy", name, POLICIES)
    known = settings_of(name) | (_ckb_settings() if build is _autopilot else {})
    for setting in settings:
        if setting not in known:
            raise UnknownNameError.among(f"{name}, setting", setting, known)
    return build(**settings)


def _ckb_settings() -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(CKB).parameters)
