import itertools
import warnings

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.baselines import (
    CONFIG,
    GPUCB,
    OPB,
    PDCBO,
    POLICIES,
    RPOL,
    SGPUCB,
    LoSBO,
    OptimisticLP,
    SafeBOCP,
    SafeOpt,
    StageOpt,
    TimeVarying,
    make,
    safe_sets,
)
from softbandit.baselines.safe_sets import steepness
from softbandit.simulation import schedule

SEEDED = {SafeOpt, StageOpt, SGPUCB, OPB, LoSBO, SafeBOCP}
SAFE = {"SafeOpt": (SafeOpt, {}), "SafeOpt, Lipschitz": (SafeOpt, {"lipschitz": "arms"})}
SAFE |= {"StageOpt": (StageOpt, {}), "StageOpt, Lipschitz": (StageOpt, {"lipschitz": "arms"})}
SAFE |= {"SGP-UCB": (SGPUCB, {"initial_rounds": 10})}


@pytest.fixture(scope="module")
def problems_with_a_safe_arm():
    """50 problems with one or two constraints, each with an arm that meets them all."""
    drawn = (sb.problems.rkhs(arms=20, seed=seed, noise=0.3, constraints=1 + seed % 2) for seed in itertools.count())
    return list(itertools.islice((p for p in drawn if (p.costs <= 0).all(axis=1).any()), 50))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "settings"), SAFE.values(), ids=SAFE)
def test_safe_methods_with_correct_constants_rarely_violate(kind, settings, problems_with_a_safe_arm):
    """A constraint is violated in at most a share alpha = 0.1 of 200 trials, four per problem."""
    violated, moved = [], []
    for problem in problems_with_a_safe_arm:
        safe = examples_of.safest(problem)
        policy = kind(**problem.settings(), horizon=40, safe=safe, **settings)
        trace = sb.simulate(policy, problem, trials=4, engine="numpy")
        violated += (sb.score(trace, problem).violated_rounds[:, -1] > 0).tolist()
        moved += (trace.arms != safe).any(axis=1).tolist()
    assert np.mean(violated) <= 0.1
    assert sum(moved) >= 50  # so the share is not of trials that stay at the seed


