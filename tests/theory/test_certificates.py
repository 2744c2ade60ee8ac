"""Frequencies against closed forms: tolerances are five standard errors, sqrt(p (1 - p) / N)."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import softbandit as sb
from softbandit.theory import Trial, certify, features, law
from softbandit.theory.certificates import FAILED, OPEN, SATISFIED
from softbandit.theory.deviation import interval, sample, states, upper_tail

SAMPLES = 20_000
PHI = features(sb.SquaredExponential(0.3), np.linspace(0, 1, 12)[:, None])


def trial(sign=1.0, scale=1.0, target=None, samples=SAMPLES):
    return Trial(PHI, 1.0, 2.0, 0.3, math.log(2 / 0.1), scale, sign, target, samples=samples)


def frequencies(exploration, at, number):
    """Frequencies in the state of that number: 0 is the prior, the last two are after T observations."""
    return sample(exploration, at, states(at)[number], number)


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
@pytest.mark.parametrize("state", [0, 3, 6])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_frequency_of_anti_concentration_is_its_closed_form(exploration, sign, state, scale):
    one_arm = np.eye(12)[4]
    at = trial(sign, scale, one_arm)
    p = law(exploration, at).anti[0]
    assert law(exploration, at).anti == (p, p)
    assert close(frequencies(exploration, at, state).together / SAMPLES, p)


@pytest.mark.parametrize("name", ["Gaussian", "uniform", "truncated", "UCB"])
def test_an_exploration_with_one_z_for_all_arms_has_its_closed_form_on_mixtures(name):
    mixture = np.r_[0.3, np.zeros(10), 0.7]
    p = law(RANDOMISED[name], trial()).anti[0]
    assert close(frequencies(RANDOMISED[name], trial(target=mixture), 2).together / SAMPLES, p)


def test_thompson_sampling_is_less_often_optimistic_on_a_mixture():
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


def test_the_law_of_an_exploration_with_one_draw_per_arm_holds_on_one_arm_only():
    class DrawPerArm:
        def draws(self, rank):
            return sb.DrawCount(normal=12)

        def estimate(self, belief, width, draws):
            return belief.mean + width * draws.normal * belief.std

    sampled = law(DrawPerArm(), trial())
    assert sampled.one_arm
    assert sampled.anti[0] <= upper_tail(1.0) <= sampled.anti[1]


@pytest.mark.parametrize("exploration", RANDOMISED.values(), ids=RANDOMISED)
@pytest.mark.parametrize("p", [0.3, 0.05, 0.01])
def test_deviations_beyond_the_reach_are_as_rare_as_stated(exploration, p):
    at = trial()
    c = law(exploration, at).reach(p)
    beyond = np.mean(frequencies(exploration, at, 2).deviation > c * (1 + 1e-9))
    assert beyond <= p + 5 * math.sqrt(p / SAMPLES)


def test_the_deviation_of_a_gaussian_randucb_has_gaussian_tails():
    deviation = frequencies(sb.RandUCB(), trial(), 2).deviation
    for c in (0.5, 1.0, 2.0):
        assert close(np.mean(deviation > c), 2 * upper_tail(c))
        assert 2 * upper_tail(c) <= math.exp(-c * c / 2)


class Coin:
    """A user's exploration: optimistic in a share of the rounds."""

    def __init__(self, share):
        self.share = share

    def draws(self, rank):
        return sb.DrawCount(uniform=1)

    def estimate(self, belief, width, draws):
        return belief.mean + width * (draws.uniform < self.share) * belief.std


class GaussianCopy:
    """RandUCB with a Gaussian, written by a user."""

    def draws(self, rank):
        return sb.DrawCount(normal=1)

    def estimate(self, belief, width, draws):
        return belief.mean + width * draws.normal * belief.std


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_monte_carlo_intervals_contain_the_truth(share):
    sampled = law(Coin(share), trial())
    assert sampled.sampled
    assert sampled.anti[0] <= share <= sampled.anti[1]
    assert sampled.anti[1] - sampled.anti[0] < 0.03
    assert sampled.reach(0.01) == pytest.approx(1.0)
    assert sampled.reach(1e-9) == math.inf


def test_sampling_a_copy_of_a_built_in_exploration_agrees_with_the_closed_form():
    sampled, exact = law(GaussianCopy(), trial(-1.0)), law(sb.RandUCB(), trial(-1.0))
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
        ([Coin(0.5), Coin(0.5)], {}, SATISFIED, "p_3 = 0.2"),
        ([Coin(0.0), sb.UCB()], {}, FAILED, "it is at most .* too small to use"),
        ([Coin(0.0015), sb.UCB()], {"samples": 4000}, OPEN, "p_3 > p_2t is open"),
    ],
)
def test_the_verdict_names_the_inequality_that_decides(explorations, options, verdict, reason):
    one_arm = options.pop("one_arm", None)
    condition = certify(explorations, [trial(sign, **options) for sign in (1.0, -1.0)], one_arm)
    assert condition.verdict == verdict
    assert re.search(reason, condition.reason), condition.reason


@pytest.mark.parametrize("explorations", [[sb.RandUCB()] * 2, [sb.UCB()] * 2, [sb.RandUCB(), sb.UCB(), Coin(0.5)]])
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


@pytest.mark.parametrize("m", [1, 2])
def test_sampled_and_closed_form_laws_can_be_combined(m):
    explorations = [Coin(0.9), sb.RandUCB(sb.UniformDiscrete(2)), Coin(0.9)][: 1 + m]
    condition = certify(explorations, [trial(samples=4000)] * (1 + m))
    assert np.isfinite(condition.reach(10**5)).all()


def test_a_sampled_gaussian_does_not_fail_the_condition_with_three_constraints():
    condition = certify([GaussianCopy()] * 4, [trial(samples=4000)] * 4)
    assert condition.verdict != FAILED  # p_3 = 6e-4 is small, but each output's factor is not


def test_a_subclass_is_not_taken_for_its_parent():
    class Lazy(sb.UCB):
        def estimate(self, belief, width, draws):
            return belief.mean

    class Half(sb.Gaussian):
        def sample(self, draws):
            return -np.abs(draws.normal)

    for exploration in (Lazy(), sb.RandUCB(Half())):
        assert certify([exploration], [trial()]).verdict == FAILED


class Shift:
    """A bonus that does not shrink as the arm becomes known."""

    def draws(self, rank):
        return sb.DrawCount()

    def estimate(self, belief, width, draws):
        return belief.mean + width + 0 * belief.std


def test_a_deviation_that_does_not_shrink_is_detected_at_the_horizon():
    """c2 in units of sigma grows like sqrt(T), so the bound is no less than linear."""
    reach = [law(Shift(), replace(trial(), horizon=T)).reach(0.01) for T in (10**2, 10**6)]
    assert reach[1] > 50 * reach[0]


def test_a_deviation_at_an_arm_without_uncertainty_has_no_finite_reach():
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
def test_the_ends_of_an_interval_solve_the_binomial_equations(hits, samples):
    low, high = interval(hits, samples, 0.05)

    def cdf(p, k):
        return sum(math.comb(samples, i) * p**i * (1 - p) ** (samples - i) for i in range(k + 1))

    assert low == 0 if hits == 0 else 1 - cdf(low, hits - 1) == pytest.approx(0.025)
    assert high == 1 if hits == samples else cdf(high, hits) == pytest.approx(0.025)


def test_certify_refuses_lists_of_unequal_length():
    with pytest.raises(sb.ArgumentError, match="one for each of 2 explorations"):
        certify([sb.UCB(), sb.UCB()], [trial()])
