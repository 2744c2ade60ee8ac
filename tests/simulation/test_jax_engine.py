"""One source, two engines: JAX makes NumPy's decisions, for every policy."""

import collections
import math
import os
import subprocess
import sys
import warnings

import jax
import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend import jax_operations
from softbandit.backend.random import draw
from softbandit.backend.traced_fields import join, split
from softbandit.gp.pivoted_cholesky import Features
from softbandit.gp.weight_space import ArmPosterior, WeightPosterior
from softbandit.model.beliefs import ArmBelief
from softbandit.simulation import jax_engine, schedule
from softbandit.simulation.rounds import play_round

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
    plain, fast = both(policy, problem_of(policy), trials=100, rounds=500)
    np.testing.assert_array_equal(plain.arms, fast.arms)
    for name in ("rewards", "costs", "dual", "reward_estimates", "cost_estimates"):
        np.testing.assert_allclose(getattr(plain, name), getattr(fast, name), rtol=1e-9, atol=1e-9, err_msg=name)


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
    plain, fast = both(examples_of.policy(explore=explore), PROBLEM, trials=10)
    np.testing.assert_array_equal(plain.arms, fast.arms)


def test_contexts():
    problem = sb.problems.Problem(**{**vars(PROBLEM), "contexts": np.arange(30) % 3})
    plain, fast = both(examples_of.policy(problem, kind=sb.baselines.PDCBO), problem, trials=10)
    np.testing.assert_array_equal(plain.arms, fast.arms)


def test_chunks_and_batches_agree_with_numpys():
    policy = examples_of.policy(explore="rand", horizon=600)
    whole = sb.simulate(policy, PROBLEM, trials=9, engine="jax")
    alone = sb.simulate(policy, PROBLEM, trials=[7], engine="jax")
    np.testing.assert_array_equal(whole.arms[[7]], alone.arms)


@pytest.mark.parametrize("ties", ["random", "first"])
def test_the_way_of_accelerators_leads_to_the_same_arms(ties, monkeypatch):
    """What is compiled for one is run on the CPU here. 43 rounds: no other test may have compiled them."""
    monkeypatch.setattr(jax_operations, "platform_dependent", lambda cpu, default: default())
    monkeypatch.setattr(jax_engine, "accelerated", lambda: True)
    plain, fast = both(examples_of.policy(ties=ties), PROBLEM, trials=100, rounds=43)
    np.testing.assert_array_equal(plain.arms, fast.arms)


@pytest.mark.parametrize("name", ["CKB, two constraints", "SGPUCB", "TimeVarying", "SafeOpt"])
def test_the_way_of_accelerators_serves_other_policies_too(name, monkeypatch):
    monkeypatch.setattr(jax_operations, "platform_dependent", lambda cpu, default: default())
    monkeypatch.setattr(jax_engine, "accelerated", lambda: True)
    policy = examples_of.POLICIES[name]
    plain = sb.simulate(policy, problem_of(policy), trials=20, rounds=41, engine="numpy")
    fast = sb.simulate(policy, problem_of(policy), trials=20, rounds=41, engine="jax", draws="device")
    np.testing.assert_array_equal(plain.arms, fast.arms)


@pytest.mark.parametrize("name", ["CKB, Thompson", "CKB, two constraints", "SGPUCB", "TimeVarying"])
def test_numbers_made_on_the_device_are_the_same_numbers(name):
    policy = examples_of.POLICIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.ComplaintWarning)
        host, device = (
            sb.simulate(policy, problem_of(policy), 20, seed=2**64 - 1, engine="jax", draws=where)
            for where in ("host", "device")
        )
    assert (host.draws, device.draws) == ("host", "device")
    np.testing.assert_array_equal(host.arms, device.arms)
    np.testing.assert_allclose(host.rewards, device.rewards, rtol=1e-9, atol=1e-9)


