"""What every exploration must do."""

from dataclasses import is_dataclass

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.gp import weight_space
from softbandit.model import explorations as explore

every_exploration = pytest.mark.parametrize(
    "exploration", examples_of.EXPLORATIONS.values(), ids=examples_of.EXPLORATIONS
)


def test_none_is_missing():
    made = {type(e).__name__ for e in examples_of.EXPLORATIONS.values()}
    made |= {type(e.distribution).__name__ for e in examples_of.EXPLORATIONS.values() if hasattr(e, "distribution")}
    assert made == {name for name in examples_of.classes(explore, object) if is_dataclass(getattr(explore, name))}


@every_exploration
def test_follows_the_protocol(exploration):
    assert isinstance(exploration, sb.Exploration)


@every_exploration
def test_reward_and_cost_may_differ(exploration):
    problem = examples_of.problem()
    policy = examples_of.policy(problem, explore=exploration, explore_cost="ucb")
    trace = sb.simulate(policy, problem, trials=2, rounds=10)
    assert np.isfinite(trace.cost_estimates).all()


@every_exploration
def test_a_mirrored_problem_gets_mirrored_estimates(exploration):
    """A cost is a reward upside down: negated observations and width give the negated estimate."""
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
@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_to_keep_the_weights_alone_changes_no_estimate(exploration, engine):
    """`weights_only` says how the posterior is kept, even of an exploration that asks for more than samples."""

    class Alone:
        weights_only = True
        draws, estimate = exploration.draws, exploration.estimate

    class Whole(Alone):
        """It may ask for more, and does not say that it does not."""

    problem = examples_of.problem()
    policies = [examples_of.policy(problem, explore=kind(), width_scale=0.2) for kind in (Whole, Alone)]
    kept = [type(policy.init(trials=1).posterior[0]) for policy in policies]
    assert kept == [weight_space.ArmPosterior, weight_space.WeightPosterior]
    whole, alone = (sb.simulate(policy, problem, trials=3, engine=engine, rounds=40) for policy in policies)
    np.testing.assert_array_equal(whole.arms, alone.arms)
    np.testing.assert_allclose(whole.cost_estimates, alone.cost_estimates, atol=1e-10)


def estimate_after(policy, block, sign, draws):
    group = policy.model.groups[0]
    state = weight_space.prior(group.features, outputs=1, trials=1)
    state = weight_space.condition(group.features, 1.0, state, np.array([3]), np.array([[sign * 0.8]]))
    belief = weight_space.Belief(group.features, state, slice(None))
    return block.exploration.estimate(belief, np.full((1, 1, 1), sign), draws)
