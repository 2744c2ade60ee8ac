"""CKB for functions that drift: the posterior is reset now and then."""

from dataclasses import dataclass, field

from softbandit import validation
from softbandit.errors import ArgumentError
from softbandit.policies import CKB, About, Stage
from softbandit.policies.base import WrappedPolicy


@dataclass(frozen=True, eq=False)
class TimeVarying(WrappedPolicy):
    """Run `policy` with its posterior reset every H rounds; the dual goes on.

    Deng, Zhou et al. 2022, *Interference Constrained Beam Alignment for Time-Varying Channels
    via Kernelized Bandits*. The one public program of it, not the authors', also resets the posterior
    and its gain and keeps the dual, but begins with the dual at its cap; here it begins at 0.

    Parameters
    ----------
    policy
        A CKB: other policies keep more than a dual and a posterior.
    every
        H. The name "ckb-time-varying" has a tenth of the horizon by default, a choice of this package.
    """

    every: int
    horizon: int | None = field(init=False)

    about = About(
        "CKB with its posterior reset every so often, for functions that drift",
        "Deng, Zhou et al. 2022",
        "horizon, Slater margin; how often to forget",
        "dynamic regret and violation sublinear under slow drift (as published)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, CKB):
            raise ArgumentError.of("policy", "a CKB", type(self.policy).__name__, "For example sb.CKB(...).")
        every = validation.whole("every", self.every, least=1, most=2**53)
        validation.store(self, every=every, horizon=self.policy.horizon)

    def stage(self, round: int) -> Stage:
        first = round - round % self.every
        return Stage(self.policy, first, first + self.every, keeps_dual=True)
