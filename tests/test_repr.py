"""What is shown in a notebook is short, and says what a person wants to know."""

from dataclasses import dataclass

import numpy as np
import pytest

import softbandit as sb
from softbandit.baselines import POLICIES
from softbandit.policies import About, AcquisitionPolicy

ARMS = np.linspace(0, 1, 100)[:, None]
MANY = sb.Box([0.0] * 8, [1.0] * 8)
NAMED = sb.Space({"rate": sb.LogFloat(0.01, 1), "layers": sb.Integer(1, 5), "kind": sb.Categorical(["a", "b"])})


@pytest.fixture(scope="module")
def problem():
    return sb.problems.rkhs(seed=3)


@pytest.fixture(scope="module")
def policy(problem):
    return sb.CKB(**problem.settings(), horizon=50)


@pytest.fixture(scope="module")
def trace(policy, problem):
    return sb.simulate(policy, problem, trials=4, rounds=20, engine="numpy")


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"ckb-doubling", "ckb-time-varying", "autopilot"}))
def test_a_policy_class_that_is_a_dataclass_shows_its_outline(name):
    build = getattr(POLICIES[name][0], "func", POLICIES[name][0])
    assert build.__repr__ is sb.CKB.__repr__


def test_policies_show_their_size_and_not_their_arms(policy):
    assert repr(policy) == "CKB(100 arms in 1 dimension, 1 limit, horizon 50)"
    assert repr(sb.Doubling(policy)) == "Doubling(100 arms in 1 dimension, 1 limit, no horizon)"
    assert repr(sb.Autopilot(MANY, constraints=2)) == "Autopilot(box in 8 dimensions, 2 limits, no horizon)"
    assert repr(sb.Autopilot(NAMED, horizon=9)) == "Autopilot(space of 3 parameters, 1 limit, horizon 9)"


def test_a_policy_of_a_user_may_have_a_repr_of_its_own():
    @dataclass(frozen=True, eq=False)
    class Mine(AcquisitionPolicy):
        about = About("", "", "", "")

        def __repr__(self):
            return "mine"

        def acquisition(self, state, f, g):
            return f

    assert repr(Mine(ARMS, sb.Linear(), reward_bound=1, cost_bound=1, noise=1, horizon=5)) == "mine"


def test_a_decision_shows_its_arm_or_its_values():
    arms, named = sb.Agent(sb.Autopilot(ARMS)).ask(), sb.Agent(sb.Autopilot(NAMED)).ask()
    assert repr(arms) == f"Decision(round 0, arm {arms.arm}, estimated reward 0, cost 0)"
    rate = f"{named.values['rate']:.4g}"
    values = f"rate={rate}, layers={named.values['layers']}, kind={named.values['kind']}"
    assert repr(named) == f"Decision(round 0, {values}, estimated reward 0, cost 0)"


def test_long_points_and_many_constraints_are_cut_short():
    decision = sb.Agent(sb.Autopilot(MANY, constraints=20)).ask()
    first = ", ".join(f"{x:.4g}" for x in decision.x[:3])
    estimates = "estimated reward 0, cost 0, 0, 0, ... (20 numbers)"
    assert repr(decision) == f"Decision(round 0, x = {first}, ... (8 numbers), {estimates})"


def test_a_problem_shows_its_name_and_size(problem):
    assert repr(problem) == "Problem('rkhs(100 arms, seed 3)', 100 arms in 1 dimension, 1 cost, noise 0.1)"
    on_space = sb.problems.standard("gardner-1")
    assert repr(on_space) == f"SpaceProblem('gardner-1', box in 2 dimensions, 1 cost, noise {on_space.noise:g})"


def test_a_trace_shows_its_means(trace):
    reward, cost = f"{trace.rewards.mean():.4g}", f"{trace.costs.mean():.4g}"
    assert repr(trace) == f"Trace(4 trials of 20 rounds, seed 0, mean reward {reward}, mean cost {cost})"
    assert f"<tr><th>reward</th><td>{reward}</td></tr>" in trace._repr_html_()


def test_a_trace_that_kept_no_columns_shows_its_size(policy, problem):
    trace = sb.simulate(policy, problem, trials=1, rounds=3, engine="numpy", keep=())
    assert repr(trace) == "Trace(1 trial of 3 rounds, seed 0)"


def test_scores_show_the_means_of_the_last_round(trace, problem):
    scores = sb.score(trace, problem)
    regret, violation = f"{scores.strong_regret[:, -1].mean():.4g}", f"{scores.violation[:, -1].mean():.4g}"
    assert repr(scores).startswith("Scores(4 trials of 20 rounds, mean at the end: regret ")
    assert f"strong_regret {regret}, violation {violation}, " in repr(scores)
    assert f"<tr><th>violation</th><td>{violation}</td></tr>" in scores._repr_html_()


def test_a_recommendation_shows_the_point_to_keep(policy):
    agent = sb.Agent(policy)
    agent.tell(agent.ask(), 1.0, -0.2)
    advice = agent.recommend()
    shown = f"arm {advice.arm}, reward {advice.reward:.4g}, cost {advice.cost:.4g}, feasible with probability "
    assert repr(advice) == f"Recommendation({shown}{advice.feasible:.2g})"
    assert repr(advice.single).startswith(f"Mixture({shown}")
    assert advice._repr_html_() == f"<pre>{advice}</pre>"


def test_a_recommendation_without_constraints_mentions_none():
    agent = sb.Agent(sb.Autopilot(ARMS, constraints=0))
    for reward in range(5):
        agent.tell(agent.ask(), reward, ())
    advice = agent.recommend()
    assert repr(advice) == f"Recommendation(arm {advice.arm}, reward {advice.reward:.4g})"


def test_an_agent_is_shown_in_html_as_it_is_printed():
    agent = sb.Agent(sb.Autopilot(ARMS))
    assert agent._repr_html_() == f"<pre>{agent}</pre>"


@pytest.mark.extra
def test_a_tuner_is_shown_in_html_as_it_is_printed_and_its_recommendation_in_a_line(tmp_path):
    limits = [sb.Mean("latency_ms", at_most=12)]
    space, store = {"n": sb.Integer(1, 64)}, tmp_path / "tuner.db"
    tuner = sb.Tuner("a<b", space=space, maximize="rate", limits=limits, store=store, seed=0)
    for _ in range(5):
        suggestion = tuner.ask()
        tuner.tell(suggestion, rate=suggestion.values["n"] ** 0.5, latency_ms=0.3 * suggestion.values["n"])
    assert tuner._repr_html_().startswith("<pre>")
    assert "a&lt;b" in tuner._repr_html_()
    advice = tuner.recommend()
    assert repr(advice).startswith(f"Recommendation(n={advice.values['n']}; rate ")
    assert repr(advice).endswith(f"feasible with probability {advice.feasible:.2g})")
