"""Every baseline makes the decisions of a literal, loop-by-loop transcription, round by round."""

from itertools import pairwise

import numpy as np
import pytest
from softbandit_tests import baseline_formulas, paper_formulas

import softbandit as sb
from softbandit.backend.random import POLICY, draw
from softbandit.baselines.safe_sets import distances
from softbandit.policies.mixture import best_mixture

T = 60  # rounds
INSTANCES = [(seed, m, scale) for seed in range(3) for m in (1, 2) for scale in (1.0, 0.2)]
every_instance = pytest.mark.parametrize(("seed", "m", "scale"), INSTANCES)


class Instance:
    """A random problem with its noise, for the library and for the transcription."""

    def __init__(self, seed, m, scale):
        kernel = [None, sb.Matern(0.4), sb.SquaredExponential([0.3, 0.6])][seed % 3]
        self.problem = sb.problems.rkhs(
            arms=22 + seed, noise=0.2, seed=seed + 1, constraints=m, kernel=kernel, dimension=2 if seed % 3 == 2 else 1
        )
        rng = np.random.default_rng(seed)
        self.eta, self.xi = 0.2 * rng.standard_normal(T), 0.2 * rng.standard_normal((T, m))
        self.scale, self.m = scale, m

    def build(self, kind, **changes):
        return kind(**self.problem.settings(), horizon=T, width_scale=self.scale, ties="first", **changes)

    def literal(self, name, **settings):
        """The transcription of that name on this problem."""
        p = self.problem
        K, G = p.kernel(p.arms, p.arms), np.broadcast_to(p.cost_bound, self.m)
        base = K, p.reward, p.costs, p.reward_bound, G, p.noise, T, 0.1, self.scale, self.eta, self.xi
        return getattr(baseline_formulas, name)(*base, **settings)

    def play(self, policy, contexts=None, round_contexts=None):
        """Return arms, duals before each update, and states, round by round."""
        agent = sb.Agent(policy, seed=3)
        arms, duals, states = [], [], []
        for t in range(T):
            among = None if contexts is None else np.flatnonzero(contexts == round_contexts[t])
            states.append(agent._state)
            decision = agent.ask(among)
            arms.append(decision.arm)
            duals.append(np.atleast_1d(decision.dual))
            reward = self.problem.reward[decision.arm] + self.eta[t]
            cost = self.problem.costs[decision.arm] + self.xi[t]
            agent.tell(decision, reward, cost[: policy.constraints])
        return arms, np.array(duals), states


@every_instance
def test_gp_ucb_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    assert case.play(case.build(sb.baselines.GPUCB))[0] == case.literal("gp_ucb")


@every_instance
def test_rpol_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    arms, queues, _ = case.play(case.build(sb.baselines.RPOL))
    expected, expected_queues = case.literal("rpol")
    assert arms == expected
    np.testing.assert_allclose(queues, expected_queues, rtol=1e-10)


@every_instance
@pytest.mark.parametrize("hard", [(), (0,), (1,), (0, 1)])
def test_pobo_follows_its_transcription(seed, m, scale, hard):
    case = Instance(seed, m, scale)
    hard = [i for i in hard if i < m]
    policy = case.build(sb.baselines.POBO, hard=hard, V_scale=2.0, slack_scale=0.01, growth=0.1)
    arms, queues, _ = case.play(policy)
    delta = case.problem.slater
    expected, expected_queues = case.literal("pobo", delta=delta, hard=hard, c=2.0, e=0.01, h=0.1)
    assert arms == expected
    np.testing.assert_allclose(queues, expected_queues, atol=1e-8)


def test_pobo_has_the_factors_of_its_authors_by_default():
    case = Instance(0, 2, 0.2)
    arms, queues, _ = case.play(case.build(sb.baselines.POBO, hard=[1]))
    expected, expected_queues = case.literal("pobo", delta=case.problem.slater, hard=[1])
    assert arms == expected
    np.testing.assert_allclose(queues, expected_queues, atol=1e-8)