def test_numbers_made_on_the_device_depend_on_no_batch_and_no_chunks(monkeypatch):
    policy = examples_of.policy(explore="ts")
    whole = sb.simulate(policy, PROBLEM, trials=9, engine="jax", draws="device")
    alone = sb.simulate(policy, PROBLEM, trials=[7], engine="jax", draws="device")
    np.testing.assert_array_equal(whole.arms[[7]], alone.arms)
    monkeypatch.setattr(schedule, "CPU", schedule.CPU._replace(rounds=13))
    np.testing.assert_array_equal(whole.arms, sb.simulate(policy, PROBLEM, 9, engine="jax", draws="device").arms)


@pytest.mark.parametrize("explore", ["ucb", "ts", "rand"])
def test_single_precision_stays_close_until_a_decision_differs(explore):
    """float32 has 24 bits: estimates of size 10 after 60 sums are good to about 10 x 60 x 2^-24 = 4e-5."""
    policy = examples_of.policy(explore=explore, width_scale=0.2)
    double, single = (sb.simulate(policy, PROBLEM, 20, engine="jax", precision=p) for p in ("float64", "float32"))
    agree = np.cumprod(double.arms == single.arms, axis=1).astype(bool)  # up to the first that differs
    assert agree[:, :5].mean() > 0.9
    np.testing.assert_allclose(double.reward_estimates[agree], single.reward_estimates[agree], atol=1e-3)
    assert np.isfinite(single.dual).all()


@pytest.mark.parametrize("explore", examples_of.EXPLORATIONS.values(), ids=examples_of.EXPLORATIONS)
def test_explorations_keep_to_single_precision(explore):
    need = explore.draws(rank=4)
    shapes = {"root": (3, 4, 4), "mu": (3, 2, 30), "var": (3, 30), "mean": (3, 2, 4), "gain": (3,), "basis": (4, 30)}
    ones = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    features = Features(ones["basis"], ones["var"][0], np.arange(4), 0.0)
    draws = sb.Draws(*(np.full((3, 2, count), 0.3, dtype=np.float32) for count in need))
    for form in (ArmPosterior, WeightPosterior):
        belief = ArmBelief(features, form(*(ones[name] for name in form._fields)), slice(None))
        assert explore.estimate(belief, np.ones((3, 2, 1), dtype=np.float32), draws).dtype == np.float32


@pytest.mark.parametrize("name", ["RPOL", "POBO, two constraints", "SGPUCB"])
def test_policies_that_compute_with_t_run_in_single_precision(name):
    """A root of t is in double precision; the state is not."""
    policy = examples_of.POLICIES[name]
    trace = sb.simulate(policy, problem_of(policy), engine="jax", precision="float32", rounds=3)
    assert np.isfinite(trace.rewards).all()
    assert (trace.rewards == trace.rewards.astype(np.float32)).all()


def test_one_compilation_serves_all_numbers():
    programs = jax_engine._play
    sb.simulate(examples_of.policy(explore="rand"), PROBLEM, trials=3, engine="jax")
    before = programs._cache_size()
    other = examples_of.problem(seed=11)
    for changes in ({"width_scale": 0.3}, {"slack": 0.01, "horizon": 777}, {"noise": 0.4, "reward_bound": 9.0}):
        sb.simulate(examples_of.policy(other, explore="rand", **changes), other, 3, 5, engine="jax", rounds=60)
    assert programs._cache_size() == before


def test_a_horizon_takes_one_program():
    programs = jax_engine._play
    before = programs._cache_size()
    sb.simulate(examples_of.policy(explore="greedy", horizon=1000), PROBLEM, trials=2, engine="jax")
    assert programs._cache_size() == before + 1


