"""Which engine runs a simulation, and which options go with it."""

import subprocess
import sys

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.simulation import engine_choice

PROBLEM, POLICY = examples_of.problem(), examples_of.policy()
every_engine = pytest.mark.parametrize("engine", ["numpy", pytest.param("jax", marks=pytest.mark.extra)])


def auto(trials=1, rounds=60):
    return engine_choice.choose_engine("auto", POLICY, PROBLEM, trials, rounds)


@pytest.mark.extra
def test_auto_chooses_jax_for_long_runs_only():
    assert auto() == "numpy"
    assert auto(rounds=10**6) == "jax"
    assert auto(trials=10**6) == "jax"


@pytest.mark.extra
def test_auto_chooses_jax_for_a_kernel_of_high_rank_if_rounds_are_few_and_trials_many():
    arms = np.random.default_rng(0).random((2000, 3))
    settings = {"reward_bound": 1, "cost_bound": 1, "noise": 0.1, "horizon": 10**5, "slater": 0.5}
    policy = sb.CKB(arms, sb.Matern(0.5), **settings)
    assert engine_choice.jax_pays(policy, trials=50, rounds=300)
    assert not engine_choice.jax_pays(policy, trials=5, rounds=300)
    assert not engine_choice.jax_pays(policy, trials=50, rounds=2000)
    assert engine_choice.jax_pays(policy, trials=50, rounds=10**5)


def test_without_jax_auto_uses_numpy_and_says_once_how_to_get_jax(monkeypatch):
    monkeypatch.setattr(engine_choice, "find_spec", lambda name: None)
    engine_choice._hint_at_jax.cache_clear()
    with pytest.warns(sb.EngineHint, match=r"pip install 'softbandit\[jax\]'"):
        assert auto(rounds=10**6) == "numpy"
    assert auto(rounds=10**6) == "numpy"  # a second warning would be an error here
    engine_choice._hint_at_jax.cache_clear()


class NumpyByName:
    """A user's exploration that JAX cannot trace."""

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        return np.asarray(belief.mean) + np.asarray(width) * np.asarray(belief.std)


@pytest.mark.extra
def test_auto_chooses_numpy_for_a_policy_that_jax_cannot_trace():
    policy = examples_of.policy(explore=NumpyByName())
    assert engine_choice.choose_engine("auto", policy, PROBLEM, 1, 10**6) == "numpy"


def test_auto_is_the_default_and_plays_numpys_arms():
    plain, default = sb.simulate(POLICY, PROBLEM, trials=3, engine="numpy"), sb.simulate(POLICY, PROBLEM, trials=3)
    np.testing.assert_array_equal(plain.arms, default.arms)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"draws": "device"}, "draws: expected 'host' with engine='numpy', got 'device'. Run it with engine='jax'"),
        ({"precision": "float32"}, "precision: expected 'float64' with engine='numpy'"),
        ({"precision": "float32", "engine": "auto"}, "precision: expected 'float64' with engine='auto'"),
        ({"draws": "devise"}, "Did you mean 'device'"),
        ({"precision": "float16"}, "precision: expected one of 'float32', 'float64'"),
        ({"keep": ["reward"]}, "Did you mean 'rewards'"),
        ({"engine": "jaxx"}, "Did you mean 'jax'"),
    ],
    ids=str,
)
def test_options_that_an_engine_does_not_have_are_refused(options, says):
    with pytest.raises(sb.ArgumentError, match=says):
        sb.simulate(POLICY, PROBLEM, **{"engine": "numpy", **options})


@every_engine
def test_a_trace_holds_only_the_columns_to_keep(engine):
    whole = sb.simulate(POLICY, PROBLEM, trials=20, rounds=300, engine=engine)
    part = sb.simulate(POLICY, PROBLEM, trials=20, rounds=300, engine=engine, keep=("arms", "costs"))
    np.testing.assert_array_equal(whole.arms, part.arms)
    np.testing.assert_array_equal(whole.costs, part.costs)
    assert part.rewards is part.dual is part.reward_estimates is part.cost_estimates is None
    assert (sb.score(part, PROBLEM).regret == sb.score(whole, PROBLEM).regret).all()


def test_the_error_without_jax_says_what_to_install():
    code = (
        "import sys; sys.modules['jax'] = None; import softbandit as sb; p = sb.problems.rkhs();"
        "sb.simulate(sb.CKB(**p.settings(), horizon=3), p, engine='jax')"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "jax is not installed. Install it with: pip install 'softbandit[jax]'" in process.stderr
