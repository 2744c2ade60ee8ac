"""One source, two engines: JAX makes NumPy's decisions, for every policy."""

import subprocess
import sys
import warnings

import examples_of
import numpy as np
import pytest

import softbandit as sb
from softbandit.compiled import dissect

PROBLEM, PAIR = examples_of.problem(), examples_of.problem(constraints=2, seed=5)
every_policy = pytest.mark.parametrize("policy", examples_of.POLICIES.values(), ids=examples_of.POLICIES)


def problem_of(policy):
    return PAIR if policy.constraints == 2 else PROBLEM


def both(policy, problem, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.ComplaintWarning)  # narrow widths refute a seed now and then
        return (sb.simulate(policy, problem, engine=engine, **options) for engine in ("numpy", "jax"))


@every_policy
def test_the_same_arm_in_every_round(policy):
    """100 trials of 500 rounds each: the arms are equal, and what the rounds saw agrees up to rounding."""
    plain, compiled = both(policy, problem_of(policy), trials=100, rounds=500)
    np.testing.assert_array_equal(plain.arms, compiled.arms)
    for name in ("rewards", "costs", "dual", "reward_estimates", "cost_estimates"):
        np.testing.assert_allclose(getattr(plain, name), getattr(compiled, name), rtol=1e-9, atol=1e-9, err_msg=name)


class Coin:
    """A user's exploration, written for NumPy's engine and JAX's alike."""

    def draws(self, rank):
        return sb.DrawCount(uniform=1)

    def estimate(self, belief, width, draws):
        xp = sb.namespace(width)
        return belief.mean + width * xp.where(draws.uniform < 0.5, 1.0, 0.0) * belief.std


@pytest.mark.parametrize(
    "explore", [*examples_of.EXPLORATIONS.values(), Coin()], ids=[*examples_of.EXPLORATIONS, "a user's own"]
)
def test_every_exploration(explore):
    plain, compiled = both(examples_of.policy(explore=explore), PROBLEM, trials=10)
    np.testing.assert_array_equal(plain.arms, compiled.arms)


def test_contexts():
    problem = sb.problems.Problem(**{**vars(PROBLEM), "contexts": np.arange(30) % 3})
    plain, compiled = both(examples_of.policy(problem, kind=sb.baselines.PDCBO), problem, trials=10)
    np.testing.assert_array_equal(plain.arms, compiled.arms)


def test_chunks_and_batches_agree_with_numpys():
    policy = examples_of.policy(explore="rand", horizon=600)
    whole = sb.simulate(policy, PROBLEM, trials=9, engine="jax")
    alone = sb.simulate(policy, PROBLEM, trials=[7], engine="jax")
    np.testing.assert_array_equal(whole.arms[[7]], alone.arms)


def test_the_callers_jax_is_left_as_it_was():
    import jax

    sb.simulate(examples_of.policy(), PROBLEM, engine="jax", rounds=3)
    assert jax.numpy.zeros(1).dtype == "float32"
    assert not jax.config.jax_enable_x64


def test_a_width_function_is_refused_with_a_way_out():
    policy = examples_of.policy(width=lambda t: t**0.25)
    with pytest.raises(sb.ArgumentError, match="no function of t under a compiled engine.*engine='numpy'"):
        sb.simulate(policy, PROBLEM, engine="jax")


def test_without_jax_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['jax'] = None; import softbandit as sb; p = sb.problems.rkhs();"
        "sb.simulate(sb.CKB(**p.settings(), horizon=3), p, engine='jax')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "jax is not installed. Install it with: pip install 'softbandit[jax]'" in done.stderr


def test_a_policy_is_taken_apart_and_put_together():
    policy = examples_of.policy()
    arrays, rebuild = dissect((policy, PROBLEM))
    assert all(array.dtype == float for array in arrays)
    doubled, _ = rebuild([2 * array for array in arrays])
    np.testing.assert_array_equal(doubled.bounds, 2 * policy.bounds)
    np.testing.assert_array_equal(doubled.surrogate.groups[0].features.phi, 2 * policy.surrogate.groups[0].features.phi)
    assert doubled.ties == policy.ties
