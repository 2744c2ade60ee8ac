"""The interface of every policy, to a live agent and to a simulation alike.

A policy is a frozen value; what it has learned is a separate state that goes in and comes
out. States hold arrays with a leading axis of independent trials.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from softbandit import validation
from softbandit.backend.display import counted
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import (
    ArmIndex,
    ArmMask,
    Bools,
    Floats,
    Ints,
    OutputsPerArm,
    PerArm,
    PerCost,
    PerTrial,
)
from softbandit.backend.ties import best_arm
from softbandit.backend.traced_fields import HostOnly, Traced
from softbandit.backend.vocabulary import at_arm, namespace, restrict
from softbandit.domains import FINITE_LIMIT, Domain, Space, extent_in_words
from softbandit.errors import ArgumentError, Description, FeedbackError, SoftbanditError
from softbandit.model import FiniteModel, ModelSettings, build_model, norm_bounds
from softbandit.policies.dual import slater_margin

if TYPE_CHECKING:
    from softbandit.theory.policy_ledger import Guarantees, Truth

MOST_CONSTRAINTS = 1000  # a posterior each


LARGEST = validation.LARGEST  # observation
SMALLEST = 1e-100


def check_size(observed: Floats) -> None:
    """Refuse observations that no policy can go on from."""
    worst = np.abs(observed).max()
    if worst > LARGEST:
        expected, got = f"numbers of at most {LARGEST:g}", Description(f"{worst:.3g}")
        raise FeedbackError.of("reward, cost", expected, got, "Check the units.")


def without_tiny(observed: Floats) -> Floats:
    """Return observations with zero for those so small that a price per unit of them would overflow."""
    return np.where(np.abs(observed) < SMALLEST, 0.0, observed)


# k -> outputs (1 + m, n) that are k deviations above their medians; k is a number, or one per output and point
Quantile = Callable[[Floats | float], Floats]


class About(NamedTuple):
    """A policy in a few words."""

    idea: str
    citation: str
    needs: str  # beyond a kernel, bounds and the noise
    guarantee: str


class Choice(NamedTuple):
    """One round's choice in each trial."""

    arm: ArmIndex  # on a continuous domain the points themselves, (b, d)
    reward_estimate: PerTrial  # f_t at the arm, truncated if the policy truncates
    cost_estimate: PerCost  # g_t at the arm, likewise


class State(NamedTuple):
    """Everything that a policy has learned."""

    round: int  # rounds completed; the paper's t is round + 1
    dual: PerCost  # dual variables or queues
    posterior: tuple[Any, ...]  # one per group; on a continuous domain one per trial
    memory: tuple[Any, ...] = ()  # arrays, if the policy keeps more


class Stage(NamedTuple):
    """The steps in force in rounds first <= round < last, started afresh at first."""

    policy: "Steps"
    first: int
    last: float
    keeps_dual: bool = False  # it starts with the dual of the previous stage

    def start(self, trials: int, before: State | None) -> State:
        """Return the state at the stage's first round, after the previous stage."""
        fresh = self.policy.init(trials)
        return fresh._replace(dual=before.dual) if self.keeps_dual and before is not None else fresh


class Policy(ABC):
    """Anything that an Agent or simulate() can run."""

    about: ClassVar[About]
    takes_contexts: ClassVar[bool] = True  # it can choose among some of the arms
    takes_spaces: ClassVar[bool] = False  # it can search a continuous domain
    arms: Any  # (n, d), or a continuous domain
    space: Domain | None  # the domain that was given in place of arms; a small one becomes arms
    context: Ints | None = None  # (n,): the context of each arm, numbered from 0, if the policy knows them
    constraints: int
    horizon: int | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):  # otherwise a dataclass would write one that shows every arm
            cls.__repr__ = Policy.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return self.outline

    @property
    def continuous(self) -> bool:
        """Whether it searches a domain, rather than choosing among arms."""
        return isinstance(self.arms, Domain)

    @property
    def outline(self) -> str:
        """The policy in a few words, such as "CKB(30 arms in 1 dimension, 1 limit, horizon 500)"."""
        horizon = "no horizon" if self.horizon is None else f"horizon {self.horizon}"
        extent, limits = extent_in_words(self.arms), counted(self.constraints, "limit")
        return f"{type(self).__name__}({extent}, {limits}, {horizon})"

    @abstractmethod
    def stage(self, round: int) -> Stage:
        """Return the steps in force in that round (counted from 0)."""

    def guarantees(self, problem: "Truth | None" = None, **options: int) -> "Guarantees":
        """Return the ledger of the policy's guarantee: `theory.guarantees(policy, problem)`.

        >>> import softbandit as sb
        >>> problem = sb.problems.rkhs(seed=1)
        >>> ledger = sb.CKB(**problem.settings(), horizon=1000).guarantees(problem)
        >>> ledger.covered, ledger.bound.theorem
        (True, 'Theorem 3.3')
        """
        from softbandit.theory.policy_ledger import guarantees  # theory is above policies: the one exception

        return guarantees(self, problem, **options)


