"""The compiled engine makes NumPy's decisions, for every policy; and what it compiles, and when."""

import collections
import itertools
import math
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend.random import draw
from softbandit.backend.traced_fields import join, split
from softbandit.gp.data_space import ArmKernel
from softbandit.gp.pivoted_cholesky import Features
from softbandit.gp.weight_space import REFRESH, ArmPosterior, WeightPosterior
from softbandit.model.beliefs import ArmBelief
from softbandit.simulation import schedule
from softbandit.simulation.rounds import play_round

jax = pytest.importorskip("jax")
jax_engine = pytest.importorskip("softbandit.simulation.jax_engine")
jax_operations = pytest.importorskip("softbandit.backend.jax_operations")

pytestmark = pytest.mark.extra

PROBLEM, PAIR = examples_of.problem(), examples_of.problem(constraints=2, seed=5)
SIZE = {"trials": 22, "rounds": 280}  # of most runs here: a program is compiled per size, and 280 is 40 stages of 7
RANDOMISED = examples_of.POLICIES["CKB, RandUCB for the reward only"]
COMPILED = {name: policy for name, policy in examples_of.POLICIES.items() if policy.stage(0).policy.batched}
every_policy = pytest.mark.parametrize("policy", COMPILED.values(), ids=COMPILED)


def problem_of(policy):
    return PAIR if policy.constraints == 2 else PROBLEM


def simulate(policy, problem=PROBLEM, engine="jax", **options):
    """Simulate without warnings: narrow widths refute a safe seed in a few trials."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.ComplaintWarning)
        return sb.simulate(policy, problem, engine=engine, **SIZE | options)


def both(policy, problem=PROBLEM, **options):
    return (simulate(policy, problem, engine, **options) for engine in ("numpy", "jax"))


@pytest.mark.parametrize("name", sorted(examples_of.POLICIES.keys() - COMPILED.keys()))
def test_jax_refuses_a_policy_that_learns_trial_by_trial(name):
    policy = examples_of.POLICIES[name]
    with pytest.raises(sb.ArgumentError, match="engine: expected 'numpy', for this policy.*do not compile"):
        simulate(policy, problem_of(policy))


def rounds_of(policy):
    """280; three stages of Doubling, since each has a program; and in data space no more than there are arms."""
    if isinstance(policy, sb.Doubling):
        return 140
    return 30 if isinstance(policy.stage(0).policy.model.factors[0], ArmKernel) else 280


@every_policy
def test_jax_plays_numpys_arm_in_every_round(policy):
    """In 22 trials arms are equal, and everything observed and estimated agrees up to rounding."""
    rounds = rounds_of(policy)
    plain, compiled = both(policy, problem_of(policy), rounds=rounds)
    np.testing.assert_array_equal(plain.arms, compiled.arms)
    for name in ("rewards", "costs", "dual", "reward_estimates", "cost_estimates"):
        np.testing.assert_allclose(getattr(plain, name), getattr(compiled, name), rtol=1e-9, atol=1e-9, err_msg=name)


def test_chunks_of_rounds_continue_in_data_space(monkeypatch):
    policy = examples_of.POLICIES["CKB, data space"].replace(width_scale=0.3)
    plain = simulate(policy, engine="numpy", trials=5, rounds=30)
    monkeypatch.setattr(schedule, "CPU", schedule.CPU._replace(rounds=10))
    np.testing.assert_array_equal(plain.arms, simulate(policy, trials=5, rounds=30).arms)


def test_both_engines_compute_sigma_from_the_root_in_the_same_rounds():
    """With lambda = 1e-8, estimates from the tracked sigma differ by 1e-12 between the engines, then by rounding."""
    policy = examples_of.policy(regularisation=1e-8, width=1.0, explore_cost="greedy")
    plain, compiled = both(policy, trials=2, rounds=REFRESH + 4)
    np.testing.assert_array_equal(plain.arms, compiled.arms)
    a, b = plain.reward_estimates, compiled.reward_estimates
    np.testing.assert_allclose(a[:, REFRESH:], b[:, REFRESH:], rtol=1e-14)
    assert (np.abs(a - b)[:, REFRESH - 4 : REFRESH] > 1e-13).all()


class Coin:
    """A user's exploration, written for both engines."""

    def draws(self, rank):
        return sb.DrawCount(uniform=1)

    def estimate(self, belief, width, draws):
        xp = sb.namespace(width)
        return belief.mean + width * xp.where(draws.uniform < 0.5, 1.0, 0.0) * belief.std


