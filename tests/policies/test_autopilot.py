"""Autopilot: whatever it plays on and is told, units do not matter, files continue it, and debts are repaid."""

import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp import PointPosterior, Repeats
from softbandit.policies import autopilot_knowledge, outlook, output_models

ARMS = np.random.default_rng(0).random((40, 2))
BOX = sb.Box([0, 0], [1, 1])
MIXED = sb.Space({"rate": sb.LogFloat(0.01, 1), "layers": sb.Integer(1, 50), "kind": sb.Categorical(["a", "b"])})
SMALL = sb.Space({"layers": sb.Integer(1, 20), "kind": sb.Categorical(["a", "b"])})
NOISE = 0.05


def outputs(x, m):
    """Return a reward and m costs: the reward is highest where the first cost is too high."""
    a, b = np.resize(x, 2)
    return np.array([math.sin(3 * a) + b, a - 0.4, b - 0.7, 0.1 - a][: 1 + m])


def play(policy, rounds, seed=0, units=1.0, shift=0.0, among=None):
    """Return an agent after some rounds on `outputs`, times `units` plus `shift`, and its decisions."""
    agent, rng, decisions = sb.Agent(policy, seed=seed), np.random.default_rng(seed), []
    for t in range(rounds):
        decision = agent.ask(None if among is None else among(t))
        y = outputs(decision.x, policy.constraints) + NOISE * rng.standard_normal(1 + policy.constraints)
        reward, *cost = units * y + shift
        agent.tell(decision, reward, cost)
        decisions.append(decision)
    return agent, decisions


def debt_allowed(rounds):
    """Return what the mean measured cost may be on ARMS.

    A debt of s_g sqrt(T) raises the price by u = s_f / s_g, times PRICE_GAIN. On ARMS u is 1.73, and so is the right
    price: a debt that large makes up for a price of 0 where it should be right. One round may add the largest
    cost, 0.6, and 3 deviations of the noise.
    """
    spread = np.std(ARMS[:, 0])
    return (spread * math.sqrt(rounds) / outlook.PRICE_GAIN + 0.6 + 3 * NOISE) / rounds


def assert_finite(decisions):
    for d in decisions:
        assert np.isfinite([d.reward_estimate, *np.ravel(d.cost_estimate), *np.ravel(d.dual), *d.x]).all()


@pytest.mark.parametrize("domain", [ARMS, BOX, MIXED, SMALL], ids=["arms", "box", "mixed space", "small space"])
@pytest.mark.parametrize("m", [0, 1, 3])
@pytest.mark.parametrize("horizon", [25, None])
def test_it_runs_on_any_domain_with_any_number_of_limits(domain, m, horizon):
    agent, decisions = play(sb.Autopilot(domain, constraints=m, horizon=horizon), 25)
    assert_finite(decisions)
    assert np.shape(agent.dual) == (() if m == 1 else (m,))
    points = None if not agent.policy.continuous else agent.policy.arms.at(np.full((4, agent.policy.dimension), 0.5))
    for moments in (agent.posterior.mean(points), agent.posterior.std(points)):
        assert moments.shape[0] == 1 + m
        assert np.isfinite(moments).all()
    if isinstance(domain, sb.Space):
        names = {name for name, _, _ in domain.parts}
        assert all(decision.values.keys() == names for decision in decisions)


@pytest.mark.parametrize("units", [np.array([1024.0, 2.0**-10]), np.array([2.0**-120, 2.0**120])])
def test_decisions_do_not_depend_on_units_that_are_exact(units):
    """Powers of two change no rounding: estimates and prices are the same to the bit, in the other units."""
    for domain in (ARMS, BOX):
        _, plain = play(sb.Autopilot(domain, horizon=40), 40)
        _, other = play(sb.Autopilot(domain, horizon=40), 40, units=units)
        for a, b in zip(plain, other, strict=True):
            np.testing.assert_array_equal(a.x, b.x)
            assert b.reward_estimate == pytest.approx(units[0] * a.reward_estimate, rel=1e-9)
            assert b.cost_estimate == pytest.approx(units[1] * a.cost_estimate, rel=1e-9)
            assert b.dual == pytest.approx(units[0] / units[1] * a.dual, rel=1e-9)