@every_instance
def test_pdcbo_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    arms, duals, _ = case.play(case.build(sb.baselines.PDCBO, step=0.3, start=1.5, slack=0.02))
    expected, expected_duals = case.literal("pdcbo", step=0.3, start=1.5, slack=0.02)
    assert arms == expected
    np.testing.assert_allclose(duals, expected_duals, atol=1e-9)
    assert case.build(sb.baselines.PDCBO).step == pytest.approx(T**-0.5)


@every_instance
def test_pdcbo_with_contexts_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    rng = np.random.default_rng(seed)
    contexts, round_contexts = np.arange(len(case.problem.arms)) % 3, rng.integers(3, size=T)
    arms, duals, _ = case.play(case.build(sb.baselines.PDCBO, step=0.3), contexts, round_contexts)
    expected, expected_duals = case.literal("pdcbo", step=0.3, contexts=contexts, round_contexts=round_contexts)
    assert arms == expected
    np.testing.assert_allclose(duals, expected_duals, atol=1e-9)
    np.testing.assert_array_equal(contexts[arms], round_contexts)


@every_instance
def test_config_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    arms, _, states = case.play(policy := case.build(sb.baselines.CONFIG))
    expected, declared = case.literal("config")
    assert arms == expected
    assert [bool(policy.refuted(state)[0]) for state in states] == declared


@every_instance
def test_epbo_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    assert case.play(case.build(sb.baselines.EPBO, penalty=2.5))[0] == case.literal("epbo", penalty=2.5)


@every_instance
def test_constrained_expected_improvement_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    policy = case.build(sb.baselines.ConstrainedEI, regularisation=1 + 2 / T)
    assert case.play(policy)[0] == case.literal("cei")


@every_instance
def test_constrained_thompson_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    policy = case.build(sb.baselines.ConstrainedTS, regularisation=1 + 2 / T)
    arms, _, states = case.play(policy)
    draws = draw(policy.draws(), 3, [0], 0, T, POLICY)
    samples = []
    for state, round_draws in zip(states, draws.rounds(), strict=True):
        h = policy.model.estimate(state.posterior, state.round + 1, round_draws)
        samples.append((h - policy.model.mean(state.posterior))[0])
    samples = np.array(samples)
    assert arms == case.literal("scbo", samples_f=samples[:, 0], samples_g=samples[:, 1:])


def safest(problem):
    return int(problem.costs.max(axis=1).argmin())


def lipschitz(problem, kind):
    """The Lipschitz constants, and the distances between arms."""
    if kind is None:
        return None, None
    policy = sb.baselines.SafeOpt(**problem.settings(), horizon=T, safe=0, lipschitz=kind)
    return policy.lip.tolist(), distances(problem.arms, problem.arms)


RULES = {"by default": {}, "intersected, one arm for all constraints": {"intersect": True, "expanders": "all"}}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
every_lipschitz = pytest.mark.parametrize("kind", [None, "arms", 4.0])


@every_instance
@every_lipschitz
@every_rule
def test_safeopt_follows_its_transcription(seed, m, scale, kind, rule):
    case = Instance(seed, m, scale)
    seed_arm = safest(case.problem)
    policy = case.build(sb.baselines.SafeOpt, safe=seed_arm, lipschitz=kind, **rule)
    assert_same_safe_play(case, policy, "safeopt", seed=[seed_arm])


@every_instance
@every_lipschitz
@every_rule
def test_stageopt_follows_its_transcription(seed, m, scale, kind, rule):
    case = Instance(seed, m, scale)
    seed_arm = safest(case.problem)
    policy = case.build(sb.baselines.StageOpt, safe=seed_arm, lipschitz=kind, stage_rounds=30, **rule)
    assert_same_safe_play(case, policy, "stageopt", seed=[seed_arm], stage_rounds=30)


