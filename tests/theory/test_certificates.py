"""Frequencies against closed forms: tolerances are five standard errors, sqrt(p (1 - p) / N)."""

import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.theory import Trial, certify, features, law
from softbandit.theory.certificates import FAILED, OPEN, SATISFIED, upper_tail
from softbandit.theory.sampling import interval, sample, states

SAMPLES = 20_000
PHI = features(sb.SquaredExponential(0.3), np.linspace(0, 1, 12)[:, None])


def trial(sign=1.0, scale=1.0, target=None, samples=SAMPLES):
    return Trial(PHI, 1.0, 2.0, 0.3, math.log(2 / 0.1), scale, sign, target, samples=samples)


def frequencies(exploration, at, which):
    """Frequencies in one of the states: 0 is the prior, the last two are after T looks."""
    return sample(exploration, at, states(at)[which], which)


def close(frequency, p):
    return abs(frequency - p) <= 5 * math.sqrt(p * (1 - p) / SAMPLES) + 1e-12


RANDOMISED = {
    "Gaussian": sb.RandUCB(),
    "uniform": sb.RandUCB(sb.UniformDiscrete(5)),
    "truncated": sb.RandUCB(sb.TruncatedGaussian(-1, 2, 7)),
    "Thompson": sb.Thompson(),
    "UCB": sb.UCB(),
}


@pytest.mark.parametrize("exploration", RANDOMISED.values(), ids=RANDOMISED)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("which", [0, 3, 6])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_anti_concentration_has_its_closed_form(exploration, sign, which, scale):
    one_arm = np.eye(12)[4]
    at = trial(sign, scale, one_arm)
    p = law(exploration, at).anti[0]
    assert law(exploration, at).anti == (p, p)
    assert close(frequencies(exploration, at, which).together / SAMPLES, p)


@pytest.mark.parametrize("name", ["Gaussian", "uniform", "truncated", "UCB"])
def test_one_z_for_all_arms_works_for_mixtures_too(name):
    mixture = np.r_[0.3, np.zeros(10), 0.7]
    p = law(RANDOMISED[name], trial()).anti[0]
    assert close(frequencies(RANDOMISED[name], trial(target=mixture), 2).together / SAMPLES, p)


def test_thompson_on_a_mixture_is_less_often_optimistic():
    """Why its certificate needs pi* on one arm: here the two arms are nearly independent."""
    mixture = np.r_[0.5, np.zeros(10), 0.5]
    share = frequencies(sb.Thompson(), trial(target=mixture), 0).together / SAMPLES
    # Two standard normals of small correlation c both exceed 1: Q(1)^2 + c pdf(1)^2, up to c^2 / 50.
    c, pdf = math.exp(-0.5 / 0.09), math.exp(-0.5) / math.sqrt(2 * math.pi)
    assert close(share, upper_tail(1.0) ** 2 + c * pdf**2)


def test_truncation_needs_optimism_at_each_arm():
    """The paper's E_anti, on average over pi*, does not survive the truncation to [-B, B]."""
    B, weights, f, f_t = 1.0, np.array([0.5, 0.5]), np.array([0.5, 0.0]), np.array([3.0, -1.0])
    assert weights @ f_t >= weights @ f
    assert weights @ np.clip(f_t, -B, B) < weights @ f


def test_an_exploration_that_draws_each_arm_apart_is_known_on_one_arm_only():
    class Apart:
        def draws(self, rank):
            return sb.DrawCount(normal=12)

        def estimate(self, belief, width, draws):
            return belief.mean + width * draws.normal * belief.std

    found = law(Apart(), trial())
    assert found.one_arm
    assert found.anti[0] <= upper_tail(1.0) <= found.anti[1]


@pytest.mark.parametrize("exploration", RANDOMISED.values(), ids=RANDOMISED)
@pytest.mark.parametrize("p", [0.3, 0.05, 0.01])
def test_concentration_holds_as_often_as_said(exploration, p):
    at = trial()
    c = law(exploration, at).reach(p)
    beyond = np.mean(frequencies(exploration, at, 2).deviation > c * (1 + 1e-9))
    assert beyond <= p + 5 * math.sqrt(p / SAMPLES)


