"""Total effects of parameters, against functions whose effects are known."""

import numpy as np
import pytest

from softbandit.policies.dependence import PAIRS, total_effects

rng = np.random.default_rng(0)
PLACES = {"a": slice(0, 1), "b": slice(1, 2), "kind": slice(2, 4)}


def points():
    return rng.uniform(-1, 1, (PAIRS, 4))


def test_shares_of_a_sum_are_those_of_its_terms_variances():
    """Var(3 a) : Var(b) : Var(c + 2 d) = 9 : 1 : 5.

    A squared difference of two uniform numbers has a relative standard deviation of sqrt(7/5) = 1.2, so a share that is
    the ratio of two means of 512 of them has a relative standard error of at most 1.2 sqrt(2 / 512) = 7.5%.
    """
    effects = total_effects(lambda X: X @ [3.0, 1.0, 1.0, 2.0], points(), points(), PLACES)
    for name, share in {"a": 9 / 15, "b": 1 / 15, "kind": 5 / 15}.items():
        assert effects[name] == pytest.approx(share, rel=4 * 0.075)


def test_parameters_that_act_only_together_cause_all_of_the_variance_each():
    """sign(a) sign(b): moving either gives an independent value, with a standard error of sqrt(1 / 512) = 4%."""
    effects = total_effects(lambda X: np.sign(X[:, 0] * X[:, 1]), points(), points(), PLACES)
    assert effects["a"] == pytest.approx(1, abs=4 * 0.06)
    assert effects["b"] == pytest.approx(1, abs=4 * 0.06)
    assert effects["kind"] == 0


def test_a_flat_function_depends_on_nothing():
    assert total_effects(lambda X: 1 + 0.1 * X[:, 0], points(), points(), PLACES) == {"a": 0, "b": 0, "kind": 0}
