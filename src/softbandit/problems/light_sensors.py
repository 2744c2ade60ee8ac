"""The paper's light-tailed problem: find the light sensor with the largest average reading."""

from os import PathLike

from softbandit.data import SENSORS
from softbandit.problems.measurements import covariance_kernel, threshold_problem
from softbandit.problems.problem import Problem


def sensors(
    data: str | PathLike[str] | None = None,
    path: str | PathLike[str] | None = None,
    kernel: str = "correlation",
    noise: str | float = "sd",
    threshold: float | None = None,
) -> Problem:
    """f = mean of the test readings, g = h - f with h = B / 2 and B = max f; k from the train readings. In units of B.

    Parameters
    ----------
    data
        A folder with iw_data_all.mat; "original"; "stand-in", a simulated office; or None for the
        original if it is there (in SOFTBANDIT_DATA, else in the cache), and the stand-in otherwise.
    path
        Your own file with the same layout.
    kernel
        "correlation", the covariance of the readings after each sensor is standardised, or
        "covariance", divided by its largest entry. The paper's "covariance of the normalized
        samples" can mean either.
    noise
        R as passed to policies: "sd", the standard deviation of the readings from the means of
        their sensors; "max", the largest such deviation; or a number.
    threshold
        h; by default B / 2, as in the paper.

    Examples
    --------
    >>> problem = sensors("stand-in")
    >>> problem.reward.shape, problem.source
    ((41,), 'stand-in: simulated office of 41 sensors, seed 0')
    """
    readings, origin = SENSORS.choose(data, path)
    h = readings.test.mean(axis=0).max() / 2 if threshold is None else threshold
    name = f"light sensors ({origin.kind})"
    return threshold_problem(h, readings.test, covariance_kernel(kernel, readings.train), noise, name, origin)
