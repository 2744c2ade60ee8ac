"""The stand-in for the paper's light sensors: a simulated office."""

from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.data.loaders import Readings

SENSORS = 41
LENGTH, DEPTH = 60.0, 16.0  # of the floor, in metres; the windows are at depth 0
SUNRISE, SUNSET = 7.0, 17.25  # hours, a day in November
CLEAR_MEMORY, DRIFT_MEMORY = 2 / 3, 2.0  # hours
SKY, SUN, LAMP, FULL = 2400.0, 1800.0, 200.0, 1700.0  # counts: beside the window, beneath a lamp, saturation
LAMP_REACH, LAMP_ON, LAMP_OFF = 6.0, 3.0, 1.0  # metres; hours on average


class Plan(NamedTuple):
    """The floor: where the sensors are, and what reaches each."""

    coords: Floats  # (sensors, 2), metres: along the windows, away from them
    daylight: Floats  # as a share of that beside the window
    sun_hour: Floats  # when the sun stands before that part of the windows
    lamps: Floats  # (sensors, zones): as a share of that beneath the lamp
    gain: Floats
    nearness: Floats  # (sensors, sensors): correlation of the drift


def simulated_office(seed: int = 0) -> Readings:
    """reading_i(t) = FULL (1 - exp(-light_i(t) / FULL)) + noise, in whole counts of at least 0, where
    light_i(t) = gain_i drift_i(t) (sky_i(t) + sun_i(t) + lamps_i(t)).

    41 sensors hang over an open floor of 60 m x 16 m with windows on one long side.

    - Sky: falls by a factor e every 5 m from the windows; follows the sun's height over a day
      in November, down to 30% of that under cloud.
    - Sun: falls likewise; stands before each part of the windows at an hour of its own, from
      9:30 at one end to 14:30 at the other, and comes through as far as the sky is clear.
    - Clear sky: the logistic of an Ornstein-Uhlenbeck process of standard deviation 2 and a
      memory of 40 minutes, the same for all sensors.
    - Lamps: eight zones, each on for three hours and off for one on average; they spill over.
    - Gain: of each sensor, lognormal, 10%.
    - Drift: 6%, with a memory of two hours in time and 15 m in space.
    - Noise of the readings: N(0, 4^2).

    Train is one working day, a sample a minute from 8:00 to 18:00 (601); test is another on
    the same floor, a sample every three minutes (192). The shapes are the original's.

    >>> office = simulated_office()
    >>> office.train.shape, office.test.shape, office.coords.shape
    ((601, 41), (192, 41), (41, 2))
    """
    rng = np.random.default_rng(validation.whole("seed", seed, least=0))
    plan = _plan(rng)
    train = _day(plan, 8 + np.arange(601) / 60, rng)
    test = _day(plan, 8 + np.arange(192) / 20, rng)
    return Readings(train, test, plan.coords)


def _plan(rng: np.random.Generator) -> Plan:
    x, y = np.sort(rng.uniform(0, LENGTH, SENSORS)), rng.uniform(0.5, DEPTH, SENSORS)
    coords = np.stack([x, y], axis=1)
    zones = np.array([(LENGTH * i / 8, DEPTH * j / 4) for i in (1, 3, 5, 7) for j in (1, 3)])
    return Plan(
        coords,
        daylight=np.exp(-y / 5),
        sun_hour=9.5 + 5 * x / LENGTH,
        lamps=np.exp(-(_distance(coords, zones) ** 2) / (2 * LAMP_REACH**2)),
        gain=np.exp(rng.normal(0, 0.1, SENSORS)),
        nearness=np.exp(-_distance(coords, coords) / 15),
    )


def _day(plan: Plan, hours: Floats, rng: np.random.Generator) -> Floats:
    """Readings at those hours, (samples, sensors)."""
    height = np.sin(np.pi * np.clip((hours - SUNRISE) / (SUNSET - SUNRISE), 0, 1))[:, None]
    clear = 1 / (1 + np.exp(-2 * _wandering(hours, np.eye(1), CLEAR_MEMORY, rng)))
    facing = np.exp(-((hours[:, None] - plan.sun_hour) ** 2) / (2 * 2.0**2))
    sky = SKY * height * (0.3 + 0.7 * clear) * plan.daylight
    sun = SUN * height * clear * facing * plan.daylight
    lamps = LAMP * _switching(hours, plan.lamps.shape[1], rng) @ plan.lamps.T
    drift = 1 + 0.06 * _wandering(hours, plan.nearness, DRIFT_MEMORY, rng)
    light = plan.gain * drift * (sky + sun + lamps)
    noise = rng.normal(0, 4, light.shape)
    # Whole counts, as the original's, hide the last bits, in which machines differ.
    return np.asarray(np.rint(np.maximum(FULL * (1 - np.exp(-light / FULL)) + noise, 0)))


def _wandering(hours: Floats, covariance: Floats, memory: float, rng: np.random.Generator) -> Floats:
    """An Ornstein-Uhlenbeck process, ~ N(0, covariance) at every hour: (samples, k)."""
    keep = np.exp(-(hours[1] - hours[0]) / memory)
    path: Floats = rng.normal(size=(len(hours), len(covariance))) @ np.linalg.cholesky(covariance).T
    for k in range(1, len(hours)):
        path[k] = keep * path[k - 1] + np.sqrt(1 - keep**2) * path[k]
    return path


def _switching(hours: Floats, zones: int, rng: np.random.Generator) -> Floats:
    """1 where a zone's lamps are on, 0 where they are off: (samples, zones)."""
    step = hours[1] - hours[0]
    draws = rng.random((len(hours), zones))
    on = np.zeros(draws.shape)
    on[0] = draws[0] < LAMP_ON / (LAMP_ON + LAMP_OFF)
    for k in range(1, len(hours)):
        switched = draws[k] < step / np.where(on[k - 1], LAMP_ON, LAMP_OFF)
        on[k] = np.where(switched, 1 - on[k - 1], on[k - 1])
    return on


def _distance(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.hypot(a[:, None, 0] - b[:, 0], a[:, None, 1] - b[:, 1]))
