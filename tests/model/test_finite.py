"""The grouping of outputs: every output gets its own posterior, estimate and draws."""

import numpy as np
import pytest
from softbandit_tests import examples_of, paper_formulas

import softbandit as sb
from softbandit.backend.random import DrawCount, Draws
from softbandit.gp import ArmKernel, Features, KernelMatrix, weight_space
from softbandit.gp.low_rank_root import LowRankRoot
from softbandit.gp.weight_space import ArmPosterior, WeightPosterior
from softbandit.model import group as output_group
from softbandit.model.finite import group_equal

SMOOTH, ROUGH = sb.SquaredExponential(0.3), sb.Matern(0.2, nu=0.5)
PROBLEM = examples_of.problem(constraints=3, seed=2)
ARMS = PROBLEM.arms


def model(**settings):
    """The model of a reward and three costs."""
    return sb.CKB(**{**PROBLEM.settings(), "kernel": SMOOTH, "horizon": 50, "width": 1.0, **settings}).model


def numbers(parts):
    return [part.outputs.tolist() for part in parts]


def observed(the_model, arms, y):
    """One trial's posteriors after observing the rows of y at the arms."""
    posterior = the_model.prior(1)
    for arm, row in zip(arms, y, strict=True):
        posterior = the_model.condition(posterior, np.array([arm]), row[None])
    return posterior


@pytest.mark.parametrize(
    ("settings", "groups", "factors"),
    [
        ({}, [[0, 1, 2, 3]], 1),
        ({"cost_kernel": ROUGH}, [[0], [1, 2, 3]], 2),
        ({"cost_kernel": [ROUGH, SMOOTH, ROUGH]}, [[0, 2], [1, 3]], 2),
        ({"regularisation": [0.5, 0.5, 0.6, 0.5]}, [[0, 1, 3], [2]], 1),
        ({"cost_kernel": [SMOOTH, ROUGH, SMOOTH], "regularisation": [1, 2, 2, 1]}, [[0, 3], [1], [2]], 2),
    ],
    ids=["all alike", "costs alike", "interleaved kernels", "a lambda that differs", "kernels and lambdas"],
)
def test_outputs_that_share_a_kernel_and_lambda_share_a_posterior_and_kernels_are_factorised_once(
    settings, groups, factors
):
    finite = model(**settings)
    assert numbers(finite.groups) == groups
    assert len(finite.prior(1)) == len(groups)
    assert len(finite.factors) == factors


def test_outputs_of_a_policy_that_observes_them_alone_share_features_and_no_posterior():
    finite = examples_of.policy(kind=sb.baselines.UCBD).model
    assert [group.outputs.tolist() for group in finite.groups] == [[0], [1]]
    assert finite.groups[0].features is finite.groups[1].features


def test_kernels_that_are_equal_but_not_identical_share_a_posterior():
    assert len(model(cost_kernel=[sb.SquaredExponential(0.3)] * 3).groups) == 1


def test_a_kernel_that_cannot_be_compared_shares_a_posterior_with_itself_only():
    class Incomparable(sb.SquaredExponential):
        def __eq__(self, other):
            raise ValueError("The truth value of an array is ambiguous.")

        __hash__ = None

    kernel = Incomparable(0.3)
    assert numbers(model(cost_kernel=[kernel, Incomparable(0.3), kernel]).groups) == [[0], [1, 3], [2]]


def test_group_equal_keeps_the_order_of_first_appearance():
    assert group_equal("abacab") == [[0, 2, 4], [1, 5], [3]]


def test_outputs_of_a_group_that_share_an_exploration_are_one_block():
    finite = model(explore="ts", explore_cost="ucb", cost_kernel=[SMOOTH, ROUGH, SMOOTH])
    assert numbers(finite.blocks) == [[0], [1, 3], [2]]
    assert [block.group for block in finite.blocks] == [0, 0, 1]


