"""The contract of every policy: the same run alone, in batches, in chunks, shorter, live, and saved."""

import importlib
import pkgutil

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.gp.data_space import NOT_FACTORISED
from softbandit.policies.base import Policy, StepPolicy
from softbandit.simulation import schedule

FIELDS = ("arms", "rewards", "costs", "dual", "reward_estimates", "cost_estimates")
ABSTRACT = {"Steps", "AcquisitionPolicy", "StepPolicy", "WrappedPolicy", "Seeded", "SafePolicy"}
PROBLEM, PAIR = examples_of.problem(), examples_of.problem(constraints=2, seed=5)

every_policy = pytest.mark.parametrize("policy", examples_of.POLICIES.values(), ids=examples_of.POLICIES)


def problem_of(policy):
    return PAIR if policy.constraints == 2 else PROBLEM


def assert_same(whole, part, trials=slice(None), rounds=slice(None)):
    """Compare some trials and rounds of a trace with another trace, to the bit."""
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(whole, name)[trials, rounds], getattr(part, name), err_msg=name)


@every_policy
def test_a_trial_is_the_same_alone_and_in_any_batch(policy):
    problem = problem_of(policy)
    batch = sb.simulate(policy, problem, trials=9, seed=2, rounds=40)
    assert_same(batch, sb.simulate(policy, problem, trials=[7], seed=2, rounds=40), trials=[7])
    assert_same(batch, sb.simulate(policy, problem, trials=[8, 3], seed=2, rounds=40), trials=[8, 3])


@every_policy
def test_chunks_of_rounds_change_nothing(policy, monkeypatch):
    problem = problem_of(policy)
    whole = sb.simulate(policy, problem, trials=3, rounds=40)
    for words in (1, 500):
        monkeypatch.setattr(schedule, "CPU", schedule.CPU._replace(words=words))
        assert_same(whole, sb.simulate(policy, problem, trials=3, rounds=40))


@every_policy
def test_a_shorter_run_is_the_start_of_a_longer_one(policy):
    problem = problem_of(policy)
    longer = sb.simulate(policy, problem, trials=2, rounds=40)
    assert_same(longer, sb.simulate(policy, problem, trials=2, rounds=17), rounds=slice(17))


@every_policy
def test_an_agent_with_the_feedback_of_a_trial_makes_its_decisions(policy):
    problem = problem_of(policy)
    trace = sb.simulate(policy, problem, seed=5, rounds=40)
    agent = sb.Agent(policy, seed=5)
    costs = trace.costs.reshape(1, 40, -1)[0, :, : policy.constraints]
    for t in range(40):
        decision = agent.ask()
        assert (decision.arm, decision.round) == (trace.arms[0, t], t)
        np.testing.assert_array_equal(decision.dual, trace.dual[0, t])
        np.testing.assert_array_equal(decision.cost_estimate, trace.cost_estimates[0, t])
        agent.tell(decision, trace.rewards[0, t], costs[t])


def uses_mean_and_std_alone(policy):
    explorations = [] if not isinstance(policy, StepPolicy) else [block.exploration for block in policy.model.blocks]
    return bool(explorations) and all(getattr(exploration, "pointwise", False) for exploration in explorations)


POINTWISE = {name: policy for name, policy in examples_of.POLICIES.items() if uses_mean_and_std_alone(policy)}


@pytest.mark.parametrize("policy", POINTWISE.values(), ids=POINTWISE)
def test_weight_space_and_data_space_make_the_same_decisions(policy):
    problem = problem_of(policy)
    all_features = [getattr(factor, "features", factor) for factor in policy.model.factors]
    in_weights = policy.replace(factors=all_features)
    in_data = policy.replace(factors=[NOT_FACTORISED for _ in policy.model.factors])
    weight, data = (sb.simulate(twin, problem, trials=2, rounds=40, engine="numpy") for twin in (in_weights, in_data))
    np.testing.assert_array_equal(data.arms, weight.arms)
    for name in FIELDS[1:]:
        np.testing.assert_allclose(getattr(data, name), getattr(weight, name), rtol=0, atol=1e-9, err_msg=name)


def test_every_policy_class_in_the_package_has_an_example():
    classes = set()
    for info in pkgutil.walk_packages(sb.__path__, "softbandit."):
        if info.name == "softbandit.__main__":
            continue
        try:
            module = importlib.import_module(info.name)
        except sb.MissingExtraError:
            continue  # an optional package is not installed
        except ModuleNotFoundError as missing:
            if missing.name.startswith("softbandit"):
                raise
            continue
        classes |= examples_of.classes(module, Policy)
    assert {type(policy).__name__ for policy in examples_of.POLICIES.values()} == classes - ABSTRACT


