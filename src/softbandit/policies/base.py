"""What every policy offers, to an agent that lives and to a simulation alike.

A policy is a frozen value; what it has learned is a separate state that goes in and comes
out. States hold arrays with a leading axis of independent trials.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from softbandit import validation
from softbandit.backend.namespace import at_arm, namespace
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import Array
from softbandit.backend.ties import first_max, pick, unless_alone
from softbandit.domains.spaces import FINITE_LIMIT, Domain, Space
from softbandit.errors import ArgumentError, SoftbanditError
from softbandit.gp.kernels import Kernel
from softbandit.gp.pivoted_cholesky import Features
from softbandit.model.from_settings import model, norm_bounds
from softbandit.theory.assumptions import Truth
from softbandit.theory.ledger import Guarantees
from softbandit.backend.shapes import Floats

TIE = 1e-12  # acquisition values this close, relative to their terms, are ties


class About(NamedTuple):
    """A policy in a few words."""

    idea: str
    citation: str
    needs: str  # what it must be told, beyond a kernel, bounds and the noise
    guarantee: str


class Choice(NamedTuple):
    """One round's choice in each trial."""

    arm: Array  # (b,); on a continuous domain the points themselves, (b, d)
    reward_estimate: Array  # (b,): f_t at the arm, truncated where the policy truncates
    cost_estimate: Array  # (b, m): g_t at the arm, likewise


class State(NamedTuple):
    """What a policy has learned."""

    round: int  # rounds behind it; the paper's t is round + 1
    dual: Array  # (b, m): dual variables or queues
    posterior: tuple[Any, ...]  # one a group; on a continuous domain one a trial, of one a group each
    memory: tuple[Array, ...] = ()  # what else the policy keeps


class Stage(NamedTuple):
    """The policy in force in rounds first <= round < last, started afresh at first."""

    policy: "StepPolicy"
    first: int
    last: float
    keeps_dual: bool = False  # it starts with the dual of the stage before

    def start(self, trials: int, before: State | None) -> State:
        """The state at the stage's first round, after the stage before."""
        fresh = self.policy.init(trials)
        return fresh._replace(dual=before.dual) if self.keeps_dual and before is not None else fresh


class Policy(ABC):
    """Anything that an Agent or simulate() can run."""

    about: ClassVar[About]
    takes_contexts: ClassVar[bool] = True  # it can choose among some of the arms
    takes_spaces: ClassVar[bool] = False  # it can search a continuous domain
    arms: Any  # (n, d), or a continuous domain
    space: Domain | None  # the domain that was given in place of arms; a small one becomes arms
    constraints: int
    horizon: int | None

    @property
    def continuous(self) -> bool:
        """Whether it searches a domain, and does not choose among arms."""
        return isinstance(self.arms, Domain)

    @abstractmethod
    def stage(self, round: int) -> Stage:
        """The policy in force in that round (counted from 0)."""

    def guarantees(self, problem: Truth | None = None) -> Guarantees:
        """The ledger of the policy's guarantee. Only CKB's is worked out here."""
        name, horizon = type(self).__name__, self.horizon or 0
        why_not = f"softbandit works out no theorem for {name}; its authors' claim: {self.about.guarantee}"
        return Guarantees(name, horizon, (), "not decided", "it is made for CKB", None, why_not)


