"""The watch for shifts: how often it is wrong, and how soon it is right."""

import numpy as np
import pytest

from softbandit.policies.output_units import Units
from softbandit.tuner.deciding.drift import Watch


def watched(residuals, is_new):
    """Return the measurement at which the alarm comes and where the shift was by then; None if there is no alarm."""
    watch, units = Watch.begin(residuals.shape[1]), [Units()] * residuals.shape[1]
    for row, (e, new) in enumerate(zip(residuals, is_new, strict=True)):
        watch = watch.step(units, np.stack([e + row, 0 * e + row]), bool(new), row)  # what is expected may be anything
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


def test_a_bet_has_mean_one_if_ranks_are_uniform():
    """With n residuals the next rank is each of 1, ..., n + 1 with the same probability; one bet for each beginning."""
    rng = np.random.default_rng(3)
    for n in (1, 2, 7):
        watch, sizes = Watch.begin(1), rng.random(n)
        for row, e in enumerate(sizes):
            watch = watch.step([Units()], np.array([[e], [0.0]]), False, row)
        cuts = np.sort(np.append(sizes, [0.0, 1.0]))
        between = (cuts[1:] + cuts[:-1]) / 2  # one residual of each rank
        gains = np.array([watch.step([Units()], np.array([[e], [0.0]]), False, n).gains[:, 0] for e in between])
        before = np.append(watch.gains[:, 0], 0.0)
        np.testing.assert_allclose(np.exp(gains - before).mean(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("before", [50, 150])
def test_a_shift_is_noticed_soon_and_located(before):
    """If residuals are larger than all before, k of them multiply the stake of a bet by C(before + k, k) / 2^k or more.

    That is 12.7 and 16.6 in logarithms for k = 6, with 0.6 or less for the other halves. ln(2 / 0.01) + 2 ln(before)
    is needed, which is 13.1 and 15.3.
    """
    e = np.random.default_rng(1).standard_normal((before + 50, 2))
    e[before:, 1] += 6.0
    alarm, shift = watched(e, np.zeros(len(e)))
    assert alarm - before <= 6
    assert shift == before


def test_one_outlier_is_no_shift():
    e = np.random.default_rng(2).standard_normal((200, 1))
    e[150] = 1e6
    assert watched(e, np.zeros(200)) is None


def test_on_another_scale_all_residuals_are_compared_again():
    """Factors of e^4 instead of e are the largest residuals on a log scale, but not on a plain one."""
    rng = np.random.default_rng(4)
    expected = np.exp(rng.uniform(1, 12, 60))
    measured = expected * np.exp(rng.choice([-1.0, 1.0], 60) * np.r_[rng.uniform(0.5, 1, 50), rng.uniform(4, 5, 10)])
    pairs = np.stack([measured, expected], axis=1)[:, :, None]
    units, plain, late = [Units(zero=0.0, bend=0.01)], Watch.begin(1), Watch.begin(1)
    for row, pair in enumerate(pairs):
        plain = plain.step([Units()], pair, False, row)
        late = late.step(units if row == 59 else [Units()], pair, False, row)
    assert plain.shift is None
    assert late.shift == 50
