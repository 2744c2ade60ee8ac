import itertools

import examples_of
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import softbandit as sb
from softbandit.metrics import best_arm_value


def best_pair(f, g):
    """max over all mixtures of at most two arms with E[g] <= 0: where one constraint binds, g is 0."""
    best = f[g <= 0].max(initial=-np.inf)
    for i, j in itertools.permutations(range(len(f)), 2):
        if g[i] < 0 < g[j]:
            w = g[j] / (g[j] - g[i])  # on i
            best = max(best, w * f[i] + (1 - w) * f[j])
    return best


def best_vertex(f, g):
    """Brute force for m constraints: every basis of the program, slacks included."""
    n, m = g.shape
    A = np.block([[g.T, np.eye(m)], [np.ones((1, n)), np.zeros((1, m))]])
    b = np.r_[np.zeros(m), 1.0]
    value = np.r_[f, np.zeros(m)]
    best = -np.inf
    for basis in itertools.combinations(range(n + m), m + 1):
        sub = A[:, basis]
        if abs(np.linalg.det(sub)) > 1e-9:
            x = np.linalg.solve(sub, b)
            if (x >= -1e-10).all():
                best = max(best, x @ value[list(basis)])
    return best


values = arrays.arrays(float, 8, elements=st.integers(-100, 100).map(lambda i: i / 7))


@given(values, values)
def test_the_optimum_of_one_constraint_is_the_best_pair(f, g):
    if g.min() > 0:
        with pytest.raises(sb.InfeasibleError, match="expected a mixture of arms"):
            sb.randomized_optimum(f, g)
        return
    optimum = sb.randomized_optimum(f, g)
    assert optimum.value == pytest.approx(best_pair(f, g), abs=1e-9)
    assert (optimum.weights >= 0).all()
    assert optimum.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (optimum.weights > 0).sum() <= 2
    assert optimum.weights @ g <= 1e-9
    assert optimum.weights @ f == pytest.approx(optimum.value, abs=1e-9)


@given(values, arrays.arrays(float, (8, 2), elements=st.integers(-100, 100).map(lambda i: i / 7)))
def test_the_optimum_of_two_constraints_is_the_best_vertex(f, g):
    brute = best_vertex(f, g)
    if brute == -np.inf:
        with pytest.raises(sb.InfeasibleError):
            sb.randomized_optimum(f, g)
        return
    optimum = sb.randomized_optimum(f, g)
    assert optimum.value == pytest.approx(brute, abs=1e-8)
    assert (optimum.weights > 0).sum() <= 3
    assert (optimum.weights @ g <= 1e-9).all()


@pytest.mark.parametrize("seed", range(10))
def test_on_synthetic_problems(seed):
    problem = examples_of.problem(seed=seed, arms=100)
    optimum = sb.randomized_optimum(problem.reward, problem.cost)
    assert optimum.value == pytest.approx(best_pair(problem.reward, problem.cost), rel=1e-10)
    assert (optimum.weights > 0).sum() <= 2


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_units_do_not_matter(scale):
    problem = examples_of.problem(seed=4, arms=100)
    base = sb.randomized_optimum(problem.reward, problem.cost).value
    assert sb.randomized_optimum(scale * problem.reward, problem.cost).value == pytest.approx(scale * base, rel=1e-9)
    assert sb.randomized_optimum(problem.reward, scale * problem.cost).value == pytest.approx(base, rel=1e-9)


def test_without_constraints_the_best_arm_is_the_optimum():
    optimum = sb.randomized_optimum(np.array([1.0, 3.0, 2.0]), np.zeros((3, 0)))
    assert optimum.value == 3.0
    np.testing.assert_array_equal(optimum.weights, [0, 1, 0])


@given(st.integers(0, 40), st.sampled_from(["ucb", "ts", "rand"]), st.integers(1, 2))
def test_regret_is_at_most_strong_regret(seed, explore, constraints):
    problem = examples_of.problem(seed=seed, arms=20, constraints=constraints)
    trace = sb.simulate(examples_of.policy(problem, explore=explore), problem, trials=2)
    scores = sb.score(trace, problem)
    if np.isfinite(best_arm_value(problem.reward, problem.cost)):
        assert (scores.regret <= scores.strong_regret).all()


def test_scores_by_hand():
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


def test_several_constraints_are_scored_one_by_one():
    problem = examples_of.problem(constraints=2, seed=5)
    scores = sb.score(sb.simulate(examples_of.policy(problem), problem, trials=3), problem)
    assert scores.violation.shape == scores.positive_violation.shape == (3, 60, 2)
    assert scores.violated_rounds.shape == (3, 60)


@pytest.mark.parametrize(
    ("reward", "cost"),
    [([1.0, 2.0], [1.0]), ([1.0, np.nan], [0.0, 0.0]), ([1.0], [np.inf]), ([], []), ([1.0], [[[0.0]]])],
)
def test_bad_functions_are_refused(reward, cost):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.randomized_optimum(reward, cost)
