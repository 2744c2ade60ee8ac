import tomllib
from pathlib import Path

import pytest
from softbandit_tests import examples_of

import softbandit as sb

PROBLEM = examples_of.problem()
CKB = examples_of.policy(PROBLEM, explore="rand")
POLICIES = {
    "CKB": (CKB, {}),
    "Doubling": (sb.Doubling(CKB), {"runs": 2}),
    "Practical": (sb.Practical(sb.Box([0, 0], [1, 1]), sb.Matern([1.0, 1.0]), horizon=100), {}),
    "RPOL": (examples_of.POLICIES["RPOL"], {}),
}


@pytest.mark.parametrize(("policy", "options"), POLICIES.values(), ids=POLICIES)
def test_a_policys_guarantees_are_those_of_the_theory(policy, options):
    ledger = sb.theory.guarantees(policy, PROBLEM, **options)
    assert ledger.to_json() == policy.guarantees(PROBLEM, **options).to_json()
    assert ledger.covered == isinstance(policy, sb.CKB | sb.Doubling)


def test_the_import_contract_has_one_exception():
    """Only `policy.guarantees()` imports upwards."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    (contract,) = project["tool"]["importlinter"]["contracts"]
    assert contract["ignore_imports"] == ["softbandit.policies.base -> softbandit.theory.policy_ledger"]
