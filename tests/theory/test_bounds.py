import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend.random import POLICY, PROBLEM, draw
from softbandit.theory import Setting, Trial, cancelling_slack, certify, deviation_sum, theorem_1, theorem_2

SETTING = Setting(
    horizon=400,
    bound=np.array([2.0, 3.0]),
    noise=np.array([0.5, 0.25]),
    gain=np.array([6.0, 8.0]),
    regularisation=np.array([1.0, 1.0]),
    confidence=0.1,
    width_scale=1.0,
    slater=0.5,
    slack=0.0,
    rho=16.0,
    V=np.array([3.75]),  # G sqrt(T) / rho
    dual_bound=8.0,  # 2 B / delta
)


def by_hand(slack=0.0, rho=16.0):
    """Regret and total of Theorem 3.3, by hand for the setting above."""
    log_term = math.log(2 / 0.1)
    beta_f = 2.0 + 0.5 * math.sqrt(2 * (6.0 + 1 + log_term))
    beta_g = 3.0 + 0.25 * math.sqrt(2 * (8.0 + 1 + log_term))
    # The gain is small for so many rounds: the largest sum of deviations has the same one in each.
    S_f, S_g = (400 * math.sqrt(math.exp(2 * gamma / 400) - 1) for gamma in (6.0, 8.0))
    step = 400 * (3.0 + slack) ** 2 / (2 * 3.75)
    regret = 2 * beta_f * S_f + step + 2 * 2.0 * 400 * slack / 0.5
    total = 2 * beta_f * S_f + rho * 2 * beta_g * S_g + 3.75 * rho**2 / 2 + step
    return regret, total


def test_theorem_1_equals_its_formula_by_hand():
    bound = theorem_1(SETTING)
    regret, total = by_hand()
    assert bound.regret == pytest.approx(regret, rel=1e-12)
    assert bound.violation == pytest.approx(total / (16.0 - 8.0), rel=1e-12)
    assert bound.probability == pytest.approx(0.9)
    # With V = G sqrt(T) / rho and rho = 2 phi*, the paper's form: 2 chi / rho + 2 G sqrt(T).
    chi = total - 16.0 * 3.0 * 20.0
    assert bound.violation == pytest.approx(2 * chi / 16.0 + 2 * 3.0 * 20.0, rel=1e-12)


def test_slack_trades_regret_for_violation():
    for slack in (0.05, 0.2):
        tightened = replace(SETTING, slack=slack, dual_bound=2 * 2.0 / (0.5 - slack))
        bound = theorem_1(tightened)
        regret, total = by_hand(slack)
        assert bound.regret == pytest.approx(regret, rel=1e-12)
        assert bound.violation == pytest.approx(max(0.0, total / (16.0 - 4.0 / (0.5 - slack)) - 400 * slack), rel=1e-12)


def test_measured_costs_add_their_noise_to_the_bound_of_theorem_1():
    """By hand: chi(rho) in both bounds, a noncentral chi-squared sum in place of T G^2, and a martingale."""
    measured = replace(SETTING, measured=True)
    _, total = by_hand()
    chi = total - 3.75 * 16.0**2 / 2 - 400 * 3.0**2 / (2 * 3.75)
    x, R = math.log(2 / 0.1), 0.25
    squares = 400 * 3.0**2 + 400 * R**2 + 2 * R * math.sqrt((400 * R**2 + 2 * 400 * 3.0**2) * x) + 2 * R**2 * x
    noise = 16.0 * R * math.sqrt(2 * 400 * math.log(4 / 0.1))
    regret = chi + squares / (2 * 3.75) + noise
    bound = theorem_1(measured)
    assert bound.regret == pytest.approx(regret, rel=1e-12)
    assert bound.violation == pytest.approx((regret + 3.75 * 16.0**2 / 2) / (16.0 - 8.0), rel=1e-12)
    assert (bound.theorem, bound.probability) == ("Theorem 3.3 with measured costs", pytest.approx(0.8))
    random = theorem_2(measured, condition([sb.RandUCB(), sb.RandUCB()]))
    assert random.probability == pytest.approx(0.7)


def test_the_sums_that_measured_costs_add_stay_below_their_bounds():
    """Each holds with probability 1 - alpha / 2 = 0.95; over 4,000 runs five standard errors are 0.017."""
    rng, T, R, a = np.random.default_rng(0), 400, 0.25, 3.0
    noise = R * rng.standard_normal((4000, T))
    squares = ((a + noise) ** 2).sum(axis=1)
    phi = np.where(np.cumsum(noise, axis=1) > 0, 16.0, 0.0)  # a price in [0, rho] that follows the noise, a round late
    lagged = np.concatenate([np.zeros((4000, 1)), phi[:, :-1]], axis=1)
    worst = np.maximum((lagged * noise).sum(axis=1), ((lagged - 16.0) * noise).sum(axis=1))
    setting = replace(SETTING, measured=True)
    assert (squares > setting.squared_costs()[0]).mean() <= 0.05 + 0.017
    assert (worst > setting.noise_sum()).mean() <= 0.05 + 0.017
    assert (squares > setting.squared_costs()[0] - 100).any()  # and not by far: a standard deviation of the sum is 30