@pytest.mark.parametrize(("kind", "settings"), list(SAFE.values())[:4], ids=list(SAFE)[:4])
def test_safe_methods_never_leave_their_safe_set(kind, settings):
    problem = examples_of.problem(seed=7)
    policy = examples_of.policy(problem, kind=kind, safe=examples_of.safest(problem), width_scale=0.1, **settings)
    agent, rng = sb.Agent(policy), np.random.default_rng(0)
    left_seed = False
    for _ in range(50):
        S = policy.intervals(agent._state)[2][0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            decision = agent.ask()
        assert S[decision.arm]
        left_seed |= decision.arm != policy.safe
        noise = problem.noise * rng.standard_normal(2)
        agent.tell(decision, problem.reward[decision.arm] + noise[0], problem.cost[decision.arm] + noise[1])
    assert left_seed


def test_config_plays_arms_that_may_be_feasible():
    problem = examples_of.problem(seed=7)
    trace = sb.simulate(examples_of.policy(problem, kind=CONFIG), problem, trials=10)
    assert (trace.cost_estimates <= 0).all()


def play(agent, cost, rounds=50):
    for _ in range(rounds):
        agent.tell(agent.ask(), 0.0, cost)


def test_config_declares_a_problem_without_feasible_arms_infeasible():
    arms = np.arange(2.0)[:, None]
    policy = CONFIG(arms, sb.Tabular(np.eye(2)), reward_bound=1, cost_bound=9, noise=0.1, horizon=50, width=1.0)
    agent = sb.Agent(policy)
    with pytest.raises(sb.InfeasibleError, match="lower confidence bound above 0 for some cost of every arm"):
        play(agent, cost=5.0)
    problem = sb.problems.Problem(arms, policy.kernel, np.zeros(2), np.array([5.0, 5.0]), 0.1, 1.0, 9.0, 0.5)
    with pytest.warns(sb.ComplaintWarning, match=r"In 2 of 2 trials \(0, 1\): CONFIG: expected some arm"):
        sb.simulate(policy, problem, trials=2)


@pytest.mark.parametrize("kind", [SafeOpt, StageOpt, SGPUCB])
def test_a_seed_that_is_not_an_arm_or_not_safe_is_refused(kind):
    problem = examples_of.problem()
    for safe in (None, [], 30, -1, "first", 1.5):
        with pytest.raises(sb.ArgumentError, match="safe: expected"):
            examples_of.policy(problem, kind=kind, safe=safe)
    dangerous = int(problem.cost.argmax())
    agent = sb.Agent(examples_of.policy(problem, kind=kind, safe=dangerous, width=0.5))
    with pytest.raises(sb.SafeSeedError, match=f"above 0 among arms {dangerous}.*Name another arm"):
        play(agent, cost=problem.cost[dangerous])
    for policy in (agent.policy, sb.Doubling(agent.policy)):
        with pytest.raises(sb.SafeSeedError, match="arms that are safe in this problem"):
            sb.simulate(policy, problem, rounds=5)


@pytest.mark.parametrize("kind", SEEDED)
def test_safe_methods_refuse_contexts(kind):
    problem = contextual()
    settings = {"safe_cost": -0.1} if kind is OPB else {}
    policy = examples_of.policy(problem, kind=kind, safe=examples_of.safest(problem), **settings)
    for variant in (policy, sb.Doubling(policy)):
        with pytest.raises(sb.ArgumentError, match="no rule for a round without a safe arm"):
            sb.simulate(variant, problem, rounds=5)
        with pytest.raises(sb.ArgumentError, match="no rule for a round without a safe arm"):
            sb.Agent(variant).ask(among=[1, 2])


@pytest.mark.parametrize("bad", [0.0, -1.0, "rms", [1.0, 2.0], np.nan])
def test_a_bad_lipschitz_constant_is_refused(bad):
    with pytest.raises(sb.ArgumentError, match="lipschitz: expected"):
        examples_of.policy(kind=SafeOpt, safe=0, lipschitz=bad)


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (StageOpt, {"stage_rounds": -1}),
        (SGPUCB, {"initial_rounds": 1.5}),
        (PDCBO, {"step": 0.0}),
        (PDCBO, {"slack": -1.0}),
        (PDCBO, {"start": -1.0}),
        (StageOpt, {"intersect": "yes"}),
        (StageOpt, {"expanders": "some"}),
        (sb.baselines.POBO, {"hard": 1}),
        (sb.baselines.POBO, {"hard": "first"}),
        (sb.baselines.POBO, {"slater": None}),
        (sb.baselines.POBO, {"V_scale": 0.0}),
        (sb.baselines.POBO, {"slack_scale": "much"}),
        (sb.baselines.POBO, {"growth": -1.0}),
        (sb.baselines.EPBO, {"penalty": -1.0}),
        (OPB, {}),
        (OPB, {"safe_cost": 0.0}),
        (OPB, {"safe_cost": [-0.1, -0.1]}),
        (OPB, {"safe_cost": -0.1, "inflation": 0.0}),
        (LoSBO, {"lipschitz": None}),
        (LoSBO, {"noise_bound": -1.0}),
        (LoSBO, {"rule": "best"}),
        (SafeBOCP, {"rate": 0.0}),
        (SafeBOCP, {"rate": [0.1, 0.1]}),
        (SafeBOCP, {"step": 0.0}),
        (RPOL, {"reward_bound": -1}),
        (GPUCB, {"noise": np.nan}),
    ],
)
def test_bad_settings_of_baselines_are_refused(kind, bad):
    safe = {"safe": 0} if kind in SEEDED else {}
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        examples_of.policy(kind=kind, **safe, **bad)


def test_time_varying_refuses_bad_intervals_and_policies_other_than_ckb():
    others = sb.Doubling(examples_of.policy()), examples_of.POLICIES["RPOL"]
    for policy, every in ((None, 3), (examples_of.policy(), 0), (others[0], 3), (others[1], 3)):
        with pytest.raises(sb.ArgumentError, match="expected.*got"):
            TimeVarying(policy, every)


def test_the_queue_of_rpol_accumulates_positive_costs():
    problem = examples_of.problem(seed=7)
    trace = sb.simulate(examples_of.policy(problem, kind=RPOL), problem, trials=5)
    assert (np.diff(trace.dual, axis=1) >= 0).all()
    total = np.cumsum(np.maximum(trace.costs, 0), axis=1)
    assert (trace.dual[:, 1:] >= 1 + total[:, :-1] - 1e-9).all()


