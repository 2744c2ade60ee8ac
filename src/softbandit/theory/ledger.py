"""The ledger: the status of each assumption behind a guarantee, and the bound that follows or why there is none."""

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from softbandit.theory.assumptions import Row
from softbandit.theory.bounds import Bound

Constants = dict[str, float | list[float]]


@dataclass(frozen=True)
class Guarantees:
    """The ledger of one policy. Print it, or export it with `to_json`."""

    policy: str
    horizon: int | None
    rows: Sequence[Row]
    verdict: str  # of the sufficient condition
    reason: str  # which inequality decides it
    bound: Bound | None
    why_not: str | None  # why there is no bound
    constants: Constants = field(default_factory=dict)  # of the sufficient condition, if it is satisfied
    trivial: tuple[float, float] = (math.inf, math.inf)  # 2 B T and the largest G_i T
    provided: str | None = None  # what else must be true for the bound to hold, and is not known

    @property
    def covered(self) -> bool:
        return self.bound is not None and self.provided is None

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "bound": self.bound and self.bound._asdict(), "covered": self.covered}

    def to_json(self) -> str:
        """Return the ledger as JSON; an infinite number becomes null."""
        return json.dumps(finite(self.to_dict()), indent=2)

    def __str__(self) -> str:
        rounds = "" if self.horizon is None else f", T = {self.horizon:,}"
        lines = [*wrapped("Guarantees of ", f"{self.policy}{rounds}"), ""]
        if self.rows:
            lines += [*listed(self.rows), ""]
        lines += [*wrapped("sufficient condition: ", f"{self.verdict}; {self.reason}"), ""]
        if self.bound is None:
            return "\n".join([*lines, *wrapped("NOT COVERED. ", str(self.why_not))])
        head = "COVERED by " if self.covered else f"BOUND, provided that {self.provided}, by "
        lines += wrapped("", f"{head}{self.bound.theorem}, with probability at least {self.bound.probability:g}:")
        lines.append(_against("R_+(T)", self.bound.regret, self.trivial[0], "2 B T"))
        if self.trivial[1]:
            lines.append(_against("V(T)  ", self.bound.violation, self.trivial[1], "G T"))
        return "\n".join(lines)


def wrapped(head: str, text: str) -> list[str]:
    """Return lines of at most 79 characters, which start with the head and are indented by its length."""
    return textwrap.wrap(text, 79, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]


def listed(rows: Sequence[Row]) -> list[str]:
    """Return the lines of some assumptions."""
    return [line for row in rows for line in wrapped(f"{row.status:9}{row.assumption:26}", row.detail)]


def _against(name: str, bound: float, trivial: float, formula: str) -> str:
    note = "" if bound < trivial else f"   (void: {formula} = {trivial:,.0f} always holds)"
    return f"  {name} <= {bound:,.0f}{note}"


def finite(value: object) -> object:
    """Return the value with None in place of numbers that JSON lacks."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