def test_concentration_of_one_gaussian_is_exact():
    deviation = frequencies(sb.RandUCB(), trial(), 2).deviation
    for c in (0.5, 1.0, 2.0):
        assert close(np.mean(deviation > c), 2 * upper_tail(c))
        assert 2 * upper_tail(c) <= math.exp(-c * c / 2)


class Own:
    """A user's exploration: optimistic in a share of the rounds."""

    def __init__(self, share):
        self.share = share

    def draws(self, rank):
        return sb.DrawCount(uniform=1)

    def estimate(self, belief, width, draws):
        return belief.mean + width * (draws.uniform < self.share) * belief.std


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_monte_carlo_encloses_the_truth(share):
    found = law(Own(share), trial())
    assert found.sampled
    assert found.anti[0] <= share <= found.anti[1]
    assert found.anti[1] - found.anti[0] < 0.03
    assert found.reach(0.01) == pytest.approx(1.0)
    assert found.reach(1e-9) == math.inf


def test_a_copy_of_a_built_in_gets_its_closed_form_by_sampling():
    class Copy:
        def draws(self, rank):
            return sb.DrawCount(normal=1)

        def estimate(self, belief, width, draws):
            return belief.mean + width * draws.normal * belief.std

    sampled, exact = law(Copy(), trial(-1.0)), law(sb.RandUCB(), trial(-1.0))
    assert sampled.anti[0] <= exact.anti[0] <= sampled.anti[1]
    assert sampled.reach(0.01) == pytest.approx(2.576, rel=0.1)  # the exact 1% point
    assert sampled.reach(0.01) <= exact.reach(0.01)


@pytest.mark.parametrize(
    ("explorations", "options", "verdict", "reason"),
    [
        ([sb.UCB(), sb.UCB()], {}, SATISFIED, "p_3 = 1 > p_2t = 0"),
        ([sb.RandUCB(), sb.RandUCB()], {}, SATISFIED, r"p_3 = 0.0252 > p_2t = 0.013 / t\^2"),
        ([sb.RandUCB(), sb.UCB()], {}, SATISFIED, "p_3 = 0.159"),
        ([sb.RandUCB(sb.UniformDiscrete(2)), sb.UCB()], {}, SATISFIED, "p_3 = 0.5 > p_2t = 0"),
        ([sb.RandUCB(sb.TruncatedGaussian(0, 0.9)), sb.UCB()], {}, FAILED, r"P\(E_anti\) >= p_3 > 0 fails: .* it is 0"),
        ([sb.Greedy(), sb.UCB()], {}, FAILED, "it is 0"),
        ([sb.UCB(), sb.UCB()], {"scale": 0.99}, FAILED, "it is 0"),
        ([sb.RandUCB(), sb.RandUCB()], {"scale": 0.5}, FAILED, "0.5 of it; formally p_3 = 5.2e-04"),
        ([sb.UCB(), sb.UCB()], {"scale": 1.5}, SATISFIED, "p_3 = 1"),
        ([sb.Thompson(), sb.UCB()], {}, OPEN, "not known here"),
        ([sb.Thompson(), sb.UCB()], {"one_arm": False}, OPEN, "it mixes several"),
        ([sb.Thompson(), sb.Thompson()], {"one_arm": True}, SATISFIED, "p_3 = 0.0252"),
        ([Own(0.5), Own(0.5)], {}, SATISFIED, "p_3 = 0.2"),
        ([Own(0.0), sb.UCB()], {}, FAILED, "it is at most .* too small to use"),
        ([Own(0.0015), sb.UCB()], {"samples": 4000}, OPEN, "p_3 > p_2t is open"),
    ],
)
def test_the_verdict_names_the_inequality_that_decides(explorations, options, verdict, reason):
    import re

    one_arm = options.pop("one_arm", None)
    condition = certify(explorations, [trial(sign, **options) for sign in (1.0, -1.0)], one_arm)
    assert condition.verdict == verdict
    assert re.search(reason, condition.reason), condition.reason