@dataclass(frozen=True, eq=False)
class StepPolicy(Policy):
    """A policy on finite arms, given by its steps: pure functions of state and draws.

    These are the settings that all have; CKB's docstring explains them. Fields hold the
    settings in force; `given` holds them as they were given, so that a policy can be made
    again with others.
    """

    arms: Any
    kernel: Kernel
    _: KW_ONLY
    reward_bound: float
    cost_bound: float | Sequence[float] | None = None
    noise: float
    cost_noise: float | Sequence[float] | None = None
    cost_kernel: Kernel | Sequence[Kernel] | None = None
    horizon: int
    slater: float | None = None
    confidence: float = 0.1
    regularisation: float | Sequence[float] | None = None
    width: str | float | Sequence[float] | Callable[[int], Any] = "theory"
    width_scale: float = 1.0
    constraints: int = 1
    ties: str = "random"
    factors: Sequence[Features | Sequence[int]] | None = None
    space: Domain | None = field(init=False, repr=False)
    surrogate: Any = field(init=False, repr=False)  # a Surrogate, or on a continuous domain a ContinuousSurrogate
    bounds: Floats = field(init=False, repr=False)  # (1 + m, 1): B, G_1, ..., G_m
    given: dict[str, Any] = field(init=False, repr=False)

    @abstractmethod
    def init(self, trials: int) -> State:
        """The state before the first round."""

    @abstractmethod
    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        """The round's choice, among the arms where `among` (b, n) is true. Changes nothing."""

    @abstractmethod
    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        """The state after seeing reward (b,) and cost (b, m) at the chosen arm."""

    def stage(self, round: int) -> Stage:
        return Stage(self, 0, float("inf"))

    def draws(self) -> DrawCount:
        """Random numbers needed a round and trial; the last uniform one breaks ties."""
        normal, uniform = self.surrogate.draws()
        return DrawCount(normal, uniform + 1)

    def refuted(self, state: State) -> Array | None:
        """Trials (b,) in which what was seen refutes what the policy was told; None where it never says so."""
        return None

    def objection(self) -> SoftbanditError:
        """What is to be said then."""
        return SoftbanditError(f"What was seen refutes what {type(self).__name__} was told.")

    def replace(self, **changes: Any) -> Self:
        """The same policy with other settings, and defaults worked out anew (dataclasses.replace would keep them)."""
        same_kernels = not {"arms", "kernel", "cost_kernel", "constraints", "factors"} & set(changes)
        factors = {"factors": self.surrogate.factors} if same_kernels else {"factors": None}
        return type(self)(**{**self.given, **factors, **changes})

    def _settle(
        self,
        explore: Any = "ucb",
        explore_cost: Any = None,
        unconstrained: bool = False,
        calibrated: bool = False,
        budget: Any = None,
    ) -> Callable[..., None]:
        """Check the settings and build the model; gives the way to put in their place the settings in force."""
        put = partial(object.__setattr__, self)
        put("space", self.arms if isinstance(self.arms, Domain) else None)
        put("arms", self._arms())
        put("given", {name: _own(getattr(self, name)) for name in inspect.signature(type(self)).parameters})
        if self.space is not None:
            self.given["arms"] = self.space
        put("constraints", 0 if unconstrained else validation.whole("constraints", self.constraints, least=0))
        put("horizon", validation.whole("horizon", self.horizon, least=1, most=2**53))
        validation.named("ties", self.ties, dict.fromkeys(["random", "first"]))
        put("bounds", np.append(*norm_bounds(self.reward_bound, self.cost_bound, self.constraints))[:, None])
        own = {name: getattr(self, name) for name in MODEL_SETTINGS}
        if calibrated and self.regularisation is None:  # lambda = R^2: the posterior of Gaussian noise
            R = validation.nonnegative("noise", self.noise)
            of_costs = validation.each(
                "cost_noise", R if self.cost_noise is None else self.cost_noise, self.constraints
            )
            own["regularisation"] = np.maximum(np.append(R, of_costs), 1e-6) ** 2
        put("surrogate", model(explore=explore, explore_cost=explore_cost, budget=budget, **own))
        return put

    def _arms(self) -> Any:
        """The arms that were given, or those of a small space; or else the space."""
        if self.space is None:
            return validation.points("arms", self.arms)
        if isinstance(self.space, Space) and self.space.size <= FINITE_LIMIT:
            return validation.points("arms", self.space.every())
        if not self.takes_spaces:
            remedy = f"Only CKB searches a space of more than {FINITE_LIMIT} points; pass arms, such as a grid."
            raise ArgumentError.of("arms", f"finite arms, with {type(self).__name__}", self.arms, remedy)
        return self.space

    def _learn(self, state: State, choice: Choice, reward: Array, cost: Array) -> tuple[Any, ...]:
        """Gaussian-process regression on what was seen (Algorithm 1, line 8)."""
        xp = namespace(state.dual)
        y = xp.concat([reward[:, None], cost], axis=1)
        posterior: tuple[Any, ...] = self.surrogate.condition(state.posterior, choice.arm, y)
        return posterior

    def _best(self, z: Array, draws: Draws, size: Callable[[Array], Array] | None = None, largest: Any = None) -> Array:
        """A maximiser of each row of z, (b, n) -> (b,), up to the rounding of the terms that z is made of.

        size(arm) (b,) is what those terms amount to at an arm, |z| by default. It is at most `largest`, where that is
        given: then it need not be worked out unless some value comes that near to the maximum.
        """
        top = first_max(z)
        highest = at(z, top)

        def tied() -> Array:
            return near(namespace(z).abs(highest) if size is None else size(top))

        def near(size: Any) -> Array:
            return z >= (highest - TIE * size)[:, None]

        def picked() -> Array:
            return pick(tied(), draws.uniform[:, -1] if self.ties == "random" else None)

        return unless_alone(tied() if largest is None else near(largest), top, picked)

    def _choice(self, arm: Array, f: Array, g: Array) -> Choice:
        """The choice of arm (b,), with the estimates f (b, n) and g (b, m, n) there."""
        return Choice(arm, at(f, arm), at(g, arm))


@dataclass(frozen=True, eq=False)
class WrappedPolicy(Policy):
    """A policy made of another: the same arms and constraints, in stages of its own."""

    policy: StepPolicy
    arms: Any = field(init=False, repr=False)
    space: Domain | None = field(init=False, repr=False)
    constraints: int = field(init=False, repr=False)

    def _wrap(self) -> None:
        if not isinstance(self.policy, StepPolicy):
            raise ArgumentError.of("policy", "a policy with steps", self.policy, "For example sb.CKB(...).")
        object.__setattr__(self, "arms", self.policy.arms)
        object.__setattr__(self, "space", self.policy.space)
        object.__setattr__(self, "constraints", self.policy.constraints)


MODEL_SETTINGS = tuple(set(inspect.signature(model).parameters) - {"explore", "explore_cost", "budget"})


def _own(value: Any) -> Any:
    """A value that nobody else can change, where it is an array or a list of them."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.copy()
        value.flags.writeable = False
    return tuple(map(_own, value)) if isinstance(value, list) else value
