"""A round recorded and repeated is the round as it is written, to the bit."""

import tracemalloc
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend import recorded
from softbandit.backend.recorded import Loop, NotRecorded, Recorded, Tape
from softbandit.backend.tape import arranged, memory
from softbandit.backend.traced_fields import is_ours
from softbandit.simulation import rounds

PROBLEM, PAIR = examples_of.problem(), examples_of.problem(constraints=2, seed=5)
LAWS = ("gaussian", "uniform", "student")


@pytest.fixture
def loops(monkeypatch):
    """The loops that are made; they are made however few the rounds."""
    made = []

    class Noted(Loop):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(rounds, "Loop", Noted)
    monkeypatch.setattr(rounds, "RECORDING", 1)
    return made


def as_written(monkeypatch, policy, problem, *arguments, **options):
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "RECORDING", 10**9)
        return sb.simulate(policy, problem, *arguments, **options)


def assert_same(one, other):
    for name, value in vars(one).items():
        np.testing.assert_array_equal(value, getattr(other, name), err_msg=name)


@pytest.mark.parametrize("policy", examples_of.POLICIES.values(), ids=examples_of.POLICIES)
def test_every_policy_is_recorded_and_stays_the_same(policy, loops, monkeypatch):
    problem = PAIR if policy.constraints == 2 else PROBLEM
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.ComplaintWarning)
        assert_same(*(run(policy, problem, 7, rounds=150) for run in (partial(as_written, monkeypatch), sb.simulate)))
    assert loops


@pytest.mark.parametrize("explore", examples_of.EXPLORATIONS.values(), ids=examples_of.EXPLORATIONS)
def test_every_exploration_is(explore, loops, monkeypatch):
    policy = examples_of.policy(explore=explore)
    assert_same(as_written(monkeypatch, policy, PROBLEM, 5), sb.simulate(policy, PROBLEM, 5))
    assert loops


@pytest.mark.parametrize("make", examples_of.PROBLEMS.values(), ids=examples_of.PROBLEMS)
def test_every_problem_is(make, loops, monkeypatch):
    problem = make()
    policy = examples_of.policy(problem)
    assert_same(as_written(monkeypatch, policy, problem, 5), sb.simulate(policy, problem, 5))
    assert loops


@pytest.mark.parametrize("law", LAWS)
def test_contexts_and_laws_of_noise_are(law, loops, monkeypatch):
    problem = sb.problems.Problem(**{**vars(examples_of.problem(law=law)), "contexts": np.arange(30) % 3})
    policy = examples_of.policy(problem, kind=sb.baselines.PDCBO)
    assert_same(as_written(monkeypatch, policy, problem, 5), sb.simulate(policy, problem, 5))
    assert loops


@pytest.mark.parametrize("keep", [(), ("dual",), ("rewards", "cost_estimates")])
def test_whatever_is_kept(keep, loops, monkeypatch):
    """What nobody asks for is not computed; a dual that is kept must not be written over before."""
    policy = examples_of.policy()
    assert_same(as_written(monkeypatch, policy, PROBLEM, 5, keep=keep), sb.simulate(policy, PROBLEM, 5, keep=keep))
    assert loops


def test_blocks_chunks_and_stages(loops, monkeypatch):
    """Trials in blocks of two sizes and rounds in chunks share what was recorded."""
    module = __import__("sys").modules["softbandit.simulate"]
    monkeypatch.setattr(module, "CPU", module.CPU._replace(rounds=13))
    policy = examples_of.policy()
    whole = as_written(monkeypatch, policy, PROBLEM, 5)
    monkeypatch.setattr(module.engines, "BLOCK_BYTES", 2 * module.engines.trial_bytes(policy))
    assert_same(whole, sb.simulate(policy, PROBLEM, 5))
    assert len(loops) == 2


def test_ties_in_every_round(loops, monkeypatch):
    """No noise, and bounds so tight that all estimates are truncated: both ways of the branch are taken."""
    policy = examples_of.policy(reward_bound=1e-3, cost_bound=1e-3)
    trace = sb.simulate(policy, PROBLEM, 50)
    assert_same(as_written(monkeypatch, policy, PROBLEM, 50), trace)
    assert len(np.unique(trace.arms[:, 0])) > 5


