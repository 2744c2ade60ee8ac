"""All that changes in an agent, as one frozen value.

A step returns another value, so an agent replaces it whole or not at all, and whoever reads it sees one moment.
"""

from typing import NamedTuple

import numpy as np

from softbandit.agent.record import NO_TICKET, Entry, Record
from softbandit.backend import Floats, PerCost, PerTrial
from softbandit.errors import ArgumentError, DecisionError, Description, FeedbackError
from softbandit.policies import Choice, Policy, Stage, State
from softbandit.policies.base import LARGEST


class Progress(NamedTuple):
    """A policy, after some rounds."""

    policy: Policy
    round: int  # rounds completed
    stage: Stage
    state: State
    record: Record
    lead: int = 0  # a decision of round r that was told is in row r - lead of the record, or later

    @classmethod
    def start(cls, policy: Policy, round: int = 0) -> "Progress":
        """Return the first moment of the stage in force in that round."""
        stage = policy.stage(round)
        return cls(policy, round, stage, stage.start(1, None), Record(policy.arms, policy.constraints))

    def row_of(self, ticket: int, round: int) -> int | None:
        """Return the row of the record in which a decision of that round was told; None if it was not."""
        return self.record.row_of(ticket, max(round - self.lead, 0))

    def told(self, choice: Choice, reward: PerTrial, cost: PerCost, ticket: int, round: int) -> "Progress":
        """Return the progress after one more round, with the ticket and the round of its decision."""
        step = self.stage.policy
        with np.errstate(over="ignore", invalid="ignore"):
            state = step.update(self.state, choice, reward, cost)
            usable = step.usable(state)
        if not usable:
            got = reward.tolist() + cost[0].tolist()
            raise FeedbackError.of("reward, cost", "numbers of a usable size", got, "Check the units.")
        estimates = np.concatenate([choice.reward_estimate, choice.cost_estimate[0]])
        entry = Entry(np.ravel(choice.arm), reward, cost[0], self.state.dual[0], estimates, ticket)
        longer = self._replace(
            round=self.round + 1,
            state=state,
            record=self.record.appended(entry),
            lead=max(self.lead, round - len(self.record)),
        )
        return longer._in_next_stage() if longer.round >= self.stage.last else longer

    def _in_next_stage(self) -> "Progress":
        stage = self.policy.stage(self.round)
        return self._replace(stage=stage, state=stage.start(1, self.state))

    def without(self, row: int) -> "Progress":
        """Return the progress of an agent that was told all other rounds, in the same order."""
        if len(self.record) < self.round or (self.record.tickets == NO_TICKET).any():
            got = Description("one that lacks the estimates of earlier rounds")
            remedy = "The agent comes from a file of version 2 or 3, which has none; start a new agent."
            raise DecisionError.of("forget", "a record of every round", got, remedy)
        progress, raises = Progress.start(self.policy), self.record.raises
        for i, entry in enumerate(self.record.entries()):
            progress = progress._raised(raises[raises[:, 0] == i, 1:])
            if i != row:
                progress = progress._replayed(entry)
        progress = progress._raised(raises[raises[:, 0] == len(self.record), 1:])
        return progress._replace(lead=self.lead + 1)  # later rounds have moved up by one row

    def _replayed(self, entry: Entry) -> "Progress":
        f, g = entry.estimates[:1], entry.estimates[1:]
        choice = Choice(entry.arm[None] if self.policy.continuous else entry.arm, f, g[None])
        return self.told(choice, entry.reward, entry.cost[None], entry.ticket, round=0)

    def _raised(self, raises: Floats) -> "Progress":
        progress = self
        for by in raises:
            progress = progress.with_limits_raised(by)
        return progress

    def with_limits_raised(self, by: Floats) -> "Progress":
        """Return the progress with every limit raised by (m,)."""
        step, record = self.stage.policy, self.record.with_limits_raised(by)
        with np.errstate(over="ignore", invalid="ignore"):
            usable = np.abs(np.append(by, record.costs)).max(initial=0.0) <= LARGEST
            state = step.with_limits_raised(self.state, by) if usable else self.state
            usable = usable and step.usable(state)
        if not usable:
            raise ArgumentError.of("by", "numbers of a usable size", by.tolist(), "Check the units.")
        return self._replace(state=state, record=record)
