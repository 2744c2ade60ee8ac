import pytest

import softbandit as sb
from softbandit.theory import cancelling_slack


def test_a_slack_cancels_a_violation_bound_until_it_is_capped():
    small = cancelling_slack(violation=50.0, horizon=1000, slater=0.2, reward_bound=3.0)
    assert (small.epsilon, small.cancels) == (0.05, True)
    assert small.regret == pytest.approx(2 * 3.0 * 1000 * 0.05 / 0.2)
    large = cancelling_slack(violation=500.0, horizon=1000, slater=0.2, reward_bound=3.0)
    assert (large.epsilon, large.cancels) == (0.1, False)


@pytest.mark.parametrize("seed", range(10))
def test_a_slack_costs_no_more_reward_than_claim_1_allows(seed):
    """Claim 1: E_pi*[f] - E_pi*_eps[f] <= 2 B eps / delta."""
    problem = sb.problems.rkhs(seed=seed, arms=40)
    best = sb.randomized_optimum(problem.reward, problem.cost).value
    for share in (0.1, 0.5):
        epsilon = share * problem.slater
        tightened = sb.randomized_optimum(problem.reward, problem.cost + epsilon).value
        assert best - tightened + 1e-12 >= 0
        assert best - tightened <= 2 * problem.reward_bound * epsilon / problem.slater