def test_a_given_width_of_every_round_is_as_written(loops, monkeypatch):
    policy = examples_of.policy(width=lambda t: 1 / t)
    trace = sb.simulate(policy, PROBLEM, 3)
    assert not loops
    assert_same(as_written(monkeypatch, policy, PROBLEM, 3), trace)


def test_what_others_wrote_is_called_in_every_round(loops):
    """It may count, or throw dice, or look at numbers."""

    class Counting:
        calls = 0

        def draws(self, rank):
            return sb.DrawCount()

        def estimate(self, belief, width, draws):
            self.calls += 1
            return belief.mean + (width if float(belief.mean[0, 0, 0]) > 0 else 0 * width) * belief.std

    class Mine(sb.CKB):
        pass

    explore = Counting()
    sb.simulate(examples_of.policy(explore=explore), PROBLEM, 2, rounds=30)
    sb.simulate(examples_of.policy(kind=Mine), PROBLEM, 2, rounds=30)
    assert explore.calls >= 30
    assert not loops


class Halving(NamedTuple):
    """An exploration that remembers; a tuple of plain things, and still not one of ours."""

    calls: list

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        self.calls.append(1)
        return belief.mean + (width if len(self.calls) % 2 else 0 * width) * belief.std


def test_who_is_one_of_ours():
    class Dice(sb.Gaussian):
        pass

    class Law(sb.problems.GaussianNoise, tuple):
        pass

    class Small(sb.problems.Problem):
        pass

    @dataclass
    class Unknown:
        pass

    Unknown.__module__ = "builtins"
    assert is_ours((examples_of.policy(explore="rand"), PROBLEM))
    for name, policy in examples_of.POLICIES.items():
        assert is_ours(policy.stage(0).policy), name
    for other in (
        examples_of.policy(explore=sb.RandUCB(Dice())),
        examples_of.policy(width=lambda t: 1.0),
        examples_of.policy(explore=Halving([])),
        replace(PROBLEM, law=Law()),
        Small(**vars(PROBLEM)),
        Unknown(),
        np,
        partial(max, 1),
    ):
        assert not is_ours(other)
    patched = examples_of.policy()
    object.__setattr__(patched, "decide", lambda *arguments: None)
    assert not is_ours(patched)


def test_an_exploration_that_is_a_tuple_is_called_in_every_round():
    explore = Halving([])
    sb.simulate(examples_of.policy(explore=explore, horizon=rounds.RECORDING), PROBLEM)
    assert len(explore.calls) >= rounds.RECORDING


@pytest.mark.parametrize("kind", [sb.baselines.RPOL, sb.baselines.POBO])
def test_a_root_of_t_is_the_same_number(kind, monkeypatch):
    """Python's 2922 ** 0.5 is not NumPy's."""
    problem = examples_of.problem(arms=5)
    policy = examples_of.policy(problem, kind=kind, horizon=3000)
    assert_same(as_written(monkeypatch, policy, problem), sb.simulate(policy, problem))


def test_too_much_memory_is_not_recorded(loops, monkeypatch):
    monkeypatch.setattr(recorded, "ROOM", 10**4)
    assert_same(
        as_written(monkeypatch, examples_of.policy(), PROBLEM, 5), sb.simulate(examples_of.policy(), PROBLEM, 5)
    )
    assert not loops


def test_a_few_rounds_are_not_worth_it(monkeypatch):
    monkeypatch.setattr(rounds, "Loop", None)
    sb.simulate(examples_of.policy(), PROBLEM, 5, rounds=rounds.RECORDING - 1)
    with pytest.raises(TypeError):
        sb.simulate(examples_of.policy(), PROBLEM, 5, rounds=rounds.RECORDING)


# -- What the parts promise. --


class Pair(NamedTuple):
    x: object
    y: object


def repeated(function, state, given, times=4):
    """function, called as it is and recorded; both must agree."""
    now, seen = state, []
    for t in range(times):
        now, row = function(now, given[t])
        seen.append(row)
    loop = Loop(function, state, given[0])
    again, columns = loop.run(state, given, times)
    for name, column in columns.items():
        np.testing.assert_array_equal(column, [row[name] for row in seen], err_msg=name)
    return now, again


