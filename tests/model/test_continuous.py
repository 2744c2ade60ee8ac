"""A round's estimates as functions: against the formulas, against difference quotients, and as samples."""

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend.random import POLICY, draw
from softbandit.gp.prior_samples import FREQUENCIES

rng = np.random.default_rng(1)
KERNELS = {name: kernel for name, (kernel, _) in examples_of.KERNELS.items() if "Tabular" not in name}
X, Y = rng.random((25, 2)) / 2, rng.standard_normal((25, 3)) / 4
Q = rng.random((12, 2)) / 2


def policy(kernel, explore, **settings):
    defaults = {"reward_bound": 2, "cost_bound": 1, "noise": 0.1, "horizon": 100, "slater": 0.5, "constraints": 2}
    return sb.CKB(sb.Box([0, 0], [0.5, 0.5]), kernel, explore=explore, **defaults | settings)


def posterior_of(the_policy, t=25):
    """The posterior of one trial after observing the first t rows of Y."""
    posterior = the_policy.model.prior(1)
    for x, y in zip(X[:t], Y[:t], strict=True):
        posterior = the_policy.model.condition(posterior, x[None], y[None])
    return posterior


def field(the_policy, round=0, t=25):
    """The estimates of round t + 1, with the random numbers of a given round."""
    draws = next(draw(the_policy.draws(), 3, [0], round, 1, POLICY).rounds())
    return the_policy.model.fields(posterior_of(the_policy, t), t + 1, draws)[0]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("explore", ["ucb", "rand", "ts", "greedy"])