@pytest.mark.parametrize("explorations", [[sb.RandUCB()] * 2, [sb.UCB()] * 2, [sb.RandUCB(), sb.UCB(), Own(0.5)]])
def test_the_constants_satisfy_the_boundedness_condition(explorations):
    condition = certify(explorations, [trial()] * len(explorations))
    assert condition.verdict == SATISFIED
    total = 0.0
    for t in range(1, 2000):
        p_2 = condition.p_2(t)
        total += p_2
        assert 1 + 2 / (condition.p_3 - p_2) <= 1 / condition.p_4 * (1 + 1e-12)
        assert total <= condition.total(t) + 1e-12
    assert (condition.reach(100) <= condition.reach(1000)).all()
    assert np.isfinite(condition.reach(10**6)).all()


@pytest.mark.parametrize("m", [1, 3, 8])
def test_sampled_and_known_outputs_mix(m):
    condition = certify(
        [Own(0.9), *[sb.RandUCB(sb.UniformDiscrete(2)), Own(0.9)][:m]], [trial(samples=4000)] * (1 + min(m, 2))
    )
    assert np.isfinite(condition.reach(10**5)).all()


def test_a_copy_of_a_gaussian_is_satisfied_for_several_constraints_too():
    class Copy:
        def draws(self, rank):
            return sb.DrawCount(normal=1)

        def estimate(self, belief, width, draws):
            return belief.mean + width * draws.normal * belief.std

    condition = certify([Copy()] * 4, [trial(samples=50_000)] * 4)
    assert condition.verdict != FAILED  # p_3 = 6e-4 is small, but each output's own is not


def test_a_subclass_is_not_taken_for_its_parent():
    class Lazy(sb.UCB):
        def estimate(self, belief, width, draws):
            return belief.mean

    class Half(sb.Gaussian):
        def sample(self, draws):
            return -np.abs(draws.normal)

    for exploration in (Lazy(), sb.RandUCB(Half())):
        assert certify([exploration] * 2, [trial()] * 2).verdict == FAILED


class Shift:
    """A bonus that does not shrink as the arm becomes known."""

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        return belief.mean + width + 0 * belief.std


def test_a_deviation_that_does_not_shrink_is_seen_at_the_horizon():
    """c2 in units of sigma grows like sqrt(T), so the bound is no less than linear."""
    from dataclasses import replace

    reach = [law(Shift(), replace(trial(), horizon=T)).reach(0.01) for T in (10**2, 10**6)]
    assert reach[1] > 50 * reach[0]


def test_straying_where_nothing_is_uncertain_is_seen():
    class Floor:
        def draws(self, rank):
            return sb.DrawCount()

        def estimate(self, belief, width, draws):
            return belief.mean + width * np.maximum(belief.std, 0.05)

    phi = features(sb.Linear(), np.array([[0.0], [1.0], [-1.0]]))
    at = Trial(phi, 1.0, 2.0, 0.3, 1.0, 1.0, 1.0, samples=1000)
    assert law(Floor(), at).reach(0.5) == math.inf


def test_the_papers_choice_of_p_2_fails_in_early_rounds():
    """p_2t = 2 / t^2 with p_3 = (1 / (4 e sqrt(pi)))^2: the difference is negative until t = 27."""
    p_3 = (1 / (4 * math.e * math.sqrt(math.pi))) ** 2
    negative = [t for t in range(1, 1000) if p_3 - 2 / t**2 <= 0]
    assert negative == list(range(1, 28))


@pytest.mark.parametrize(("hits", "samples"), [(0, 50), (3, 50), (25, 50), (50, 50)])
def test_the_interval_covers_by_the_binomial_law(hits, samples):
    low, high = interval(hits, samples, 0.05)

    def cdf(p, k):
        return sum(math.comb(samples, i) * p**i * (1 - p) ** (samples - i) for i in range(k + 1))

    assert low == 0 if hits == 0 else 1 - cdf(low, hits - 1) == pytest.approx(0.025)
    assert high == 1 if hits == samples else cdf(high, hits) == pytest.approx(0.025)


def test_unequal_lists_are_refused():
    with pytest.raises(sb.ArgumentError, match="one for each of 2 explorations"):
        certify([sb.UCB(), sb.UCB()], [trial()])
