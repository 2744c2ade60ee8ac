"""The contract of every exploration."""

from dataclasses import is_dataclass

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.gp import weight_space
from softbandit.model import explorations
from softbandit.model.beliefs import ArmBelief

every_exploration = pytest.mark.parametrize(
    "exploration", examples_of.EXPLORATIONS.values(), ids=examples_of.EXPLORATIONS
)


def test_every_exploration_and_distribution_has_an_example():
    examples = list(examples_of.EXPLORATIONS.values())
    examples += [example.distribution for example in examples if hasattr(example, "distribution")]
    classes = examples_of.classes(explorations, object)
    assert {type(example).__name__ for example in examples} == {
        name for name in classes if is_dataclass(getattr(explorations, name))
    }


@every_exploration
def test_an_exploration_follows_the_protocol(exploration):
    assert isinstance(exploration, sb.Exploration)


@every_exploration
def test_an_exploration_of_the_reward_works_with_ucb_for_the_cost(exploration):
    problem = examples_of.problem()
    policy = examples_of.policy(problem, explore=exploration, explore_cost="ucb")
    trace = sb.simulate(policy, problem, trials=2, rounds=10)
    assert np.isfinite(trace.cost_estimates).all()


@every_exploration
def test_negated_observations_and_width_give_the_negated_estimate(exploration):
    """A cost is a negated reward."""
    problem = examples_of.problem()
    policy = examples_of.policy(problem, explore=exploration, width=1.0)
    block = policy.model.blocks[0]
    rank = policy.model.groups[0].features.rank
    need = exploration.draws(rank)
    rng = np.random.default_rng(0)
    draws = sb.Draws(rng.standard_normal((1, 1, need.normal)), rng.random((1, 1, need.uniform)))
    up, down = (estimate_after(policy, block, sign, draws) for sign in (1.0, -1.0))
    np.testing.assert_allclose(up, -down, atol=1e-12)


@every_exploration
def test_keeping_only_the_weights_changes_no_decision(exploration):
    """`weights_only` says how the posterior is kept, even for an exploration that uses more than samples.

    tests/model/test_beliefs.py shows that JAX's beliefs are NumPy's, in both forms.
    """

    class WeightsOnly:
        weights_only = True
        draws, estimate = exploration.draws, exploration.estimate

    class OverArms(WeightsOnly):
        """A subclass may use more than samples: it must declare `weights_only` itself."""

    problem = examples_of.problem()
    policies = [examples_of.policy(problem, explore=kind(), width_scale=0.2) for kind in (OverArms, WeightsOnly)]
    kinds = [type(policy.init(trials=1).posterior[0]) for policy in policies]
    assert kinds == [weight_space.ArmPosterior, weight_space.WeightPosterior]
    over_arms, weights = (sb.simulate(policy, problem, trials=3, engine="numpy", rounds=40) for policy in policies)
    np.testing.assert_array_equal(over_arms.arms, weights.arms)
    np.testing.assert_allclose(over_arms.cost_estimates, weights.cost_estimates, atol=1e-10)


def estimate_after(policy, block, sign, draws):
    group = policy.model.groups[0]
    state = weight_space.prior(group.features, outputs=1, trials=1)
    state = weight_space.condition(group.features, 1.0, state, np.array([3]), np.array([[sign * 0.8]]))
    belief = ArmBelief(group.features, state, slice(None))
    return block.exploration.estimate(belief, np.full((1, 1, 1), sign), draws)
