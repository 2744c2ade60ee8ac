import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests import examples_of

import softbandit as sb

FIELDS = ("arms", "rewards", "costs", "dual", "reward_estimates", "cost_estimates")
PROBLEM, PAIR = examples_of.problem(), examples_of.problem(constraints=2, seed=5)


def assert_same(whole, part, trials=slice(None), rounds=slice(None)):
    """Compare some trials and rounds of a trace with another trace, to the bit."""
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(whole, name)[trials, rounds], getattr(part, name), err_msg=name)


@given(st.integers(2, 60), st.sampled_from(["ucb", "ts", "rand"]))
def test_a_trial_is_the_same_to_the_bit_in_batches_of_any_size(trials, explore):
    """41 arms of rank 41: a shape at which matrix products take other code paths."""
    problem = examples_of.problem(arms=41, kernel=sb.Matern(0.2, nu=0.5))
    policy = examples_of.policy(problem, explore=explore)
    batch = sb.simulate(policy, problem, trials=trials, rounds=4)
    assert_same(batch, sb.simulate(policy, problem, trials=[trials - 1], rounds=4), trials=[trials - 1])


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    policy = examples_of.policy(explore="rand")
    first, second, other = (sb.simulate(policy, PROBLEM, seed=seed) for seed in (1, 1, 2))
    assert_same(first, second)
    assert (first.rewards != other.rewards).any()


def test_all_policies_meet_the_same_noise():
    runs = [sb.simulate(examples_of.policy(explore=e), PROBLEM, trials=3) for e in ("ucb", "ts")]
    for run in runs:
        noise = run.rewards - PROBLEM.reward[run.arms]
        np.testing.assert_allclose(noise, runs[0].rewards - PROBLEM.reward[runs[0].arms], atol=1e-12)


def test_noise_has_the_stated_scale():
    trace = sb.simulate(examples_of.policy(), PROBLEM, trials=200)
    for noise in (trace.rewards - PROBLEM.reward[trace.arms], trace.costs - PROBLEM.cost[trace.arms]):
        # N = 12,000 normal numbers: mean within 5 R / sqrt(N), mean square within 5 R^2 sqrt(2 / N).
        R, N = PROBLEM.noise, noise.size
        assert abs(noise.mean()) <= 5 * R / np.sqrt(N)
        assert abs((noise**2).mean() - R**2) <= 5 * R**2 * np.sqrt(2 / N)


def test_progress_adds_up_to_the_rounds():
    reports = []
    sb.simulate(examples_of.policy(horizon=1700), PROBLEM, progress=reports.append)
    assert sum(reports) == 1700
    assert len(reports) > 1


@pytest.mark.parametrize("engine", ["numpy", pytest.param("jax", marks=pytest.mark.extra)])
def test_a_kernel_of_rank_zero_runs(engine):
    arms = np.zeros((5, 1))
    problem = sb.problems.Problem(arms, sb.Linear(), np.zeros(5), -np.ones(5), 0.1, 1.0, 1.0, 0.5)
    trace = sb.simulate(sb.CKB(**problem.settings(), horizon=20), problem, trials=2, engine=engine)
    assert trace.arms.shape == (2, 20)


@pytest.mark.parametrize("options", [{"draws": "device"}, {"precision": "float32"}, {"engine": "nonsense"}], ids=str)
def test_options_are_checked_on_a_space_too(options):
    problem = sb.problems.rkhs_on(seed=3)
    with pytest.raises(sb.SoftbanditError, match=next(iter(options))):
        sb.simulate(sb.CKB(**problem.settings(), horizon=5), problem, **options)


def test_columns_have_an_axis_of_constraints_if_there_are_several_or_none():
    single = sb.simulate(examples_of.policy(), PROBLEM, trials=4, rounds=5)
    assert {getattr(single, name).shape for name in FIELDS} == {(4, 5)}
    pair = sb.simulate(examples_of.POLICIES["CKB, two constraints"], PAIR, trials=4, rounds=5)
    assert pair.dual.shape == pair.costs.shape == pair.cost_estimates.shape == (4, 5, 2)
    none = sb.simulate(examples_of.POLICIES["CKB, unconstrained"], PROBLEM, trials=4, rounds=5)
    assert none.costs.shape == (4, 5)  # the problem's, for scoring
    assert none.dual.shape == (4, 5, 0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"engine": "nump"}, "Did you mean .numpy."),
        ({"trials": 0}, "trials: expected a whole number of at least 1"),
        ({"trials": []}, "at least one trial"),
        ({"trials": [-1]}, "trials"),
        ({"trials": 2.5}, "trials"),
        ({"seed": -1}, "seed"),
        ({"rounds": 0}, "rounds"),
        ({"policy": sb.Doubling(examples_of.policy())}, "The policy has no horizon"),
        ({"problem": examples_of.problem(arms=31)}, "30 arms in the policy, 31 in the problem"),
        ({"problem": PAIR}, "1 constraints in the policy, 2 in the problem"),
    ],
)
def test_bad_arguments_of_simulate_are_refused(change, says):
    with pytest.raises(sb.ArgumentError, match=says):
        sb.simulate(**{"policy": examples_of.policy(), "problem": PROBLEM, **change})