@pytest.mark.parametrize(
    ("explore", "of_cost", "passes"),
    [("ucb", None, 1), ("rand", None, 1), ("greedy", None, 1), ("ts", None, 1), ("ts", "ucb", 2)],
)
def test_a_round_goes_over_the_features_once(explore, of_cost, passes):
    """What touches Phi in the compiled loop: products with it, and the row of the arm that was played."""
    policy = examples_of.policy(explore=explore, explore_cost=of_cost)
    features = policy.model.groups[0].features.basis
    numbers, form = split((policy, PROBLEM))
    with jax.enable_x64(True):
        draws = [next(draw(each.draws(), 0, range(4), 0, 1, 0).rounds()) for each in (policy, PROBLEM)]

        def play(basis):
            others = [basis if number is features else jax.numpy.asarray(number) for number in numbers]
            state = jax.tree.map(jax.numpy.asarray, policy.init(trials=4))
            return play_round(*join(form, others), state, *draws)[0]

        jaxpr = jax.make_jaxpr(play)(features).jaxpr
    assert users(jaxpr, jaxpr.invars[0]) == {"gather": 1, "dot_general": passes}


def users(jaxpr, variable):
    """The operations on a variable, by name, through calls and changes of shape."""
    found = collections.Counter()
    for equation in jaxpr.eqns:
        if not any(variable is operand for operand in equation.invars):
            continue
        inner = [p.jaxpr for p in equation.params.values() if hasattr(p, "jaxpr")]
        if inner:
            found += users(inner[0], inner[0].invars[[variable is operand for operand in equation.invars].index(True)])
        elif equation.primitive.name in ("transpose", "convert_element_type", "broadcast_in_dim", "reshape"):
            found += users(jaxpr, equation.outvars[0])
        else:
            found[equation.primitive.name] += 1
    return found


SHARDED = """
import sys; sys.path.insert(0, "tests")
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
odd = examples_of.problem(arms=41)  # 41 is divided by no number of devices but one
sb.simulate(examples_of.policy(odd, horizon=3), odd, engine="jax")
"""


def test_arms_are_spread_over_several_devices():
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run([sys.executable, "-c", SHARDED], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    shards, programs = done.stdout.splitlines()
    assert shards == "[(4, (10,)), (4, (10, 1)), (4, (10, 2)), (4, (20, 10))]"
    assert int(programs) == 2  # one for each policy: the state keeps its places between chunks


def test_a_full_device_says_how_much_and_what_to_change():
    says = "room for arrays of 1,234 bytes.*cannot give 140737488355328 bytes more. Run fewer trials"  # 2^47
    with pytest.raises(sb.DeviceError, match=says), jax_engine._on_device(1234):
        jax.numpy.zeros(2**44).block_until_ready()


def test_other_errors_of_the_device_are_left_as_they_are():
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"), jax_engine._on_device(10):
        raise jax.errors.JaxRuntimeError("INTERNAL: broken")


@pytest.mark.parametrize("platform", ["foo", "cuda"])
def test_a_platform_that_is_not_there_is_named(platform):
    code = "from softbandit.simulation.engine_choice import runs_on_host; runs_on_host('jax')"
    env = {**os.environ, "JAX_PLATFORMS": platform}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert "DeviceError: device: expected a platform that JAX can use" in done.stderr
    assert "Unset JAX_PLATFORMS" in done.stderr


def test_the_callers_jax_is_left_as_it_was():
    sb.simulate(examples_of.policy(), PROBLEM, engine="jax", rounds=3)
    assert jax.numpy.zeros(1).dtype == "float32"
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize("wrap", [lambda policy: policy, lambda policy: sb.Doubling(policy.replace(horizon=9))])
def test_a_width_function_is_called_on_the_host(wrap):
    policy = wrap(examples_of.policy(width=lambda t: [math.log(1 + t), 0.1 * t**0.5]))
    plain, fast = both(policy, PROBLEM, trials=10, rounds=60)
    np.testing.assert_array_equal(plain.arms, fast.arms)
    np.testing.assert_allclose(plain.cost_estimates, fast.cost_estimates, rtol=1e-9, atol=1e-9)


def test_without_jax_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['jax'] = None; import softbandit as sb; p = sb.problems.rkhs();"
        "sb.simulate(sb.CKB(**p.settings(), horizon=3), p, engine='jax')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "jax is not installed. Install it with: pip install 'softbandit[jax]'" in done.stderr
