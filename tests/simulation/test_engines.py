"""Which engine runs, and in what blocks."""

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.simulation import engines
from softbandit.simulation.rounds import Options

PROBLEM, POLICY = examples_of.problem(), examples_of.policy()


def chosen(engine, trials=1, rounds=60, **options):
    engines.check(engine, Options(0, **options))
    return engines.choose(engine, POLICY, trials, rounds)


def test_auto_compiles_long_runs_only():
    assert chosen("auto") == "numpy"
    assert chosen("auto", rounds=10**6) == "jax"
    assert chosen("auto", trials=10**6) == "jax"


def test_auto_does_without_jax(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert chosen("auto", rounds=10**6) == "numpy"


def test_auto_runs():
    plain = sb.simulate(POLICY, PROBLEM, trials=3)
    np.testing.assert_array_equal(plain.arms, sb.simulate(POLICY, PROBLEM, trials=3, engine="auto").arms)


@pytest.mark.parametrize("trials", [1, 2, 11, 50, 64, 65, 1000, 1001])
def test_blocks_hold_every_trial_in_order_and_have_one_size(trials):
    blocks = engines.blocks("jax", POLICY, range(trials))
    assert len({len(block) for block in blocks}) == 1
    assert len(blocks[0]) <= engines.BLOCK_TRIALS
    together = np.concatenate(blocks)
    np.testing.assert_array_equal(together[:trials], np.arange(trials))
    assert (together[trials:] == trials - 1).all()
    assert len(together) - trials < len(blocks[0])


def test_few_trials_are_not_split():
    assert len(engines.blocks("jax", POLICY, range(5))) == 1


def test_blocks_are_as_large_as_their_posteriors_allow():
    """1,000 arms of rank about 20 and two outputs take 8 (400 + 3,000) bytes a trial."""
    problem = examples_of.problem(arms=1000)
    policy = examples_of.policy(problem)
    r = policy.surrogate.groups[0].features.rank
    assert engines.trial_bytes(policy) == 8 * (r * r + 3000)
    state = policy.init(trials=1).posterior[0]
    assert engines.trial_bytes(policy) == state.root.nbytes + state.mu.nbytes + state.var.nbytes


def test_numpy_takes_all_at_once_where_they_fit_the_caches(monkeypatch):
    (block,) = engines.blocks("numpy", POLICY, [5, 2**64 - 1, 7])
    assert block.tolist() == [5, 2**64 - 1, 7]
    monkeypatch.setattr(engines, "BLOCK_BYTES", 2 * engines.trial_bytes(POLICY))
    assert [block.tolist() for block in engines.blocks("numpy", POLICY, [5, 2**64 - 1, 7])] == [[5, 2**64 - 1], [7]]


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_blocks_change_nothing(engine, monkeypatch):
    whole = sb.simulate(POLICY, PROBLEM, trials=5, engine=engine, rounds=30)
    monkeypatch.setattr(engines, "BLOCK_BYTES", 2 * engines.trial_bytes(POLICY))
    pieces = sb.simulate(POLICY, PROBLEM, trials=5, engine=engine, rounds=30)
    np.testing.assert_array_equal(whole.arms, pieces.arms)
    np.testing.assert_array_equal(whole.rewards, pieces.rewards)


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
        sb.simulate(POLICY, PROBLEM, **options)


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_only_what_is_to_be_kept_is_kept(engine):
    whole = sb.simulate(POLICY, PROBLEM, trials=3, engine=engine)
    part = sb.simulate(POLICY, PROBLEM, trials=3, engine=engine, keep=("arms", "costs"))
    np.testing.assert_array_equal(whole.arms, part.arms)
    np.testing.assert_array_equal(whole.costs, part.costs)
    assert part.rewards is part.dual is part.reward_estimates is part.cost_estimates is None
    assert (sb.score(part, PROBLEM).regret == sb.score(whole, PROBLEM).regret).all()