@pytest.mark.parametrize("lam", [0.003, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("cap", [0.05, 0.4, 1.0])
def test_the_sum_of_deviations_is_the_largest_that_the_gain_allows(lam, cap):
    """Dynamic programming over T rounds, each with whole units of the gain: never above, and nearly reached."""
    T, units = 12, 600
    most = T * math.log1p(1 / lam) * 1.1 / 2  # beyond what T rounds can gain
    h = np.minimum(min(cap, 1.0), np.sqrt(lam * np.expm1(2 * most * np.arange(units + 1) / units)))
    best = np.zeros(units + 1)
    for _ in range(T):
        best = np.array([max(best[u - w] + h[w] for w in range(u + 1)) for u in range(units + 1)])
    for u in range(units // 20, units + 1, units // 20):
        bound = deviation_sum(T, most * u / units, lam, cap)
        assert best[u] <= bound * (1 + 1e-12)
        # One round fewer than T may end between the envelope's two ends, and a unit of gain is lost to rounding.
        assert bound <= best[u] * 1.1 + min(cap, 1.0)


def test_a_dual_cap_below_the_optimal_dual_gives_no_violation_bound():
    assert theorem_1(replace(SETTING, rho=8.0)).violation == math.inf


def condition(explorations):
    phi = sb.theory.features(sb.SquaredExponential(0.2), np.linspace(0, 1, 20)[:, None])
    trials = [Trial(phi, 1.0, 2.0, 0.5, math.log(20), 1.0, sign) for sign in (1.0, -1.0)]
    return certify(explorations, trials, one_arm=True)


def test_theorem_2_equals_its_formula_by_hand():
    """Gaussian RandUCB: p_3 = Q(1)^2, p_2t = p_3 / 2 t^2, 1 / p_4 = 1 + 4 / p_3."""
    T, rho = 400, 16.0
    p_3 = (0.5 * math.erfc(1 / math.sqrt(2))) ** 2
    inverse_p_4 = 1 + 4 / p_3
    reach = math.sqrt(2 * math.log(2 * 2 * T**2 / p_3))  # each of two outputs may fail with p_2T / 2
    log_term = math.log(2 / 0.1)
    c_f = (2.0 + 0.5 * math.sqrt(2 * (6.0 + 1 + log_term))) * (1 + reach)
    c_g = (3.0 + 0.25 * math.sqrt(2 * (8.0 + 1 + log_term))) * (1 + reach)
    S_f, S_g = (T * math.sqrt(math.exp(2 * gamma / T) - 1) for gamma in (6.0, 8.0))
    D = 4 * 2.0 + 4 * rho * 3.0
    M = D * (1 + p_3 / 2) + (c_f + rho * c_g) * inverse_p_4
    chi = (c_f * S_f + rho * c_g * S_g) * inverse_p_4 + D * p_3 * math.pi**2 / 12
    chi += M * math.sqrt(2 * T * math.log(2 / 0.1))
    step = T * 3.0**2 / (2 * 3.75)
    bound = theorem_2(SETTING, condition([sb.RandUCB(), sb.RandUCB()]))
    assert bound.regret == pytest.approx(chi + step, rel=1e-12)
    assert bound.violation == pytest.approx((chi + step + 3.75 * rho**2 / 2) / (16.0 - 8.0), rel=1e-12)
    assert bound.probability == pytest.approx(0.8)


@pytest.mark.parametrize("bad", [{"confidence": 1.5}, {"slack": 0.4}, {"width_scale": 0.1}, {"width": "loose"}])
def test_a_setting_without_a_bound_is_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        replace(SETTING, **bad)


def test_theorem_2_refuses_a_condition_that_fails():
    with pytest.raises(sb.ArgumentError, match="one that is satisfied, got 'not satisfied'"):
        theorem_2(SETTING, condition([sb.Greedy(), sb.UCB()]))


def test_the_bounds_grow_more_slowly_than_the_horizon():
    problem = examples_of.problem(seed=1)
    bounds = [examples_of.policy(problem, horizon=T).guarantees(problem).bound for T in (10**3, 10**4, 10**5)]
    for shorter, longer in itertools.pairwise(bounds):
        assert longer.regret < 10 * shorter.regret / 2
        assert longer.violation < 10 * shorter.violation / 2


def follow(policy, problem, seed, runs):
    """Return whether |h - mu| <= beta sigma at all arms in all rounds of each run, the arms, and the sum of sigma."""
    T = policy.horizon
    truth = np.column_stack([problem.reward, problem.costs]).T
    state = policy.init(runs)
    draws = draw(policy.draws(), seed, range(runs), 0, T, POLICY)
    noise_draws = draw(problem.draws(), seed, range(runs), 0, T, PROBLEM)
    inside, arms, sums = np.ones(runs, dtype=bool), [], np.zeros(runs)
    for policy_draws, problem_draws in zip(draws.rounds(), noise_draws.rounds(), strict=True):
        mean, half = policy.model.confidence(state.posterior, state.round + 1)
        inside &= (np.abs(truth - mean) <= half + 1e-12).all(axis=(1, 2))
        choice = policy.decide(state, policy_draws)
        arms.append(choice.arm)
        sums += policy.model.std(state.posterior)[np.arange(runs), 0, choice.arm]
        state = policy.update(state, choice, *problem.observe(choice.arm, problem_draws))
    return inside, np.stack(arms, axis=1), sums


PROBLEMS, RUNS, HORIZON = 25, 4, 120


def outcomes(seed, **settings):
    """Return a row per run on one problem: the bounds hold for each problem, so runs on it count as others do."""
    problem = sb.problems.rkhs(arms=25, seed=seed, noise=0.5, constraints=1 + seed % 2)
    policy = sb.CKB(**problem.settings(), horizon=HORIZON, **settings)
    inside, arms, sums = follow(policy, problem, seed, RUNS)
    ledger = policy.guarantees(problem)
    bound, gain = ledger.bound, ledger.constants["gamma_T"][0]
    best = sb.randomized_optimum(problem.reward, problem.cost).value
    regret = HORIZON * best - problem.reward[arms].sum(axis=1)
    violation = problem.costs[arms].sum(axis=1).max(axis=1).clip(min=0.0)
    assert (sums <= deviation_sum(HORIZON, gain, float(policy.model.groups[0].regularisation))).all()
    shares = [regret / bound.regret, violation / bound.violation]
    return np.column_stack([inside, regret <= bound.regret, violation <= bound.violation, *shares])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("explore", "width", "feedback", "failure"),
    [
        ("ucb", "theory", "estimate", 0.1),
        ("rand", "theory", "estimate", 0.2),
        ("ucb", "tight", "estimate", 0.1),
        ("ucb", "tight", "measured", 0.2),
        ("rand", "tight", "measured", 0.3),
    ],
)
def test_the_theorems_hold_on_problems_that_satisfy_their_assumptions(explore, width, feedback, failure):
    """Confidence intervals fail in at most a share alpha = 0.1 of 100 runs, and the bounds in at most theirs."""
    settings = {"explore": explore, "width": width, "dual_feedback": feedback}
    rows = np.concatenate([outcomes(seed, **settings) for seed in range(PROBLEMS)])
    inside, regret, violation, regret_share, violation_share = rows.T
    assert inside.mean() >= 0.9
    assert (regret * violation).mean() >= 1 - failure
    # The bounds are not vacuous for UCB: some run uses a noticeable part of them.
    if (explore, feedback) == ("ucb", "estimate"):
        assert regret_share.max() > 0.01
        assert violation_share.max() > 0.001


def test_a_slack_cancels_a_violation_bound_until_it_is_capped():
    small = cancelling_slack(violation=50.0, horizon=1000, slater=0.2, reward_bound=3.0)
    assert (small.epsilon, small.cancels) == (0.05, True)
    assert small.regret == pytest.approx(2 * 3.0 * 1000 * 0.05 / 0.2)
    large = cancelling_slack(violation=500.0, horizon=1000, slater=0.2, reward_bound=3.0)
    assert (large.epsilon, large.cancels) == (0.1, False)


@pytest.mark.parametrize("seed", range(10))
def test_a_slack_costs_no_more_reward_than_claim_1_allows(seed):
    """Claim 1: E_pi*[f] - E_pi*_eps[f] <= 2 B eps / delta."""
    problem = sb.problems.rkhs(seed=seed, arms=40)
    best = sb.randomized_optimum(problem.reward, problem.cost).value
    for share in (0.1, 0.5):
        epsilon = share * problem.slater
        tightened = sb.randomized_optimum(problem.reward, problem.cost + epsilon).value
        assert best - tightened + 1e-12 >= 0
        assert best - tightened <= 2 * problem.reward_bound * epsilon / problem.slater


def test_inexact_searches_add_their_errors_once_to_theorem_1_and_twice_to_theorem_2():
    searched = replace(SETTING, search=0.3)
    # 2 C sqrt(T), which is more than the sum of the errors
    errors = 2 * 0.3 * math.sqrt(400)
    assert 0.95 * errors <= sum(0.3 / math.sqrt(t) for t in range(1, 401)) <= errors
    rand = condition([sb.RandUCB(), sb.RandUCB()])
    for theorem, factor in ((theorem_1, 1), (lambda setting: theorem_2(setting, rand), 2)):
        exact, inexact = theorem(SETTING), theorem(searched)
        assert inexact.regret - exact.regret == pytest.approx(factor * errors)
        assert inexact.violation - exact.violation == pytest.approx(factor * errors / (16.0 - 8.0))
