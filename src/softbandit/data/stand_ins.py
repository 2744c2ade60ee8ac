"""The stand-ins for the paper's data: a simulated office, and prices from a data set that skfolio ships."""

from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, Floats
from softbandit.data.loaders import Prices, Readings
from softbandit.errors import needs_extra

SENSORS = 41
LENGTH, DEPTH = 60.0, 16.0  # of the floor, in metres; the windows are at depth 0
SUNRISE, SUNSET = 7.0, 17.25  # hours, a day in November
CLEAR_MEMORY, DRIFT_MEMORY = 2 / 3, 2.0  # hours
SKY, SUN, LAMP, SATURATION = 2400.0, 1800.0, 200.0, 1700.0  # counts; sky and sun at the window, lamp directly below it
LAMP_REACH, LAMP_ON, LAMP_OFF = 6.0, 3.0, 1.0  # metres, then average hours


def sp500_panel() -> Prices:
    """Return daily prices of 20 stocks of the S&P 500, 2016-01-04 to 2019-04-10, from skfolio (BSD-3-Clause).

    They are adjusted for splits and dividends up to a later date than the original, so stocks
    that are in both differ in price level but not in daily returns.
    """
    with needs_extra("skfolio", "data"):
        from skfolio.datasets import load_sp500_dataset
    panel = load_sp500_dataset().loc["2016-01-04":"2019-04-10"]
    dates = tuple(day.date().isoformat() for day in panel.index)
    return Prices(dates, tuple(panel.columns), np.array(panel, dtype=np.float64))


class Floor(NamedTuple):
    """The sensors' positions, and how strongly each source of light reaches each sensor."""

    coords: Floats  # (sensors, 2), metres: along the windows, away from them
    daylight: Floats  # (sensors,), relative to that at the window
    sun_hour: Floats  # (sensors,): the hour at which the sun is in front of that part of the windows
    lamps: Floats  # (sensors, zones), relative to that directly below the lamp
    gain: Floats  # (sensors,)
    drift_correlation: Floats  # (sensors, sensors)


def simulated_office(seed: int = 0) -> Readings:
    """Simulate reading_i(t) = S (1 - exp(-light_i(t) / S)) + noise, rounded to whole counts of at least 0.

    Here S = 1700 counts, the saturation, and light_i(t) = gain_i drift_i(t) (sky_i(t) + sun_i(t) + lamps_i(t)).
    41 sensors hang over an open floor of 60 m x 16 m with windows along one long side.

    - Sky: falls by a factor e every 5 m from the windows; follows the height of the sun over a
      day in November, and drops to 30% of that under cloud.
    - Sun: falls likewise; passes along the windows from one end at 9:30 to the other at 14:30,
      and shines as far as the sky is clear.
    - Clear sky: the logistic function of an Ornstein-Uhlenbeck process with standard deviation 2
      and a memory of 40 minutes, shared by all sensors.
    - Lamps: eight overlapping zones, each on for three hours and off for one on average.
    - Gain: lognormal, 10%, one per sensor.
    - Drift: 6%, with a memory of two hours in time and 15 m in space.
    - Noise of the readings: N(0, 4^2).

    Train is one working day, one sample per minute from 8:00 to 18:00 (601); test is another day
    on the same floor, one sample per three minutes (192). The shapes are those of the original.

    >>> office = simulated_office()
    >>> office.train.shape, office.test.shape, office.coords.shape
    ((601, 41), (192, 41), (41, 2))
    """
    rng = np.random.default_rng(validation.seed(seed))
    floor = _draw_floor(rng)
    train = _simulate_day(floor, 8 + np.arange(601) / 60, rng)
    test = _simulate_day(floor, 8 + np.arange(192) / 20, rng)
    return Readings(train, test, floor.coords)


def _draw_floor(rng: np.random.Generator) -> Floor:
    x, y = np.sort(rng.uniform(0, LENGTH, SENSORS)), rng.uniform(0.5, DEPTH, SENSORS)
    coords = np.stack([x, y], axis=1)
    zones = np.array([(LENGTH * i / 8, DEPTH * j / 4) for i in (1, 3, 5, 7) for j in (1, 3)])
    return Floor(
        coords,
        daylight=np.exp(-y / 5),
        sun_hour=9.5 + 5 * x / LENGTH,
        lamps=np.exp(-(_distance(coords, zones) ** 2) / (2 * LAMP_REACH**2)),
        gain=np.exp(rng.normal(0, 0.1, SENSORS)),
        drift_correlation=np.exp(-_distance(coords, coords) / 15),
    )


def _simulate_day(floor: Floor, hours: Floats, rng: np.random.Generator) -> Floats:
    """Return readings at those hours, (samples, sensors)."""
    height = np.sin(np.pi * np.clip((hours - SUNRISE) / (SUNSET - SUNRISE), 0, 1))[:, None]
    clear = 1 / (1 + np.exp(-2 * _ornstein_uhlenbeck(hours, np.eye(1), CLEAR_MEMORY, rng)))
    facing = np.exp(-((hours[:, None] - floor.sun_hour) ** 2) / (2 * 2.0**2))
    sky = SKY * height * (0.3 + 0.7 * clear) * floor.daylight
    sun = SUN * height * clear * facing * floor.daylight
    lamps = LAMP * _switch_lamps(hours, floor.lamps.shape[1], rng) @ floor.lamps.T
    drift = 1 + 0.06 * _ornstein_uhlenbeck(hours, floor.drift_correlation, DRIFT_MEMORY, rng)
    light = floor.gain * drift * (sky + sun + lamps)
    noise = rng.normal(0, 4, light.shape)
    # Whole counts, as in the original, hide the last bits, in which machines differ.
    return np.asarray(np.rint(np.maximum(SATURATION * (1 - np.exp(-light / SATURATION)) + noise, 0)))


def _ornstein_uhlenbeck(hours: Floats, covariance: Floats, memory: float, rng: np.random.Generator) -> Floats:
    """Draw a stationary process, ~ N(0, covariance) at every hour: (samples, k)."""
    keep = np.exp(-(hours[1] - hours[0]) / memory)
    path: Floats = rng.normal(size=(len(hours), len(covariance))) @ np.linalg.cholesky(covariance).T
    for k in range(1, len(hours)):
        path[k] = keep * path[k - 1] + np.sqrt(1 - keep**2) * path[k]
    return path


def _switch_lamps(hours: Floats, zones: int, rng: np.random.Generator) -> Bools:
    """Return whether the lamps of each zone are on, (samples, zones)."""
    step = hours[1] - hours[0]
    draws = rng.random((len(hours), zones))
    on = draws < LAMP_ON / (LAMP_ON + LAMP_OFF)  # right for the first sample; the others depend on the previous one
    for k in range(1, len(hours)):
        switched = draws[k] < step / np.where(on[k - 1], LAMP_ON, LAMP_OFF)
        on[k] = on[k - 1] ^ switched
    return on


def _distance(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.hypot(a[:, None, 0] - b[:, 0], a[:, None, 1] - b[:, 1]))