EXPLORATIONS = examples_of.EXPLORATIONS | {"a user's": Coin()}
PAIRS = list(itertools.zip_longest(list(EXPLORATIONS)[::2], list(EXPLORATIONS)[1::2], fillvalue="UCB"))


@pytest.mark.parametrize("names", PAIRS, ids=" and ".join)
def test_jax_plays_numpys_arms_with_every_exploration(names):
    """One exploration for the reward and another for the cost, in one program."""
    explore, explore_cost = (EXPLORATIONS[name] for name in names)
    plain, compiled = both(examples_of.policy(explore=explore, explore_cost=explore_cost))
    np.testing.assert_array_equal(plain.arms, compiled.arms)


def test_jax_plays_numpys_arms_with_contexts():
    problem = replace(PROBLEM, contexts=np.arange(30) % 3)
    plain, compiled = both(examples_of.policy(problem, kind=sb.baselines.PDCBO), problem, trials=10, rounds=60)
    np.testing.assert_array_equal(plain.arms, compiled.arms)


def test_jax_plays_numpys_arms_if_all_arms_tie_in_every_round():
    """Bounds far below every estimate: each arm's estimates are truncated to the same two numbers."""
    plain, compiled = both(examples_of.policy(reward_bound=1e-9, cost_bound=1e-9, width=1e3))
    np.testing.assert_array_equal(plain.arms, compiled.arms)
    assert len(np.unique(plain.arms)) == 30


def test_a_compiled_trial_is_the_same_alone_and_in_a_batch():
    policy = RANDOMISED
    batch, alone = simulate(policy), simulate(policy, trials=[7])
    np.testing.assert_array_equal(batch.arms[[7]], alone.arms)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["CKB, queue", "CKB, data space", "CKB, two constraints", "SGPUCB", "TimeVarying", "SafeOpt", "OPB"]
)
def test_the_program_for_accelerators_plays_numpys_arms(name, monkeypatch):
    """The accelerator's program, run on the CPU. With 19 trials no program was compiled for the CPU before."""
    monkeypatch.setattr(jax_operations, "platform_dependent", lambda cpu, default: default())
    monkeypatch.setattr(jax_engine, "accelerated", lambda: True)
    monkeypatch.setattr(jax_engine, "UNROLL", 2)  # several rounds per iteration, at half the compilation of four
    policy = examples_of.POLICIES[name]
    options = {"trials": 19, "rounds": min(56, rounds_of(policy))}
    plain = simulate(policy, problem_of(policy), "numpy", **options)
    compiled = simulate(policy, problem_of(policy), **options, draws="device")
    np.testing.assert_array_equal(plain.arms, compiled.arms)


@pytest.mark.parametrize("name", ["CKB, Thompson", "CKB, two constraints", "SGPUCB", "TimeVarying"])
def test_random_numbers_of_the_device_lead_to_the_arms_of_the_hosts(name):
    policy = examples_of.POLICIES[name]
    host, device = (simulate(policy, problem_of(policy), seed=2**64 - 1, draws=draws) for draws in ("host", "device"))
    assert (host.draws, device.draws) == ("host", "device")
    np.testing.assert_array_equal(host.arms, device.arms)
    np.testing.assert_allclose(host.rewards, device.rewards, rtol=1e-9, atol=1e-9)


def test_random_numbers_of_the_device_do_not_depend_on_batches_and_chunks(monkeypatch):
    policy = examples_of.policy(explore="ts")
    whole = simulate(policy, draws="device")
    others = simulate(policy, draws="device", trials=[3, 2**64 - 1, *range(2, 22)])
    np.testing.assert_array_equal(whole.arms[2:], others.arms[2:])
    np.testing.assert_array_equal(whole.arms[3], others.arms[0])
    monkeypatch.setattr(schedule, "CPU", schedule.CPU._replace(rounds=100))
    np.testing.assert_array_equal(whole.arms, simulate(policy, draws="device").arms)


