"""A round of Autopilot: the best mixture that keeps the limits and repays debts, or the best arm at its prices."""

import math

import numpy as np
import pytest

from softbandit.gp import Matern, PointEffects
from softbandit.policies import outlook
from softbandit.policies.outlook import Outlook, Standing, choose, plan_round, repayment_rounds
from softbandit.policies.output_models import OutputModel
from softbandit.policies.output_units import Units
from softbandit.policies.prices import limit_prices

F = np.array([1.0, 2.9, 3.0, 5.0])  # expected rewards of four arms, and their costs:
G = np.array([[-0.6, -0.1, 0.6, 9.0]])
VARIANCE = 0.04
WITHIN = 20.0  # rounds
MODELS = (OutputModel(Units(), PointEffects(Matern(0.3), 0.0, 1.0, 0.01, 0.01), np.zeros(4)),) * 2


def plan(debt=0.0, optimism=0.0, spreads=(1.0, 0.5), f=F, g=G):
    """Return prices, phi and weights, if estimates are optimistic by that many standard deviations of 0.2."""
    moments = [(f, np.full(len(f), VARIANCE)), (g[0], np.full(len(f), VARIANCE))]
    standing = Standing(np.array([debt]), np.array(spreads), 100, 50, WITHIN)
    return plan_round(MODELS, outlook.optimistic(MODELS, moments, optimism), moments, standing, None)


def outlook_of(weights):
    n = len(weights)
    prices = limit_prices(F[:n], G[:, :n])
    return Outlook(np.arange(n), np.zeros((n, 1)), F[:n], G[:, :n], prices, prices.phi, np.array(weights), [])


# -- The mixture. --


def test_without_debts_it_is_the_best_mixture_that_keeps_the_limit():
    """By hand: arms 1 and 3 meet the limit with weights 9 / 9.1 and 0.1 / 9.1, and no pair of others earns as much."""
    prices, phi, weights = plan()
    np.testing.assert_allclose(weights, [0, 9 / 9.1, 0, 0.1 / 9.1], atol=1e-12)
    np.testing.assert_allclose(phi, [2.1 / 9.1])
    np.testing.assert_array_equal(phi, prices.phi)


def test_a_debt_is_repaid_by_the_expected_costs_in_the_rounds_given():
    """By hand: 4 in 20 rounds are 0.2 per round, from arms 0 and 1 with weights 1 / 5 and 4 / 5, at a price of 3.8."""
    _, phi, weights = plan(debt=4.0, optimism=1.0, spreads=(1.0, 0.25))
    np.testing.assert_allclose(weights, [0.2, 0.8, 0, 0], atol=1e-12)
    np.testing.assert_allclose(phi, [3.8])


def test_what_is_left_is_spent_by_optimistic_costs():
    _, _, weights = plan(debt=-4.0, optimism=1.0)
    assert weights @ (G[0] - 0.2) == pytest.approx(0.2)


def test_a_debt_that_would_take_too_much_raises_the_price_of_the_best_arm():
    """The price of repaying by arm 0 is 3.8 per unit of cost, more than max(4 phi, u) = 2."""
    for debt in (4.0, 12.0, 40.0):  # the last cannot be repaid at all
        prices, phi, weights = plan(debt=debt)
        np.testing.assert_array_equal(weights, np.zeros(4))
        u = 2.0
        np.testing.assert_allclose(phi, max(4 * prices.phi[0], u) + 2 * u * debt / 0.5 / math.sqrt(100))


def test_a_limit_that_no_mixture_meets_has_no_mixture():
    prices, phi, weights = plan(debt=3.0, g=G + 1)
    assert not prices.feasible
    assert np.isfinite(phi).all()
    np.testing.assert_array_equal(weights, np.zeros(4))


# -- What is played. --


def test_arms_are_drawn_by_their_weights():
    o = outlook_of([0.0, 0.25, 0.0, 0.5])  # as left of a mixture if some arms are not offered
    uniforms = (np.arange(3000) + 0.5) / 3000
    drawn = [choose(o, MODELS, Standing(np.zeros(1), np.ones(2), 100, 50, WITHIN), u) for u in uniforms]
    np.testing.assert_array_equal(np.bincount(drawn, minlength=4), [0, 1000, 0, 2000])


@pytest.mark.parametrize("uniform", [np.nextafter(0, 1), 0.5, np.nextafter(1, 0)])
def test_every_uniform_number_draws_an_arm_of_the_mixture(uniform):
    for weights in ([0.0, 1.0, 0.0], [0.1, 0.2, 0.7], [1e-300, 0.0, 0.0]):
        i = choose(outlook_of(weights), MODELS, Standing(np.zeros(1), np.ones(2), 100, 50, WITHIN), uniform)
        assert weights[i] > 0


def test_without_a_mixture_the_best_arm_at_the_prices_is_played():
    o = outlook_of([0.0] * 4)._replace(phi=np.array([2.0]))
    assert choose(o, MODELS, Standing(np.zeros(1), np.ones(2), 100, 50, WITHIN), 0.5) == int((F - 2 * G[0]).argmax())


# -- When debts are repaid. --


def test_debts_are_repaid_by_the_horizon():
    assert repayment_rounds(10, 400) == 100
    assert repayment_rounds(370, 400) == 30
    assert repayment_rounds(400, 400) == repayment_rounds(900, 400) == 1


def test_without_a_horizon_debts_are_repaid_in_roots_of_the_rounds():
    assert repayment_rounds(0, None) == 1
    assert repayment_rounds(900, None) == 30
