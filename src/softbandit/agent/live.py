"""The live agent: ask for a decision, tell what was observed, save and load."""

import copy
import itertools
import warnings
from collections.abc import Sequence
from os import PathLike

import numpy as np

from softbandit import validation
from softbandit.agent import agent_file
from softbandit.agent.agent_file import Array, Arrays, Header
from softbandit.agent.decision import Decision, Issuer
from softbandit.agent.lock import Lock
from softbandit.agent.posterior import Posterior
from softbandit.agent.progress import Progress
from softbandit.agent.record import Record
from softbandit.backend import POLICY, ArmMask, Draws, Floats, draw, drop_single
from softbandit.backend.display import brief, html_text
from softbandit.errors import ArgumentError, DecisionError, Description, FeedbackError, FileError
from softbandit.gp import ArmKernel, Features
from softbandit.policies import CKB, Policy, State, StepPolicy, Steps
from softbandit.policies.base import check_size
from softbandit.policies.plausibility import surprises
from softbandit.theory.certificate_report import Certificate, certificate
from softbandit.theory.recommendation import Recommendation, recommend
from softbandit.theory.recommendation_basis import policy_beliefs, run_beliefs
from softbandit.theory.run_certificates import Ranges
from softbandit.theory.run_model import observed_points

AWAY = 20  # rounds without a remark after which it counts as gone, and is shown again if it returns


class HorizonWarning(UserWarning):
    """A policy runs past its horizon."""


class PolicyWarning(UserWarning):
    """A policy has noticed something that its user should know, such as limits that cannot be met."""


