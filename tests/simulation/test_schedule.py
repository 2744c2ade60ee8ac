"""Rounds in chunks that fit in memory, trials in blocks that fit in caches."""

from collections import Counter

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.simulation import schedule
from softbandit.simulation.engine_choice import entries

PROBLEM, POLICY = examples_of.problem(), examples_of.policy()


@pytest.mark.parametrize(
    ("trials", "engine", "expected"),
    [
        (1, "numpy", 1024),
        (1000, "numpy", 235),  # 2^27 entries are 235.5 rounds of 1,000 x 570
        (5000, "numpy", 64),  # 2^27 entries are 47 rounds of 5,000 x 570, but at least 64 are taken
        (10_000, "numpy", 46),  # 2^22 words are 46.6 rounds of 10,000 x 9
        (2**19, "numpy", 1),  # 2^22 words are less than one round of 9 words per trial
        (10_000, "accelerator", 1491),  # 2^27 words
    ],
)
def test_a_chunk_is_as_long_as_memory_allows(trials, engine, expected, monkeypatch):
    """30 arms of rank 19; a round takes 4 words for the policy, 4 for the problem, and one for the columns."""
    monkeypatch.setattr(schedule, "runs_on_host", lambda engine: engine != "accelerator")
    assert entries(POLICY) == 570
    draws = "device" if engine == "accelerator" else "host"
    assert schedule._chunk_length(POLICY, PROBLEM, trials, engine, draws) == expected


@pytest.mark.parametrize(
    ("rounds", "engine", "expected"),
    [
        (10_000, "numpy", {(1024, 1024): 9, (784, 1024): 1}),
        (10, "numpy", {(10, 1024): 1}),
        (10_000, "accelerator", {(2500, 2500): 4}),  # at most 4,096, and a divisor of 10,000
        (10_007, "accelerator", {(4096, 4096): 2, (1815, 1815): 1}),  # a prime has no divisor
    ],
)
def test_chunks_on_a_host_have_one_room_and_on_an_accelerator_one_length(rounds, engine, expected, monkeypatch):
    monkeypatch.setattr(schedule, "runs_on_host", lambda engine: engine != "accelerator")
    chunks = [chunk for _, chunk in schedule._chunks(POLICY, PROBLEM, 1, rounds, engine, "device")]
    assert Counter((chunk.rounds, chunk.room) for chunk in chunks) == expected
    assert sum(chunk.rounds for chunk in chunks) == rounds


@pytest.mark.parametrize("trials", [1, 2, 11, 50, 64, 65, 1000, 1001])
@pytest.mark.extra
def test_compiled_blocks_hold_every_trial_in_order_and_have_one_size(trials):
    blocks = schedule.blocks_of_trials("jax", POLICY, range(trials))
    assert len({len(block) for block in blocks}) == 1
    assert len(blocks[0]) <= schedule.BLOCK_TRIALS
    together = np.concatenate(blocks)
    np.testing.assert_array_equal(together[:trials], np.arange(trials))
    assert (together[trials:] == trials - 1).all()
    assert len(together) - trials < len(blocks[0])


@pytest.mark.extra
def test_a_few_compiled_trials_are_one_block():
    assert len(schedule.blocks_of_trials("jax", POLICY, range(5))) == 1


def test_the_size_of_a_trial_is_that_of_its_posterior():
    """1,000 arms of rank about 20 and two outputs take 8 (400 + 3,000) bytes per trial."""
    problem = examples_of.problem(arms=1000)
    policy = examples_of.policy(problem)
    r = policy.model.groups[0].features.rank
    assert schedule._trial_bytes(policy) == 8 * (r * r + 3000)
    state = policy.init(trials=1).posterior[0]
    assert schedule._trial_bytes(policy) == state.root.nbytes + state.mu.nbytes + state.var.nbytes


def test_numpy_plays_as_many_trials_at_once_as_fit_in_the_caches(monkeypatch):
    (block,) = schedule.blocks_of_trials("numpy", POLICY, [5, 2**64 - 1, 7])
    assert block.tolist() == [5, 2**64 - 1, 7]
    monkeypatch.setattr(schedule, "BLOCK_BYTES", 2 * schedule._trial_bytes(POLICY))
    assert [block.tolist() for block in schedule.blocks_of_trials("numpy", POLICY, [5, 2**64 - 1, 7])] == [
        [5, 2**64 - 1],
        [7],
    ]


@pytest.mark.parametrize("engine", ["numpy", pytest.param("jax", marks=pytest.mark.extra)])
def test_blocks_of_trials_change_nothing(engine, monkeypatch):
    """20 trials in blocks of 7: the last is shorter or, compiled, padded."""
    whole = sb.simulate(POLICY, PROBLEM, trials=20, engine=engine, rounds=300)
    monkeypatch.setattr(schedule, "BLOCK_BYTES", 7 * schedule._trial_bytes(POLICY))
    pieces = sb.simulate(POLICY, PROBLEM, trials=20, engine=engine, rounds=300)
    np.testing.assert_array_equal(whole.arms, pieces.arms)
    np.testing.assert_array_equal(whole.rewards, pieces.rewards)