def test_blocks_get_separate_draws_and_the_counts_add_up():
    finite = model(explore="ts", explore_cost=sb.RandUCB(sb.UniformDiscrete()), cost_kernel=[ROUGH, SMOOTH, ROUGH])
    rank = finite.groups[0].features.rank
    assert finite.draws() == DrawCount(normal=rank, uniform=3)
    draws = sb.Draws(np.arange(float(rank))[None], np.array([[0.1, 0.2, 0.3]]))
    reward, smooth, rough = (block.draws(draws) for block in finite.blocks)
    np.testing.assert_array_equal(reward.normal[0, 0], np.arange(float(rank)))
    np.testing.assert_array_equal(smooth.uniform, [[[0.1]]])
    np.testing.assert_array_equal(rough.uniform, [[[0.2], [0.3]]])


def test_each_output_has_the_posterior_of_its_kernel_and_lambda():
    kernels, lambdas = [SMOOTH, ROUGH, SMOOTH, SMOOTH], [0.5, 0.6, 0.5, 0.7]
    finite = model(cost_kernel=kernels[1:], regularisation=lambdas)
    rng = np.random.default_rng(0)
    arms, y = rng.integers(len(ARMS), size=30), rng.standard_normal((30, 4))
    posterior = observed(finite, arms, y)
    for i, (kernel, lam) in enumerate(zip(kernels, lambdas, strict=True)):
        mu, k = paper_formulas.posterior(kernel(ARMS, ARMS), arms, y[:, i], lam)
        np.testing.assert_allclose(finite.mean(posterior)[0, i], mu, atol=1e-9)
        np.testing.assert_allclose(finite.covariance(posterior)[0, i], k, atol=1e-9)
        np.testing.assert_allclose(finite.std(posterior)[0, i] ** 2, np.diagonal(k), atol=1e-9)


def test_estimates_are_in_the_order_of_the_outputs():
    """UCB for the reward, the mean for the costs, of kernels that alternate."""
    finite = model(cost_kernel=[SMOOTH, ROUGH, SMOOTH], explore_cost="greedy", regularisation=1.0)
    posterior = observed(finite, [4], np.array([[1.0, 2.0, 3.0, 4.0]]))
    h = finite.estimate(posterior, 1, sb.Draws(np.zeros((1, 0)), np.zeros((1, 0))))
    mean, std = finite.mean(posterior), finite.std(posterior)
    np.testing.assert_allclose(h[0, 0], mean[0, 0] + std[0, 0], atol=1e-12)
    np.testing.assert_allclose(h[0, 1:], mean[0, 1:], atol=1e-12)
    np.testing.assert_allclose(mean[0, :, 4], np.array([1, 2, 3, 4]) / 2, rtol=1e-12)  # y / (k(x, x) + lambda)


def test_confidence_is_the_mean_and_width_times_std_of_each_output():
    finite = model(cost_kernel=[ROUGH, SMOOTH, ROUGH], width=[1.0, 2.0, 3.0, 4.0])
    posterior = observed(finite, [4, 9], np.ones((2, 4)))
    mean, widths = finite.confidence(posterior, 3)
    np.testing.assert_array_equal(mean, finite.mean(posterior))
    np.testing.assert_allclose(widths[0], np.array([[1.0], [2.0], [3.0], [4.0]]) * finite.std(posterior)[0], rtol=1e-12)
    np.testing.assert_array_equal(finite.reward_width(posterior, 3), [[1.0]])


@pytest.mark.parametrize("output", range(4))
def test_pairs_are_columns_of_the_covariance_with_the_outputs_variance_width_and_lambda(output):
    lambdas = [0.5, 0.6, 0.5, 0.7]
    finite = model(regularisation=lambdas, width=[1.0, 2.0, 3.0, 4.0])
    posterior = observed(finite, [4, 9], np.ones((2, 4)))
    k, var, beta, lam = finite.pairs(posterior, output, 3, slice(5, 8))
    expected = paper_formulas.posterior(SMOOTH(ARMS, ARMS), [4, 9], [1.0, 1.0], lambdas[output])[1]
    np.testing.assert_allclose(k[0], expected[:, 5:8], atol=1e-12)
    np.testing.assert_allclose(var[0], np.diagonal(expected), atol=1e-12)
    assert (beta.tolist(), lam) == ([[output + 1.0]], lambdas[output])


class SampleOnly(sb.Thompson):
    """A subclass that may need more than samples, and does not declare otherwise."""