class Steps(Policy):
    """A policy given by the steps of a round: pure functions of state and draws."""

    signed_dual: ClassVar[bool] = False  # its dual may be negative

    @abstractmethod
    def init(self, trials: int) -> State:
        """Return the state before the first round."""

    @abstractmethod
    def draws(self) -> DrawCount:
        """Return the random numbers needed per round and trial."""

    @abstractmethod
    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        """Return the round's choice, among the arms where `among` is true. Changes nothing."""

    @abstractmethod
    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        """Return the state after observing reward and cost at the chosen arm."""

    @abstractmethod
    def usable(self, state: State) -> bool:
        """Return whether the state holds finite numbers."""

    @abstractmethod
    def moments(self, state: State, points: Floats | None) -> tuple[Floats, Floats]:
        """Return mu and sigma of trial 0, (1 + m, n) each: over the arms, or at points of a continuous domain."""

    def quantile(self, state: State, points: Floats | None) -> Quantile:
        """Return trial 0's quantiles (1 + m, n): the outputs that are k deviations above their medians."""
        mu, sigma = self.moments(state, points)
        return lambda k: mu + k * sigma

    @property
    def batched(self) -> bool:
        """Whether the steps are array operations on all trials at once, which an engine can compile."""
        return False

    def remarks(self, state: State) -> dict[str, str]:
        """Return what the user of an agent should know now, by topic. An agent shows each until it has gone away."""
        return {}

    def learned(self, state: State) -> list[str]:
        """Return lines of text for `print(agent)`: what was learned."""
        return []

    def with_limits_raised(self, state: State, by: Floats) -> State:
        """Return the state with every limit raised by (m,), and what was learned kept."""
        expected = "one that goes on with other limits, such as sb.Autopilot"
        raise ArgumentError.of("policy", expected, Description(self.outline), "Start a new agent.")

    def refuted(self, state: State) -> Bools | None:
        """Return the trials (b,) in which observations refute the policy's settings; None if it never does."""
        return None

    def objection(self) -> SoftbanditError:
        """Return the error to raise then."""
        return SoftbanditError(f"Observations refute the settings of {type(self).__name__}.")

    def stage(self, round: int) -> Stage:
        return Stage(self, 0, float("inf"))


