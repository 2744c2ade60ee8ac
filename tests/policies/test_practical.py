"""CKB with everything learned from data: the contract of a policy, units, and what is learned."""

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp.exact import Exact

PROBLEM = sb.problems.rkhs_on(sb.Box([0, 0], [1, 1]), seed=2)
POLICY = sb.Practical(PROBLEM.arms, sb.SquaredExponential([1.0, 1.0]), horizon=40)


def test_a_trial_is_the_same_alone_in_a_batch_and_live():
    many = sb.simulate(POLICY, PROBLEM, trials=3, seed=4, rounds=20)
    alone = sb.simulate(POLICY, PROBLEM, trials=[2], seed=4, rounds=20)
    np.testing.assert_array_equal(many.arms[2:], alone.arms)
    np.testing.assert_array_equal(many.dual[2:], alone.dual)
    agent = sb.Agent(POLICY, seed=4)
    for t in range(20):
        decision = agent.ask()
        np.testing.assert_array_equal(decision.x, many.arms[0, t])
        agent.tell(decision, many.rewards[0, t], many.costs[0, t])


@pytest.mark.parametrize("rounds", [0, 3, 8, 13])
def test_saved_and_loaded_it_goes_on_to_the_bit(rounds, tmp_path):
    trace = sb.simulate(POLICY, PROBLEM, seed=4, rounds=18)
    agent = sb.Agent(POLICY, seed=4)
    for t in range(18):
        if t == rounds:
            agent.save(tmp_path / "run.npz")
            agent = sb.Agent.load(tmp_path / "run.npz")
        decision = agent.ask()
        np.testing.assert_array_equal(decision.x, trace.arms[0, t])
        agent.tell(decision, trace.rewards[0, t], trace.costs[0, t])


def played(reward_unit=1.0, shift=0.0, cost_unit=1.0, rounds=20, **settings):
    agent = sb.Agent(sb.Practical(PROBLEM.arms, sb.Matern([1.0, 1.0]), horizon=40, **settings), seed=1)
    rng = np.random.default_rng(0)
    decisions = []
    for _ in range(rounds):
        decisions.append(agent.ask())
        f, g = PROBLEM.function(decisions[-1].x[None])[0] + 0.1 * rng.standard_normal(2)
        agent.tell(decisions[-1], reward_unit * f + shift, cost_unit * g)
    return agent, decisions


def test_the_users_units_do_not_matter():
    _, plain = played()
    _, other = played(reward_unit=1000.0, shift=500.0, cost_unit=0.01)
    for one, two in zip(plain, other, strict=True):
        # Optimisers of likelihood and acquisition stop at slightly different places.
        np.testing.assert_allclose(two.x, one.x, atol=2e-3)
        np.testing.assert_allclose(two.reward_estimate, 1000 * one.reward_estimate + 500 * (one.round >= 8), rtol=2e-2)
        np.testing.assert_allclose(two.dual, one.dual * 1e5, rtol=0.05, atol=100)


def test_beliefs_are_in_the_users_units():
    agent, _ = played(reward_unit=1000.0, shift=500.0, rounds=30)
    own = agent._state.posterior[0]
    near = agent.posterior.mean(own.X)[0]
    # 30 noisy data of noise 100 among values that range over thousands.
    assert np.abs(near - own.Y[:, 0]).max() < 400
    assert (agent.posterior.std(own.X)[0] < 400).all()


def test_what_is_learned():
    agent, _ = played(rounds=16)
    own = agent._state.posterior[0]
    assert own.fitted == 16
    found = sb.fit(sb.Matern([1.0, 1.0]), own.X, own.Y[:, 0])
    np.testing.assert_allclose(own.units[0], [found.scale, found.offset, found.regularisation], rtol=1e-9)
    assert own.ckb.kernel.lengthscale == found.kernel.lengthscale
    # B: the norm of the mean, |mu|^2 = alpha^T K alpha.
    y = (own.Y[:, 0] - found.offset) / found.scale
    K = found.kernel(own.X, own.X)
    alpha = np.linalg.solve(K + found.regularisation * np.eye(16), y)
    norm = max(1.0, np.sqrt(alpha @ K @ alpha), np.abs(y).max())
    assert own.ckb.reward_bound == pytest.approx(norm, rel=1e-8)
    assert own.units[1, 1] == 0.0  # a cost keeps its zero


def test_when_it_learns():
    assert [t for t in range(1, 70) if POLICY.due(t)] == [8, 16, 32, 64]
    every = sb.Practical(PROBLEM.arms, sb.Matern(1.0), horizon=40, relearn=5, initial=4)
    assert [t for t in range(1, 20) if every.due(t)] == [4, 9, 14, 19]


def test_all_at_once_is_one_after_another():
    rng = np.random.default_rng(0)
    X, Y = rng.random((150, 2)), rng.standard_normal((150, 2))
    whole, step = Exact.of(sb.Matern(0.3), 0.01, X, Y), Exact(sb.Matern(0.3), 0.01, 2, 2)
    for x, y in zip(X, Y, strict=True):
        step = step.condition(x, y)
    np.testing.assert_allclose(whole.coefficients, step.coefficients, rtol=1e-9, atol=1e-9)
    assert whole.gain == pytest.approx(step.gain, rel=1e-12)
    whole, step = (each.condition(np.array([0.5, 0.5]), np.ones(2)) for each in (whole, step))
    np.testing.assert_allclose(whole.coefficients, step.coefficients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e12, -1e-12])
def test_constant_outputs_are_borne(value):
    policy = sb.Practical(sb.Box(0, 1), sb.Matern(1.0), horizon=20, constraints=2, initial=3, relearn=3)
    agent = sb.Agent(policy)
    for _ in range(8):
        decision = agent.ask()
        agent.tell(decision, value, [value, -value])
    assert np.isfinite(decision.reward_estimate)


def test_the_ledger_says_that_it_is_outside_the_theorem():
    ledger = POLICY.guarantees()
    assert not ledger.covered
    assert "the theorem takes them as known" in ledger.why_not
    assert {row.status for row in ledger.rows} == {"violated"}


def test_it_beats_the_theorys_widths_without_being_told_anything():
    learned = sb.Practical(PROBLEM.arms, sb.SquaredExponential([1.0, 1.0]), horizon=100)
    told = sb.CKB(**PROBLEM.settings(), horizon=100)
    regret = [sb.score(sb.simulate(p, PROBLEM, trials=3), PROBLEM).strong_regret[:, -1] for p in (learned, told)]
    # The theory's widths explore all the time at this horizon: a difference of far more than the spread.
    assert regret[0].max() < regret[1].min()


@pytest.mark.parametrize(
    "settings",
    [
        {"space": [[0.0]]},
        {"space": sb.Space({"n": sb.Integer(1, 5)})},
        {"relearn": "often"},
        {"relearn": 0},
        {"initial": 1},
        {"slater": -1.0},
        {"kernel": sb.Matern([1.0, 1.0, 1.0])},
        {"constraints": -1},
        {"explore": "best"},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(sb.ArgumentError):
        sb.Practical(**{"space": sb.Box([0, 0], [1, 1]), "kernel": sb.Matern(1.0), "horizon": 10} | settings)
