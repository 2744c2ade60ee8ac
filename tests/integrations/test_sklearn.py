import pickle

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp.kernel import STEP, Kernel

theirs = pytest.importorskip("sklearn.gaussian_process.kernels")
adapter = pytest.importorskip("softbandit.integrations.sklearn")
pytestmark = pytest.mark.extra

RNG = np.random.default_rng(0)
X = RNG.random((12, 2))
W = RNG.standard_normal((12, 12))
KERNELS = [
    theirs.RBF(0.3),
    theirs.RBF([0.2, 0.7]),
    theirs.Matern(0.4, nu=1.5),
    theirs.RationalQuadratic(0.5, alpha=2.0),
    theirs.ExpSineSquared(0.8, periodicity=0.7),
    0.5 * theirs.RBF(0.3, "fixed") + theirs.DotProduct(0.5),
    theirs.RBF(0.3) * theirs.Matern([0.4, 0.6]) ** 2,
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


@every_kernel
def test_a_kernel_of_scikit_learn_is_symmetric_positive_semi_definite_and_has_its_diagonal(kernel):
    k = sb.kernels.from_sklearn(kernel)
    points = X[:, :1] if isinstance(kernel, theirs.ExpSineSquared) else X  # that one is a kernel in one dimension only
    K = k(points, points)
    np.testing.assert_allclose(K, kernel(points), rtol=1e-12)
    np.testing.assert_allclose(K, K.T, rtol=1e-14)
    np.testing.assert_allclose(k.diag(points), np.diagonal(K), rtol=1e-14)
    assert np.linalg.eigvalsh(K)[0] >= -1e-14 * len(X) * np.linalg.eigvalsh(K)[-1]


@every_kernel
def test_with_parameters_replaces_the_parameters_that_are_not_fixed(kernel):
    k = sb.kernels.from_sklearn(kernel)
    values = k.parameters()
    np.testing.assert_allclose(np.log(values), kernel.theta, rtol=1e-14)
    assert len(k.parameter_units(np.ones(2))) == len(values)
    assert k.with_parameters(values) == k
    assert hash(k.with_parameters(values)) == hash(k)
    doubled = k.with_parameters([2 * value for value in values])
    assert doubled.parameters() == tuple(2 * value for value in values)
    assert k.parameters() == values


@every_kernel
def test_parameter_gradients_equal_difference_quotients(kernel):
    k = sb.kernels.from_sklearn(kernel)
    # Per entry: errors of STEP^2 times a third derivative, below 100 for these, and of rounding, 1e-16 / STEP.
    atol = (100 * STEP**2 + 1e-16 / STEP) * np.abs(W).sum()
    np.testing.assert_allclose(k.parameter_gradients(X, W), Kernel.parameter_gradients(k, X, W), atol=atol, rtol=0)


def test_length_scales_have_the_unit_of_the_points():
    k = sb.kernels.from_sklearn(2.0 * theirs.RBF([0.2, 0.7]) + theirs.RationalQuadratic(0.5, alpha=2.0))
    assert k.parameter_units(np.array([3.0, 5.0])) == (None, 3.0, 5.0, None, 5.0)


def test_a_change_of_the_original_does_not_change_the_kernel():
    original = theirs.RBF(0.3)
    k = sb.kernels.from_sklearn(original)
    original.length_scale = 0.7
    assert k.parameters() == (0.3,)


@pytest.mark.parametrize("kernel", [theirs.RBF(0.3) + theirs.WhiteKernel(), theirs.WhiteKernel(), sb.Matern(0.3), 3])
def test_noise_and_what_is_no_kernel_are_refused(kernel):
    with pytest.raises(sb.ArgumentError):
        sb.kernels.from_sklearn(kernel)


def test_a_fit_equals_that_with_the_same_kernel_of_softbandit():
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(12)
    a = sb.fit(sb.kernels.from_sklearn(theirs.RBF([1.0, 1.0])), X, y)
    b = sb.fit(sb.SquaredExponential([1.0, 1.0]), X, y)
    np.testing.assert_allclose(a.kernel.parameters(), b.kernel.parameters(), rtol=1e-3)  # the optimiser's accuracy
    np.testing.assert_allclose([a.noise, a.log_likelihood], [b.noise, b.log_likelihood], rtol=1e-3)


@pytest.mark.parametrize(
    "build",
    [
        lambda kernel: sb.CKB(X, kernel, reward_bound=2, cost_bound=1, noise=0.1, horizon=20, slater=0.5),
        lambda kernel: sb.CKB(X, kernel, explore="ts", reward_bound=2, cost_bound=1, noise=0.1, horizon=20, slater=0.5),
        lambda kernel: sb.CKB(
            sb.Box([0, 0], [1, 1]), kernel, reward_bound=2, cost_bound=1, noise=0.1, horizon=20, rho=4
        ),
        lambda kernel: sb.Autopilot(X, kernel=kernel),
    ],
    ids=["CKB", "CKB, Thompson", "CKB on a box", "Autopilot"],
)
def test_a_policy_takes_a_kernel_of_scikit_learn(build):
    ours, other = (sb.Agent(build(k)) for k in (sb.SquaredExponential(0.3), sb.kernels.from_sklearn(theirs.RBF(0.3))))
    for _ in range(5):
        decision, reference = other.ask(), ours.ask()
        if not ours.policy.continuous:  # a box is searched with gradients or without
            assert decision.arm == reference.arm
        for agent, d in ((other, decision), (ours, reference)):
            agent.tell(d, reward=float(d.x.sum()), cost=float(d.x[0] - 0.5))


OURS = [sb.SquaredExponential(0.3), sb.Matern([0.4, 0.6]), 0.5 * sb.Matern(0.3) + 0.5 * sb.Linear(), sb.Linear()]


@pytest.mark.parametrize("kernel", OURS, ids=str)
def test_a_kernel_of_softbandit_is_one_of_scikit_learn(kernel):
    k = adapter.SoftbanditKernel(kernel)
    K, gradient = k(X, eval_gradient=True)
    np.testing.assert_array_equal(K, kernel(X, X))
    np.testing.assert_array_equal(k(X, X[:3]), kernel(X, X[:3]))
    np.testing.assert_array_equal(k.diag(X), kernel.diag(X))
    assert gradient.shape == (12, 12, k.n_dims) == (12, 12, len(k.bounds))
    # As above; these are weighted sums of the same derivatives in closed form.
    atol = (100 * STEP**2 + 1e-16 / STEP) * np.abs(W).sum()
    np.testing.assert_allclose(np.einsum("ij,ijp", W, gradient), kernel.parameter_gradients(X, W), atol=atol)
    assert k.clone_with_theta(k.theta + 1).theta == pytest.approx(k.theta + 1)
    assert pickle.loads(pickle.dumps(k)) == k


def test_a_regressor_of_scikit_learn_fits_a_kernel_of_softbandit_as_its_own():
    from sklearn.gaussian_process import GaussianProcessRegressor

    points = RNG.random((40, 2))
    y = np.sin(6 * points[:, 0]) + points[:, 1] + 0.1 * RNG.standard_normal(40)
    own, other = (
        GaussianProcessRegressor(kernel + theirs.WhiteKernel(0.01), random_state=0).fit(points, y)
        for kernel in (theirs.RBF([0.5, 0.5]), adapter.SoftbanditKernel(sb.SquaredExponential([0.5, 0.5])))
    )
    np.testing.assert_allclose(other.kernel_.theta, own.kernel_.theta, rtol=1e-3)  # the optimiser's accuracy
    np.testing.assert_allclose(other.predict(X), own.predict(X), rtol=1e-3)
