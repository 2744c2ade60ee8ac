"""The live agent: ask for a decision, tell what was observed, save and load."""

import copy
import itertools
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from softbandit import agent_file, validation
from softbandit.agent_file import Arrays, Header
from softbandit.backend import POLICY, ArmMask, Draws, Floats, draw, drop_single
from softbandit.domains import Domain, Values
from softbandit.errors import ArgumentError, DecisionError, Description, FeedbackError, FileError
from softbandit.gp import Features
from softbandit.policies import CKB, Choice, Policy, State, StepPolicy, Steps
from softbandit.policies.base import check_size
from softbandit.record import Record
from softbandit.theory.certificate_report import Certificate, certificate
from softbandit.theory.recommendation import Recommendation, recommend
from softbandit.theory.recommendation_basis import policy_beliefs, run_beliefs
from softbandit.theory.run_certificates import Ranges
from softbandit.theory.run_model import observed_points

AWAY = 20  # rounds without a remark after which it counts as gone, and is shown again if it returns


@dataclass(frozen=True, eq=False)
class Decision:
    """The arm or point to play, and all that `tell` needs to learn from it.

    `dual` and `cost_estimate` are numbers with one constraint, arrays with several.
    """

    round: int  # rounds completed when it was made, from 0
    arm: int | None  # None on a continuous domain
    x: Floats  # the arm's features, or the point
    dual: float | Floats  # before this decision's update
    reward_estimate: float  # f_t and g_t at the arm, truncated if the policy truncates
    cost_estimate: float | Floats
    agent: int = field(repr=False)  # identifies the agent that made it
    ticket: int = field(repr=False)  # identifies the decision, which can be told once
    values: Values | None = None  # x by name, in a Space


class HorizonWarning(UserWarning):
    """A policy runs past its horizon."""


class PolicyWarning(UserWarning):
    """A policy has noticed something that its user should know, such as limits that cannot be met."""


class Posterior:
    """An agent's posterior of the reward (row 0) and of each cost (rows 1, ..., m), over the arms.

    On a continuous domain, pass the points (n, d) at which it is evaluated.
    """

    def __init__(self, policy: Steps, state: State, arms: Floats | Domain) -> None:
        self._policy, self._state, self._arms = policy, state, arms

    def mean(self, points: object = None) -> Floats:
        """Return mu_t: (1 + m, n)."""
        return np.array(self._policy.moments(self._state, self._checked(points))[0])

    def std(self, points: object = None) -> Floats:
        """Return sigma_t: (1 + m, n)."""
        return np.array(self._policy.moments(self._state, self._checked(points))[1])

    def covariance(self) -> Floats:
        """Return k_t(x, x') over all pairs of arms: (1 + m, n, n)."""
        if isinstance(self._arms, Domain) or not isinstance(self._policy, StepPolicy):
            raise ArgumentError.of("covariance", "finite arms", self._arms, "Ask for mean and std at points.")
        return np.array(self._policy.model.covariance(self._state.posterior)[0])

    def _checked(self, points: object) -> Floats | None:
        """Return points of a continuous domain; None on finite arms, which need none."""
        if isinstance(self._arms, Domain):
            return self._arms.points("points", points)
        if points is not None:
            raise ArgumentError.of("points", "none, on finite arms", points, "Leave them out.")
        return None