@pytest.mark.parametrize(
    ("explore", "explore_cost", "kind"),
    [("ts", None, WeightPosterior), ("ts", "ucb", ArmPosterior), (SampleOnly(), None, ArmPosterior)],
    ids=["all sampled", "one not sampled", "a subclass"],
)
def test_only_the_weights_are_kept_if_every_output_of_a_group_is_only_sampled(explore, explore_cost, kind):
    assert [type(part) for part in model(explore=explore, explore_cost=explore_cost).prior(1)] == [kind]


def test_a_width_function_becomes_a_table_of_the_rounds():
    finite = model(width=lambda t: 1.0 / t).in_arrays(3)
    (block,) = finite.blocks
    gain = np.zeros(1)
    assert [block.width(t, gain)[0, 0] for t in (1, 2, 3)] == [1.0, 1 / 2, 1 / 3]


def test_a_posterior_with_nan_is_not_usable():
    finite = model()
    assert finite.usable(observed(finite, [3], np.ones((1, 4))))
    assert not finite.usable(observed(finite, [3], np.full((1, 4), np.nan)))


def test_factors_must_be_one_per_kernel():
    factors = model().factors
    assert model(factors=factors).factors[0] is factors[0]
    with pytest.raises(sb.ArgumentError, match="factors: expected one per kernel, 2 in all"):
        model(factors=factors, cost_kernel=ROUGH)


CLOSE = np.linspace(0, 1e-3, 5)[:, None]  # of a smooth kernel: the third feature is 3e-14, the fourth below rounding


def test_arms_that_are_nearly_equal_keep_their_differences_if_lambda_is_small():
    """40,000 rounds at each arm: truncated at 1e-13, the features could not show the peak."""
    counts, peak, lam = np.full(5, 40_000), 1e-7 * np.array([0.0, 0.7, 1.0, 0.7, 0.0]), 1e-8
    group = model(arms=CLOSE, kernel=sb.SquaredExponential(1.0), regularisation=lam).groups[0]
    state = weight_space.prior(group.features, outputs=1, trials=1)
    for arm, y in enumerate(peak):  # several observations at one arm equal one with less noise
        state = weight_space.condition(group.features, lam / counts[arm], state, np.array([arm]), np.array([[y]]))
    K, arms = group.kernel(CLOSE, CLOSE), np.repeat(np.arange(5), counts)
    mu, _ = paper_formulas.moments_of_played_arms(K, arms, peak[arms], lam)
    np.testing.assert_allclose(state.mu[0, 0], mu, atol=1e-10)


def test_features_are_accurate_for_the_least_lambda_of_a_kernel():
    settings = {"arms": CLOSE, "kernel": sb.SquaredExponential(1.0)}
    ranks = [model(**settings, regularisation=lam).factors[0].rank for lam in (1.0, 1e-8, [1.0, 1.0, 1e-8, 1.0])]
    assert ranks == [2, 3, 3]


def test_given_features_are_used_if_they_are_accurate_enough_and_given_pivots_always():
    settings = {"arms": CLOSE, "kernel": sb.SquaredExponential(1.0)}
    coarse, fine = (model(**settings, regularisation=lam).factors for lam in (1.0, 1e-8))
    assert model(**settings, regularisation=1.0, factors=fine).factors[0] is fine[0]
    assert model(**settings, regularisation=1e-8, factors=coarse).factors[0].rank == 3
    assert model(**settings, regularisation=1e-8, factors=[coarse[0].pivots]).factors[0].rank == 2


MANY = np.random.default_rng(0).random((300, 3))


def is_unfactorised(**settings):
    """Whether each kernel of a model on 300 arms in 3 dimensions is kept as it is."""
    return [isinstance(factor, ArmKernel) for factor in model(arms=MANY, kernel=sb.Matern(0.5), **settings).factors]


class Optimist(sb.UCB):
    """A subclass that may need more than mean and std, and does not declare otherwise."""


