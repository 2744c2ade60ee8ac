import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb


class Broken:
    """An exploration whose estimate is whatever a function of the belief returns."""

    def __init__(self, function):
        self.function = function

    def draws(self, rank):
        return (0, 1)

    def estimate(self, belief, width, draws):
        return self.function(belief)


def test_an_exploration_of_the_right_shape_is_accepted():
    examples_of.policy(explore=Broken(lambda belief: belief.mean + belief.std))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda belief: belief.mean[0, 0], r"finite estimates of shape \(1, 2, 30\), got shape \(30,\)"),
        (lambda belief: belief.mean * np.nan, "got NaN or infinity. Check Broken.estimate"),
    ],
    ids=["wrong shape", "NaN"],
)
def test_an_exploration_that_cannot_work_is_refused_when_the_policy_is_built(function, says):
    with pytest.raises(sb.ArgumentError, match=says):
        examples_of.policy(explore=Broken(function))


def test_an_exploration_that_returns_nan_on_a_space_is_refused_when_the_policy_is_built():
    problem = sb.problems.rkhs_on(seed=3)
    with pytest.raises(sb.ArgumentError, match="finite estimates .*got NaN or infinity"):
        sb.CKB(**problem.settings(), horizon=5, explore=Broken(lambda belief: belief.mean * np.nan))


def test_an_exploration_class_in_place_of_an_instance_is_refused():
    with pytest.raises(sb.ArgumentError, match=r"Write UCB\(\)"):
        examples_of.policy(explore=sb.UCB)


def test_lambda_is_1_plus_2_over_t_and_the_noise_variance_for_calibrated_policies():
    assert examples_of.policy(horizon=50).model.groups[0].regularisation == 1 + 2 / 50
    calibrated = examples_of.policy(kind=sb.baselines.ConstrainedEI, noise=0.2, cost_noise=0.3)
    assert [group.regularisation for group in calibrated.model.groups] == pytest.approx([0.04, 0.09])


def test_the_costs_take_the_rewards_kernel_exploration_and_noise_by_default():
    model = examples_of.policy(noise=0.2, explore="ts").model
    assert len(model.groups) == len(model.blocks) == 1
    np.testing.assert_array_equal(model.noise, [0.2, 0.2])
    other = examples_of.policy(noise=0.2, cost_noise=0.3, explore_cost="ucb", cost_kernel=sb.Matern(0.3)).model
    assert [type(exploration) for _, exploration in other.by_output()] == [sb.UCB, sb.UCB]
    np.testing.assert_array_equal(other.noise, [0.2, 0.3])