def test_decisions_depend_neither_on_units_nor_on_the_zero_of_the_reward():
    """Rounding differs, and a search magnifies it: among 40 arms the decisions are the same all the same."""
    _, plain = play(sb.Autopilot(ARMS, horizon=40), 40)
    _, other = play(sb.Autopilot(ARMS, horizon=40), 40, units=np.array([1000.0, 0.001]), shift=np.array([5.0, 0.0]))
    assert [d.arm for d in plain] == [d.arm for d in other]


def test_the_posterior_is_in_the_users_units():
    units, shift = np.array([1000.0, 0.01]), np.array([500.0, 0.0])
    agent, _ = play(sb.Autopilot(ARMS, horizon=60), 60, units=units, shift=shift)
    truth = np.array([units * outputs(x, 1) + shift for x in ARMS]).T
    error = np.abs(agent.posterior.mean() - truth) / units[:, None]
    # Noise of 0.05, and functions with spreads of 0.46 and 0.27, half of which nothing is known about.
    assert np.median(error) < 0.1
    assert (np.median(agent.posterior.std(), axis=1) / units < 0.3).all()


def test_no_decision_is_made_from_a_posterior_before_it_has_learned():
    agent, _ = play(sb.Autopilot(ARMS), autopilot_knowledge.INITIAL - 1)
    with pytest.raises(sb.ArgumentError, match="posterior: expected 4 rounds to learn from, got 3"):
        agent.posterior.mean()


# -- Large and contextual. --


def test_good_ones_of_twenty_thousand_arms_are_found():
    arms = np.random.default_rng(1).random((20_000, 2))
    agent, decisions = play(sb.Autopilot(arms, horizon=50), 50)
    assert_finite(decisions)
    values = np.array([outputs(d.x, 1) for d in decisions[25:]])
    best = max(outputs(x, 1)[0] for x in arms if outputs(x, 1)[1] <= 0)
    # The arms that meet the limit have 1.04 on average, 0.54 of the best, 1.92.
    assert values[:, 0].mean() > 0.85 * best
    assert agent.record.costs.mean() < debt_allowed(50)  # the spread of 20,000 arms is 1.1 times that of ARMS


def test_candidates_of_many_arms_are_the_points_of_their_arms():
    """Observed points come first, in an order that depends on when they were first observed."""
    agent, rng = (
        sb.Agent(sb.Autopilot(np.random.default_rng(0).random((5000, 2)), horizon=40)),
        np.random.default_rng(1),
    )
    for _ in range(19):
        agent.tell(agent.ask(), *rng.standard_normal(2))
    known = agent._state.posterior[0]
    assert known.fitted < len(known.X)
    np.testing.assert_array_equal(agent.policy.arms[known.outlook.where], known.outlook.points)


def test_on_a_space_nothing_is_factorised_between_two_relearnings(monkeypatch):
    sizes, original = [], PointPosterior.of.__func__
    monkeypatch.setattr(
        PointPosterior, "of", classmethod(lambda cls, m, data: sizes.append(len(data.place)) or original(cls, m, data))
    )
    agent = sb.Agent(sb.Autopilot(BOX, constraints=0))
    for t in range(20):
        agent.tell(agent.ask(), reward=float(np.sin(t)))
    assert list(dict.fromkeys(sizes)) == [4, 6, 9, 14]


GLITCHES = {25: 1e4, 47: -1e4}  # rounds and what is added to their reward


def play_with_glitches(domain):
    agent, rng = sb.Agent(sb.Autopilot(domain, horizon=100)), np.random.default_rng(0)
    for t in range(100):
        decision = agent.ask()
        reward, cost = outputs(decision.x, 1) + NOISE * rng.standard_normal(2)
        agent.tell(decision, reward + GLITCHES.get(t, 0.0), cost)
    return agent


@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
def test_glitches_of_the_reward_are_noticed_and_change_little(domain):
    """The last rounds earn what they do without glitches, but for a tenth of the rewards' range of 2."""
    plain, glitched = play(sb.Autopilot(domain, horizon=100), 100)[0], play_with_glitches(domain)
    known = glitched._state.posterior[0]
    np.testing.assert_array_equal(np.flatnonzero((known.counted != known.Y).any(axis=1)), list(GLITCHES))
    assert glitched.record.rewards[-30:].mean() > plain.record.rewards[-30:].mean() - 0.2
    assert "2 outliers" in str(glitched)


