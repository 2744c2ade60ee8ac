"""The ledger on a continuous domain: what stands as on finite arms, what does not, and why no number follows."""

from collections.abc import Sequence

from softbandit.theory import assumptions
from softbandit.theory.assumptions import GIVEN, UNKNOWN, VERIFIED, Row, Subject, Truth
from softbandit.theory.certificates import OPEN
from softbandit.theory.ledger import Guarantees

NO_NUMBER = (
    "the paper's bounds carry over with C sqrt(T) more regret, but softbandit works out gamma_T, and so the bound, on "
    "finite arms only"
)


def assess_on_space(s: Subject, problem: Truth | None, more: Sequence[Row] = ()) -> Guarantees:
    """The ledger of a policy that searches a space. `more`: rows of what takes it outside the theorem."""
    rows = [
        *assumptions.norm_rows(s, None),
        Row("k(x, x) <= 1", VERIFIED, "at corners of the space and 1,024 points of it"),
        assumptions.noise_row(s, problem),
        assumptions.regularisation_row(s),
        assumptions.width_row(s),
        Row("at most T rounds", GIVEN, f"T = {s.horizon:,}"),
        assumptions.independence_row(s),
        Row("maximiser to C / sqrt(t)", UNKNOWN, "searched for, C = 0.01 B; agent.acquisition(grid) measures it"),
    ]
    if len(s.V):
        rows += [assumptions.slater_row(s, problem), assumptions.cap_row(s, None), assumptions.dual_row(s)]
    rows += more
    violated = "; ".join(f"{row.assumption}: {row.detail}" for row in rows if row.status == assumptions.VIOLATED)
    trivial = (2 * float(s.bound[0]) * s.horizon, float(s.bound[1:].max(initial=0.0)) * s.horizon)
    reason = "it is worked out on finite arms"
    return Guarantees(s.name, s.horizon, rows, OPEN, reason, None, violated or NO_NUMBER, {}, trivial)