class Agent:
    """A running policy. `ask` changes nothing; `tell` does, and `forget` takes it back.

    Asking again before telling returns the same arm (with a new ticket), so an interrupted
    caller may simply ask again. Decisions may be told late and in any order: the posterior
    is that of the data, whatever the order. The dual moves at each `tell`, by the observed cost or
    by the estimate that the decision carries, so decisions that were asked for together share one dual.

    Threads may share an agent. `tell`, `forget` and `save` run one after another; `ask` and all that only reads run
    beside them and beside each other, on what had been told when they began.

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

    def __init__(self, policy: Policy, seed: int = 0) -> None:
        if not isinstance(policy, Policy):
            raise ArgumentError.of("policy", "a policy", policy, "For example sb.CKB(...).")
        self.policy = policy
        self.seed = validation.whole("seed", seed, least=0, most=2**64 - 1)
        self._lock = Lock()  # held by what replaces `_now`
        self._now = Progress.start(policy)
        self._issuer = Issuer()
        self._remarked: dict[str, int] = {}  # the topics of the policy's remarks, and the last round of each
        self._files: agent_file.Files = {}  # never changed in place: a copy of this agent has its own
        self._warned_of_horizon = False

    @property
    def _state(self) -> State:
        return self._now.state

    @property
    def round(self) -> int:
        """The number of rounds told, less those forgotten."""
        return self._now.round

    @property
    def dual(self) -> float | Floats:
        """The current dual: a number with one constraint, an array with several."""
        dual: float | Floats = drop_single(self._state.dual[0].copy())
        return dual

    @property
    def record(self) -> Record:
        """The rounds told so far, in order; those in a file of version 2 are missing, since it has no record."""
        return self._now.record

    @property
    def posterior(self) -> Posterior:
        now = self._now
        return Posterior(now.stage.policy, now.state, self.policy.arms)

    def ask(self, among: Sequence[int] | None = None) -> Decision:
        """Return the decision for this round, among these arms (those of a context, say) or among all.

        Raise the policy's error if observations refute its settings, such as a safe arm that is not safe.
        """
        now = self._now
        step = now.stage.policy
        self._warn_past_horizon(now.round)
        refuted = step.refuted(now.state)
        if refuted is not None and refuted.any():
            raise step.objection()
        choice = step.decide(now.state, self._draws(now), self._mask(step, among))
        arm = None if self.policy.continuous else int(choice.arm[0])
        x = choice.arm[0] if arm is None else self.policy.arms[arm]
        return self._issuer.issue(
            round=now.round,
            arm=arm,
            x=x,
            values=None if self.policy.space is None else self.policy.space.values(x),
            dual=drop_single(now.state.dual[0].copy()),
            reward_estimate=float(choice.reward_estimate[0]),
            cost_estimate=drop_single(choice.cost_estimate[0]),
        )

    def tell(self, decision: Decision, reward: float, cost: float | Sequence[float] = ()) -> None:
        """Learn from a decision's reward and cost (one per constraint).

        If the policy notices something, such as limits that cannot be met, a `PolicyWarning` says so: once, until it
        has gone away. One also says if the reward or a cost is further beyond its bound than noise explains: that
        round is learned from all the same, and `forget` removes it.
        """
        m = self.policy.constraints
        choice = self._issuer.check(decision)
        r = np.array([validation.number("reward", reward, FeedbackError)])
        if m == 0 and not (validation.is_listed(cost) and not len(cost)):  # type: ignore[arg-type]
            raise FeedbackError.of("cost", "none", cost, "This policy uses no costs: leave cost out.")
        if m and isinstance(cost, tuple) and not cost:
            expected = "one number" if m == 1 else f"{m} numbers"
            raise FeedbackError.of("cost", expected, Description("none"), "Pass cost=measured - limit.")
        c = validation.numbers("cost", cost, m, FeedbackError, single=m == 1)[None, :]
        check_size(np.append(r, c))
        with self._lock:
            before = self._now
            if before.row_of(decision.ticket, decision.round) is not None:
                got = Description(f"the one of round {decision.round} again")
                raise DecisionError.of("decision", "one not told before", got, "Ask for a new one.")
            self._now = before.told(choice, r, c, decision.ticket, decision.round)
            remarks = self._new_remarks()
        self._warn_past_horizon(before.round)
        for text in surprises(before.stage.policy, np.concatenate([r, c[0]])) + remarks:
            warnings.warn(text, PolicyWarning, stacklevel=2)

    def forget(self, decision: Decision) -> None:
        """Remove the round of a decision that was told, such as one with a wrong reward.

        Posterior, dual, record and round become those of an agent that was told everything else in the same order. The
        decision may then be told again. It takes as long as telling the other rounds, from first to last.
        """
        self._issuer.check(decision)
        with self._lock:
            row = self._now.row_of(decision.ticket, decision.round)
            if row is None:
                got = Description("one never told, or forgotten since")
                raise DecisionError.of("decision", "one that was told", got, "Nothing is left of it to forget.")
            self._now = self._now.without(row)

    def _new_remarks(self) -> list[str]:
        """Return what the policy has noticed now and had not noticed before."""
        remarks, now = self._now.stage.policy.remarks(self._state), self._now.round
        fresh = [text for topic, text in remarks.items() if now - self._remarked.get(topic, -AWAY) >= AWAY]
        self._remarked = self._remarked | dict.fromkeys(remarks, now)
        return fresh

    def with_limits_raised(self, by: float | Sequence[float]) -> "Agent":
        """Return an agent that goes on from here with other limits, and keeps what was learned.

        `by` is one number per constraint, negative for a limit that is lowered: if it goes from 12 to 14, by = 2. Costs
        that are told from now on are measured - 14, and those in the record become so. The new limits are kept on
        average from now on: earlier debts are neither repaid nor passed on.
        """
        m = self.policy.constraints
        raised = validation.numbers("by", by, m, single=m == 1)
        agent = copy.copy(self)
        agent._now, agent._remarked = agent._now.with_limits_raised(raised), {}
        return agent

    def __repr__(self) -> str:
        now = self._now
        return f"<Agent of {self.policy.outline}, round {now.round}, dual {brief(now.state.dual[0])}>"

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def __str__(self) -> str:
        now = self._now
        lines = now.stage.policy.learned(now.state) or [f"dual {brief(now.state.dual[0])}"]
        return "\n".join([f"{self.policy.outline}, round {now.round}", *lines])

    def certificate(self, confidence: float = 0.1, cost_range: Ranges = None) -> Certificate:
        """Return what is known now about the totals of the costs and the regret, with probability 1 - confidence.

        It is valid at all times at once, so it may be asked for again and again. With `cost_range` the costs lie
        in [low, high] (one pair, or one per constraint), and their noise need not be known.
        """
        if isinstance(confidence, (int, float)) and 0.5 < confidence < 1:
            text = "confidence is the probability of failure that you accept"
            warnings.warn(f"{text}: did you mean {1 - confidence:.4g}?", PolicyWarning, stacklevel=2)
        now = self._now
        missing = now.round - len(now.record)
        if missing:
            got = Description(f"none of the first {missing}")
            remedy = "The agent comes from a file of version 2, which kept no record; start a new agent."
            raise ArgumentError.of("certificate", "a record of every round", got, remedy)
        _check_played("certificate", now)
        return certificate(self.policy, now.record, confidence, cost_range)

    def recommend(self, probability: float = 0.9) -> Recommendation:
        """Return what to keep: the best arm that meets every limit with that posterior probability, and mixtures.

        If the policy has norm bounds and noise, the posterior is that of all rounds told, for Gaussian noise of that
        size; otherwise it is the policy's own.
        """
        now = self._now
        _check_played("recommend", now)
        whole = len(now.record) == now.round
        beliefs = run_beliefs(self.policy, now.record) if whole else None
        if beliefs is None:
            points = self.policy.continuous
            step, state = now.stage.policy, now.state
            observed = observed_points(self.policy, now.record.arms) if whole else None
            beliefs = policy_beliefs(self.policy, lambda X: step.quantile(state, X if points else None), observed)
        return recommend(beliefs, probability)

    def acquisition(self, points: object) -> Floats:
        """Return the pseudo-acquisition that `ask` maximises in this round, at points (n, d) of a continuous domain."""
        now = self._now
        step = now.stage.policy
        if not isinstance(step, CKB) or not step.continuous:
            raise ArgumentError.of("policy", "CKB on a continuous domain", step, "Pass it a Box or a Space.")
        X = step.arms.points("points", points)
        return np.asarray(step.acquisitions(now.state, self._draws(now))[0].value(X))

    def _draws(self, now: Progress) -> Draws:
        return next(draw(now.stage.policy.draws(), self.seed, [0], now.round, 1, POLICY).rounds())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the agent to a file. An existing file is replaced as a whole, or not at all.

        If another process has written the file since this agent loaded it or saved it there, `FileError` says so, and
        the file stays as it is: what the other process was told would be lost.
        """
        with self._lock:  # so that a later state is never replaced by an earlier one
            arrays, settings = self._arrays(), dict[str, Array]()
            try:
                policy, code = agent_file.encode(self.policy, settings), None
            except agent_file.NotStorable as error:
                policy, code, settings = None, str(error), {}
            header = Header(self.seed, self._now.round, self._issuer.secret, policy, code)
            self._files = agent_file.write(path, header, arrays | settings, self._files)

    def _arrays(self) -> Arrays:
        """Return the arrays that `_restore` reads."""
        now = self._now
        arrays: Arrays = {f"state{i}": np.asarray(leaf) for i, leaf in enumerate(agent_file.leaves(now.state))}
        arrays |= {f"pivots{i}": factor.pivots for i, factor in enumerate(_factors(now.stage.policy))}
        return arrays | {"record": now.record.rows, "raises": now.record.raises, "lead": np.array(now.lead)}

    @classmethod
    def load(cls, path: str | PathLike[str], policy: Policy | None = None, memory: float = 2**30) -> "Agent":
        """Return the agent that was saved; its next decisions are the same to the bit.

        A policy with code of yours (an exploration, a kernel or a width function) is not in
        the file: pass it, built as it was. A file that would take more than `memory` bytes, or a time
        out of proportion to them, is refused before any of it is built.
        """
        if policy is not None and not isinstance(policy, Policy):
            raise ArgumentError.of("policy", "a policy", policy, "For example sb.CKB(...).")
        header, arrays, files = agent_file.read(path, validation.positive("memory", memory))
        if policy is None and header.policy is None:
            got = Description(f"a policy with code of yours, {header.code}")
            remedy = "Pass policy=, built as it was when the agent was saved."
            raise FileError.of(str(path), "the policy's settings", got, remedy)
        try:
            stored = agent_file.decode(header.policy, arrays)
            agent = cls(stored if policy is None else policy, header.seed)
            agent._restore(header, arrays)
        except agent_file.Outdated as error:
            got, remedy = error.args
            expected = "a policy whose rule is the same today"
            raise FileError.of(str(path), expected, Description(got), remedy) from None
        except Exception as error:  # whatever a damaged file leads to
            if policy is not None:
                raise FileError(f"{path} does not fit the policy given: {error}. Build it as it was.") from error
            raise agent_file.damaged(path, error) from error
        if policy is not None and stored is not None and not agent_file.same_settings(policy, stored):
            raise FileError(f"{path} was saved with other settings than the policy given. Leave policy= out.")
        agent._files = files
        return agent

    def _restore(self, header: Header, arrays: Arrays) -> None:
        """Continue from the saved state, in the basis in which it was saved."""
        now = Progress.start(self.policy, validation.whole("round", header.round, least=0, most=2**53))
        step, factors = now.stage.policy, _factors(now.stage.policy)
        pivots = [arrays[f"pivots{i}"] for i in range(len(factors))]
        if not all(np.array_equal(p, f.pivots) for p, f in zip(pivots, factors, strict=True)):
            # A machine that rounds differently may choose other pivots.
            assert isinstance(step, StepPolicy)
            stage = now.stage._replace(policy=step.replace(factors=pivots))
            now = now._replace(stage=stage, state=stage.policy.init(trials=1))
        state = agent_file.refill(now.state, (arrays[f"state{i}"] for i in itertools.count()))
        self._now = now._replace(state=state, record=self._stored_record(header, arrays))
        if len(self._now.record) > now.round:
            raise ValueError(f"a record of {len(self._now.record)} rounds after {now.round}")
        if header.version >= 4:
            self._issuer = Issuer(validation.whole("identity", header.identity, least=0, most=2**63 - 1))
            self._now = self._now._replace(lead=validation.whole("lead", arrays["lead"].item(), least=0))
        played = self._now.record.arms if self.policy.continuous else self._now.record.rows[:, 0]
        agent_file.check_points(self.policy.arms, played)
        agent_file.check_state(state, now.round - now.stage.first, now.stage.policy)

    def _stored_record(self, header: Header, arrays: Arrays) -> Record:
        arms, m = self.policy.arms, self.policy.constraints
        if header.version == 2:
            return Record(arms, m)
        if header.version == 3:
            return Record.of_version_3(arms, m, arrays["record"])
        return Record(arms, m, arrays["record"], arrays["raises"])

    def _mask(self, step: Steps, among: Sequence[int] | None) -> ArmMask | None:
        """Return `among` as a mask over the arms, (1, n)."""
        if among is None:
            if self.policy.context is not None:
                text = (
                    "ask() was given no arms, so it chose among those of all contexts. Pass the arms of this round's:"
                )
                warnings.warn(f"{text} among=np.flatnonzero(contexts == now).", PolicyWarning, stacklevel=3)
            return None
        if self.policy.continuous:
            raise ArgumentError.of("among", "all points, on a continuous domain", among, "Leave among out.")
        n = len(self.policy.arms)
        if not step.takes_contexts:
            remedy = "It has no rule for a round without a safe arm; leave among out."
            raise ArgumentError.of("among", f"all arms, with {type(self.policy).__name__}", among, remedy)
        expected, remedy = "a list of at least one arm", "Pass the arms to choose from."
        arms = validation.listed("among", among, expected, remedy)
        if not arms:
            raise ArgumentError.of("among", expected, among, remedy)
        mask = np.zeros((1, n), dtype=bool)
        mask[0, [validation.whole("among", arm, 0, n - 1) for arm in arms]] = True
        return mask

    def _warn_past_horizon(self, round: int) -> None:
        """Warn once if this round, which is asked for or told, is beyond the horizon."""
        T = self.policy.horizon
        if T is not None and round >= T and not self._warned_of_horizon:
            self._warned_of_horizon = True
            known = isinstance(self.policy, StepPolicy)  # others do without a horizon
            lost = "its guarantee no longer holds" if known else "it no longer explores"
            remedy = "wrap the policy in sb.Doubling" if known else "none"
            text = f"The policy's horizon of {T} rounds has passed: {lost}. Give a longer horizon, or {remedy}"
            warnings.warn(f"{text} if it is not known.", HorizonWarning, stacklevel=3)


def _check_played(what: str, now: Progress) -> None:
    if not now.round:
        raise ArgumentError.of(what, "at least one round", Description("none"), "Tell the agent what it observed.")


def _factors(step: Steps) -> Sequence[Features | ArmKernel]:
    """Return the kernels of a policy on finite arms, factorised or not; none on a continuous domain."""
    return step.model.factors if isinstance(step, StepPolicy) and not step.continuous else ()