def test_glitches_of_a_cost_count_in_full():
    """The limit is on the mean of what was measured."""
    agent, _ = play(sb.Autopilot(ARMS, horizon=100), 40)
    decision = agent.ask()
    agent.tell(decision, 0.0, 50.0)
    known = agent._state.posterior[0]
    assert known.counted[-1, 1] == 50.0
    np.testing.assert_allclose(known.debt, agent.record.costs.sum())


@pytest.mark.parametrize("n", [60, 5000])
def test_only_arms_on_offer_are_played_however_few(n):
    """5,000 arms are more than are looked at in a round: 3 of them would hardly be among the candidates."""
    arms = np.random.default_rng(1).random((n, 2))
    offers = [np.random.default_rng([t, n]).choice(n, 3, replace=False) for t in range(20)]
    _, decisions = play(sb.Autopilot(arms), 20, among=lambda t: offers[t])
    assert all(decision.arm in offer for decision, offer in zip(decisions, offers, strict=True))


def test_the_best_arm_on_offer_is_played_among_very_many():
    """After 40 rounds of a smooth function, the better of two arms far apart is known."""
    arms = np.random.default_rng(1).random((5000, 2))
    agent, _ = play(sb.Autopilot(arms, constraints=0, horizon=40), 40)
    good, bad = (int(((arms - corner) ** 2).sum(axis=1).argmin()) for corner in ([0.5, 0.9], [0.0, 0.0]))
    with pytest.warns(sb.HorizonWarning):
        assert agent.ask([bad, good]).arm == good


@pytest.mark.parametrize("labels", [np.arange(40) % 4, [f"room {i % 4}" for i in range(40)]])
def test_contexts_are_numbered_and_their_limit_is_met_on_average(labels):
    """Each context has an arm of cost -0.3 or less; the arms with the highest rewards cost 0.098 on average."""
    numbers = np.arange(40) % 4
    policy = sb.Autopilot(ARMS, contexts=labels, horizon=120)
    np.testing.assert_array_equal(policy.context, numbers)
    agent, decisions = play(policy, 120, among=lambda t: np.flatnonzero(numbers == t % 4))
    assert [d.arm % 4 for d in decisions] == [t % 4 for t in range(120)]
    assert agent.record.costs.mean() < debt_allowed(120)  # 0.031


# -- Files and feedback. --


@pytest.mark.parametrize("domain", [ARMS, BOX, SMALL], ids=["arms", "box", "small space"])
@pytest.mark.parametrize("rounds", [0, 3, 4, 7, 20])
def test_a_loaded_agent_continues_to_the_bit_without_learning_again(domain, rounds, tmp_path, monkeypatch):
    agent, _ = play(sb.Autopilot(domain, horizon=40), rounds)
    agent.save(tmp_path / "run.npz")
    with monkeypatch.context() as patch:
        patch.setattr(output_models, "learn", lambda *arguments: pytest.fail("it learned again"))
        loaded = sb.Agent.load(tmp_path / "run.npz")
    for t in range(12):
        a, b = agent.ask(), loaded.ask()
        np.testing.assert_array_equal(a.x, b.x)
        assert a.values == b.values
        assert (a.reward_estimate, a.cost_estimate, a.dual) == (b.reward_estimate, b.cost_estimate, b.dual)
        y = outputs(a.x, 1) + 0.1 * math.sin(t)
        for twin, decision in ((agent, a), (loaded, b)):
            twin.tell(decision, *y)
        np.testing.assert_array_equal(agent.dual, loaded.dual)


