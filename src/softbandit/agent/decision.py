"""A decision: what to play, all that is needed to learn from it, and a seal that shows any change to it."""

import struct
from dataclasses import dataclass, field
from hashlib import blake2b
from hmac import compare_digest
from secrets import randbits
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.domains import Values
from softbandit.errors import DecisionError, Description
from softbandit.policies import Choice

TICKETS = 53  # bits of a ticket: a record holds it as a float


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
    seal: str = field(default="", repr=False)  # a digest of all the above with the agent's secret
    values: Values | None = None  # x by name, in a Space


class Issuer:
    """Issues the decisions of one agent, and recognises them without keeping any.

    The secret is saved with the agent. It is in no decision, so that only the agent can seal one.
    """

    def __init__(self, secret: int | None = None) -> None:
        self.secret = randbits(63) if secret is None else secret  # not from the seed: agents with the same seed differ
        self.name = int(self._digest(b"agent"), 16) >> 1  # fits an int64

    def issue(self, **fields: Any) -> Decision:
        """Return a decision with these fields, this agent's name, a new ticket and a seal."""
        # A random ticket is new even if an agent that was loaded knows none of those issued after it was saved.
        decision = Decision(**fields, agent=self.name, ticket=randbits(TICKETS))
        validation.store(decision, seal=self._digest(_content(decision)))
        return decision

    def check(self, decision: object) -> Choice:
        """Return the policy's choice in a decision; raise DecisionError if this agent did not issue it as it is."""
        if not isinstance(decision, Decision):
            raise DecisionError.of("decision", "a Decision from ask()", decision, "Pass what ask() returned.")
        try:
            content = _content(decision)
            ours, genuine = decision.agent == self.name, compare_digest(self._digest(content), decision.seal)
        except (TypeError, ValueError, OverflowError, struct.error):
            ours, genuine = True, False
        if not ours:
            got = Description("another agent's")
            raise DecisionError.of("decision", "one from this agent's ask()", got, "Tell it to the agent that made it.")
        if not genuine:
            got = Description("one that was changed or made elsewhere")
            remedy = "A decision must come from this agent's ask(), unchanged."
            raise DecisionError.of("decision", "one that ask() returned", got, remedy)
        arm = _flat(decision.x)[None] if decision.arm is None else np.array([int(decision.arm)])
        return Choice(arm, _flat(decision.reward_estimate), _flat(decision.cost_estimate)[None])

    def _digest(self, content: bytes) -> str:
        return blake2b(content, digest_size=8, key=self.secret.to_bytes(8, "little")).hexdigest()


def _content(decision: Decision) -> bytes:
    """Return the sealed fields as bytes; `values` follow from x."""
    floats = [_flat(v) for v in (decision.x, decision.dual, decision.reward_estimate, decision.cost_estimate)]
    arm = (-1, 0) if decision.arm is None else (decision.arm, 1)
    whole = (decision.agent, decision.ticket, decision.round, *arm, *(part.size for part in floats))
    return struct.pack(f"<{len(whole)}q", *whole) + b"".join(part.tobytes() for part in floats)


def _flat(value: object) -> Floats:
    return np.array(value, dtype=np.float64).ravel()