def test_a_kernel_of_high_rank_is_not_factorised_unless_functions_are_sampled():
    assert is_unfactorised() == [True]
    assert is_unfactorised(explore="rand", explore_cost="greedy") == [True]
    assert is_unfactorised(explore="ts") == [False]
    assert is_unfactorised(explore="ucb", explore_cost="ts") == [False]
    assert is_unfactorised(explore=Optimist()) == [False]
    assert is_unfactorised(regularisation=1e-5) == [False]
    assert is_unfactorised(cost_kernel=sb.SquaredExponential(3.0)) == [True, False]
    assert is_unfactorised(explore_cost="ts", cost_kernel=sb.Matern(0.6)) == [True, False]


def test_an_unfactorised_kernel_is_reused_if_it_is_accurate_enough_and_factorised_if_needed():
    settings = {"arms": MANY, "kernel": sb.Matern(0.5)}
    coarse, fine = (model(**settings, regularisation=lam).factors for lam in (1.0, 1e-3))
    assert model(**settings, regularisation=1.0, factors=fine).factors[0] is fine[0]
    assert model(**settings, regularisation=1e-3, factors=coarse).factors[0].tolerance == fine[0].tolerance
    assert model(**settings, regularisation=1.0, explore="ts", factors=fine).factors[0] is fine[0].features
    assert isinstance(model(**settings, regularisation=1e-8, factors=fine).factors[0], Features)


def test_a_model_in_arrays_has_features_if_the_kernel_between_all_arms_would_take_all_memory(monkeypatch):
    finite = model(arms=MANY, kernel=sb.Matern(0.5))
    monkeypatch.setattr(output_group, "LARGEST_MATRIX", 8 * 300 * 300 - 1)
    assert isinstance(finite.in_arrays(4).groups[0].factor, Features)


def test_groups_of_one_kernel_share_its_matrix():
    finite = model(arms=MANY, kernel=sb.Matern(0.5), regularisation=[0.5, 0.5, 0.6, 0.5])
    first, second = (group.factor for group in finite.in_arrays(4).groups)
    assert first.matrix is second.matrix


def test_samples_of_high_rank_with_the_same_draws_do_not_depend_on_the_form_of_the_root():
    """The root is in terms for 149 rounds, and then a matrix; a compiled program has a matrix from the start."""
    in_terms = model(arms=MANY, kernel=sb.Matern(0.5), explore="ts")
    matrix = in_terms.in_arrays(1)
    rng = np.random.default_rng(0)
    ours, theirs = in_terms.prior(1), matrix.prior(1)
    assert isinstance(ours[0].root, LowRankRoot)
    for t in range(1, 161):
        arm, y = rng.integers(300, size=1), rng.standard_normal((1, 4))
        ours, theirs = in_terms.condition(ours, arm, y), matrix.condition(theirs, arm, y)
        if t % 40 == 0:
            draws = Draws(rng.standard_normal((1, 1200)), np.empty((1, 0)))
            pair = (m.estimate(state, t + 1, draws) for m, state in ((in_terms, ours), (matrix, theirs)))
            np.testing.assert_allclose(*pair, rtol=0, atol=1e-11)
    assert isinstance(ours[0].root, np.ndarray)


@pytest.mark.parametrize(("rounds", "factor"), [(4, KernelMatrix), (300, KernelMatrix), (301, Features)])
def test_a_model_in_arrays_has_a_row_per_round_or_features_if_there_are_more_rounds_than_arms(rounds, factor):
    finite = model(arms=MANY, kernel=sb.Matern(0.5))
    compiled = finite.in_arrays(rounds)
    assert [type(group.factor) for group in compiled.groups] == [factor]
    arms, y = [3, 7, 3, 150], np.random.default_rng(0).standard_normal((4, 4))
    ours, theirs = observed(finite, arms, y), observed(compiled, arms, y)
    np.testing.assert_allclose(finite.mean(ours), compiled.mean(theirs), rtol=0, atol=1e-12)
    np.testing.assert_allclose(finite.std(ours), compiled.std(theirs), rtol=0, atol=1e-12)
    np.testing.assert_allclose(finite.covariance(ours), compiled.covariance(theirs), rtol=0, atol=1e-12)
    for ours_part, theirs_part in zip(
        finite.pairs(ours, 2, 5, slice(3, 20)), compiled.pairs(theirs, 2, 5, slice(3, 20)), strict=True
    ):
        np.testing.assert_allclose(ours_part, theirs_part, rtol=0, atol=1e-12)