def test_the_steepness_of_a_kernel_bounds_the_slope_of_every_function():
    problem = examples_of.problem(arms=60)
    slope = np.abs(np.diff(problem.cost)) / np.diff(problem.arms[:, 0])
    bound = problem.cost_bound * steepness(problem.kernel, problem.arms)
    assert slope.max() <= bound
    # The squared exponential's steepest unit function rises by |x - y| / lengthscale as y nears x.
    assert steepness(sb.SquaredExponential(0.2), np.array([[0.0], [1e-4]])) == pytest.approx(5.0, rel=1e-3)


def test_safe_sets_computed_in_blocks_give_the_same_decisions(monkeypatch):
    problem = examples_of.problem(seed=7)
    for settings in ({}, {"lipschitz": "arms"}):
        safe = examples_of.safest(problem)
        policy = examples_of.policy(problem, kind=SafeOpt, safe=safe, width_scale=0.2, **settings)
        whole = sb.simulate(policy, problem, trials=2, rounds=15)
        monkeypatch.setattr(safe_sets, "BLOCK_NUMBERS", 500)
        np.testing.assert_array_equal(whole.arms, sb.simulate(policy, problem, trials=2, rounds=15).arms)
        monkeypatch.undo()


def contextual():
    problem = examples_of.problem(seed=7)
    return sb.problems.Problem(**{**vars(problem), "contexts": np.arange(30) % 3})


def test_contexts_occur_evenly_and_limit_the_choice():
    problem = contextual()
    trace = sb.simulate(examples_of.policy(problem, kind=PDCBO, horizon=300), problem, trials=10)
    counts = np.bincount(problem.contexts[trace.arms.ravel()])
    # 3,000 rounds: each context 1,000 times, within 5 standard errors sqrt(3000 * 2/9).
    assert (np.abs(counts - 1000) <= 5 * np.sqrt(3000 * 2 / 9)).all()


def test_the_optimum_gives_every_context_the_same_weight():
    problem = contextual()
    optimum = sb.randomized_optimum(problem.reward, problem.cost, problem.contexts)
    np.testing.assert_allclose(np.bincount(problem.contexts, weights=optimum.weights), 1 / 3)
    assert optimum.weights @ problem.cost <= 1e-9
    assert optimum.value <= sb.randomized_optimum(problem.reward, problem.cost).value + 1e-9
    scores = sb.score(sb.simulate(examples_of.policy(problem, kind=PDCBO), problem), problem)
    assert np.isnan(scores.regret).all()


def test_the_optimum_of_two_contexts_by_hand():
    # Context 0 has only arm 0 (f = 0, g = 1); context 1 has arms 1 (f = 1, g = -1) and 2 (f = 5, g = 1).
    optimum = sb.randomized_optimum([0.0, 1.0, 5.0], [1.0, -1.0, 1.0], [0, 1, 1])
    np.testing.assert_allclose(optimum.weights, [0.5, 0.5, 0.0], atol=1e-9)
    assert optimum.value == pytest.approx(0.5)


def test_every_registered_name_builds_a_policy_and_misspelt_names_get_a_suggestion():
    problem = examples_of.problem()
    for name in POLICIES:
        kind, _ = POLICIES[name]
        settings = {"safe": examples_of.safest(problem)} if kind in SEEDED else {}
        settings |= {"safe_cost": -0.1} if kind is OPB else {}
        trace = sb.simulate(make(name, **problem.settings(), horizon=6, **settings), problem, rounds=6)
        assert trace.arms.shape == (1, 6)
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'stageopt'"):
        make("stage-opt", **problem.settings(), horizon=6)
    with pytest.raises(sb.UnknownNameError, match="rpol, setting.*Did you mean 'width_scale'"):
        make("rpol", **problem.settings(), horizon=6, widthscale=0.2)
    with pytest.raises(sb.UnknownNameError, match="ckb-ucb, setting"):
        make("ckb-ucb", **problem.settings(), horizon=6, explore="ts")


def test_expected_improvement_plays_the_least_infeasible_arm_if_none_is_feasible():
    """Probabilities of feasibility that underflow still have an order."""
    arms, costs = np.arange(5.0)[:, None], np.array([5.0, 20.0, 50.0, 100.0, 500.0])
    problem = sb.problems.Problem(arms, sb.Tabular(np.eye(5)), np.zeros(5), costs, 0.1, 1.0, 1e3, 0.5)
    policy = sb.baselines.ConstrainedEI(**problem.settings(), horizon=60)
    played = np.bincount(sb.simulate(policy, problem).arms[0], minlength=5)
    assert played[0] > 50


