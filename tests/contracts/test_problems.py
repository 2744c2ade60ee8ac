"""The contract of every problem."""

import inspect
import typing
from functools import cache

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend.random import PROBLEM, Draws, draw

EXTRA = {"stocks": pytest.mark.extra}  # its stand-in comes with skfolio
NAMES = [pytest.param(name, marks=EXTRA.get(name, ())) for name in examples_of.PROBLEMS]
FIELDS = ("arms", "reward", "cost", "noise", "reward_bound", "cost_bound", "slater", "contexts", "name", "source")
COUNT = 20_000

every_problem = pytest.mark.parametrize("problem", NAMES, indirect=True)
every_function = pytest.mark.parametrize("name", NAMES)


@cache
def example(name):
    return examples_of.PROBLEMS[name]()


@pytest.fixture
def problem(request):
    return example(request.param)


def problem_functions():
    """Return the names of the functions of sb.problems that return a Problem."""
    named = {name: getattr(sb.problems, name) for name in sb.problems.__all__}
    functions = {name: value for name, value in named.items() if inspect.isfunction(value)}
    return {name for name, f in functions.items() if typing.get_type_hints(f).get("return") is sb.problems.Problem}


def test_every_function_that_returns_a_problem_has_an_example():
    """The name of an example begins with that of its function."""
    assert {name.split(",")[0] for name in examples_of.PROBLEMS} == problem_functions()


@every_function
def test_building_a_problem_twice_gives_the_same_problem(name):
    a, b = example(name), examples_of.PROBLEMS[name]()
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    if isinstance(a.law, sb.problems.ResampledNoise):
        np.testing.assert_array_equal(a.law.residuals, b.law.residuals)
    else:
        assert a.law == b.law


@every_problem
def test_values_are_finite_and_within_the_bounds(problem):
    for values in (problem.arms, problem.reward, problem.costs):
        assert np.isfinite(values).all()
    assert np.abs(problem.reward).max() <= problem.reward_bound
    assert (np.abs(problem.costs).max(axis=0) <= problem.cost_bound).all()


@every_problem
def test_some_mixture_of_arms_has_the_slater_margin(problem):
    """With costs raised by the margin, the constraints can still be met, in every context."""
    assert 0 < problem.slater <= 1
    raised = problem.costs + problem.slater * (1 - 1e-9)
    weights = sb.randomized_optimum(problem.reward, raised, problem.contexts).weights
    assert (weights @ raised).max() <= 1e-9
    if problem.contexts is None:
        assert problem.slater <= sb.theory.largest_margin(problem.costs).margin * (1 + 1e-12)


@every_problem
def test_noise_is_centred_at_every_arm(problem):
    """The means of hundreds of columns are 0 to within 5 standard errors."""
    draws = draw(problem.draws(), 1, [0], 0, COUNT, PROBLEM)
    draws = Draws(draws.normal[:, 0], draws.uniform[:, 0])
    for arm in range(len(problem.arms)):
        reward, cost = problem.observe(np.full(COUNT, arm), draws)
        noise = np.c_[reward - problem.reward[arm], cost - problem.costs[arm]]
        error = noise.std(axis=0) / np.sqrt(COUNT)
        assert (np.abs(noise.mean(axis=0)) <= 5 * error + 1e-12).all()


@pytest.mark.extra
@every_problem
def test_both_engines_make_the_same_decisions(problem):
    policy = sb.CKB(**problem.settings(), horizon=50, explore="rand", width_scale=0.1)
    a, b = (sb.simulate(policy, problem, trials=3, engine=engine) for engine in ("numpy", "jax"))
    np.testing.assert_array_equal(a.arms, b.arms)
    # The engines add in different orders.
    np.testing.assert_allclose(a.rewards, b.rewards, atol=1e-12)
    np.testing.assert_allclose(a.costs, b.costs, atol=1e-12)
    assert np.isfinite(sb.score(a, problem).strong_regret).all()
