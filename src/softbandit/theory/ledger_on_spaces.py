"""The ledger on a continuous domain: which assumptions can be checked there, and why there is no bound."""

from softbandit.gp.prior_samples import FREQUENCIES
from softbandit.model.explorations import Thompson
from softbandit.policies.ckb import CKB
from softbandit.theory import assumptions
from softbandit.theory.assumptions import UNKNOWN, VERIFIED, VIOLATED, Row, Truth
from softbandit.theory.certificates import OPEN
from softbandit.theory.ledger import Guarantees, describe, policy_name, trivial_bounds

NO_NUMBER = (
    "the paper's bounds carry over with C sqrt(T) more regret, but softbandit computes gamma_T, and so the bound, on "
    "finite arms only"
)


def assess_on_space(policy: CKB, problem: Truth | None) -> Guarantees:
    """Return the ledger of a policy that searches a space."""
    rows = [
        *assumptions.norm_rows(policy, None),
        Row("k(x, x) <= 1", VERIFIED, "at corners of the space and 1,024 points of it"),
        *assumptions.setting_rows(policy, problem),
        Row("maximiser to C / sqrt(t)", UNKNOWN, "searched for, C = 0.01 B; agent.acquisition(grid) measures it"),
        *assumptions.constraint_rows(policy, problem, None),
        *_approximation_rows(policy),
    ]
    name, trivial = policy_name(policy), trivial_bounds(policy)
    reason, why_not = "it is computed on finite arms only", describe(rows, VIOLATED) or NO_NUMBER
    return Guarantees(name, policy.horizon, rows, OPEN, reason, None, why_not, trivial=trivial)


def _approximation_rows(policy: CKB) -> list[Row]:
    rows = []
    if policy.budget is not None:
        detail = f"a dictionary of {policy.budget} points represents the data"
        rows.append(Row("posterior kept whole", VIOLATED, detail))
    if any(isinstance(exploration, Thompson) for exploration in assumptions.exploration_per_output(policy)):
        rows.append(Row("prior sampled exactly", VIOLATED, f"by {FREQUENCIES} random frequencies"))
    return rows
