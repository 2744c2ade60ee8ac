"""Whatever settings are accepted can be stored, and are the same when they come back; degenerate ones are refused."""

import enum
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from softbandit_tests.examples_of import policy, problem
from softbandit_tests.odd_values import matrix

import softbandit as sb


def reloaded(agent, folder):
    agent.save(folder / "agent.npz")
    return sb.Agent.load(folder / "agent.npz")


def decisions(agent, rounds=3):
    for _ in range(rounds):
        decision = agent.ask()
        agent.tell(decision, 0.3, [0.1] * agent.policy.constraints)
        yield decision.arm


NUMBERS = [np.longdouble("0.5"), Decimal("0.5"), Fraction(1, 2), np.float16(0.5), np.array(0.5)]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: type(number).__name__)
@pytest.mark.parametrize("setting", ["noise", "reward_bound", "regularisation", "slater", "confidence", "width", "rho"])
def test_any_kind_of_number_is_stored_as_a_float(setting, number, tmp_path):
    agent = sb.Agent(policy(**{setting: number}))
    assert list(decisions(reloaded(agent, tmp_path))) == list(decisions(sb.Agent(policy(**{setting: 0.5}))))


def several(values):
    series = pytest.importorskip("pandas").Series
    return [
        list(values),
        tuple(values),
        np.array(values, dtype=np.longdouble),
        [Decimal(v) for v in values],
        series(values),
    ]


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.extra
def test_numbers_per_constraint_are_stored_whatever_holds_them(kind, tmp_path):
    bounds = several([2.0, 3.0])[kind]
    two = problem(constraints=2, seed=5)
    agent = sb.Agent(policy(two, cost_bound=bounds, cost_noise=bounds))
    expected = sb.Agent(policy(two, cost_bound=[2.0, 3.0], cost_noise=[2.0, 3.0]))
    assert list(decisions(reloaded(agent, tmp_path))) == list(decisions(expected))


@pytest.mark.extra
def test_arms_in_a_data_frame_are_stored(tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(problem().arms)
    agent = reloaded(sb.Agent(policy(arms=frame)), tmp_path)
    assert np.array_equal(agent.policy.arms, problem().arms)


def test_lists_of_other_policies_are_stored(tmp_path):
    safe = sb.baselines.SafeOpt(**problem().settings(), horizon=60, safe=np.array([3, 4], dtype=np.int8))
    assert np.flatnonzero(reloaded(sb.Agent(safe), tmp_path).policy.known_safe).tolist() == [3, 4]


def test_the_caller_keeps_a_list_that_the_policy_does_not_see_change():
    regularisation = [1.0, 2.0]
    built = policy(regularisation=regularisation)
    regularisation[0] = 9.0
    assert built.replace().regularisation == (1.0, 2.0)


class Codec(enum.Enum):
    FAST = 1


class Level(enum.IntEnum):
    LOW = 1


CHOICES = ["a", 1, 1.0, True, None, (64, 64), (64, (32, 0.5)), ()]


def test_choices_keep_value_and_type_in_a_file(tmp_path):
    space = sb.Space({"k": sb.Categorical(CHOICES), "n": sb.Integer(np.int8(1), np.int64(5))})
    loaded = reloaded(
        sb.Agent(sb.CKB(space, sb.Matern(0.5), reward_bound=1, noise=1, horizon=9, constraints=0)), tmp_path
    )
    parameters = dict(loaded.policy.space.parameters)
    assert [(type(choice), choice) for choice in parameters["k"].choices] == [(type(c), c) for c in CHOICES]
    assert parameters["n"] == sb.Integer(1, 5)


def test_a_list_as_a_choice_is_a_tuple_from_the_start():
    choice = sb.Categorical([[64, 64], [32]])
    assert choice.choices == ((64, 64), (32,))
    assert choice.encode("layers", [32]) == choice.encode("layers", (32,)) == [0.0, 1.0]


@pytest.mark.parametrize("choice", [Codec.FAST, Level.LOW, float("nan"), object(), {"a": 1}, b"a", np.ones(2)])
def test_choices_that_a_file_cannot_hold_are_refused(choice):
    with pytest.raises(sb.ArgumentError, match=r"choices\[1\]: expected text.*Pass a name for each"):
        sb.Categorical(["a", choice])


DEGENERATE = [
    {"slater": 1e-308},
    {"cost_bound": 1e308},
    {"reward_bound": 1e-320},
    {"regularisation": 1e-320},
    {"regularisation": 1e308},
    {"noise": 1e308},
    {"rho": 1e-308},
    {"V": 1e-308},
    {"confidence": 5e-324},
]


@pytest.mark.parametrize("settings", DEGENERATE, ids=str)
def test_settings_whose_consequences_float64_cannot_hold_are_refused(settings):
    with pytest.raises(sb.ArgumentError, match="expected a number between 1e-50 and 1e\\+50"):
        policy(**settings)


def test_a_default_regularisation_out_of_range_is_blamed_on_noise_and_bounds():
    with pytest.raises(sb.ArgumentError, match="regularisation, which follows from noise and bounds"):
        policy(noise=1e40, reward_bound=1e-40, width="tight")


@pytest.mark.parametrize("size", [1e-50, 1e50])
@pytest.mark.parametrize("width", ["theory", "tight"])
@pytest.mark.parametrize("dual", ["projected", "queue"])
def test_the_smallest_and_largest_settings_give_finite_decisions(size, width, dual):
    settings = {
        "reward_bound": size,
        "cost_bound": size,
        "noise": size,
        "slater": min(size, 1.0),
        "regularisation": size,
    }
    agent = sb.Agent(policy(**settings, width=width, dual=dual))
    for _ in range(3):
        decision = agent.ask()
        agent.tell(decision, size, size)
        assert np.isfinite([decision.dual, decision.reward_estimate, decision.cost_estimate]).all()


def test_points_far_apart_have_a_covariance_of_zero():
    far = np.array([[0.0], [1e50]])
    for nu in (0.5, 1.5, 2.5):
        assert sb.Matern(1e-50, nu=nu)(far, far).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_fit_refuses_a_seed_that_is_a_matrix_and_restarts_without_end():
    X = np.linspace(0, 1, 9)[:, None]
    with pytest.raises(sb.ArgumentError, match="seed: expected a whole number"):
        sb.fit(sb.Matern(0.3), X, X[:, 0], seed=matrix([[1]]))
    with pytest.raises(sb.ArgumentError, match="restarts: expected a whole number from 0 to 1000"):
        sb.fit(sb.Matern(0.3), X, X[:, 0], restarts=2**64)
