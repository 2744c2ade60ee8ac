"""`print(agent)`: what Autopilot has learned, in the user's units and names."""

import math
import re

import numpy as np
import pytest

import softbandit as sb
from softbandit.policies.autopilot_words import side

SPACE = sb.Space(
    {
        "threads": sb.Integer(1, 64),
        "rate": sb.LogFloat(0.01, 1.0),
        "kind": sb.Categorical(["a", "b", "c"]),
        "unused": sb.Float(0.0, 1.0),
    }
)


def played(policy, rounds, outputs, noise=1.0):
    """Return an agent after rounds of outputs(decision) -> (reward, costs), with noise on each."""
    agent, rng = sb.Agent(policy), np.random.default_rng(0)
    for _ in range(rounds):
        decision = agent.ask()
        reward, costs = outputs(decision)
        agent.tell(decision, reward + noise * rng.standard_normal(), costs + noise * rng.standard_normal(len(costs)))
    return agent


def service(decision):
    values = decision.values
    speed = 100 * values["rate"] + 10 * (values["kind"] == "b")
    return speed, [values["threads"] - 20, math.exp(6 * values["rate"]) - 20]


@pytest.fixture(scope="module")
def tuned():
    return played(sb.Autopilot(SPACE, constraints=2, horizon=100), 50, service)


def line_of(agent, start):
    (line,) = (line for line in str(agent).splitlines() if line.startswith(start))
    return line


def after(agent, start):
    """Return the line after the one that starts so."""
    lines = str(agent).splitlines()
    return lines[lines.index(line_of(agent, start)) + 1]


def test_the_heading_says_what_runs_and_for_how_long(tuned):
    assert str(tuned).splitlines()[0] == "Autopilot(space of 4 parameters, 2 limits, horizon 100), round 50"


def test_means_and_prices_are_those_of_the_record(tuned):
    assert f"mean {tuned.record.rewards.mean():.4g}," in line_of(tuned, "reward:")
    for i, (mean, price) in enumerate(zip(tuned.record.costs.mean(axis=0), tuned.dual, strict=True)):
        line = line_of(tuned, f"cost {i}:")
        assert line.startswith(f"cost {i}: mean {mean:.4g}, ")
        assert f"its limit of 0, price {price:.3g}, noise " in line


@pytest.mark.parametrize(("mean", "words"), [(-0.1, "within"), (0.0, "within"), (0.19, "at"), (0.21, "above")])
def test_a_mean_cost_is_at_its_limit_if_it_is_above_by_less_than_two_standard_errors(mean, words):
    """100 rounds with noise 1: two standard errors are 0.2."""
    assert side(np.full(100, mean), noise=1.0) == words


def test_noise_is_in_the_units_of_its_output():
    """60 rounds at 3 arms have 57 degrees of freedom: the noise is known to 1 / sqrt(114) = 9%, of which 30% is 3."""
    arms = np.array([[0.0], [0.5], [1.0]])
    agent = played(sb.Autopilot(arms), 60, lambda d: (5000 * d.x[0], [900 * d.x[0] - 500]), noise=200.0)
    for start in ("reward:", "cost:"):
        assert float(line_of(agent, start).split("noise ")[1]) == pytest.approx(200, rel=0.3)


def test_parameters_that_matter_are_named_and_the_others_are_not(tuned):
    assert after(tuned, "reward:").startswith("  depends on rate (")
    assert after(tuned, "cost 0:").startswith("  depends on threads (")
    assert after(tuned, "cost 1:").startswith("  depends on rate (")
    assert "unused (" not in str(tuned)


def test_shares_are_those_of_the_variance_of_a_linear_function():
    """5 x0 over a width of 1 and x1 over 8 have variances 25 / 12 and 64 / 12: 28% and 72%."""
    agent = played(sb.Autopilot(sb.Box([0, -3], [1, 5]), constraints=0), 30, lambda d: (5 * d.x[0] + d.x[1], []), 0.1)
    shares = dict(re.findall(r"(x\[\d\]) \((\d+)%\)", after(agent, "reward:")))
    # See test_dependence.py for the sampling error; what was learned of a linear function is good to a few percent.
    assert int(shares["x[0]"]) == pytest.approx(28, abs=6)
    assert int(shares["x[1]"]) == pytest.approx(72, abs=8)


def test_an_output_that_equals_its_parameter_depends_on_it_however_long_the_run():
    """Once the learned length scale was taken for the effect: on a linear output it grows without end."""
    agent = played(sb.Autopilot(np.linspace(0, 1, 30)[:, None]), 200, lambda d: (d.x[0], [d.x[0] - 0.5]), noise=0.0)
    for start in ("reward:", "cost:"):
        assert after(agent, start).startswith("  depends on x[0] (100%)")


