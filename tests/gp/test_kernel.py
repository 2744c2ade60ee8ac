"""A user's kernel: what it must define to be sampled and fitted, and how it is refused if it does not."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp.prior_samples import FREQUENCIES


@dataclass(frozen=True)
class Cauchy(sb.Kernel):
    """k(x, y) = 1 / (1 + r^2 / 2): the rational quadratic kernel with alpha = 1, with the two required methods."""

    lengthscale: float

    def __call__(self, X, Y):
        r2 = ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2) / self.lengthscale**2
        return 1 / (1 + r2 / 2)

    def diag(self, X):
        return np.ones(len(X))


class Fittable(Cauchy):
    def parameters(self):
        return (self.lengthscale,)

    def with_parameters(self, values):
        return Fittable(*values)


class Sampleable(Cauchy):
    def frequencies(self, count, d, rng):
        # k = E exp(-tau r^2 / 2) with tau ~ Exp(1): a mixture of squared exponential kernels.
        tau = rng.exponential(size=(count, 1))
        return np.sqrt(tau) / self.lengthscale * rng.standard_normal((count, d)), 1.0


def data(kernel, n, width):
    """Return n points on [0, width] and a noisy sample of 3 GP(0, kernel) + 7 there."""
    rng = np.random.default_rng(1)
    X = width * rng.random((n, 1))
    f = np.linalg.cholesky(kernel(X, X) + 1e-9 * np.eye(n)) @ rng.standard_normal(n)
    return X, 7 + 3 * f + 0.3 * rng.standard_normal(n)


def test_fit_recovers_the_length_scale_of_a_users_kernel():
    X, y = data(Cauchy(0.2), 300, 10.0)
    result = sb.fit(Fittable(1.0), X, y, restarts=0, prior=None)
    assert isinstance(result.kernel, Fittable)
    # 50 length scales determine ln(length scale) to about 1 / sqrt(50) = 0.14; ln(1.5) is 2.9 times that.
    assert abs(math.log(result.kernel.lengthscale / 0.2)) < math.log(1.5)
    assert result.noise == pytest.approx(0.3, rel=0.2)  # a standard deviation of 300 data: 1 / sqrt(600) = 4%


def test_fit_recovers_the_length_scale_of_a_users_kernel_in_a_sum():
    X, y = data(Cauchy(0.2), 300, 10.0)
    result = sb.fit(0.5 * Fittable(1.0) + 0.001 * sb.Linear(), X, y, restarts=0, prior=None)
    assert abs(math.log(result.kernel.left.kernel.lengthscale / 0.2)) < math.log(1.5)


def test_parameter_units_make_bounds_relative_to_the_points():
    class Bounded(Fittable):
        def parameter_units(self, spread):
            return (float(spread.max()),)

        def with_parameters(self, values):
            return Bounded(*values)

    X, y = data(Cauchy(0.2), 40, 10.0)
    result = sb.fit(Bounded(1.0), X, y, lengthscales=(0.5, 1.0))
    assert 0.5 * np.ptp(X) * (1 - 1e-12) <= result.kernel.lengthscale <= np.ptp(X) * (1 + 1e-12)


def test_fit_keeps_a_users_kernel_without_parameters():
    X, y = data(Cauchy(0.2), 300, 10.0)
    result = sb.fit(Cauchy(0.2), X, y, restarts=0)
    assert result.kernel == Cauchy(0.2)
    assert result.noise == pytest.approx(0.3, rel=0.2)


def test_parameters_without_with_parameters_are_refused():
    class Half(Cauchy):
        def parameters(self):
            return (self.lengthscale,)

    with pytest.raises(sb.KernelError, match="Define it beside `parameters`"):
        sb.fit(Half(1.0), *data(Cauchy(0.2), 10, 1.0))


def test_a_users_frequencies_reproduce_the_kernel():
    Q = np.random.default_rng(2).random((12, 2))
    kernel = Sampleable(0.3) * sb.Matern(0.5)
    omega, variance = kernel.frequencies(FREQUENCIES, 2, np.random.default_rng(0))
    angle = Q @ omega.T
    approximate = variance * np.cos(angle[:, None] - angle[None, :]).mean(axis=2)
    # A mean of M cosines has a standard error of at most 1 / sqrt(2 M); among 144 entries at most 3.6 of them.
    assert np.abs(approximate - kernel(Q, Q)).max() < 3.6 / math.sqrt(2 * FREQUENCIES)


def policy(kernel):
    bounds = {"reward_bound": 2, "cost_bound": 1, "noise": 0.1, "horizon": 40, "slater": 0.5}
    return sb.CKB(sb.Box([0, 0], [1, 1]), kernel, explore="ts", **bounds)


def test_a_users_kernel_with_frequencies_is_explored_by_thompson_sampling():
    agent = sb.Agent(policy(Sampleable(0.5)), seed=0)
    for _ in range(5):
        decision = agent.ask()
        assert ((decision.x >= 0) & (decision.x <= 1)).all()
        agent.tell(decision, reward=float(decision.x[0]), cost=-0.1)


def test_thompson_sampling_refuses_a_users_kernel_without_frequencies():
    with pytest.raises(sb.KernelError, match="Define `frequencies`, or explore with 'ucb' or 'rand'"):
        policy(Cauchy(0.5))


def test_a_users_kernel_has_no_gain_rate_unless_it_defines_one():
    with pytest.raises(sb.KernelError, match="or define `gain_rate`"):
        sb.theory.gain_rate(0.5 * Cauchy(0.5), 2)


NESTED = {
    "sum": lambda kernel: kernel + sb.Linear(),
    "product": lambda kernel: sb.Linear() * kernel,
    "multiple": lambda kernel: 0.5 * kernel,
}


@pytest.mark.parametrize("nest", NESTED.values(), ids=NESTED)
def test_kernels_in_kernels_can_be_used_to_a_depth_beyond_which_they_are_refused(nest, tmp_path):
    kernel = sb.Linear()
    for _ in range(149):
        kernel = nest(kernel)
    with pytest.raises(sb.KernelError, match="kernels at most 150 deep, got 151. Combine many in pairs"):
        nest(kernel)
    settings = {"reward_bound": 1, "cost_bound": 1, "noise": 0.1, "horizon": 9, "slater": 0.5}
    agent = sb.Agent(sb.CKB(np.linspace(0, 0.05, 3)[:, None], kernel, **settings))
    agent.save(tmp_path / "run.npz")
    assert sb.Agent.load(tmp_path / "run.npz").ask().arm == agent.ask().arm


def test_many_kernels_can_be_added_in_pairs():
    kernels = [sb.Linear() * (1 / 512)] * 512
    while len(kernels) > 1:
        kernels = [a + b for a, b in zip(kernels[::2], kernels[1::2], strict=True)]
    X = np.ones((1, 1))
    assert kernels[0](X, X)[0, 0] == pytest.approx(1.0)