def assert_same_safe_play(case, policy, name, **settings):
    Lip, dist = lipschitz(case.problem, policy.lipschitz)
    arms, _, states = case.play(policy)
    safe = safe_sets(policy, states)
    rule = {"intersect": policy.intersect, "separately": policy.expanders == "each"}
    try:
        expected, sets = case.literal(name, Lip=Lip, dist=dist, **rule, **settings)
    except ValueError:
        # Intersected bounds scaled below the theory's can cross and leave no candidate: the transcription stops there.
        assert policy.intersect
        assert case.scale < 1
        assert all(arm in S for arm, S in zip(arms, safe, strict=True))
        return
    assert arms == expected
    assert safe == sets


def safe_sets(policy, states):
    """The safe arms of each round."""
    return [np.flatnonzero(policy.intervals(state)[2][0]).tolist() for state in states]


@every_instance
def test_safeopt_decides_as_its_published_program(seed, m, scale):
    case = Instance(seed, m, scale)
    seed_arm = safest(case.problem)
    policy = case.build(sb.baselines.SafeOpt, safe=seed_arm)
    arms, _, states = case.play(policy)
    assert (arms, safe_sets(policy, states)) == case.literal("published_safe_rounds", seed=[seed_arm])


@every_instance
def test_stageopt_decides_as_its_published_program(seed, m, scale):
    case = Instance(seed, m, scale)
    seed_arm = safest(case.problem)
    policy = case.build(sb.baselines.StageOpt, safe=seed_arm, stage_rounds=30)
    arms, _, states = case.play(policy)
    expected = case.literal("published_safe_rounds", seed=[seed_arm], stage_rounds=30)
    assert (arms, safe_sets(policy, states)) == expected


@every_instance
def test_sgp_ucb_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    order = np.argsort(case.problem.costs.max(axis=1))
    seeds = sorted(order[:3].tolist())
    policy = case.build(sb.baselines.SGPUCB, safe=seeds, initial_rounds=15)
    uniforms = draw(policy.draws(), 3, [0], 0, T, POLICY).uniform[:, 0, 0]
    expected = case.literal("sgp_ucb", seed=seeds, initial_rounds=15, uniforms=uniforms)
    assert case.play(policy)[0] == expected


@every_instance
def test_time_varying_ckb_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    policy = sb.baselines.TimeVarying(case.build(sb.CKB), every=17)
    arms, duals, _ = case.play(policy)
    expected, expected_duals = case.literal("time_varying_ckb", every=17, delta=case.problem.slater)
    assert arms == expected
    np.testing.assert_allclose(duals, expected_duals, atol=1e-9)


@every_instance
def test_gp_ts_maximises_the_mean_plus_its_sample(seed, m, scale):
    """x_t = argmax mu + sample, with the policy's sample and the mean by the direct formula."""
    case = Instance(seed, m, scale)
    policy = case.build(sb.baselines.GPTS)
    arms, _, states = case.play(policy)
    K = case.problem.kernel(case.problem.arms, case.problem.arms)
    rewards = [case.problem.reward[x] + eta for x, eta in zip(arms, case.eta, strict=True)]
    draws = draw(policy.draws(), 3, [0], 0, T, POLICY)
    for t, (state, round_draws) in enumerate(zip(states, draws.rounds(), strict=True)):
        mu = paper_formulas.posterior(K, arms[:t], rewards[:t], 1 + 2 / T)[0] if t else np.zeros(len(K))
        h = policy.model.estimate(state.posterior, t + 1, round_draws)
        sample = (h - policy.model.mean(state.posterior))[0, 0]
        assert baseline_formulas.first_max((mu + sample).tolist()) == arms[t]


def solve(f, g):
    """The library's linear program for one trial; its result is checked by the transcription."""
    return best_mixture(f[None], np.reshape(g, (1, -1, len(f)))).over_arms(len(f))[0]