def test_an_output_that_spans_orders_of_magnitude_is_said_to_be_on_a_log_scale(tuned):
    arms = np.linspace(0, 1, 40)[:, None]
    agent = played(sb.Autopilot(arms), 30, lambda d: (d.x[0], [math.exp(14 * d.x[0]) - 100]), noise=0.01)
    assert "; log scale beyond " in after(agent, "cost:")
    assert "log scale" not in after(agent, "reward:")


def test_the_best_point_is_the_largest_reward_within_the_limits_of_those_played():
    """Without noise to speak of, the estimates at what was played are the outputs themselves."""
    arms = np.linspace(0, 1, 21)[:, None]
    agent = played(sb.Autopilot(arms, horizon=40), 30, lambda d: (d.x[0], [d.x[0] - 0.52]), noise=1e-4)
    x = arms[np.unique(agent.record.arms), 0]
    best = x[x <= 0.52].max()
    line = line_of(agent, "best point so far, within the limits")
    reward, cost = (float(number) for number in re.findall(r"(?:reward|cost) (-?[\d.]+)", line))
    assert (reward, cost) == (pytest.approx(best, abs=2e-3), pytest.approx(best - 0.52, abs=2e-3))
    assert after(agent, "best point") == f"  arm {round(best * 20)}: [{best:.4g}]"


@pytest.mark.filterwarnings("ignore::softbandit.PolicyWarning")
def test_out_of_reach_the_best_point_has_the_least_violation():
    agent = played(sb.Autopilot(np.linspace(0, 1, 9)[:, None]), 15, lambda d: (d.x[0], [1 + d.x[0]]), noise=0.01)
    assert line_of(agent, "best point so far, with the least violation: reward ").endswith(
        ("cost 1", "cost 0.99", "cost 1.01")
    )


def test_text_is_at_most_15_lines_of_79_characters():
    names = {f"parameter_with_a_long_name_{i}": sb.Float(0.0, 1.0) for i in range(9)}
    agent = played(sb.Autopilot(sb.Space(names), constraints=7), 12, lambda d: (d.x.sum(), list(d.x[:7] - 1)))
    lines = str(agent).splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 79
    assert "and 3 more limits" in lines


def test_before_anything_is_learned_and_right_after_a_change_the_text_says_so(tuned):
    assert str(sb.Agent(sb.Autopilot(SPACE))).splitlines()[1:] == ["nothing learned yet"]
    raised = tuned.with_limits_raised(by=[1.0, 2.0])
    assert "no round since its limit was changed" in line_of(raised, "cost 0:")


def test_policies_and_agents_have_a_short_repr():
    arms = np.linspace(0, 1, 1200)[:, None]
    assert repr(sb.Autopilot(arms, constraints=0)) == "Autopilot(1,200 arms in 1 dimension, no limits, no horizon)"
    assert repr(sb.Autopilot(sb.Box([0, 0], [1, 1]), horizon=9)) == "Autopilot(box in 2 dimensions, 1 limit, horizon 9)"
    policy = sb.CKB(arms[:30], sb.Matern(0.3), reward_bound=1, cost_bound=1, noise=0.1, horizon=50, slater=0.3)
    agent = sb.Agent(policy)
    assert repr(agent) == "<Agent of CKB(30 arms in 1 dimension, 1 limit, horizon 50), round 0, dual 0>"
    assert str(agent) == "CKB(30 arms in 1 dimension, 1 limit, horizon 50), round 0\ndual 0"


# -- What follows from observed points. --


def test_the_posterior_at_an_observed_point_knows_its_own_effect():
    """Against the dense formula, with every round as a row: signal k + own where points are equal, noise on rounds."""
    rng = np.random.default_rng(1)
    rough = {}
    policy = sb.Autopilot(sb.Box([0.0, 0.0], [1.0, 1.0]), constraints=0)
    agent = played(policy, 20, lambda d: (rough.setdefault(d.x.tobytes(), 3 * rng.standard_normal()), []), 0.1)
    (model,) = agent._state.posterior[0].models
    effects, units = model.effects, model.units
    X, y = agent.record.arms, units.inside(agent.record.rewards)
    points = np.concatenate([X[:3], rng.random((3, 2))])

    def covariance(A, B):
        return effects.signal * effects.kernel(A, B) + effects.own * (A[:, None] == B[None]).all(axis=2)

    C = covariance(X, X) + effects.noise * np.eye(20)
    cross = covariance(points, X)
    mean = effects.offset + cross @ np.linalg.solve(C, y - effects.offset)
    variance = np.diag(covariance(points, points) - cross @ np.linalg.solve(C, cross.T))
    expected = units.moments(mean, variance, effects.noise)
    np.testing.assert_allclose(agent.posterior.mean(points)[0], expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(agent.posterior.std(points)[0], expected[1], rtol=1e-3, atol=1e-4)
