import pytest

import softbandit as sb
from softbandit.policies.dual_settings import checked_slack, dual_cap
from softbandit.theory import cancelling_slack


def test_a_slack_cancels_a_bound_until_the_cap():
    small = cancelling_slack(violation=50.0, horizon=1000, slater=0.2, reward_bound=3.0)
    assert (small.epsilon, small.cancels) == (0.05, True)
    assert small.regret == pytest.approx(2 * 3.0 * 1000 * 0.05 / 0.2)
    large = cancelling_slack(violation=500.0, horizon=1000, slater=0.2, reward_bound=3.0)
    assert (large.epsilon, large.cancels) == (0.1, False)


@pytest.mark.parametrize("seed", range(10))
def test_the_claim_bounds_what_a_slack_costs(seed):
    """Claim 1: E_pi*[f] - E_pi*_eps[f] <= 2 B eps / delta."""
    problem = sb.problems.rkhs(seed=seed, arms=40)
    best = sb.randomized_optimum(problem.reward, problem.cost).value
    for share in (0.1, 0.5):
        epsilon = share * problem.slater
        tightened = sb.randomized_optimum(problem.reward, problem.cost + epsilon).value
        assert best - tightened + 1e-12 >= 0
        assert best - tightened <= 2 * problem.reward_bound * epsilon / problem.slater


def test_too_much_slack_is_refused_with_what_it_does_to_the_problem():
    with pytest.raises(sb.ArgumentError, match="slater / 2 = 0.1.*tightened constraints"):
        checked_slack(0.11, 0.2)


def test_the_cap_follows_from_the_margin():
    assert dual_cap(None, B=3.0, slater=0.5, needed=True) == 24.0
    assert dual_cap(7.0, B=3.0, slater=None, needed=True) == 7.0