def test_the_warning_of_refuted_settings_does_not_depend_on_chunks(monkeypatch):
    problem = examples_of.problem(seed=7)
    policy = examples_of.policy(problem, kind=CONFIG, width_scale=0.02)
    messages = []
    for words in (2**20, 1):
        monkeypatch.setattr(schedule, "CPU", schedule.CPU._replace(words=words))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sb.simulate(policy, problem, trials=20)
        messages.append([str(warning.message) for warning in caught])
    assert messages[0] == messages[1]
    assert len(messages[0]) <= 1


def test_every_policy_class_has_a_registered_name():
    classes = {type(policy) for policy in examples_of.POLICIES.values()}
    named = {about for _, about in POLICIES.values()}
    assert {kind.about for kind in classes} == named


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_safe_bocp_keeps_the_share_of_violating_rounds(rate):
    """sum (1{c > 0} - alpha) = (delta(T+1) - delta(1)) / eta, and delta exceeds 1 by at most eta (1 - alpha).

    Its model is wrong: it takes functions of length scale 0.1 for linear ones.
    """
    rounds, step, shares = 300, 0.5, []
    for seed in range(6):
        problem = sb.problems.rkhs(arms=30, seed=seed, noise=0.02, lengthscale=0.1)
        settings = {"kernel": sb.Linear(), "safe": examples_of.safest(problem), "rate": rate, "step": step}
        policy = examples_of.policy(problem, kind=SafeBOCP, **settings)
        trace = sb.simulate(policy, problem, trials=3, rounds=rounds)
        assert (trace.costs[trace.arms == policy.safe] <= 0).all()  # so the bound holds for certain
        violations = (trace.costs > 0).sum(axis=1)
        assert (violations <= rate * rounds + (1 + step * (1 - rate) - (1 - rate)) / step + 1e-9).all()
        shares.append(violations / rounds)
    assert np.max(shares) > rate / 2  # so the bound is not kept by staying at the seed


@pytest.mark.parametrize("rule", ["widest", "ucb"])
def test_losbo_never_violates_if_its_bounds_hold(rule):
    """Noise within 6 standard deviations, which fails in 1 of 10^9 rounds; the Gaussian process is far too sure."""
    moved = 0
    for seed in range(10):
        problem = sb.problems.rkhs(arms=30, seed=seed, noise=0.01, constraints=1 + seed % 2)
        safe = examples_of.safest(problem)
        if problem.costs[safe].max() > 0:
            continue
        settings = {"safe": safe, "noise_bound": 0.06, "rule": rule, "width": 0.01}
        policy = examples_of.policy(problem, kind=LoSBO, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sb.ComplaintWarning)  # such narrow bounds refute the seed
            trace = sb.simulate(policy, problem, rounds=60)
        assert (problem.costs[trace.arms[0]] <= 0).all()
        moved += len(np.unique(trace.arms))
    assert moved >= 20


def test_opb_keeps_the_expected_cost_of_a_round_at_zero_or_below():
    """Over 20 trials of 100 rounds: the mean cost is below 0 up to 5 standard errors, |g| / sqrt(2000) each."""
    for seed in range(4):
        problem = examples_of.problem(seed=seed)
        safe = examples_of.safest(problem)
        policy = examples_of.policy(problem, kind=OPB, safe=safe, safe_cost=float(problem.cost[safe]), horizon=100)
        trace = sb.simulate(policy, problem, trials=20)
        played = problem.cost[trace.arms]
        assert played.mean() <= 5 * np.abs(problem.cost).max() / np.sqrt(played.size)
        assert (played > 0).mean() > 0.01 or problem.cost[problem.reward.argmax()] <= 0  # it does mix


def test_mixtures_by_linear_program_reach_the_randomised_optimum():
    """On a problem whose optimum mixes two arms: the mean reward is above that of every feasible arm."""
    problem = examples_of.problem(seed=7)
    optimum = sb.randomized_optimum(problem.reward, problem.cost)
    best_single = problem.reward[problem.cost <= 0].max()
    assert optimum.value > best_single + 0.1
    policy = examples_of.policy(problem, kind=OptimisticLP, horizon=600, width_scale=0.2)
    trace = sb.simulate(policy, problem, trials=5)
    late = trace.arms[:, 300:]
    # 1,500 rounds; 5 standard errors of |f| and |g| of at most 3 are 0.4.
    assert problem.reward[late].mean() > best_single
    assert abs(problem.reward[late].mean() - optimum.value) < 0.4
    assert problem.cost[late].mean() < 0.4