@dataclass(frozen=True, eq=False)
class StepPolicy(ModelSettings, Steps):
    """A policy with a model. A new one needs `about` and `decide`; the rest has defaults.

    Fields hold the settings in force; `given` holds those that were passed, in a form that can be stored,
    so that a policy can be built again with others.
    """

    _: KW_ONLY
    slater: Traced[float | None] = None
    ties: str = "random"
    space: HostOnly[Domain | None] = field(init=False, repr=False)
    model: Traced[Any] = field(init=False, repr=False)  # a FiniteModel, or on a continuous domain a ContinuousModel
    bounds: Traced[Floats] = field(init=False, repr=False)  # (1 + m, 1): B, G_1, ..., G_m
    given: HostOnly[dict[str, Any]] = field(init=False, repr=False)

    models_costs: ClassVar[bool] = True  # False: the reward alone is modelled
    initial_dual: ClassVar[float] = 0.0

    @property
    def batched(self) -> bool:
        return not self.continuous

    # -- The steps of a round. --

    def init(self, trials: int) -> State:
        return State(0, np.full((trials, self.constraints), self.initial_dual), self.model.prior(trials))

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        dual = self.next_dual(state, choice, cost)
        return State(state.round + 1, dual, self._learn(state, choice, reward, cost))

    def next_dual(self, state: State, choice: Choice, cost: PerCost) -> PerCost:
        """Return the dual after a round; by default it stays as it is."""
        return state.dual

    def draws(self) -> DrawCount:
        """Return the random numbers needed per round and trial; the last uniform one breaks ties."""
        normal, uniform = self.model.draws()
        return DrawCount(normal, uniform + 1)

    # -- Parts of steps. --

    def _estimates(self, state: State, draws: Draws) -> tuple[PerArm, OutputsPerArm]:
        """Return the reward's and the costs' estimates f_t and g_t over the arms."""
        h = self.model.estimate(state.posterior, state.round + 1, draws)
        return h[:, 0], h[:, 1:]

    def _learn(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> tuple[Any, ...]:
        """Condition the posteriors on an observation (Algorithm 1, line 8)."""
        y = namespace(state.dual).concat([reward[:, None], cost], axis=1)
        posterior: tuple[Any, ...] = self.model.condition(state.posterior, choice.arm, y)
        return posterior if self.continuous else self.model.refreshed(posterior, state.round + 1)

    def _best(self, z: PerArm, draws: Draws, scale: Callable[[ArmIndex], PerTrial] | None = None) -> ArmIndex:
        """Return an arm that maximises z, with ties broken as the settings say; see `best_arm`."""
        return best_arm(z, draws.uniform[:, -1] if self.ties == "random" else None, scale)

    def _choice(self, arm: ArmIndex, f: PerArm, g: OutputsPerArm) -> Choice:
        """Return the choice of an arm, with the estimates f and g there."""
        return Choice(arm, at_arm(f, arm), at_arm(g, arm))

    # -- For an agent. --

    def usable(self, state: State) -> bool:
        return bool(self.model.usable(state.posterior) and np.isfinite(state.dual).all())

    def moments(self, state: State, points: Floats | None) -> tuple[Floats, Floats]:
        if points is None:
            return self.model.mean(state.posterior)[0], self.model.std(state.posterior)[0]
        moments: tuple[Floats, Floats] = self.model.moments(state.posterior[0], points)
        return moments

    def replace(self, **changes: Any) -> Self:
        """Return the policy with other settings, and the defaults that follow from them."""
        same_kernels = not {"arms", "kernel", "cost_kernel", "constraints", "factors"} & set(changes)
        factors = self.model.factors if same_kernels and isinstance(self.model, FiniteModel) else None
        return type(self)(**{**self.given, "factors": factors, **changes})

    # -- Settings: checked, and completed by defaults. --

    def __post_init__(self) -> None:
        names = [name for name in inspect.signature(type(self)).parameters if name != "arms"]
        self._set(**{name: validation.plain(name, getattr(self, name)) for name in names})
        self._set(space=self.arms if isinstance(self.arms, Domain) else None)
        self._set(arms=self._finite_arms())
        self._set(given={name: getattr(self, name) for name in names})
        self.given["arms"] = self.arms if self.space is None else self.space
        m = validation.whole("constraints", self.constraints, 0, MOST_CONSTRAINTS) if self.models_costs else 0
        self._set(constraints=m, horizon=validation.whole("horizon", self.horizon, least=1, most=2**53))
        if self.slater is not None:
            self._set(slater=slater_margin(self.slater))
        validation.named("ties", self.ties, dict.fromkeys(["random", "first"]))
        self._set(bounds=np.append(*norm_bounds(self.reward_bound, self.cost_bound, m))[:, None])
        self._set(model=build_model(self))
        self._complete()

    def _complete(self) -> None:
        """Check a subclass's own settings, and fill in their defaults."""

    def _set(self, **values: object) -> None:
        """Set fields of this frozen value while it is built."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _finite_arms(self) -> Floats | Domain:
        """Return the arms that were given, or those of a small space; otherwise the space."""
        if self.space is None:
            return validation.points("arms", self.arms)
        if isinstance(self.space, Space) and self.space.size <= FINITE_LIMIT:
            return validation.points("arms", self.space.every())
        if not self.takes_spaces:
            remedy = f"Only CKB searches a space of more than {FINITE_LIMIT} points; pass arms, such as a grid."
            raise ArgumentError.of("arms", f"finite arms, with {type(self).__name__}", self.arms, remedy)
        return self.space


class AcquisitionPolicy(StepPolicy):
    """A policy that plays the best arm by one function of the estimates. A new one needs `about` and `acquisition`."""

    @abstractmethod
    def acquisition(self, state: State, f: PerArm, g: OutputsPerArm) -> PerArm:
        """Return the function over the arms that is maximised, given the estimates f_t and g_t."""

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        f, g = self._estimates(state, draws)
        z = self.acquisition(state, f, g)
        return self._choice(self._best(restrict(z, among), draws), f, g)


@dataclass(frozen=True, eq=False)
class WrappedPolicy(Policy):
    """A policy built from another: the same arms and constraints, in stages of its own."""

    policy: StepPolicy
    arms: Any = field(init=False, repr=False)
    space: Domain | None = field(init=False, repr=False)
    constraints: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        validation.instance("policy", self.policy, StepPolicy, "a policy with steps", "For example sb.CKB(...).")
        for name in ("arms", "space", "constraints"):
            object.__setattr__(self, name, getattr(self.policy, name))
