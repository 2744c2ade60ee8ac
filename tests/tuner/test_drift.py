"""The watch for shifts: how often it is wrong, and how soon it is right."""

import numpy as np
import pytest

from softbandit.tuner.drift import POWER, Watch


def watched(residuals, is_new):
    """Return the measurement at which the alarm comes and where the shift was by then; None if there is no alarm."""
    watch = Watch.begin(residuals.shape[1])
    for row, (e, new) in enumerate(zip(residuals, is_new, strict=True)):
        watch = watch.step(e, bool(new), row)
        if watch.shift is not None:
            return row, watch.shift
    return None


@pytest.mark.parametrize("tails", [2.0, 30.0])
def test_without_a_shift_an_alarm_is_as_rare_as_it_is_said_to_be(tails):
    """Residuals of any size and with any tails, in two classes: 40 runs have 4 or more alarms with p < 1e-3."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(40):
        is_new = rng.random(150) < 0.3
        e = 7.0 * rng.standard_t(tails, (150, 2)) * np.where(is_new, 20.0, 1.0)[:, None]
        alarms += watched(e, is_new) is not None
    assert alarms < 4


def test_a_bet_on_a_uniform_rank_has_a_mean_of_at_most_one():
    for t in (1, 2, 10, 1000):
        p = np.arange(1, t + 1) / t
        assert (POWER * p ** (POWER - 1)).mean() <= 1


def test_a_shift_is_noticed_soon_and_located():
    """Residuals of 4 deviations from measurement 150 on: p is then 1 / 151 and more.

    Each adds up to ln(0.3) + 0.7 ln(150) = 2.3 to W, and ln(2 / 0.01) + 2 ln(150) = 15.3 is needed.
    """
    rng = np.random.default_rng(1)
    e = rng.standard_normal((200, 2))
    e[150:, 1] += 4.0
    alarm, shift = watched(e, np.zeros(200))
    assert alarm <= 165
    assert abs(shift - 150) <= 2


def test_one_outlier_is_no_shift():
    e = np.random.default_rng(2).standard_normal((200, 1))
    e[150] = 1e6
    assert watched(e, np.zeros(200)) is None