@every_policy
def test_an_agent_continues_with_the_same_decisions_after_saving_and_loading(policy, tmp_path):
    """Before the first round, after it, around the end of a stage, and later."""
    trace = sb.simulate(policy, problem_of(policy), seed=5, rounds=40)
    agent = sb.Agent(policy, seed=5)
    costs = trace.costs.reshape(1, 40, -1)[0, :, : policy.constraints]
    for t in range(40):
        if t in (0, 1, 19, 20, 25):
            agent.save(tmp_path / "run.npz")
            agent = sb.Agent.load(tmp_path / "run.npz")
        decision = agent.ask()
        assert decision.arm == trace.arms[0, t]
        agent.tell(decision, trace.rewards[0, t], costs[t])


@pytest.mark.filterwarnings("ignore::softbandit.agent.PolicyWarning")  # every round has the same reward
@every_policy
def test_an_agent_chooses_among_the_arms_on_offer(policy):
    if policy.takes_contexts:
        agent = sb.Agent(policy, seed=1)
        for t in range(20):
            among = [t % 7, 10 + t % 7, 29]
            decision = agent.ask(among)
            assert decision.arm in among
            agent.tell(decision, 0.1 * t, [0.5] * policy.constraints)


@every_policy
def test_bad_feedback_leaves_the_agent_as_it_was(policy):
    agent = sb.Agent(policy)
    decision = agent.ask()
    for reward, cost in ((np.nan, [0.0] * policy.constraints), (0.0, [0.0] * (policy.constraints + 1))):
        with pytest.raises(sb.FeedbackError):
            agent.tell(decision, reward, cost)
    assert agent.round == 0
    assert agent.ask().arm == decision.arm
    agent.tell(decision, 0.0, [0.0] * policy.constraints)


ROUNDS = 9  # enough for Autopilot to learn three times
_x = np.random.default_rng(0).standard_normal((ROUNDS, 3))  # reward and two costs
_t = np.arange(ROUNDS)[:, None]
HOSTILE = {
    "constants": np.ones((ROUNDS, 3)),
    "constants up to the last digit": 1 + 2.3e-16 * (_t == 5) * [1, 0, 1],
    "constants and subnormal costs": np.tile([1.0, 5e-324, -5e-324], (ROUNDS, 1)),
    "subnormal": 5e-324 * np.sign(_x),
    "beyond the largest accepted": 1e300 * _x,
    "signs that flip near the largest accepted": np.where(_t % 2, 1e50, -1e50) * np.ones(3),
    "1e55 early": np.where(_t == 2, 1e55, _x),
    "1e39 early": np.where(_t == 2, 1e39, _x),
    "small rewards and large costs": _x * [1e-200, 1e38, 1e20],
    "large rewards and small costs": _x * [1e38, 1e-200, 1e-300],
    "all sizes": np.sign(_x) * 10.0 ** np.random.default_rng(1).uniform(-320, 308, (ROUNDS, 3)),
    "small and then large": _x * np.where(_t < 5, 1e-99, 1e39),
}
ON_A_SPACE = sb.Autopilot(sb.Box([0, 0], [1, 1]), horizon=60)
ALL_POLICIES = {**examples_of.POLICIES, "Autopilot on a space": ON_A_SPACE}


def asked(agent):
    """Return the decision; None if the observations refute the policy's settings, which it says."""
    try:
        return agent.ask()
    except (sb.InfeasibleError, sb.SafeSeedError):
        return None


def accepts(agent, decision, y):
    """Tell what was observed, and return whether it was accepted."""
    try:
        agent.tell(decision, y[0], y[1 : 1 + agent.policy.constraints])
    except sb.FeedbackError:
        return False
    return True


@pytest.mark.filterwarnings("ignore::softbandit.agent.PolicyWarning")
@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("policy", ALL_POLICIES.values(), ids=ALL_POLICIES)
def test_no_accepted_observation_makes_a_later_call_fail(policy, case, tmp_path):
    """Whether a number is refused depends on the number alone: a new agent refuses it too."""
    agent = sb.Agent(policy, seed=1)
    for y in HOSTILE[case].tolist():
        decision = asked(agent)
        if decision is None:
            break
        assert np.isfinite([decision.reward_estimate, *np.atleast_1d(decision.cost_estimate)]).all()
        if not accepts(agent, decision, y):
            new = sb.Agent(policy)
            assert not accepts(new, new.ask(), y)
            assert agent.round == decision.round
            np.testing.assert_array_equal(agent.ask().x, decision.x)
            agent.tell(decision, 0.1, [-0.1] * policy.constraints)
        assert np.isfinite(agent.dual).all()
    points = [[0.5, 0.5]] if policy.continuous else None
    assert np.isfinite([agent.posterior.mean(points), agent.posterior.std(points)]).all()
    certificate = agent.certificate(cost_range=(-1e55, 1e55) if policy.constraints else None)
    assert all(map(str, (agent, repr(agent), agent.recommend(), certificate)))
    agent.save(tmp_path / "run.npz")
    before, after = asked(agent), asked(sb.Agent.load(tmp_path / "run.npz"))
    assert (before is None) == (after is None)
    if before is not None:
        np.testing.assert_array_equal(after.x, before.x)
