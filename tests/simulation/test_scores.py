import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests import examples_of

import softbandit as sb


@given(st.integers(0, 40), st.sampled_from(["ucb", "ts", "rand"]), st.integers(1, 2))
def test_regret_is_at_most_strong_regret(seed, explore, constraints):
    problem = examples_of.problem(seed=seed, arms=20, constraints=constraints)
    trace = sb.simulate(examples_of.policy(problem, explore=explore), problem, trials=2)
    scores = sb.score(trace, problem)
    assert (~(scores.regret > scores.strong_regret)).all()  # NaN if no single arm is feasible


def test_scores_of_four_rounds_by_hand():
    problem = sb.problems.Problem(
        arms=np.arange(3.0)[:, None],
        kernel=sb.SquaredExponential(1.0),
        reward=np.array([0.0, 1.0, 2.0]),
        cost=np.array([-1.0, 0.5, 1.0]),
        noise=0.0,
        reward_bound=3.0,
        cost_bound=3.0,
        slater=1.0,
    )
    policy = sb.CKB(**problem.settings(), horizon=4)
    trace = sb.simulate(policy, problem)
    object.__setattr__(trace, "arms", np.array([[2, 1, 0, 0]]))
    scores = sb.score(trace, problem)
    # pi*: half arm 0, half arm 2, worth 1; the best feasible arm is 0, worth 0.
    np.testing.assert_allclose(scores.strong_regret, [[-1, -1, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(scores.regret, [[-2, -3, -3, -3]])
    np.testing.assert_allclose(scores.violation, [[1, 1.5, 0.5, 0]])
    np.testing.assert_allclose(scores.positive_violation, [[1, 1.5, 1.5, 1.5]])
    np.testing.assert_array_equal(scores.violated_rounds, [[1, 2, 2, 2]])


def test_a_trace_of_another_problem_is_refused():
    problem = examples_of.problem()
    trace = sb.simulate(examples_of.policy(problem), problem)
    with pytest.raises(sb.ArgumentError, match="one of this problem, with 3 arms"):
        sb.score(trace, examples_of.problem(arms=3))


def test_every_constraint_has_its_own_violation():
    problem = examples_of.problem(constraints=2, seed=5)
    scores = sb.score(sb.simulate(examples_of.policy(problem), problem, trials=3), problem)
    assert scores.violation.shape == scores.positive_violation.shape == (3, 60, 2)
    assert scores.violated_rounds.shape == (3, 60)
