"""Features in fewer bytes: what they stand for, and the same decisions."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend import arrays
from softbandit.gp.packed import AT_ONCE, RANK, pack
from softbandit.gp.pivoted_cholesky import TOLERANCE, Features, features
from softbandit.simulation import jax_engine as compiled

pytest.importorskip("jax")

BITS = {"float64": 48, "float32": 24}
PROBLEM, PAIR = examples_of.problem(), examples_of.problem(constraints=2, seed=5)


def rows(count, arms=1000):
    rng = np.random.default_rng(count)
    basis = rng.standard_normal((count, arms)) * 10.0 ** rng.uniform(-9, 3, (count, 1))
    return Features(basis, np.einsum("ij,ij->j", basis, basis), np.arange(count), 0.0)


@pytest.mark.parametrize("precision", BITS)
@pytest.mark.parametrize("count", [1, 3, AT_ONCE, AT_ONCE + 5])
def test_entries_are_multiples_of_a_unit(precision, count):
    """Off by half a unit, which is 2^-48 (or 2^-24) of the largest, and by quotients and products rounded to 2^-53."""
    made, packed = rows(count), pack(rows(count).basis, precision)
    largest, bits = np.abs(made.basis).max(), BITS[precision]
    words = packed.high.astype(object) * 2 ** (bits // 3) + packed.low - 2 ** (bits - 1)  # Python's whole numbers
    assert np.abs(words * packed.unit - made.basis).max() <= largest * (2.0**-bits + 2 * 2.0**-53)
    np.testing.assert_allclose(packed.phi, made.phi, rtol=0, atol=2 * largest * 2.0**-bits)
    assert packed.high.nbytes + packed.low.nbytes == bits // 8 * made.basis.size


@pytest.mark.parametrize("precision", BITS)
@pytest.mark.parametrize("count", [1, 3, AT_ONCE, AT_ONCE + 5])
@pytest.mark.parametrize("shape", [(1,), (1, 2)])
def test_functions_over_the_arms_are_those_of_the_entries(precision, count, shape):
    """Against the product in extended precision. A sum of r terms of size s in b bits is good to r s 2^-b."""
    import jax

    made, packed = rows(count), pack(rows(count).basis, precision)
    weights = np.random.default_rng(0).standard_normal((*shape, count)).astype(precision)
    with jax.enable_x64(True):
        found = packed.over_arms(jax.numpy.asarray(weights))
    assert (found.shape, found.dtype) == ((*shape, 1000), precision)
    direct = weights.astype(np.longdouble) @ made.basis
    size = np.abs(weights).sum() * np.abs(made.basis).max()
    np.testing.assert_allclose(found, direct.astype(float), rtol=0, atol=2 * count * size * 2.0 ** -BITS[precision])
    np.testing.assert_array_equal(packed.at(np.array([7, 3])), packed.phi[[7, 3]])


def test_features_that_are_all_zero():
    packed = pack(np.zeros((2, 5)), "float64")
    np.testing.assert_array_equal(packed.phi, np.zeros((5, 2)))


def test_what_packing_misses_of_the_kernel_is_what_the_factorisation_may_miss():
    kernel, arms = sb.Matern(0.3), np.random.default_rng(0).uniform(size=(400, 2))
    made = features(kernel, arms)
    packed = pack(made.basis, "float64")
    K = kernel(arms, arms)
    off = np.abs(packed.phi @ packed.phi.T - made.phi @ made.phi.T).max()
    assert 0 < off <= np.sqrt(made.rank) * 2.0**-47 * K.max()
    assert np.sqrt(RANK) * 2.0**-47 < 0.6 * TOLERANCE


@pytest.fixture
def packings(monkeypatch):
    """What is compiled for an accelerator with features beyond its caches, run on the CPU here; and what was packed."""
    seen, pack = [], compiled._pack
    monkeypatch.setattr(arrays, "by_platform", lambda cpu, default: default())
    monkeypatch.setattr(compiled, "accelerated", lambda jax: True)
    monkeypatch.setattr(compiled, "PACKED", 0)
    monkeypatch.setattr(compiled, "_pack", lambda jax: seen.append("features") or pack(jax))
    return seen


@pytest.mark.parametrize("explore", ["ucb", "ts", "rand"])
def test_decisions_are_those_of_numpy(explore, packings):
    """100 seeds x 500 rounds, and no round that differs."""
    policy = examples_of.policy(explore=explore, horizon=500)
    plain = sb.simulate(policy, PROBLEM, trials=100)
    fast = [sb.simulate(policy, PROBLEM, trials=[trial], engine="jax") for trial in range(100)]
    assert len(packings) == 100
    np.testing.assert_array_equal(plain.arms, np.concatenate([trace.arms for trace in fast]))
    estimates = np.concatenate([trace.reward_estimates for trace in fast])
    np.testing.assert_allclose(plain.reward_estimates, estimates, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["CKB, two constraints", "CKB, own cost kernel", "SGPUCB", "TimeVarying", "SafeOpt"])
def test_other_policies_decide_the_same(name, packings):
    policy = examples_of.POLICIES[name]
    problem = PAIR if policy.constraints == 2 else PROBLEM
    for trial in range(5):
        plain, fast = (sb.simulate(policy, problem, [trial], engine=engine, rounds=47) for engine in ("numpy", "jax"))
        np.testing.assert_array_equal(plain.arms, fast.arms)
    assert packings


def test_contexts_and_single_precision(packings):
    problem = replace(PROBLEM, contexts=np.arange(30) % 3)
    policy = examples_of.policy(problem, explore="ts", horizon=40)
    plain, fast = (sb.simulate(policy, problem, engine=engine) for engine in ("numpy", "jax"))
    np.testing.assert_array_equal(plain.arms, fast.arms)
    single = sb.simulate(policy, problem, engine="jax", precision="float32")
    np.testing.assert_allclose(single.reward_estimates[:, :5], fast.reward_estimates[:, :5], atol=1e-3)
    assert len(packings) == 2


def test_what_is_not_packed(packings, monkeypatch):
    """Several trials; features of rank 0 beside others; ranks too large, or so where functions are drawn for two
    outputs; features that the caches hold."""
    policy = examples_of.policy(horizon=10)
    sb.simulate(policy, PROBLEM, trials=2, engine="jax")
    assert packings == []
    none = Features(np.zeros((0, 30)), np.zeros(30), np.arange(0), 0.0)
    factors = [policy.surrogate.factors[0], none]
    flat = sb.CKB(**PROBLEM.settings(), cost_kernel=sb.Matern(0.2), factors=factors, horizon=10)
    plain, fast = (sb.simulate(flat, PROBLEM, engine=engine) for engine in ("numpy", "jax"))
    np.testing.assert_array_equal(plain.arms, fast.arms)
    assert len(packings) == 1
    monkeypatch.setattr(compiled, "RANK", policy.surrogate.factors[0].rank - 1)
    sb.simulate(policy, PROBLEM, engine="jax")
    monkeypatch.setattr(compiled, "RANK", 64)
    monkeypatch.setattr(compiled, "PACKED", 2**26)
    sb.simulate(policy, PROBLEM, engine="jax")
    assert len(packings) == 1
    monkeypatch.setattr(compiled, "PACKED", 0)
    monkeypatch.setattr(compiled, "DRAWN", 2 * policy.surrogate.factors[0].rank - 1)
    sb.simulate(policy.replace(explore="ts"), PROBLEM, engine="jax")
    assert len(packings) == 1
    sb.simulate(policy.replace(explore_cost="ts"), PROBLEM, engine="jax")
    assert len(packings) == 2


SPREAD = """
import sys; sys.path.insert(0, "tests")
import examples_of, numpy as np, softbandit as sb
from softbandit.simulation import jax_engine as compiled
from softbandit.simulation.rounds import Options
compiled.SHARDED = compiled.PACKED = 0
compiled.accelerated = lambda jax: True
problem = examples_of.problem(arms=40)
policy = examples_of.policy(problem)
spread, plain = (sb.simulate(policy, problem, engine=engine) for engine in ("jax", "numpy"))
np.testing.assert_array_equal(spread.arms, plain.arms)
words = [x for x in compiled.JaxEngine(policy, problem, 60, 1, Options(0))._numbers if x.dtype.kind == "u"]
print([(str(x.dtype), len(x.sharding.device_set), x.addressable_shards[0].data.shape) for x in words])
"""


def test_packed_features_are_spread_over_several_devices():
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run([sys.executable, "-c", SPREAD], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    rank = examples_of.policy(examples_of.problem(arms=40)).surrogate.factors[0].rank
    assert done.stdout.strip() == f"[('uint32', 4, ({rank}, 10)), ('uint16', 4, ({rank}, 10))]"
