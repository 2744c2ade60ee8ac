"""Which engine runs."""

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.simulation import engine_choice
from softbandit.simulation.rounds import Options

PROBLEM, POLICY = examples_of.problem(), examples_of.policy()


def chosen(engine, trials=1, rounds=60, **options):
    engine_choice.check_options(engine, Options(0, **options))
    return engine_choice.choose_engine(engine, POLICY, PROBLEM, trials, rounds)


def test_auto_compiles_long_runs_only():
    assert chosen("auto") == "numpy"
    assert chosen("auto", rounds=10**6) == "jax"
    assert chosen("auto", trials=10**6) == "jax"


def test_without_jax_auto_uses_numpy_and_says_once_how_to_get_jax(monkeypatch):
    monkeypatch.setattr(engine_choice, "find_spec", lambda name: None)
    engine_choice._hint_at_jax.cache_clear()
    with pytest.warns(sb.EngineHint, match=r"pip install 'softbandit\[jax\]'"):
        assert chosen("auto", rounds=10**6) == "numpy"
    assert chosen("auto", rounds=10**6) == "numpy"  # a second warning would be an error here
    engine_choice._hint_at_jax.cache_clear()


class NumpyByName:
    """A user's exploration that JAX cannot trace."""

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        return np.asarray(belief.mean) + np.asarray(width) * np.asarray(belief.std)


def test_auto_uses_numpy_for_what_jax_cannot_trace():
    policy = examples_of.policy(explore=NumpyByName())
    assert engine_choice.choose_engine("auto", policy, PROBLEM, 1, 10**6) == "numpy"


def test_auto_runs():
    plain = sb.simulate(POLICY, PROBLEM, trials=3, engine="numpy")
    np.testing.assert_array_equal(plain.arms, sb.simulate(POLICY, PROBLEM, trials=3, engine="auto").arms)


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
def test_what_an_engine_cannot_do_is_refused(options, says):
    with pytest.raises(sb.ArgumentError, match=says):
        sb.simulate(POLICY, PROBLEM, **{"engine": "numpy", **options})


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_only_what_is_to_be_kept_is_kept(engine):
    whole = sb.simulate(POLICY, PROBLEM, trials=3, engine=engine)
    part = sb.simulate(POLICY, PROBLEM, trials=3, engine=engine, keep=("arms", "costs"))
    np.testing.assert_array_equal(whole.arms, part.arms)
    np.testing.assert_array_equal(whole.costs, part.costs)
    assert part.rewards is part.dual is part.reward_estimates is part.cost_estimates is None
    assert (sb.score(part, PROBLEM).regret == sb.score(whole, PROBLEM).regret).all()