@pytest.mark.parametrize(
    ("entry", "change"),
    [
        ("state2", lambda where: where + 40),  # no such arms
        ("state3", lambda X: X[:-1]),
        ("state4", lambda Y: Y * np.nan),
        ("state5", lambda fitted: fitted + 100),
        ("state7", lambda models: models[:1]),
        ("state7", lambda models: models[:, :-1]),
    ],
)
def test_a_damaged_file_is_refused(entry, change, tmp_path):
    agent, _ = play(sb.Autopilot(ARMS, horizon=40), 10)
    agent.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "run.npz", **arrays | {entry: change(arrays[entry])})
    with pytest.raises(sb.FileError, match="damaged or foreign"):
        sb.Agent.load(tmp_path / "run.npz")


def test_late_feedback_in_another_order_gives_the_same_model():
    """Learned from the same rounds, in another order: sums and a search differ by rounding."""
    ends = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        agent = sb.Agent(sb.Autopilot(ARMS), seed=1)
        rng = np.random.default_rng(0)
        for _ in range(3):
            asked = [agent.ask(among=[i]) for i in rng.choice(40, 4, replace=False)]
            feedback = [outputs(d.x, 1) + NOISE * rng.standard_normal(2) for d in asked]
            for i in order:
                agent.tell(asked[i], *feedback[i])
        ends.append(agent)
    assert ends[0].round == ends[1].round == 12
    known = [agent._state.posterior[0] for agent in ends]
    relearned = [k.learn() for k in known]
    means = [np.array([p.mean for p in k.posteriors]) for k in relearned]
    # The search stops where a step gains 2e-9 of the value, some 10, so with curvatures of 1 within sqrt(4e-8) = 2e-4
    # of the best parameters, and means in units of the spread change by about as much.
    np.testing.assert_allclose(means[0], means[1], atol=2e-3)


def test_a_decision_may_be_told_long_after_it_was_made():
    agent, _ = play(sb.Autopilot(ARMS), 2)
    old = agent.ask()
    for _ in range(10):
        agent.tell(agent.ask(), 1.0, -1.0)
    agent.tell(old, 5.0, 3.0)
    assert agent.round == 13
    assert_finite([agent.ask()])


# -- Hostile values. --

HOSTILE = {
    "zeros": lambda t, z: (0.0, 0.0),
    "constant": lambda t, z: (7.0, -3.0),
    "constant and infeasible": lambda t, z: (7.0, 3.0),
    "infeasible": lambda t, z: (z[0], 1 + abs(z[1])),
    "two values": lambda t, z: ((-1.0) ** t, (-1.0) ** t),
    "all but one equal": lambda t, z: (float(t == 5), -float(t == 6)),
    "subnormal": lambda t, z: (5e-324 * int(9 * z[0]), 5e-324 * int(9 * z[1])),
    "tiny": lambda t, z: (1e-200 * z[0], 1e-200 * z[1]),
    "huge": lambda t, z: (1e39 * z[0], 1e39 * z[1]),
    "one huge value early": lambda t, z: (1e39 if t == 1 else z[0], 1e39 if t == 2 else z[1]),
    "one huge value late": lambda t, z: (-1e39 if t == 15 else z[0], -1e39 if t == 17 else z[1]),
    "far from zero": lambda t, z: (1e9 + 1e-6 * z[0], 1e9 + 1e-6 * z[1]),
    "heavy tails": lambda t, z: (math.tan(1.57 * math.tanh(z[0])) ** 3, math.tan(1.57 * math.tanh(z[1])) ** 3),
    "forty orders of magnitude": lambda t, z: (math.exp(20 * z[0]), -math.exp(20 * z[1])),
}


@pytest.mark.filterwarnings("ignore::softbandit.agent.PolicyWarning")  # it says what is wrong with them
@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize(("domain", "m"), [(ARMS, 1), (ARMS, 2), (BOX, 1)], ids=["arms", "two limits", "box"])
def test_hostile_values_never_make_a_call_fail(case, domain, m, tmp_path):
    agent, rng, decisions = sb.Agent(sb.Autopilot(domain, constraints=m)), np.random.default_rng(0), []
    for t in range(24):
        decisions.append(agent.ask())
        reward, cost = HOSTILE[case](t, rng.standard_normal(2))
        agent.tell(decisions[-1], reward, [cost] * m)
    assert_finite(decisions)
    points = None if domain is ARMS else ARMS
    assert np.isfinite(agent.posterior.mean(points)).all()
    agent.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(sb.Agent.load(tmp_path / "run.npz").ask().x, agent.ask().x)


