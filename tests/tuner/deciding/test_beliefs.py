"""Posteriors of a tuner against the dense formula, with one row per measurement."""

import numpy as np
import pytest

import softbandit as sb
from softbandit.tuner.deciding.beliefs import learn_models, models_of, table_of
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.deciding.forecast import Forecaster
from softbandit.tuner.deciding.memory import Memory
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.limits import Mean

SPACE = {"x": sb.Integer(0, 6), "y": sb.Integer(0, 4)}


def evidence(rounds, **settings):
    described = Description.of(space=SPACE, maximize="gain", limits=[Mean("cost", at_most=5)], **settings)
    found, rng = Evidence(described), np.random.default_rng(0)
    for id in range(1, rounds + 1):
        x, y = int(rng.integers(7)), int(rng.integers(5))
        found.asked(id, {"x": x, "y": y}, None, "explore")
        noise = 0.2 * rng.standard_normal(2)
        found.told(id, {"gain": float(x - 0.1 * id + noise[0]), "cost": float(x + y + noise[1])})
    return found


@pytest.mark.parametrize("forget", [None, 8])
def test_forecasts_equal_the_dense_formula(forget):
    """30 measurements, of which models are learned from 21; if functions drift, correlations fall by half per 8."""
    known = evidence(30, forget=forget)
    memory = Memory(known)
    posterior = Forecaster(memory).posterior(memory.beliefs, known.description.space.every(), None)
    Z = known.description.space.every()
    age = np.abs(np.subtract.outer(np.arange(31), np.arange(31)))  # the forecast is for time 30
    decay = np.ones((31, 31)) if forget is None else 0.5 ** (age / forget)
    for i, (model, (mean, variance)) in enumerate(zip(posterior.models, posterior.moments, strict=True)):
        e = model.effects
        smooth, rough = (e.kernel, e.own) if forget is None else (e.kernel.kernel, e.signal * e.kernel.rough)

        def covariance(A, B, e=e, smooth=smooth, rough=rough):
            return e.signal * smooth(A, B) + rough * (A[:, None] == B).all(axis=2)

        C = covariance(known.X, known.X) * decay[:30, :30] + e.noise * np.eye(30)
        cross = covariance(known.X, Z) * decay[:30, 30:]
        y = model.units.inside(known.Y[:, i])
        expected = e.offset + cross.T @ np.linalg.solve(C, y - e.offset)
        left = np.diag(covariance(Z, Z)) - np.einsum("tn,tn->n", cross, np.linalg.solve(C, cross))
        assert e.noise > 1e-3  # to which the jitter adds 1e-9 of the variance, about 1e-6 of it
        np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(variance, left, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("forget", [None, 8])
def test_models_come_back_from_their_table_to_the_bit(forget):
    known = evidence(12, forget=forget)
    models = learn_models(known, 0, 9)
    for a, b in zip(models, models_of(table_of(models), known), strict=True):
        assert a.units == b.units
        assert (a.effects.kernel, a.effects.offset) == (b.effects.kernel, b.effects.offset)
        assert (a.effects.signal, a.effects.own, a.effects.noise) == (b.effects.signal, b.effects.own, b.effects.noise)
