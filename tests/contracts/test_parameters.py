"""What every parameter of a space must do; a class without an example fails."""

import math

import numpy as np
import pytest
from softbandit_tests.examples_of import PARAMETERS

import softbandit as sb
from softbandit.domains import Parameter

CASES = [pytest.param(parameter, values, id=name) for name, (parameter, values) in PARAMETERS.items()]
GRID = np.random.default_rng(0).uniform(-0.2, 1.2, (40, 8))


def concrete(kind):
    children = kind.__subclasses__()
    return {kind} if not children else set().union(*map(concrete, children))


def test_every_kind_of_parameter_has_an_example():
    assert {type(parameter) for parameter, _ in PARAMETERS.values()} == concrete(Parameter)


@pytest.mark.parametrize(("parameter", "values"), CASES)
def test_decoding_inverts_encoding(parameter, values):
    for value in values:
        u = np.array(parameter.encode("p", value))
        assert u.shape == (parameter.width,)
        assert ((u >= 0) & (u <= 1)).all()
        decoded = parameter.decode(u)
        assert type(decoded) is type(value)
        assert decoded == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)


@pytest.mark.parametrize(("parameter", "values"), CASES)
def test_snapping_gives_the_features_of_a_value_and_is_idempotent(parameter, values):
    snapped = parameter.snap(GRID[:, : parameter.width])
    np.testing.assert_array_equal(parameter.snap(snapped), snapped)
    for u in snapped:
        np.testing.assert_allclose(parameter.encode("p", parameter.decode(u)), u, atol=1e-13)


@pytest.mark.parametrize(("parameter", "values"), CASES)
def test_snapping_leaves_the_features_of_values_unchanged(parameter, values):
    U = np.array([parameter.encode("p", value) for value in values]).reshape(len(values), parameter.width)
    np.testing.assert_array_equal(parameter.snap(U), U)
    np.testing.assert_array_equal([parameter.extrapolate("p", value) for value in values], U)


@pytest.mark.parametrize(("parameter", "values"), CASES)
def test_snapping_goes_to_the_nearest_value(parameter, values):
    if parameter.size > 1000:
        return
    every, U = parameter.every(), GRID[:, : parameter.width]
    snapped = parameter.snap(U)
    best = ((U[:, None] - every[None]) ** 2).sum(axis=2).min(axis=1)
    np.testing.assert_allclose(((U - snapped) ** 2).sum(axis=1), best, atol=1e-12)


@pytest.mark.parametrize(("parameter", "values"), CASES)
def test_steps_lead_to_other_values_and_there_are_none_if_it_is_free(parameter, values):
    for value in values:
        u = np.array(parameter.encode("p", value))
        steps = parameter.steps(u)
        np.testing.assert_allclose(parameter.snap(steps), steps, atol=1e-15)
        reached = [parameter.decode(step) for step in steps]
        assert not any(type(other) is type(value) and other == value for other in reached)
        assert (len(steps) == 0) == (parameter.free or parameter.size == 1)


@pytest.mark.parametrize(("parameter", "values"), CASES)
def test_every_value_is_listed_once_and_in_order_if_there_are_few(parameter, values):
    if parameter.size > 1000:
        return
    listed = [parameter.decode(u) for u in parameter.every()]
    assert len(listed) == parameter.size == len({(type(value), value) for value in listed})
    np.testing.assert_array_equal([parameter.encode("p", value) for value in listed], parameter.every())


@pytest.mark.parametrize(("parameter", "values"), CASES)
def test_ends_are_values(parameter, values):
    np.testing.assert_allclose(parameter.snap(parameter.ends), parameter.ends, atol=1e-15)


@pytest.mark.parametrize(("parameter", "values"), CASES)
@pytest.mark.parametrize("value", [math.nan, "no such value", None, [[]], object(), -5e9])
def test_other_values_are_refused(parameter, values, value):
    if (parameter == PARAMETERS["Categorical"][0] and value is None) or (
        isinstance(parameter, sb.Cyclic) and value == -5e9
    ):
        return
    with pytest.raises(sb.ArgumentError, match="^p: expected"):
        parameter.encode("p", value)


@pytest.mark.parametrize(("parameter", "values"), CASES)
def test_an_agent_on_a_space_with_it_decides_and_comes_back_from_a_file(parameter, values, tmp_path):
    space = sb.Space({"p": parameter, "n": sb.Integer(1, 5000)})
    agent = sb.Agent(sb.Autopilot(space, constraints=1))
    for _ in range(6):
        decision = agent.ask()
        np.testing.assert_allclose(space.encode(decision.values), decision.x, atol=1e-12)
        agent.tell(decision, float(decision.x.sum()), float(decision.x[-1]) - 0.5)
    assert "reward" in str(agent)
    agent.save(tmp_path / "agent.npz")
    loaded = sb.Agent.load(tmp_path / "agent.npz")
    assert loaded.policy.space.parameters == space.parameters
    assert loaded.ask().values == agent.ask().values