GIVEN = np.arange(12.0).reshape(4, 3)


def test_states_that_change_places():
    """x <- y, y <- x: neither may be written over before the other is read."""
    now, again = repeated(lambda s, g: (Pair(s.y, s.x), {"x": s.x + g}), Pair(np.ones(3), np.zeros(3)), GIVEN)
    np.testing.assert_array_equal(now, again)


def test_a_state_that_is_read_after_its_successor_is_made():
    def step(s, g):
        after = s.x + g
        return Pair(after, s.x * after), {"both": after - s.x, "before": s.x, "view": s.x[::-1]}

    now, again = repeated(step, Pair(np.ones(3), np.zeros(3)), GIVEN)
    np.testing.assert_array_equal(now, again)


def test_one_result_for_two_states_and_a_constant_one():
    def step(s, g):
        after = s.x * 2 + g
        return Pair(after, (after, after[::-1], np.full(3, 7.0), s.y[3] + 1)), {"largest": after.max(keepdims=True)}

    start = Pair(np.ones(3), (np.zeros(3), np.zeros(3), np.zeros(3), 0))
    now, again = repeated(step, start, GIVEN)
    assert again.y[3] == 4
    assert type(again.y[3]) is int
    for mine, its in zip(again.y, now.y, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_branches_in_branches():
    def step(s, g):
        def inner():
            return (s.x.sum() > 20).branch(lambda: s.x * 2, lambda: s.x - g) if recording(s) else plain()

        def plain():
            return s.x * 2 if s.x.sum() > 20 else s.x - g

        if not recording(s):
            return Pair(plain() if g[0] > 2 else s.x + 10, s.y), {}
        return Pair((g[0] > 2).branch(inner, lambda: s.x + 10), s.y), {"x": s.x}

    def recording(s):
        return isinstance(s.x, Recorded)

    loop = Loop(step, Pair(np.ones(3), np.zeros(3)), GIVEN[0])
    again, _ = loop.run(Pair(np.ones(3), np.zeros(3)), GIVEN, 4)
    now = Pair(np.ones(3), np.zeros(3))
    for row in GIVEN:
        now, _ = step(now, row)
    np.testing.assert_array_equal(now.x, again.x)


def test_ways_that_lead_to_different_kinds_are_not_recorded():
    x = Recorded(np.arange(3.0), Tape())
    for other in (lambda: x[:2], lambda: x > 0):
        with pytest.raises(NotRecorded):
            (x[0] > 0).branch(lambda: x + 1, other)


def test_what_depends_on_numbers_is_not_recorded():
    x = Recorded(np.arange(3.0), Tape())
    for decide in (bool, float, np.asarray, list(range(5)).__getitem__):
        with pytest.raises(NotRecorded):
            decide(x[0])
    for unknown in (
        lambda: x.sort(),
        lambda: np.add.reduce(x),
        lambda: np.divmod(x, 2.0),
        lambda: np.flatnonzero(x),
        lambda: np.copyto(x, 1.0),
        lambda: x[x > 0],
        lambda: x.__setitem__(0, 1.0),
        lambda: np.where(x > 0),
        lambda: x[0] ** 0.5,
    ):
        with pytest.raises(NotRecorded):
            unknown()


def test_a_state_that_changes_its_kind_is_not_recorded():
    for step in (lambda s, g: (s / 2, {"x": g}), lambda s, g: (s[:2], {"x": g})):
        with pytest.raises(NotRecorded):
            Loop(step, np.arange(3), GIVEN[0])


def test_arguments_of_every_form_are_those_of_the_call():
    def step(s, g):
        return s, {
            "one": g.clip(1, 7),
            "two": g.clip(min=2, max=5),
            "three": g.clip(3, None),
            "alone": g.clip(3),
            "four": np.einsum("i,j->ij", g, g),
            "five": np.einsum("i,j->ij", g, g, optimize=True),
            "six": np.where(g > 3, g, -g),
        }

    repeated(step, np.zeros(3), GIVEN)


def test_a_constant_that_is_copied_is_a_copy():
    own = np.arange(3.0)
    copied = np.array(Recorded(own))
    copied[0] = 99
    assert own[0] == 0


def test_constants_are_worked_out_once():
    tape = Tape()
    x, c = Recorded(np.arange(3.0), tape), Recorded(np.array(2))
    y = x + (c * 3 if c > 1 else c) + range(3)[c]
    assert [call.function for call in tape.calls] == [np.add, np.add]
    np.testing.assert_array_equal(y.value, [8, 9, 10])


def test_what_was_called_already_is_not_called_again():
    tape = Tape()
    x, c = Recorded(np.arange(3.0), tape), np.array([1.0, 2.0, 3.0])
    same = [x * c, x * c, x[:] * c]
    others = [x * c.copy(), c * x, x[::-1] * c, x.astype(int).clip(0, 1), x.astype(int).clip(0, 1.0)]
    square = Recorded(np.arange(4.0).reshape(2, 2), tape)
    others += [square[[0, 1]], square[0, 1] + c]  # the index a list, and a tuple
    assert len({id(each.value) for each in same}) == 1
    assert len({id(each.value) for each in (*same, *others)}) == 1 + len(others)
    assert [call.function for call in tape.calls].count(np.multiply) == 4


def test_what_was_called_in_one_way_is_called_in_the_other_and_afterwards():
    """A result that is there on one way only must not be used elsewhere."""

    def step(s, g):
        if not isinstance(g, Recorded):
            return np.sqrt(g) * s, {"then": np.sqrt(g) if g[0] > 2 else -np.sqrt(g)}
        seen = (g[0] > 2).branch(lambda: np.sqrt(g), lambda: -np.sqrt(g))
        return np.sqrt(g) * s, {"then": seen}

    now, again = repeated(step, np.ones(3), GIVEN)
    np.testing.assert_array_equal(now, again)


@pytest.mark.parametrize("trials", [1, 3])
def test_a_number_loses_its_axes_and_a_result_does_not(trials):
    x, tape = np.arange(4.0 * trials).reshape(trials, 4), Tape()
    for one in (np.array([2.0]), np.array([[2.0]])):
        for function in (np.add, lambda a, b: a.clip(0.0, b), lambda a, b: b - a, lambda a, b: a[:, :1] * b):
            expected, found = function(x, one), function(Recorded(x, tape), one)
            tape.calls[-1].ready()()
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found.value, expected)