@pytest.mark.parametrize("policy", [RANDOMISED, examples_of.POLICIES["CKB, Thompson"]], ids=["RandUCB", "Thompson"])
def test_single_precision_stays_close_until_a_decision_differs(policy):
    """float32 has 24 bits: estimates of size 10 after 280 sums are good to about 10 x 280 x 2^-24 = 2e-4."""
    policy = policy.replace(width_scale=0.2)
    double, single = (simulate(policy, precision=precision) for precision in ("float64", "float32"))
    agree = np.cumprod(double.arms == single.arms, axis=1).astype(bool)  # up to the first that differs
    assert agree[:, :5].mean() > 0.9
    np.testing.assert_allclose(double.reward_estimates[agree], single.reward_estimates[agree], atol=1e-3)
    assert np.isfinite(single.dual).all()


@pytest.mark.parametrize("explore", examples_of.EXPLORATIONS.values(), ids=examples_of.EXPLORATIONS)
def test_explorations_compute_in_single_precision_if_given_it(explore):
    need = explore.draws(rank=4)
    shapes = {"root": (3, 4, 4), "mu": (3, 2, 30), "var": (3, 30), "mean": (3, 2, 4), "gain": (3,), "basis": (4, 30)}
    ones = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    features = Features(ones["basis"], ones["var"][0], np.arange(4), 0.0)
    draws = sb.Draws(*(np.full((3, 2, count), 0.3, dtype=np.float32) for count in need))
    for form in (ArmPosterior, WeightPosterior):
        belief = ArmBelief(features, form(*(ones[name] for name in form._fields)), slice(None))
        assert explore.estimate(belief, np.ones((3, 2, 1), dtype=np.float32), draws).dtype == np.float32


@pytest.mark.parametrize("name", ["RPOL", "POBO, two constraints", "SGPUCB"])
def test_policies_that_compute_with_t_keep_a_state_in_single_precision(name):
    """The root of t is in double precision, and must not change the dtype of the state."""
    policy = examples_of.POLICIES[name]
    trace = simulate(policy, problem_of(policy), trials=1, precision="float32", rounds=3)
    assert np.isfinite(trace.rewards).all()
    assert (trace.rewards == trace.rewards.astype(np.float32)).all()


def test_policies_and_problems_of_one_form_share_a_program():
    programs = jax_engine._play
    simulate(RANDOMISED)
    before = programs._cache_size()
    other = examples_of.problem(seed=11)
    for changes in ({"width_scale": 0.3}, {"slack": 0.01, "horizon": 777}, {"noise": 0.4, "reward_bound": 9.0}):
        simulate(examples_of.policy(other, explore="rand", explore_cost="ucb", **changes), other, seed=5)
    assert programs._cache_size() == before


@pytest.mark.parametrize("draws", ["host", "device"])
def test_runs_of_any_length_share_a_program(draws):
    programs, policy = jax_engine._play, examples_of.policy(explore="greedy", horizon=1000)
    before = programs._cache_size()
    short, long = (simulate(policy, trials=2, rounds=rounds, draws=draws) for rounds in (7, 1100))
    assert programs._cache_size() == before + 1
    np.testing.assert_array_equal(short.arms, long.arms[:, :7])


@pytest.mark.parametrize(
    ("explore", "explore_cost", "passes"),
    [("ucb", None, 1), ("rand", None, 1), ("greedy", None, 1), ("ts", None, 1), ("ts", "ucb", 2)],
)
def test_a_compiled_round_reads_the_features_in_as_few_products_as_expected(explore, explore_cost, passes):
    """The operations on Phi in the compiled loop: products with it, and reading the row of the arm played."""
    policy = examples_of.policy(explore=explore, explore_cost=explore_cost)
    features = policy.model.groups[0].features.basis
    numbers, form = split((policy, PROBLEM))
    with jax.enable_x64(True):
        draws = [next(draw(part.draws(), 0, range(4), 0, 1, 0).rounds()) for part in (policy, PROBLEM)]
        draws = jax.tree.map(jax.numpy.asarray, draws)

        def play(basis):
            others = [basis if number is features else jax.numpy.asarray(number) for number in numbers]
            state = jax.tree.map(jax.numpy.asarray, policy.init(trials=4))
            return play_round(*join(form, others), state, *draws)[0]

        jaxpr = jax.make_jaxpr(play)(features).jaxpr
    counts = operations_on(jaxpr, jaxpr.invars[0])
    counts.pop("cond", None)  # the branch of every 1,024th round, which computes var from the root
    assert counts == {"gather": 1, "dot_general": passes}


