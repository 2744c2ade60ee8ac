"""The belief over finite arms against the direct formulas of the posterior, without sampling error."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from softbandit_tests import paper_formulas

import softbandit as sb
from softbandit.gp import weight_space
from softbandit.gp.pivoted_cholesky import features
from softbandit.model.beliefs import ArmBelief, PointBelief

X = np.linspace(0, 1, 8)[:, None]
KERNEL, LAMBDA = sb.SquaredExponential(0.3), 0.5
ARMS, Y = [1, 6, 1], np.array([[0.5, -1.0], [2.0, 0.3], [0.7, -0.4]])
PHI = features(KERNEL, X)

COMPILED = {"over the arms": weight_space.prior, "of the weights": weight_space.weight_prior}
IN_TERMS = {"of the weights, in terms": partial(weight_space.weight_prior, in_terms=True)}
every_posterior = pytest.mark.parametrize("prior", (COMPILED | IN_TERMS).values(), ids=COMPILED | IN_TERMS)
every_compiled_posterior = pytest.mark.parametrize("prior", COMPILED.values(), ids=COMPILED)


def belief_of(prior, outputs=slice(None)):
    """The belief of two outputs after three observations, in one trial."""
    posterior = prior(PHI, outputs=2, trials=1)
    for arm, y in zip(ARMS, Y, strict=True):
        posterior = weight_space.condition(PHI, LAMBDA, posterior, np.array([arm]), y[None])
    return ArmBelief(PHI, posterior, outputs)


def direct(output):
    """mu and k_t of one output by the paper's equations."""
    return paper_formulas.posterior(KERNEL(X, X), ARMS, Y[:, output], LAMBDA)


@every_posterior
def test_mean_and_std_are_those_of_the_direct_formulas(prior):
    belief = belief_of(prior)
    assert belief.mean.shape == (1, 2, 8)
    assert belief.std.shape == (1, 1, 8)
    for output in range(2):
        mu, k = direct(output)
        np.testing.assert_allclose(belief.mean[0, output], mu, atol=1e-12)
        np.testing.assert_allclose(belief.std[0, 0] ** 2, np.diagonal(k), atol=1e-12)


@every_posterior
def test_correlated_turns_independent_normal_numbers_into_functions_of_covariance_k_t(prior):
    """The functions of unit vectors z are the columns of a root of k_t: z z^T has the mean I."""
    roots = belief_of(prior).correlated(np.eye(PHI.rank)[None])[0]
    np.testing.assert_allclose(roots.T @ roots, direct(0)[1], atol=1e-12)


@every_posterior
def test_a_sample_is_the_mean_plus_a_correlated_function(prior):
    belief = belief_of(prior)
    z = np.random.default_rng(0).standard_normal((1, 2, PHI.rank))
    expected = [direct(output)[0] + belief.correlated(z)[0, output] for output in range(2)]
    np.testing.assert_allclose(belief.sample(z)[0], expected, atol=1e-12)


@every_posterior
def test_a_belief_about_some_outputs_is_that_of_these_outputs(prior):
    z = np.zeros((1, 1, PHI.rank))
    costs = belief_of(prior, slice(1, 2))
    for mean in (costs.mean, costs.sample(z)):
        assert mean.shape == (1, 1, 8)
        np.testing.assert_allclose(mean[0, 0], direct(1)[0], atol=1e-12)


@pytest.mark.extra
@every_compiled_posterior
def test_the_belief_of_a_jax_posterior_is_that_of_numpys(prior):
    jax = pytest.importorskip("jax")
    plain = belief_of(prior)
    z = np.random.default_rng(0).standard_normal((1, 2, PHI.rank))

    def functions(belief, z):
        return belief.mean, belief.std, belief.correlated(z), belief.sample(z)

    def traced(basis, posterior, z):
        return functions(ArmBelief(replace(PHI, basis=basis), posterior, slice(None)), z)

    with jax.enable_x64(True):
        compiled = jax.jit(traced)(PHI.basis, plain.posterior, z)
    for theirs, ours in zip(compiled, functions(plain, z), strict=True):
        np.testing.assert_allclose(theirs, ours, atol=1e-12)


def test_a_belief_at_points_refuses_to_sample():
    belief = PointBelief(np.zeros((1, 1, 3)), np.ones((1, 1, 3)))
    for method in (belief.correlated, belief.sample):
        with pytest.raises(sb.ArgumentError, match="mean and std only.*sb.Thompson"):
            method(np.zeros((1, 1, 0)))