@pytest.mark.parametrize("t", [0, len(X)])
def test_derivatives_agree_with_difference_quotients(name, explore, t):
    h = field(policy(KERNELS[name], explore, cost_kernel=sb.Matern(0.4)), t=t)
    u = rng.standard_normal((3, len(Q)))
    value, pull = h.linearised(Q)
    np.testing.assert_allclose(value, h(Q), rtol=1e-12, atol=1e-12)
    # Richardson extrapolation: errors of step^4 times fifth derivatives (the frequencies of a rough path reach 1e3),
    # and of 1e-15 / step by rounding.
    step = 2e-6
    for j in range(2):
        wide, narrow = (
            ((h(Q + e) - h(Q - e)) / (2 * e[j]) * u).sum(axis=0) for e in (step * np.eye(2)[j], step / 2 * np.eye(2)[j])
        )
        np.testing.assert_allclose(pull(u)[:, j], (4 * narrow - wide) / 3, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("explore", ["ucb", "ts"])
def test_derivatives_of_a_budgeted_posterior_agree_with_difference_quotients(explore):
    h = field(policy(sb.Matern(0.3), explore, budget=6))
    u, step = rng.standard_normal((3, len(Q))), 1e-6
    _, pull = h.linearised(Q)
    for j in range(2):
        e = step * np.eye(2)[j]
        by_difference = ((h(Q + e) - h(Q - e)) / (2 * step) * u).sum(axis=0)
        np.testing.assert_allclose(pull(u)[:, j], by_difference, atol=1e-6, rtol=1e-6)


def test_ucb_is_the_mean_plus_width_times_std():
    the_policy = policy(sb.Matern(0.3), "ucb", width=[1.0, 2.0, 3.0])
    lam = the_policy.model.groups[0][1].regularisation
    k, A = sb.Matern(0.3)(Q, X), np.linalg.inv(sb.Matern(0.3)(X, X) + lam * np.eye(25))
    sigma = np.sqrt(1 - np.einsum("nt,tu,nu->n", k, A, k))
    np.testing.assert_allclose(field(the_policy)(Q), (k @ A @ Y + np.outer(sigma, [1, -2, -3])).T, atol=1e-12)


def test_randomised_ucb_adds_the_same_multiple_of_sigma_everywhere():
    randomised, ucb, mean = (
        field(policy(sb.Matern(0.3), explore, width=1.0))(Q) for explore in ("rand", "ucb", "greedy")
    )
    ratio = (randomised - mean) / (ucb - mean)
    np.testing.assert_allclose(ratio, np.tile(ratio[:, :1], (1, 12)), rtol=1e-9)
    assert len(np.unique(np.round(ratio[:, 0], 6))) == 3  # one draw per output


def test_a_sampled_function_is_the_same_wherever_it_is_evaluated():
    h = field(policy(sb.Matern(0.3), "ts"))
    np.testing.assert_allclose(h(Q)[:, 3:7], h(Q[3:7]), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(h(Q), field(policy(sb.Matern(0.3), "ts"))(Q))
    assert not np.allclose(h(Q), field(policy(sb.Matern(0.3), "ts"), round=1)(Q))


@pytest.mark.parametrize("name", KERNELS)
def test_samples_have_the_mean_and_covariance_of_the_posterior(name):
    kernel, beta, N = KERNELS[name], 0.5, 250
    the_policy = policy(kernel, "ts", width=beta, regularisation=0.3)
    posterior, draws = posterior_of(the_policy), draw(the_policy.draws(), 3, [0], 0, N, POLICY)
    samples = np.array([the_policy.model.fields(posterior, 26, round_draws)[0](Q) for round_draws in draws.rounds()])
    k, A = kernel(Q, X), np.linalg.inv(kernel(X, X) + 0.3 * np.eye(25))
    covariance = beta**2 * (kernel(Q, Q) - k @ A @ k.T)
    errors = samples.transpose(0, 2, 1) - k @ A @ Y
    # Outputs are independent samples. A mean of N of them has standard error beta / sqrt(N) = 0.03.
    assert np.abs(errors.mean(axis=0)).max() < 4.5 * beta / np.sqrt(N)
    pooled = np.einsum("snk,smk->nm", errors, errors) / (3 * N)
    # Entries have standard errors of sqrt(2) beta^2 / sqrt(3 N) = 0.013; the frequencies average out over samples.
    assert np.abs(pooled - covariance).max() < 5 * np.sqrt(2 / (3 * N)) * beta**2
    cross = np.einsum("sn,sn->n", errors[:, :, 0], errors[:, :, 1]) / N
    assert np.abs(cross).max() < 5 * beta**2 / np.sqrt(N)


def test_the_covariance_of_a_prior_sample_is_within_the_stated_error():
    for kernel in (sb.SquaredExponential(0.3), sb.Matern(0.3), sb.Matern(0.3, nu=0.5) * sb.SquaredExponential(0.6)):
        omega, size = kernel.frequencies(FREQUENCIES, 2, np.random.default_rng(0))
        angle = Q @ omega.T
        approximate = size * (np.cos(angle[:, None] - angle[None, :])).mean(axis=2)
        # A mean of M cosines has a standard error of at most 1 / sqrt(2 M); the largest of 144 is within 3.6 of them.
        assert np.abs(approximate - kernel(Q, Q)).max() < 3.6 / np.sqrt(2 * FREQUENCIES)


def test_a_kernel_without_a_spectrum_is_refused_for_thompson_sampling():
    with pytest.raises(sb.KernelError, match="sampled anywhere.*'ucb'"):
        (sb.Linear() * sb.Matern(0.3)).prior_sample(2, rng)
    with pytest.raises(sb.KernelError, match="sampled anywhere"):
        policy(sb.Linear() * sb.Matern(0.3), "ts")


class HalfWidth:
    """The mean plus half a width, as a user would write it."""

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        return belief.mean + 0.5 * width * belief.std


def test_a_users_exploration_of_mean_and_std_is_evaluated_without_derivatives():
    h = field(policy(sb.Matern(0.3), HalfWidth(), width=1.0))
    assert not h.smooth
    ucb = field(policy(sb.Matern(0.3), "ucb", width=0.5))
    np.testing.assert_allclose(h(Q), ucb(Q), atol=1e-12)
