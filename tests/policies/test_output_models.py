"""Models of outputs: a transform is used if the observations are more likely with it, where they were made."""

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp import Repeats
from softbandit.policies.output_models import learn_outputs
from softbandit.policies.output_units import Units

rng = np.random.default_rng(0)
FORM = sb.Matern([1.0, 1.0])


def learned(X, y):
    """Return the model of a reward, and of a cost of the same values."""
    return learn_outputs(FORM, Repeats.of(X, y), np.column_stack([y, y]), [None, None], [None, None])


def test_a_function_over_six_orders_of_magnitude_is_transformed():
    X = rng.random((40, 2))
    models = learned(X, np.exp(12 * X[:, 0] + 2 * X[:, 1]) * (1 + 0.05 * rng.standard_normal(40)))
    assert all(model.units.bend for model in models)


def test_a_smooth_peak_that_was_played_most_is_not_transformed():
    """By their distribution the values need a transform: most are near the peak's. By the points they do not."""
    at_peak = 0.5 + 0.06 * rng.standard_normal((60, 2))
    X = np.concatenate([rng.random((16, 2)), at_peak])
    y = 3 * np.exp(-4 * ((X - 0.5) ** 2).sum(axis=1)) + 0.01 * rng.standard_normal(len(X))
    assert Units.learned(y, limited=False).bend > 0
    assert learned(X, y)[0].units.bend == 0


@pytest.mark.parametrize("noise", [0.5, 5.0])
def test_an_output_of_known_noise_is_modelled_on_its_own_scale(noise):
    X = rng.random((30, 2))
    y = np.exp(6 * X[:, 0])
    (model,) = learn_outputs(FORM, Repeats.of(X, y), y[:, None], [None], [noise])
    assert model.units.bend == 0
    assert model.units.spread**2 * model.effects.noise == pytest.approx(noise**2, rel=1e-9)
