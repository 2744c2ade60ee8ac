import numpy as np
import pytest

import softbandit as sb
from softbandit.theory import features, norm_on_arms

PROBLEMS = 20
ROUNDS = 120
INFLATED = 1.5  # the documented factor on the norms of the means


def history_of(problem, rounds=ROUNDS, seed=0):
    """Observe arms drawn at random."""
    rng = np.random.default_rng([seed, 7])
    arms = rng.integers(len(problem.arms), size=rounds)
    noise = problem.noise * rng.standard_normal((rounds, 1 + problem.constraints))
    return problem.arms[arms], problem.reward[arms] + noise[:, 0], problem.costs[arms] + noise[:, 1:]


@pytest.fixture(scope="module")
def suggested():
    """Return problems in one and two dimensions, with the settings that a history of each suggests."""
    planes = [sb.problems.rkhs(seed=s, dimension=2, kernel=sb.Matern(0.3)) for s in range(PROBLEMS // 2)]
    lines = [sb.problems.rkhs(seed=s) for s in range(PROBLEMS // 2)]
    return [(p, sb.suggest_settings(history_of(p, seed=i))) for i, p in enumerate(planes + lines)]


@pytest.mark.slow
def test_the_noise_is_within_30_percent(suggested):
    """Its estimate has about 60 degrees of freedom or more: a deviation of 1 / sqrt(120) = 9%, of which 30% are 3.3."""
    ratios = [s[name] / p.noise for p, s in suggested for name in ("noise", "cost_noise")]
    assert np.all(np.abs(np.array(ratios) - 1) < 0.3)


@pytest.mark.slow
def test_95_percent_of_the_norm_bounds_hold_for_the_true_functions(suggested):
    """The true norm is that of the function on all arms, with the suggested kernel."""
    ratios = np.array([ratio for problem, settings in suggested for ratio in bounds_over_norms(problem, settings)])
    assert np.mean(ratios >= 1) >= 0.95
    assert ratios.max() <= 3


def bounds_over_norms(problem, settings):
    """Return bound / true norm of the reward and of the cost."""
    reward = norm_on_arms(features(settings["kernel"], problem.arms), problem.reward)[0]
    cost = norm_on_arms(features(settings["cost_kernel"][0], problem.arms), problem.costs[:, 0])[0]
    return settings["reward_bound"] / reward, settings["cost_bound"] / cost


@pytest.mark.slow
def test_the_suggested_margin_exists(suggested):
    for problem, settings in suggested:
        assert 0 < settings["slater"] <= min(1.0, -problem.costs.min())


def test_a_bound_is_the_norm_of_the_posterior_mean_times_the_documented_factor():
    """alpha = (K + lambda I)^-1 y with lambda = (noise / scale)^2, by hand; scale is the maximiser given lambda."""
    X, reward, _ = history_of(sb.problems.rkhs(seed=3))
    settings = sb.suggest_settings((X, reward, []))
    K = settings["kernel"](X, X)
    result = sb.fit(sb.Matern([1.0]), X, reward, centred=False, restarts=1)
    alpha = np.linalg.solve(K + (settings["noise"] / result.scale) ** 2 * np.eye(len(X)), reward)
    assert settings["reward_bound"] == pytest.approx(INFLATED * np.sqrt(alpha @ K @ alpha), rel=1e-6)


def test_a_kernel_above_one_is_normalised():
    X, reward, _ = history_of(sb.problems.rkhs(seed=3), rounds=40)
    settings = sb.suggest_settings((10 * X, reward, []), kernel=sb.Linear() * sb.Linear())
    assert settings["kernel"].diag(10 * X).max() == pytest.approx(1.0)


def test_settings_are_in_the_units_of_the_history():
    X, reward, cost = history_of(sb.problems.rkhs(seed=3), rounds=60)
    plain, scaled = (sb.suggest_settings((X, factor * reward, 0.1 * cost)) for factor in (1.0, 1000.0))
    assert scaled["noise"] == pytest.approx(1000 * plain["noise"], rel=1e-3)
    assert scaled["reward_bound"] == pytest.approx(1000 * plain["reward_bound"], rel=1e-3)
    assert scaled["cost_bound"] == pytest.approx(plain["cost_bound"])


def test_an_agents_record_is_a_history():
    problem = sb.problems.rkhs(seed=3)
    agent = sb.Agent(sb.CKB(**problem.settings(), horizon=30))
    for _ in range(30):
        decision = agent.ask()
        agent.tell(decision, problem.reward[decision.arm], problem.cost[decision.arm])
    record = agent.record
    from_record = sb.suggest_settings(record)
    from_arrays = sb.suggest_settings((problem.arms[record.arms], record.rewards, record.costs[:, 0]))
    assert from_record.keys() == from_arrays.keys()
    assert from_record["reward_bound"] == from_arrays["reward_bound"]


def test_a_long_history_keeps_points_that_were_played_once():
    """300 rounds at one point would hide the eleven others, if rounds were dropped evenly."""
    x = np.append(np.full(300, 0.5), np.linspace(0, 1, 11))
    settings = sb.suggest_settings((x[:, None], np.sin(3 * x), x - 0.7))
    assert settings["slater"] == pytest.approx(0.35, abs=0.01)  # half of the 0.7 at x = 0


@pytest.mark.slow
@pytest.mark.parametrize("constraints", [0, 1, 2])
def test_ckb_with_suggested_settings_keeps_the_measured_limits(constraints):
    """The price starts at 0 and moves by cost / V: below its cap rho, the total is at most V rho = G sqrt(T)."""
    problem = sb.problems.rkhs(seed=5, constraints=max(constraints, 1))
    X, reward, cost = history_of(problem)
    settings = sb.suggest_settings((X, reward, cost[:, :constraints]))
    policy = sb.CKB(problem.arms, **settings, horizon=400, explore="rand")
    assert policy.constraints == constraints
    if constraints:
        totals = sb.simulate(policy, problem, trials=4, engine="numpy").costs.sum(axis=1)
        assert np.all(totals <= np.ravel(settings["cost_bound"]) * np.sqrt(400))


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ((np.zeros((3, 1)), np.zeros(3), np.zeros(3)), "at least 10 rounds"),
        ((np.zeros((12, 1)), np.zeros(11), np.zeros(12)), "one reward"),
        ((np.zeros((12, 1)), np.zeros(12)), "(X, rewards, costs)"),
        ((np.zeros((12, 1)), np.full(12, np.nan), np.zeros(12)), "finite"),
    ],
)
def test_a_history_that_does_not_fit_is_refused(history, message):
    with pytest.raises(sb.ArgumentError) as caught:
        sb.suggest_settings(history)
    assert message in str(caught.value)


def test_a_history_in_which_no_mixture_meets_the_limits_is_refused():
    x = np.linspace(0, 1, 20)
    with pytest.raises(sb.InfeasibleError, match="excess"):
        sb.suggest_settings((x[:, None], np.sin(x), 1 + x))


def test_an_output_that_is_always_zero_is_refused():
    """Its norm bound would be zero, which CKB refuses."""
    x = np.random.default_rng(0).random((40, 1))
    for outputs in ((np.zeros(40), x - 0.5), (x[:, 0], np.zeros(40))):
        with pytest.raises(sb.ArgumentError, match="got one that is zero in all rounds"):
            sb.suggest_settings((x, *outputs))