def operations_on(jaxpr, variable):
    """Count the operations on a variable by name, through calls and changes of shape."""
    counts = collections.Counter()
    for equation in jaxpr.eqns:
        if not any(variable is operand for operand in equation.invars):
            continue
        inner = [p.jaxpr for p in equation.params.values() if hasattr(p, "jaxpr")]
        if inner:
            position = [variable is operand for operand in equation.invars].index(True)
            counts += operations_on(inner[0], inner[0].invars[position])
        elif equation.primitive.name in ("transpose", "convert_element_type", "broadcast_in_dim", "reshape"):
            counts += operations_on(jaxpr, equation.outvars[0])
        else:
            counts[equation.primitive.name] += 1
    return counts


SHARDED = """
from softbandit_tests import examples_of
import jax, numpy as np, softbandit as sb
from softbandit.simulation import jax_engine, schedule
from softbandit.simulation.rounds import Options
jax_engine.SHARDED = 0
problem = examples_of.problem(arms=40)
for settings in ({}, {"kind": sb.baselines.SafeOpt, "safe": examples_of.safest(problem)}):
    policy = examples_of.policy(problem, **settings)
    sharded, plain = (sb.simulate(policy, problem, trials=5, engine=engine) for engine in ("jax", "numpy"))
    np.testing.assert_array_equal(sharded.arms, plain.arms)
engine = jax_engine.JaxEngine(policy, problem, 60, Options(0))
over_arms = [x for x in engine._numbers if 40 in x.shape]
print(sorted({(len(x.sharding.device_set), x.addressable_shards[0].data.shape) for x in over_arms}))
print(jax_engine._play._cache_size())
odd = examples_of.problem(arms=41)  # 41 arms cannot be divided among several devices
sb.simulate(examples_of.policy(odd, horizon=3), odd, engine="jax")
"""


def run_python(code, **environment):
    """Run code in a new process that imports this library and these tests."""
    paths = [Path(sb.__file__).parents[1], Path(examples_of.__file__).parents[1]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_arms_are_spread_over_several_devices():
    process = run_python(SHARDED, XLA_FLAGS="--xla_force_host_platform_device_count=4")
    assert process.returncode == 0, process.stderr
    shards, programs = process.stdout.splitlines()
    assert shards == "[(4, (10,)), (4, (10, 1)), (4, (10, 2)), (4, (20, 10))]"
    assert int(programs) == 2  # one per policy: the state stays on its devices between chunks


def test_the_error_of_a_full_device_says_how_much_and_what_to_change():
    says = "room for arrays of 1,234 bytes.*cannot give 140737488355328 bytes more. Run fewer trials"  # 2^47
    with pytest.raises(sb.DeviceError, match=says), jax_engine._on_device(1234):
        jax.numpy.zeros(2**44).block_until_ready()


def test_other_errors_of_the_device_are_not_replaced():
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"), jax_engine._on_device(10):
        raise jax.errors.JaxRuntimeError("INTERNAL: broken")


@pytest.mark.parametrize("platform", ["foo", "cuda"])
def test_the_error_of_a_missing_platform_says_what_to_unset(platform):
    code = "from softbandit.simulation.engine_choice import runs_on_host; runs_on_host('jax')"
    process = run_python(code, JAX_PLATFORMS=platform)
    assert "DeviceError: device: expected a platform that JAX can use" in process.stderr
    assert "Unset JAX_PLATFORMS" in process.stderr


def test_a_simulation_leaves_the_callers_jax_settings_unchanged():
    simulate(examples_of.policy())
    assert jax.numpy.zeros(1).dtype == "float32"
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize("doubling", [False, True], ids=["plain", "Doubling"])
def test_a_width_function_may_use_any_python_code(doubling):
    """40 rounds share a program with the second stage of 20 + 40."""
    policy = examples_of.policy(width=lambda t: [math.log(1 + t), 0.1 * t**0.5])
    policy, rounds = (sb.Doubling(policy.replace(horizon=20)), 60) if doubling else (policy, 40)
    plain, compiled = both(policy, rounds=rounds)
    np.testing.assert_array_equal(plain.arms, compiled.arms)
    np.testing.assert_allclose(plain.cost_estimates, compiled.cost_estimates, rtol=1e-9, atol=1e-9)