@pytest.mark.parametrize("value", [1e155, -1e200, 1.7e308])
@pytest.mark.parametrize("rounds", [0, 2, 10])
def test_numbers_whose_squares_overflow_are_refused_and_change_nothing(value, rounds):
    agent, _ = play(sb.Autopilot(ARMS), rounds)
    before, decision = agent.ask(), agent.ask()
    for feedback in ((value, 0.0), (0.0, value)):
        with pytest.raises(sb.FeedbackError, match="reward, cost: expected numbers of at most 1e\\+50"):
            agent.tell(decision, *feedback)
    assert agent.round == rounds
    assert agent.ask().arm == before.arm
    agent.tell(decision, 1.0, -1.0)
    assert_finite([agent.ask()])


# -- Limits. --


@pytest.mark.filterwarnings("ignore::softbandit.agent.PolicyWarning")  # it says so in the end
def test_every_region_that_might_meet_a_limit_is_tried_before_it_counts_as_out_of_reach():
    # The least cost is 1, the same for both codecs; the first rounds show one of them only where it is costly.
    space = sb.Space({"batch": sb.Integer(1, 64), "timeout": sb.LogFloat(1, 100), "codec": sb.Categorical(["a", "b"])})
    agent, rng, tried = sb.Agent(sb.Autopilot(space, horizon=200)), np.random.default_rng(0), set()
    for _ in range(40):
        decision = agent.ask()
        batch, timeout, codec = decision.values.values()
        tried |= {codec} if batch <= 4 and timeout <= 4 else set()
        agent.tell(decision, 400 * batch**0.7, 1 + 0.4 * batch + 0.1 * timeout + 0.5 * rng.standard_normal())
    assert tried == {"a", "b"}


def test_points_that_are_nearly_the_same_count_once_when_units_are_chosen():
    copies = 0.5 + 0.01 * np.random.default_rng(0).random((20, 2))
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    data = Repeats.of(np.concatenate([corners, copies]), np.zeros(24))
    chosen = data.points[data.far_apart(output_models.APART)]
    assert {tuple(x) for x in corners} < {tuple(x) for x in chosen}
    assert len(chosen) == 5


@pytest.mark.filterwarnings("ignore::softbandit.agent.PolicyWarning")  # it says so
def test_if_no_mixture_meets_the_limit_the_violation_is_minimised():
    """Costs of 0.6 + a, without noise to speak of: arms with little a violate least."""
    agent, rng, costs = sb.Agent(sb.Autopilot(ARMS)), np.random.default_rng(0), []
    for _ in range(40):
        decision = agent.ask()
        costs.append(0.6 + decision.x[0])
        agent.tell(decision, decision.x[1] + decision.x[0], costs[-1] + 1e-3 * rng.standard_normal())
    assert not agent._state.posterior[0].outlook.prices.feasible
    least = 0.6 + ARMS[:, 0].min()
    # The ten best of 40 arms are within 0.28 of the least, so that 0.1 is not met by chance.
    assert np.mean(costs[20:]) < least + 0.1
    violation = agent._state.posterior[0].outlook.prices.violation[0]
    assert violation == pytest.approx(least, abs=0.1)


@pytest.mark.parametrize("horizon", [150, None])
def test_measured_debts_are_repaid(horizon):
    """An easy problem on which the limit binds, in 20 runs of 150 rounds: the arm with the highest reward costs 0.22.

    A debt in the other direction lowers the price just so: what the limit allows is used.
    """
    means = [play(sb.Autopilot(ARMS, horizon=horizon), 150, seed=seed)[0].record.costs.mean() for seed in range(20)]
    assert np.abs(means).max() < debt_allowed(150)  # 0.027


