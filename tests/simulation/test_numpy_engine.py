"""NumPy's engine: one round after another, as written, with whatever Python code a user's classes contain."""

from typing import NamedTuple

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend.random import POLICY, PROBLEM, draw
from softbandit.simulation import numpy_engine
from softbandit.simulation.rounds import COLUMNS, Chunk, Options

SYNTHETIC = examples_of.problem()


def simulate(policy, **options):
    return sb.simulate(policy, SYNTHETIC, engine="numpy", **options)


class Counting:
    """An exploration that counts its calls, and looks at numbers."""

    def __init__(self):
        self.calls = 0

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        self.calls += 1
        return belief.mean + (width if float(belief.mean[0, 0, 0]) > 0 else 0 * width) * belief.std


class Alternating(NamedTuple):
    """An exploration with memory that is a tuple: UCB in every second call."""

    calls: list

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        self.calls.append(1)
        return belief.mean + (width if len(self.calls) % 2 else 0 * width) * belief.std


def test_a_users_exploration_is_called_once_per_round():
    explore = Counting()
    policy = examples_of.policy(explore=explore)
    before = explore.calls  # the policy tries it once
    simulate(policy, trials=2, rounds=30)
    assert explore.calls - before == 30


def test_an_exploration_that_is_a_tuple_keeps_its_memory_between_rounds():
    explore = Alternating([])
    policy = examples_of.policy(explore=explore)
    explore.calls.clear()
    simulate(policy, rounds=41)
    assert len(explore.calls) == 41


def test_a_users_subclass_decides_in_every_round():
    rounds = []

    class Logged(sb.CKB):
        def decide(self, state, draws, among=None):
            rounds.append(state.round)
            return super().decide(state, draws, among)

    plain, logged = examples_of.policy(), examples_of.policy(kind=Logged)
    np.testing.assert_array_equal(simulate(plain, trials=3).arms, simulate(logged, trials=3).arms)
    assert rounds == list(range(60))


def test_a_users_problem_observes_every_round():
    arms = []

    class Logged(sb.problems.Problem):
        def observe(self, arm, noise):
            arms.append(arm.copy())
            return super().observe(arm, noise)

    problem = Logged(**vars(SYNTHETIC))
    trace = sb.simulate(examples_of.policy(), problem, trials=3, engine="numpy")
    np.testing.assert_array_equal(np.stack(arms, axis=1), trace.arms)


def test_a_width_function_is_called_in_every_round():
    calls = []
    policy = examples_of.policy(width=lambda t: calls.append(t) or 1.0)
    calls.clear()
    simulate(policy, rounds=3)
    assert calls == [1, 2, 3]


def test_progress_is_reported_after_each_chunk_and_before_the_next():
    rounds, reports = [], []

    class Logged(sb.CKB):
        def decide(self, *arguments):
            rounds.append(1)
            return super().decide(*arguments)

    policy = examples_of.policy(kind=Logged, horizon=2048)
    simulate(policy, progress=lambda count: reports.append((len(rounds), count)))
    assert reports == [(1024, 1024), (2048, 1024)]


def test_rounds_of_many_trials_are_those_of_each_trial_alone():
    """5,000 trials are played in blocks of 1,165."""
    policy = examples_of.policy(explore="rand")
    batch = simulate(policy, trials=5000, rounds=3)
    for trial in (0, 1164, 1165, 4999):
        alone = simulate(policy, trials=[trial], rounds=3)
        for name in ("arms", *COLUMNS):
            np.testing.assert_array_equal(getattr(batch, name)[[trial]], getattr(alone, name), err_msg=name)


def test_if_all_arms_tie_the_random_number_of_the_round_picks_the_arm():
    """Bounds far below every estimate truncate each to the same number: arm floor(30 u) of 30."""
    policy = examples_of.policy(reward_bound=1e-9, cost_bound=1e-9, width=1e3)
    trace = simulate(policy, trials=50, seed=3)
    assert (trace.reward_estimates == 1e-9).all()
    u = draw(policy.draws(), 3, range(50), 0, 60, POLICY).uniform[:, :, -1]
    np.testing.assert_array_equal(trace.arms, np.floor(30 * u).T)


def test_a_trial_whose_observations_are_nan_still_gets_arms_and_spoils_no_other_trial():
    class Broken(sb.problems.Problem):
        """Trial 1 observes NaN from the first round on."""

        def observe(self, arm, noise):
            reward, cost = super().observe(arm, noise)
            reward[1] = np.nan
            return reward, cost

    policy = examples_of.policy(explore="ts", constraints=0, reward_bound=1e3, width=1.0)  # no truncation, no ties
    broken = sb.simulate(policy, Broken(**vars(SYNTHETIC)), trials=3, engine="numpy")
    plain = simulate(policy, trials=3)
    assert ((broken.arms >= 0) & (broken.arms < 30)).all()
    np.testing.assert_array_equal(broken.arms[[0, 2]], plain.arms[[0, 2]])


@pytest.mark.parametrize("keep", [(), ("dual",), ("rewards", "cost_estimates")], ids=str)
def test_the_columns_that_are_kept_do_not_depend_on_which_are(keep):
    policy = examples_of.policy()
    whole, part = simulate(policy, trials=5), simulate(policy, trials=5, keep=keep)
    for name in COLUMNS:
        if name in keep:
            np.testing.assert_array_equal(getattr(whole, name), getattr(part, name))
        else:
            assert getattr(part, name) is None
    np.testing.assert_array_equal(whole.arms, part.arms)


def test_play_returns_the_state_after_its_rounds_and_goes_on_from_any_state():
    policy, trials = examples_of.policy(), np.arange(4, dtype=np.uint64)
    engine = numpy_engine.NumpyEngine(policy, SYNTHETIC, Options(0))
    start = engine.start(policy.stage(0), 4, None)
    middle, first = engine.play(start, trials, Chunk(0, 7, room=7))
    end, second = engine.play(middle, trials, Chunk(7, 5, room=7))
    assert (start.round, middle.round, end.round) == (0, 7, 12)
    whole = engine.fetch(engine.play(start, trials, Chunk(0, 12, room=12))[1])
    for name, column in whole.items():
        np.testing.assert_array_equal(column, np.concatenate([first[name], second[name]], axis=1), err_msg=name)


def test_rewards_are_the_problems_values_plus_noise_of_the_problems_stream():
    trace = simulate(examples_of.policy(), trials=3, seed=8)
    noise = draw(SYNTHETIC.draws(), 8, range(3), 0, 60, PROBLEM).normal
    expected = SYNTHETIC.reward[trace.arms] + SYNTHETIC.noise * noise[:, :, 0].T
    np.testing.assert_allclose(trace.rewards, expected, atol=1e-12)