def test_python_numbers_keep_the_kind_of_a_result():
    tape = Tape()
    for kind in (np.float32, np.int32, np.int64, np.float64, bool):
        for number in (2, 2.5, True):
            x = np.ones(3, dtype=kind)
            before, call = x + number, (Recorded(x, tape) + number, tape.calls[-1])[1]
            call.ready()()
            assert call.out.dtype == before.dtype
            np.testing.assert_array_equal(call.out, before)
            np.testing.assert_array_equal(call.function(*call.arguments).dtype, before.dtype)


def test_results_share_memory_once_nobody_reads_them():
    tape = Tape()
    x = y = Recorded(np.ones(1000), tape)
    for _ in range(10):
        y = np.sqrt(y + 1.0) * 0.5
    calls, places = arranged(tape.calls, {}, [y.value])
    assert len({id(memory(call.out)) for call in calls}) <= 2
    for call in calls:
        call.ready()()
    last = memory(calls[-1].out)
    expected = x.value
    for _ in range(10):
        expected = np.sqrt(expected + 1.0) * 0.5
    np.testing.assert_array_equal(last, expected)
    assert (x.value == 1).all()
    assert all(id(memory(each)) != id(x.value) for each in places.values())


def test_a_loop_takes_no_new_memory():
    policy = examples_of.policy(sb.problems.rkhs(seed=3, arms=2000))
    problem = sb.problems.rkhs(seed=3, arms=2000)
    engine = rounds.NumpyEngine(policy, problem, 1000, rounds.Options(0, keep=()))
    state = policy.init(20)
    engine.play(state, np.arange(20, dtype=np.uint64), 0, 3)
    tracemalloc.start()
    engine.play(state, np.arange(20, dtype=np.uint64), 0, 30)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    one = 8 * 20 * 2 * 2000  # a mean of all trials
    assert most < 6 * one  # the state that is given back, draws, and what NumPy needs for a while
