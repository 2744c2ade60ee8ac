"""The ledger on a continuous domain: what stands as on finite arms, what does not, and why no number follows."""

from collections.abc import Sequence

from softbandit.gp.prior_samples import FREQUENCIES
from softbandit.model.explorations import Thompson
from softbandit.theory import assumptions
from softbandit.theory.assumptions import GIVEN, UNKNOWN, VERIFIED, VIOLATED, Row, Subject, Truth
from softbandit.theory.certificates import OPEN
from softbandit.theory.ledger import Guarantees

NO_NUMBER = (
    "the paper's bounds carry over with C sqrt(T) more regret, but softbandit works out gamma_T, and so the bound, on "
    "finite arms only"
)


def assess_on_space(s: Subject, problem: Truth | None, budget: int | None) -> Guarantees:
    """The ledger of a policy that searches a space."""
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
    rows += _approximations(s, budget)
    violated = "; ".join(f"{row.assumption}: {row.detail}" for row in rows if row.status == VIOLATED)
    trivial = (2 * float(s.bound[0]) * s.horizon, float(s.bound[1:].max(initial=0.0)) * s.horizon)
    reason = "it is worked out on finite arms"
    return Guarantees(s.name, s.horizon, rows, OPEN, reason, None, violated or NO_NUMBER, {}, trivial)


def _approximations(s: Subject, budget: int | None) -> Sequence[Row]:
    rows = []
    if budget is not None:
        rows.append(Row("posterior kept whole", VIOLATED, f"a dictionary of {budget} points stands for the data"))
    if any(isinstance(each, Thompson) for each in s.explorations):
        rows.append(Row("prior sampled exactly", VIOLATED, f"by {FREQUENCIES} random frequencies"))
    return rows