@pytest.mark.parametrize("horizon", [150, None])
def test_debts_are_repaid_even_if_the_model_takes_costs_for_too_low(monkeypatch, horizon):
    """By 0.1 in every round. If only the model counted, the mean cost would be that far above the limit."""
    bias = 0.1
    estimates, expected = outlook.optimistic, outlook.in_user_units

    def too_low(*arguments):
        f, g = estimates(*arguments)
        return f, g - bias

    def too_low_in_user_units(*arguments):
        reward, *costs = expected(*arguments)
        return [reward, *((mean - bias, deviation) for mean, deviation in costs)]

    monkeypatch.setattr(autopilot_knowledge, "optimistic", too_low)
    monkeypatch.setattr(outlook, "in_user_units", too_low_in_user_units)
    means = [play(sb.Autopilot(ARMS, horizon=horizon), 150, seed=seed)[0].record.costs.mean() for seed in range(5)]
    # A debt d shrinks by d / sqrt(t) per round and grows by the bias; with a horizon it is repaid by then.
    owed = 0.0 if horizon else bias * math.sqrt(150)
    assert max(means) < debt_allowed(150) + owed / 150


def test_the_arm_at_the_limit_is_played_and_not_two_that_average_to_it():
    """The middle arm earns 0.9 more than its neighbours do on average. Its cost is 0, but noise of 0.05 hides that."""
    outcomes = np.array([[1.0, -0.6], [2.9, 0.0], [3.0, 0.6]])
    for seed in range(3):
        agent, rng = sb.Agent(sb.Autopilot([[0.0], [0.5], [1.0]], horizon=100), seed=seed), np.random.default_rng(seed)
        for _ in range(100):
            decision = agent.ask()
            reward, cost = outcomes[decision.arm] + NOISE * rng.standard_normal(2)
            agent.tell(decision, reward, cost)
        # The noise may owe 3 * 0.05 * sqrt(100) = 1.5, which two or three rounds at the first arm repay, and some try.
        assert (agent.record.arms[10:] == 1).mean() > 0.9


def test_a_limit_that_binds_is_used_up():
    """Without a limit the best arm has cost above 0: what the limit allows is played, and earns close to the best."""
    f, g = np.array([outputs(x, 1) for x in ARMS]).T
    assert g[f.argmax()] > 0
    best = sb.randomized_optimum(f, g).value
    rewards = [play(sb.Autopilot(ARMS, horizon=150), 150, seed=seed)[0].record.rewards for seed in range(5)]
    # Random play earns the mean of f, 0.64 less. A quarter of that is what 37 of 150 rounds at random would cost.
    assert np.mean(rewards) > best - 0.25 * (best - f.mean())


# -- Settings. --


@pytest.mark.parametrize(
    "settings",
    [
        {"arms": [1.0, 2.0]},
        {"arms": [[math.nan]]},
        {"constraints": -1},
        {"constraints": 1.5},
        {"horizon": 0},
        {"horizon": 2.5},
        {"contexts": [0, 1]},
        {"arms": BOX, "contexts": [0]},
        {"kernel": "matern"},
        {"kernel": sb.Matern([1.0] * 3)},
        {"arms": BOX, "kernel": sb.Matern([1.0] * 3)},
        {"optimism": -1.0},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(sb.ArgumentError):
        sb.Autopilot(**{"arms": ARMS} | settings)


def test_a_change_of_the_callers_array_does_not_reach_the_policy():
    arms = ARMS.copy()
    policy = sb.Autopilot(arms)
    arms[:] = 0
    np.testing.assert_array_equal(policy.arms, ARMS)


@pytest.mark.parametrize("kernel", [sb.SquaredExponential(1.0), 0.5 * sb.Linear() + 0.5 * sb.Matern([1.0, 1.0])])
def test_a_kernel_of_another_form_can_be_given(kernel, tmp_path):
    agent, decisions = play(sb.Autopilot(ARMS, kernel=kernel), 15)
    assert_finite(decisions)
    agent.save(tmp_path / "run.npz")
    assert sb.Agent.load(tmp_path / "run.npz").ask().arm == agent.ask().arm


def test_experiments_build_it_with_the_contexts_of_the_problem():
    from softbandit.experiments.build import build_policy

    problem = sb.problems.cloud()
    policy = build_policy("autopilot", {}, problem, {"horizon": 50, "width_scale": 0.2})
    assert isinstance(policy, sb.Autopilot)
    assert (policy.horizon, policy.constraints) == (50, problem.constraints)
    assert (policy.contexts is None) == (problem.contexts is None)