class Agent:
    """A running policy. `ask` changes nothing; `tell` is the only method that does.

    Asking again before telling returns the same arm (with a new ticket), so an interrupted
    caller may simply ask again. Decisions may be told late and in any order: the posterior
    is that of the data, whatever the order. The dual moves at each `tell`, by the observed cost or
    by the estimate that the decision carries, so decisions that were asked for together share one dual.

    >>> import numpy as np, softbandit as sb
    >>> arms = np.linspace(0, 1, 100)[:, None]
    >>> policy = sb.CKB(arms, sb.SquaredExponential(0.2), reward_bound=2, cost_bound=1, noise=0.1,
    ...                 horizon=500, slater=0.5)
    >>> agent = sb.Agent(policy, seed=0)
    >>> decision = agent.ask()
    >>> agent.tell(decision, reward=1.3, cost=-0.2)
    >>> agent.round
    1
    """

    _state: State

    def __init__(self, policy: Policy, seed: int = 0) -> None:
        if not isinstance(policy, Policy):
            raise ArgumentError.of("policy", "a policy", policy, "For example sb.CKB(...).")
        self.policy = policy
        self.seed = validation.whole("seed", seed, least=0, most=2**64 - 1)
        self._identity = secrets.randbits(63)  # not from the seed: agents with the same seed differ
        self._told: dict[int, None] = {}  # tickets, in the order of the record
        self._remarked: dict[str, int] = {}  # the topics of the policy's remarks, and the last round of each
        self._record = Record(policy.arms, policy.constraints)
        self._begin(0)

    def _begin(self, round: int) -> None:
        """Start the stage of that round."""
        before = self._state if round else None
        self._round = round
        self._stage = self.policy.stage(round)
        self._state = self._stage.start(1, before)

    @property
    def round(self) -> int:
        """The number of rounds completed."""
        return self._round

    @property
    def dual(self) -> float | Floats:
        """The current dual: a number with one constraint, an array with several."""
        dual: float | Floats = drop_single(self._state.dual[0].copy())
        return dual

    @property
    def record(self) -> Record:
        """The rounds told, in order; those in a file of version 2 are missing, since it has no record."""
        return self._record

    @property
    def posterior(self) -> Posterior:
        return Posterior(self._stage.policy, self._state, self.policy.arms)

    def ask(self, among: Sequence[int] | None = None) -> Decision:
        """Return the decision for this round, among these arms (those of a context, say) or among all.

        Raise the policy's error if observations refute its settings, such as a safe arm that is not safe.
        """
        self._warn_past_horizon()
        refuted = self._stage.policy.refuted(self._state)
        if refuted is not None and refuted.any():
            raise self._stage.policy.objection()
        choice = self._stage.policy.decide(self._state, self._draws(), self._mask(among))
        arm = None if self.policy.continuous else int(choice.arm[0])
        x = choice.arm[0] if arm is None else self.policy.arms[arm]
        return Decision(
            round=self._round,
            arm=arm,
            x=x,
            values=None if self.policy.space is None else self.policy.space.values(x),
            dual=self.dual,
            reward_estimate=float(choice.reward_estimate[0]),
            cost_estimate=drop_single(choice.cost_estimate[0]),
            agent=self._identity,
            ticket=secrets.randbits(63),
        )

    def tell(self, decision: Decision, reward: float, cost: float | Sequence[float] = ()) -> None:
        """Learn from a decision's reward and cost (one per constraint).

        If the policy notices something, such as limits that cannot be met, a `PolicyWarning` says so: once, until it
        has gone away.
        """
        m = self.policy.constraints
        choice = self._choice(decision)
        r = np.array([validation.number("reward", reward, FeedbackError)])
        if m == 0 and np.size(np.asarray(cost, dtype=object)):
            raise FeedbackError.of("cost", "none", cost, "This policy uses no costs: leave cost out.")
        c = validation.numbers("cost", cost, m, FeedbackError, single=m == 1)[None, :]
        check_size(np.append(r, c))
        with np.errstate(over="ignore", invalid="ignore"):
            state = self._stage.policy.update(self._state, choice, r, c)
            usable = self._stage.policy.usable(state)
        if not usable:
            raise FeedbackError.of("reward, cost", "numbers of a usable size", (reward, cost), "Check the units.")
        self._record.append(np.ravel(choice.arm), r, c[0], self._state.dual[0])
        self._state, self._round = state, self._round + 1
        self._told[decision.ticket] = None
        if self._round >= self._stage.last:
            self._begin(self._round)
        self._show_remarks()

    def _show_remarks(self) -> None:
        remarks, now = self._stage.policy.remarks(self._state), self._round
        fresh = [text for topic, text in remarks.items() if now - self._remarked.get(topic, -AWAY) >= AWAY]
        self._remarked |= dict.fromkeys(remarks, now)
        for text in fresh:
            warnings.warn(text, PolicyWarning, stacklevel=3)

    def with_limits_raised(self, by: float | Sequence[float]) -> "Agent":
        """Return an agent that goes on from here with other limits, and keeps what was learned.

        `by` is one number per constraint, negative for a limit that is lowered: if it goes from 12 to 14, by = 2. Costs
        that are told from now on are measured - 14, and those in the record become so. The new limits are kept on
        average from now on: earlier debts are neither repaid nor passed on.
        """
        m = self.policy.constraints
        raised = validation.numbers("by", by, m, single=m == 1)
        agent = copy.copy(self)
        agent._state = self._stage.policy.with_limits_raised(self._state, raised)
        if not self._stage.policy.usable(agent._state):
            raise ArgumentError.of("by", "numbers of a usable size", by, "Check the units.")
        agent._told, agent._remarked = dict(self._told), {}
        agent._record = self._record.with_costs_lowered(raised)
        return agent

    def __repr__(self) -> str:
        return f"<Agent of {self.policy.outline}, round {self._round}, dual {_short(self._state.dual[0])}>"

    def __str__(self) -> str:
        heading = f"{self.policy.outline}, round {self._round}"
        lines = self._stage.policy.learned(self._state)
        return "\n".join([heading, *(lines or [f"dual {_short(self._state.dual[0])}"])])

    def certificate(self, confidence: float = 0.1, cost_range: Ranges = None) -> Certificate:
        """Return what is known now about the totals of the costs and the regret, with probability 1 - confidence.

        It is valid at all times at once, so it may be asked for again and again. With `cost_range` the costs lie
        in [low, high] (one pair, or one per constraint), and their noise need not be known.
        """
        missing = self._round - len(self._record)
        if missing:
            got = Description(f"none of the first {missing}")
            remedy = "The agent comes from a file of version 2, which kept no record; start a new agent."
            raise ArgumentError.of("certificate", "a record of every round", got, remedy)
        self._check_played("certificate")
        return certificate(self.policy, self._record, confidence, cost_range)

    def recommend(self, probability: float = 0.9) -> Recommendation:
        """Return what to keep: the best arm that meets every limit with that posterior probability, and mixtures.

        If the policy has norm bounds and noise, the posterior is that of all rounds told, for Gaussian noise of that
        size; otherwise it is the policy's own.
        """
        self._check_played("recommend")
        whole = len(self._record) == self._round
        beliefs = run_beliefs(self.policy, self._record) if whole else None
        if beliefs is None:
            points = self.policy.continuous
            step, state = self._stage.policy, self._state
            observed = observed_points(self.policy, self._record.arms) if whole else None
            beliefs = policy_beliefs(self.policy, lambda X: step.moments(state, X if points else None), observed)
        return recommend(beliefs, probability)

    def _check_played(self, what: str) -> None:
        if not self._round:
            raise ArgumentError.of(what, "at least one round", Description("none"), "Tell the agent what it observed.")

    def acquisition(self, points: object) -> Floats:
        """Return the pseudo-acquisition that `ask` maximises in this round, at points (n, d) of a continuous domain."""
        step = self._stage.policy
        if not isinstance(step, CKB) or not step.continuous:
            raise ArgumentError.of("policy", "CKB on a continuous domain", step, "Pass it a Box or a Space.")
        X = step.arms.points("points", points)
        return np.asarray(step.acquisitions(self._state, self._draws())[0].value(X))

    def _draws(self) -> Draws:
        count = self._stage.policy.draws()
        return next(draw(count, self.seed, [0], self._round, 1, POLICY).rounds())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the agent to a file. An existing file is replaced as a whole, or not at all."""
        arrays: Arrays = {f"state{i}": np.asarray(leaf) for i, leaf in enumerate(agent_file.leaves(self._state))}
        arrays["told"] = np.array(list(self._told), dtype=np.int64)
        arrays["record"] = self._record.rows
        arrays |= {f"pivots{i}": factor.pivots for i, factor in enumerate(_factors(self._stage.policy))}
        settings: Arrays = {}
        try:
            policy, code = agent_file.encode(self.policy, settings), None
        except agent_file.NotStorable as error:
            policy, code, settings = None, str(error), {}
        agent_file.write(path, Header(self.seed, self._round, self._identity, policy, code), arrays | settings)

    @classmethod
    def load(cls, path: str | PathLike[str], policy: Policy | None = None) -> "Agent":
        """Return the agent that was saved; its next decisions are the same to the bit.

        A policy with code of yours (an exploration, a kernel or a width function) is not in
        the file: pass it, built as it was.
        """
        header, arrays = agent_file.read(path)
        if policy is None and header.policy is None:
            got = Description(f"a policy with code of yours, {header.code}")
            remedy = "Pass policy=, built as it was when the agent was saved."
            raise FileError.of(str(path), "the policy's settings", got, remedy)
        try:
            stored = agent_file.decode(header.policy, arrays)
            agent = cls(stored if policy is None else policy, header.seed)
            agent._restore(header, arrays)
        except agent_file.Outdated as error:
            expected = "a policy whose rule is the same today"
            raise FileError.of(str(path), expected, Description(str(error)), "Start a new agent.") from None
        except agent_file.DAMAGE as error:
            if policy is not None:
                raise FileError(f"{path} does not fit the policy given: {error}. Build it as it was.") from error
            raise agent_file.damaged(path, error) from error
        if policy is not None and stored is not None and not agent_file.same_settings(policy, stored):
            raise FileError(f"{path} was saved with other settings than the policy given. Leave policy= out.")
        return agent

    def _restore(self, header: Header, arrays: Arrays) -> None:
        """Continue from the saved state, in the basis in which it was saved."""
        self._begin(validation.whole("round", header.round, least=0))
        self._identity = validation.whole("identity", header.identity, least=0)
        step, factors = self._stage.policy, _factors(self._stage.policy)
        pivots = [arrays[f"pivots{i}"] for i in range(len(factors))]
        if not all(np.array_equal(p, f.pivots) for p, f in zip(pivots, factors, strict=True)):
            # A machine that rounds differently may choose other pivots.
            assert isinstance(step, StepPolicy)
            self._stage = self._stage._replace(policy=step.replace(factors=pivots))
            self._state = self._stage.policy.init(trials=1)
        self._state = agent_file.refill(self._state, (arrays[f"state{i}"] for i in itertools.count()))
        self._told = dict.fromkeys(arrays["told"].tolist())
        rows = None if header.version == 2 else arrays["record"]
        self._record = Record(self.policy.arms, self.policy.constraints, rows)
        if len(self._record) > self._round:
            raise ValueError(f"a record of {len(self._record)} rounds after {self._round}")

    def _choice(self, decision: Decision) -> Choice:
        """Return the policy's choice in a decision, after checking that it may be told."""
        if not isinstance(decision, Decision):
            raise DecisionError.of("decision", "a Decision from ask()", decision, "Pass what ask() returned.")
        if decision.agent != self._identity:
            got = Description("another agent's")
            raise DecisionError.of("decision", "one from this agent's ask()", got, "Tell it to the agent that made it.")
        if decision.ticket in self._told:
            got = Description(f"the one of round {decision.round} again")
            raise DecisionError.of("decision", "one not told before", got, "Ask for a new one.")
        m, arms = self.policy.constraints, self.policy.arms
        arm: int | Floats
        try:
            if isinstance(arms, Domain):
                arm = arms.point("decision.x", decision.x)
            else:
                arm = validation.whole("decision.arm", decision.arm, 0, len(arms) - 1)
            validation.whole("decision.round", decision.round, 0, self._round)
            f = validation.number("decision.reward_estimate", decision.reward_estimate)
            g = validation.numbers("decision.cost_estimate", np.atleast_1d(decision.cost_estimate), m)
        except ArgumentError as error:
            raise DecisionError(f"{error} A decision must come from this agent's ask(), unchanged.") from None
        return Choice(np.array([arm]), np.array([f]), g[None, :])

    def _mask(self, among: Sequence[int] | None) -> ArmMask | None:
        """Return `among` as a mask over the arms, (1, n)."""
        if among is None:
            return None
        if self.policy.continuous:
            raise ArgumentError.of("among", "all points, on a continuous domain", among, "Leave among out.")
        n = len(self.policy.arms)
        if not self._stage.policy.takes_contexts:
            remedy = "It has no rule for a round without a safe arm; leave among out."
            raise ArgumentError.of("among", f"all arms, with {type(self.policy).__name__}", among, remedy)
        if np.ndim(among) != 1 or not len(among):
            raise ArgumentError.of("among", "a list of at least one arm", among, "Pass the arms to choose from.")
        mask = np.zeros((1, n), dtype=bool)
        mask[0, [validation.whole("among", arm, 0, n - 1) for arm in among]] = True
        return mask

    def _warn_past_horizon(self) -> None:
        T = self.policy.horizon
        if T is not None and self._round == T:
            known = isinstance(self.policy, StepPolicy)  # others do without a horizon
            lost = "its guarantee no longer holds" if known else "it no longer explores"
            remedy = "wrap the policy in sb.Doubling" if known else "none"
            text = f"The policy's horizon of {T} rounds has passed: {lost}. Give a longer horizon, or {remedy}"
            warnings.warn(f"{text} if it is not known.", HorizonWarning, stacklevel=3)


def _short(dual: Floats) -> str:
    return ", ".join(f"{value:.4g}" for value in dual) or "none"


def _factors(step: Steps) -> Sequence[Features]:
    """Return the factorised kernels of a policy on finite arms; none on a continuous domain."""
    return step.model.factors if isinstance(step, StepPolicy) and not step.continuous else ()
