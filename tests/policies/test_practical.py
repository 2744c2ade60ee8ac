"""CKB with every setting learned from data: the contract of a policy, units, and what is learned."""

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp.exact import Exact

PROBLEM = sb.problems.rkhs_on(sb.Box([0, 0], [1, 1]), seed=2)
POLICY = sb.Practical(PROBLEM.arms, sb.SquaredExponential([1.0, 1.0]), horizon=40)


def test_practical_warns_that_it_is_deprecated_and_names_what_to_use():
    with pytest.warns(DeprecationWarning, match=r"Practical is deprecated; use sb.Autopilot\(space") as caught:
        sb.Practical(PROBLEM.arms, sb.Matern(1.0), horizon=40)
    assert caught[0].filename == __file__


def test_a_trial_of_practical_is_the_same_alone_in_a_batch_and_live():
    batch = sb.simulate(POLICY, PROBLEM, trials=3, seed=4, rounds=20)
    alone = sb.simulate(POLICY, PROBLEM, trials=[2], seed=4, rounds=20)
    np.testing.assert_array_equal(batch.arms[2:], alone.arms)
    np.testing.assert_array_equal(batch.dual[2:], alone.dual)
    agent = sb.Agent(POLICY, seed=4)
    for t in range(20):
        decision = agent.ask()
        np.testing.assert_array_equal(decision.x, batch.arms[0, t])
        agent.tell(decision, batch.rewards[0, t], batch.costs[0, t])


@pytest.mark.parametrize("rounds", [0, 3, 8, 13])
def test_practical_continues_to_the_bit_after_saving_and_loading(rounds, tmp_path):
    trace = sb.simulate(POLICY, PROBLEM, seed=4, rounds=18)
    agent = sb.Agent(POLICY, seed=4)
    for t in range(18):
        if t == rounds:
            agent.save(tmp_path / "run.npz")
            agent = sb.Agent.load(tmp_path / "run.npz")
        decision = agent.ask()
        np.testing.assert_array_equal(decision.x, trace.arms[0, t])
        agent.tell(decision, trace.rewards[0, t], trace.costs[0, t])


def play(reward_unit=1.0, shift=0.0, cost_unit=1.0, rounds=20, **settings):
    agent = sb.Agent(sb.Practical(PROBLEM.arms, sb.Matern([1.0, 1.0]), horizon=40, **settings), seed=1)
    rng = np.random.default_rng(0)
    decisions = []
    for _ in range(rounds):
        decisions.append(agent.ask())
        f, g = PROBLEM.function(decisions[-1].x[None])[0] + 0.1 * rng.standard_normal(2)
        agent.tell(decisions[-1], reward_unit * f + shift, cost_unit * g)
    return agent, decisions


def test_practical_makes_the_same_decisions_in_other_units():
    _, plain = play()
    _, other = play(reward_unit=1000.0, shift=500.0, cost_unit=0.01)
    for before, after in zip(plain, other, strict=True):
        # Optimisers of likelihood and acquisition stop at slightly different places.
        np.testing.assert_allclose(after.x, before.x, atol=2e-3)
        expected = 1000 * before.reward_estimate + 500 * (before.round >= 8)
        np.testing.assert_allclose(after.reward_estimate, expected, rtol=2e-2)
        np.testing.assert_allclose(after.dual, before.dual * 1e5, rtol=0.05, atol=100)


def test_the_posterior_of_practical_is_in_the_users_units():
    agent, _ = play(reward_unit=1000.0, shift=500.0, rounds=30)
    data = agent._state.posterior[0]
    mean = agent.posterior.mean(data.X)[0]
    # 30 observations with noise 100 of values that range over thousands.
    assert np.abs(mean - data.Y[:, 0]).max() < 400
    assert (agent.posterior.std(data.X)[0] < 400).all()


def test_practical_learns_kernel_units_noise_and_norm_from_the_data():
    agent, _ = play(rounds=16)
    learned = agent._state.posterior[0]
    assert learned.fitted == 16
    fit = sb.fit(sb.Matern([1.0, 1.0]), learned.X, learned.Y[:, 0])
    np.testing.assert_allclose(learned.units[0], [fit.scale, fit.offset, fit.regularisation], rtol=1e-9)
    assert learned.ckb.kernel.lengthscale == fit.kernel.lengthscale
    # B: the norm of the mean, |mu|^2 = alpha^T K alpha.
    y = (learned.Y[:, 0] - fit.offset) / fit.scale
    K = fit.kernel(learned.X, learned.X)
    alpha = np.linalg.solve(K + fit.regularisation * np.eye(16), y)
    norm = max(1.0, np.sqrt(alpha @ K @ alpha), np.abs(y).max())
    assert learned.ckb.reward_bound == pytest.approx(norm, rel=1e-8)
    assert learned.units[1, 1] == 0.0  # a cost keeps its zero


def test_practical_learns_after_8_16_32_rounds_or_at_given_intervals():
    assert [t for t in range(1, 70) if POLICY.due(t)] == [8, 16, 32, 64]
    regular = sb.Practical(PROBLEM.arms, sb.Matern(1.0), horizon=40, relearn=5, initial=4)
    assert [t for t in range(1, 20) if regular.due(t)] == [4, 9, 14, 19]


def test_conditioning_on_all_data_at_once_equals_one_after_another():
    rng = np.random.default_rng(0)
    X, Y = rng.random((150, 2)), rng.standard_normal((150, 2))
    whole, step = Exact.of(sb.Matern(0.3), 0.01, X, Y), Exact(sb.Matern(0.3), 0.01, 2, 2)
    for x, y in zip(X, Y, strict=True):
        step = step.condition(x, y)
    np.testing.assert_allclose(whole.coefficients, step.coefficients, rtol=1e-9, atol=1e-9)
    assert whole.gain == pytest.approx(step.gain, rel=1e-12)
    whole, step = (posterior.condition(np.array([0.5, 0.5]), np.ones(2)) for posterior in (whole, step))
    np.testing.assert_allclose(whole.coefficients, step.coefficients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e12, -1e-12])
def test_constant_outputs_give_finite_estimates(value):
    policy = sb.Practical(sb.Box(0, 1), sb.Matern(1.0), horizon=20, constraints=2, initial=3, relearn=3)
    agent = sb.Agent(policy)
    for _ in range(8):
        decision = agent.ask()
        agent.tell(decision, value, [value, -value])
    assert np.isfinite(decision.reward_estimate)


def test_the_ledger_of_practical_says_that_it_is_outside_the_theorem():
    ledger = POLICY.guarantees()
    assert not ledger.covered
    assert "the theorem takes them as known" in ledger.why_not
    assert {row.status for row in ledger.rows} == {"violated"}


@pytest.mark.slow
def test_practical_has_less_regret_than_ckb_with_the_theorys_widths():
    learned = sb.Practical(PROBLEM.arms, sb.SquaredExponential([1.0, 1.0]), horizon=100)
    theory = sb.CKB(**PROBLEM.settings(), horizon=100)
    regret = [sb.score(sb.simulate(p, PROBLEM, trials=3), PROBLEM).strong_regret[:, -1] for p in (learned, theory)]
    # At this horizon the theory's widths never stop exploring: the difference is far larger than the spread.
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
def test_bad_settings_of_practical_are_refused(settings):
    with pytest.raises(sb.ArgumentError):
        sb.Practical(**{"space": sb.Box([0, 0], [1, 1]), "kernel": sb.Matern(1.0), "horizon": 10} | settings)
