import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.backend.random import POLICY, PROBLEM, draw
from softbandit.model.widths import TheoryWidth
from softbandit.theory import Setting, Trial, cancelling_slack, certify, theorem_1, theorem_2

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
    S_f, S_g = (math.sqrt(2 * 400 * gamma / math.log(2)) for gamma in (6.0, 8.0))
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
    S_f, S_g = (math.sqrt(2 * T * gamma / math.log(2)) for gamma in (6.0, 8.0))
    D = 4 * 2.0 + 4 * rho * 3.0
    M = D * (1 + p_3 / 2) + (c_f + rho * c_g) * inverse_p_4
    chi = (c_f * S_f + rho * c_g * S_g) * inverse_p_4 + D * p_3 * math.pi**2 / 12
    chi += M * math.sqrt(2 * T * math.log(2 / 0.1))
    step = T * 3.0**2 / (2 * 3.75)
    bound = theorem_2(SETTING, condition([sb.RandUCB(), sb.RandUCB()]))
    assert bound.regret == pytest.approx(chi + step, rel=1e-12)
    assert bound.violation == pytest.approx((chi + step + 3.75 * rho**2 / 2) / (16.0 - 8.0), rel=1e-12)
    assert bound.probability == pytest.approx(0.8)


@pytest.mark.parametrize("bad", [{"confidence": 1.5}, {"slack": 0.4}, {"width_scale": 0.1}])
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


def follow(policy, problem, seed):
    """Return whether |h - mu| <= beta sigma at all arms in all rounds of a run, its arms, and the sum of sigma."""
    T, m = policy.horizon, policy.constraints
    truth = np.column_stack([problem.reward, problem.costs]).T
    noise = np.broadcast_to(problem.noise, 1 + m)
    beta = TheoryWidth(policy.bounds[:, 0], noise, math.log((1 + m) / policy.confidence))
    state = policy.init(1)
    draws = draw(policy.draws(), seed, [0], 0, T, POLICY)
    noise_draws = draw(problem.draws(), seed, [0], 0, T, PROBLEM)
    inside, arms, sums = True, [], 0.0
    for policy_draws, problem_draws in zip(draws.rounds(), noise_draws.rounds(), strict=True):
        posterior = state.posterior[0]
        sigma = np.sqrt(posterior.var[0])
        error = np.abs(truth - posterior.mu[0])
        inside &= bool((error <= beta(1, posterior.gain).T * sigma + 1e-12).all())
        choice = policy.decide(state, policy_draws)
        arms.append(int(choice.arm[0]))
        sums += float(sigma[arms[-1]])
        state = policy.update(state, choice, *problem.observe(choice.arm, problem_draws))
    return inside, np.array(arms), sums


PROBLEMS, HORIZON = 200, 120


def outcome(seed, explore):
    problem = sb.problems.rkhs(arms=25, seed=seed, noise=0.5, constraints=1 + seed % 2)
    policy = sb.CKB(**problem.settings(), horizon=HORIZON, explore=explore)
    inside, arms, sums = follow(policy, problem, seed)
    ledger = policy.guarantees(problem)
    bound, gain = ledger.bound, ledger.constants["gamma_T"][0]
    best = sb.randomized_optimum(problem.reward, problem.cost).value
    regret = HORIZON * best - problem.reward[arms].sum()
    violation = max(0.0, problem.costs[arms].sum(axis=0).max())
    assert sums <= math.sqrt(2 * HORIZON * gain / math.log1p(1 / (1 + 2 / HORIZON)))
    return (
        inside,
        regret <= bound.regret,
        violation <= bound.violation,
        regret / bound.regret,
        violation / bound.violation,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("explore", "failure"), [("ucb", 0.1), ("rand", 0.2)])
def test_the_theorems_hold_on_problems_that_satisfy_their_assumptions(explore, failure):
    """Confidence intervals fail in at most a share alpha = 0.1 of the problems, and the bounds in at most theirs."""
    rows = np.array([outcome(seed, explore) for seed in range(PROBLEMS)])
    inside, regret, violation, regret_share, violation_share = rows.T
    assert inside.mean() >= 0.9
    assert (regret * violation).mean() >= 1 - failure
    # The bounds are not vacuous for UCB: some run uses a noticeable part of them.
    if explore == "ucb":
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
