"""A policy split into numbers, which can be replaced, and a form, which says what must be compiled again."""

from dataclasses import dataclass

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend.traced_fields import HostOnly, Traced, join, split

PROBLEM = examples_of.problem()


def form(policy, problem=PROBLEM):
    return split((policy, problem))[1]


def test_a_policy_joined_with_other_numbers_has_them_everywhere():
    policy = examples_of.policy()
    numbers, policy_form = split((policy, PROBLEM))
    doubled, problem = join(policy_form, [2 * number for number in numbers])
    np.testing.assert_array_equal(doubled.bounds, 2 * policy.bounds)
    np.testing.assert_array_equal(doubled.model.groups[0].features.phi, 2 * policy.model.groups[0].features.phi)
    np.testing.assert_array_equal(problem._values, 2 * PROBLEM._values)
    assert doubled.dual_rule.rho == 2 * policy.rho
    assert doubled.horizon == 2 * policy.horizon
    assert doubled.ties == policy.ties


def test_an_array_used_in_several_places_is_one_number():
    shared = np.arange(3.0)
    numbers, items = split((shared, [shared, shared.copy()]))
    assert len(numbers) == 2
    first, (same, other) = join(items, ["a", "b"])
    assert (first, same, other) == ("a", "a", "b")


@pytest.mark.parametrize(
    "change",
    [
        {"width_scale": 0.3},
        {"horizon": 77},
        {"slack": 0.01},
        {"noise": 0.3},
        {"rho": 5.0},
        {"reward_bound": 9},
        {"confidence": 0.2},
    ],
    ids=str,
)
def test_a_policy_with_other_numbers_has_the_same_form(change):
    assert form(examples_of.policy()) == form(examples_of.policy(**change))
    assert hash(form(examples_of.policy())) == hash(form(examples_of.policy(**change)))


def test_numbers_in_place_of_defaults_that_are_none_change_the_form_once():
    first, second = ({"regularisation": x, "width": x, "cost_noise": x} for x in (1.5, 2.5))
    assert form(examples_of.policy(**first)) == form(examples_of.policy(**second)) != form(examples_of.policy())


def test_another_problem_of_the_same_shape_has_the_same_form():
    other = examples_of.problem(seed=9)
    assert form(examples_of.policy()) == form(examples_of.policy(other), other)


@pytest.mark.parametrize(
    "change",
    [
        {"explore": "ts"},
        {"explore": sb.RandUCB(sb.UniformDiscrete(7))},
        {"explore_cost": "greedy"},
        {"ties": "first"},
        {"dual": "queue"},
        {"width": 1.0},
        {"constraints": 0},
        {"cost_kernel": sb.Matern(0.3)},
        {"kind": sb.baselines.RPOL},
    ],
    ids=str,
)
def test_a_policy_with_other_steps_has_another_form(change):
    assert form(examples_of.policy()) != form(examples_of.policy(**change))


def test_explorations_are_part_of_the_form_by_value():
    seven, again, eight = (examples_of.policy(explore=sb.RandUCB(sb.UniformDiscrete(n))) for n in (7, 7, 8))
    assert form(seven) == form(again) != form(eight)


class MutableWidth:
    """An exploration that is not a frozen value: its field may change."""

    def __init__(self, share):
        self.share = share

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        return belief.mean + self.share * width * belief.std


def test_changing_a_mutable_exploration_changes_the_form():
    explore = MutableWidth(0.5)
    policy = examples_of.policy(explore=explore)
    before = form(policy)
    assert before == form(policy)
    explore.share = 0.7
    assert before != form(policy)


def test_host_only_fields_are_missing_from_a_joined_policy():
    policy, problem = join(form(examples_of.policy()), split((examples_of.policy(), PROBLEM))[0])
    for part, name in ((policy, "kernel"), (policy, "given"), (problem, "kernel")):
        with pytest.raises(AttributeError):
            getattr(part, name)


@dataclass(frozen=True, eq=False)
class Table:
    rows: Traced[np.ndarray]
    scale: float
    path: HostOnly[str]


def test_fields_are_traced_static_or_host_only_as_declared():
    numbers, form = split(Table(np.ones(2), 3.0, "somewhere"))
    assert [number.shape for number in numbers] == [(2,)]
    built = join(form, [np.zeros(2)])
    assert (built.rows.tolist(), built.scale) == ([0.0, 0.0], 3.0)
    assert not hasattr(built, "path")
    assert form == split(Table(np.zeros(2), 3.0, "elsewhere"))[1]
    assert form != split(Table(np.ones(2), 4.0, "somewhere"))[1]


@dataclass(frozen=True, eq=False)
class Named:
    """A user's exploration whose fields have names that the library's classes declare as host only."""

    name: str = "mine"
    kernel: float = 0.5
    given: tuple = (1, 2)

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        assert self.name == "mine"
        assert self.given == (1, 2)
        return belief.mean + self.kernel * width * belief.std


@pytest.mark.parametrize("engine", ["numpy", pytest.param("jax", marks=pytest.mark.extra)])
def test_a_users_exploration_keeps_all_its_fields_on_both_engines(engine):
    trace = sb.simulate(examples_of.policy(explore=Named()), PROBLEM, trials=2, engine=engine, rounds=20)
    plain = sb.simulate(examples_of.policy(width_scale=0.5), PROBLEM, trials=2, engine="numpy", rounds=20)
    np.testing.assert_array_equal(trace.arms, plain.arms)


@dataclass(frozen=True)
class Gamma:
    """A user's value that has a shape and a dtype but is not an array."""

    shape: float = 2.0
    dtype: str = "none"


def test_a_value_with_a_shape_that_is_not_an_array_is_part_of_the_form():
    numbers, form = split((Gamma(), np.float64(2.0)))
    assert numbers == [2.0]
    assert join(form, [3.0]) == (Gamma(), 3.0)