@every_instance
@pytest.mark.parametrize("inflation", [None, 1.0])
def test_opb_follows_its_transcription(seed, m, scale, inflation):
    case = Instance(seed, m, scale)
    seed_arm = safest(case.problem)
    safe_cost = np.minimum(case.problem.costs[seed_arm], -0.1).tolist()
    policy = case.build(sb.baselines.OPB, safe=seed_arm, safe_cost=safe_cost, inflation=inflation)
    uniforms = draw(policy.draws(), 3, [0], 0, T, POLICY).uniform[:, 0, 0]
    alpha_r = 1 + 1 / min(-c for c in safe_cost) if inflation is None else inflation
    settings = {"seed": [seed_arm], "safe_cost": safe_cost, "inflation": alpha_r, "uniforms": uniforms, "solve": solve}
    assert case.play(policy)[0] == case.literal("opb", **settings)


@every_instance
def test_the_optimistic_linear_program_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    policy = case.build(sb.baselines.OptimisticLP)
    uniforms = draw(policy.draws(), 3, [0], 0, T, POLICY).uniform[:, 0, 0]
    assert case.play(policy)[0] == case.literal("optimistic_lp", uniforms=uniforms, solve=solve)
    rng = np.random.default_rng(seed)
    contexts, round_contexts = np.arange(len(case.problem.arms)) % 3, rng.integers(3, size=T)
    offered = {"contexts": contexts, "round_contexts": round_contexts}
    arms = case.literal("optimistic_lp", uniforms=uniforms, solve=solve, **offered)
    assert case.play(policy, **offered)[0] == arms


@every_instance
@pytest.mark.parametrize("kind", ["arms", 4.0])
@pytest.mark.parametrize("rule", ["widest", "ucb"])
def test_losbo_follows_its_transcription(seed, m, scale, kind, rule):
    case = Instance(seed, m, scale)
    seed_arm = safest(case.problem)
    policy = case.build(sb.baselines.LoSBO, safe=seed_arm, lipschitz=kind, rule=rule, noise_bound=0.3)
    Lip, dist = lipschitz(case.problem, kind)
    arms, _, states = case.play(policy)
    expected = case.literal("losbo", seed=[seed_arm], Lip=Lip, dist=dist, E=[0.3] * m, rule=rule)
    assert (arms, safe_sets(policy, states)) == expected


@every_instance
@pytest.mark.parametrize("expanders", ["each", "all"])
def test_safe_bocp_follows_its_transcription(seed, m, scale, expanders):
    case = Instance(seed, m, scale)
    seed_arm, rate = safest(case.problem), [0.2, 0.3][:m]
    settings = {"regularisation": 1 + 2 / T, "width": "theory", "rate": rate, "step": 0.4, "expanders": expanders}
    policy = case.build(sb.baselines.SafeBOCP, safe=seed_arm, **settings)
    arms, deltas, states = case.play(policy)
    literal = case.literal("safe_bocp", seed=[seed_arm], rate=rate, step=0.4, separately=expanders == "each")
    assert (arms, safe_sets(policy, states)) == literal[:2]
    np.testing.assert_allclose(deltas, literal[2], atol=1e-12)


@every_instance
def test_ucb_d_follows_its_transcription(seed, m, scale):
    case = Instance(seed, m, scale)
    policy = case.build(sb.baselines.UCBD)
    arms, _, states = case.play(policy)
    expected, asked, recommended = case.literal("ucb_d")
    assert arms == expected
    observed = [
        [int((new.gain > old.gain)[0]) for new, old in zip(after.posterior, before.posterior, strict=True)]
        for before, after in pairwise(states)
    ]
    assert observed == np.eye(1 + m, dtype=int)[asked[:-1]].tolist()
    assert [int(policy.recommended(state)[0]) for state in states[1:]] == recommended[:-1]
