"""StageOpt: enlarge the safe set first, optimise within it afterwards."""

from dataclasses import dataclass, field

from softbandit import validation
from softbandit.backend import ArmMask, Draws, HostOnly, Traced, namespace, operations, restrict
from softbandit.baselines.safe_sets import SafePolicy
from softbandit.policies import About, Choice, State


@dataclass(frozen=True, eq=False)
class StageOpt(SafePolicy):
    """Stage 1, t <= T_0:  x_t = argmax over E (over M, if E is empty) of max over outputs of u(x) - l(x)
    Stage 2, t > T_0:   x_t = argmax over S of u_f(x);  the sets are those of safe_sets.py.

    Sui, Zhuang, Burdick & Yue 2018, *Stagewise Safe Bayesian Optimization with Gaussian
    Processes*. After a co-author's program: there too the reward's interval counts in stage 1,
    and M replaces an empty E. In their experiments stage 1 also ends if S stops growing; here not.

    Parameters
    ----------
    stage_rounds
        T_0; by default a tenth of the horizon, a choice of this package.
    """

    stage_rounds: HostOnly[int | None] = None
    expanding: Traced[int] = field(init=False, repr=False)  # T_0

    about = About(
        "the widest expander for a number of rounds, then the best upper bound in the safe set",
        "Sui et al. 2018",
        "a safe arm; horizon; Lipschitz constants, or None; the length of the first stage",
        "no violation in any round, with probability 1 - alpha",
    )

    def _complete(self) -> None:
        super()._complete()
        rounds = -(-self.horizon // 10) if self.stage_rounds is None else self.stage_rounds
        self._set(expanding=validation.whole("stage_rounds", rounds, least=0, most=2**53))

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        return operations(state.dual).branch(
            state.round < self.expanding,
            lambda: self._expand(state, draws),
            lambda: self._optimise(state, draws),
        )

    def _expand(self, state: State, draws: Draws) -> Choice:
        xp = namespace(state.dual)
        sets = self.sets(state)
        M, E = sets.maximisers, sets.expanders
        return self.widest(sets, xp.where(xp.any(E, axis=1)[:, None], E, M), draws)  # x_t, stage 1

    def _optimise(self, state: State, draws: Draws) -> Choice:
        low, up, S = self.intervals(state)
        arm = self._best(restrict(up[:, 0], S), draws)
        return self._choice(arm, up[:, 0], low[:, 1:])  # x_t, stage 2
