"""SafeOpt: learn the best arm while never leaving the safe set."""

from dataclasses import dataclass

from softbandit.backend import ArmMask, Draws
from softbandit.baselines.safe_sets import SafePolicy
from softbandit.policies import About, Choice, State


@dataclass(frozen=True, eq=False)
class SafeOpt(SafePolicy):
    """x_t = argmax over M and E of max over outputs of u(x) - l(x);  the sets are those of safe_sets.py.

    Sui, Gotovos, Burdick & Krause 2015, *Safe Exploration for Optimization with Gaussian
    Processes*; the rule without Lipschitz constants after Berkenkamp, Krause & Schoellig 2016,
    whose program decides the same with a kernel of k(x, x) = 1 (it compares widths in units of
    the prior's). It has beta = 2 by default, here `width=2.0`, and uses Lipschitz constants for E only.
    """

    about = About(
        "the widest interval among safe arms that may be best or may enlarge the safe set",
        "Sui et al. 2015",
        "a safe arm; horizon; Lipschitz constants, or None",
        "no violation in any round, with probability 1 - alpha",
    )

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        sets = self.sets(state)
        return self.widest(sets, sets.maximisers | sets.expanders, draws)  # x_t
