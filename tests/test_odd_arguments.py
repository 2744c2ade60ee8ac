"""No public callable answers an odd argument with an exception of another library, a hang or a crash."""

import pytest
from softbandit_tests.entry_points import RESULTS, discovered, entry_points
from softbandit_tests.odd_calls import run

import softbandit as sb

NEED_MORE = ("stocks", "sp500_panel", "load_prices", "load_sensors", "Tuner", "tuners")


def test_discovery_finds_functions_and_classes_of_every_public_module():
    names = {point.name for point in entry_points()}
    assert {"softbandit.CKB", "softbandit.problems.rkhs", "softbandit.theory.features"} <= names
    assert {"softbandit.baselines.make", "softbandit.data.identify", "softbandit.fit"} <= names
    assert not RESULTS & {sb.CKB, sb.theory.Setting}
    assert len(discovered()) > 100


@pytest.mark.filterwarnings("ignore:Practical is deprecated:DeprecationWarning")
@pytest.mark.parametrize("point", entry_points(), ids=lambda point: point.name)
def test_the_arguments_that_are_varied_are_valid(point):
    try:
        point.call(**point.valid)
    except (sb.MissingExtraError, sb.DataError):  # without an optional package, and a file that there is not
        assert point.name.rpartition(".")[2] in NEED_MORE


def test_odd_arguments_raise_softbandit_errors_only():
    """A thousand calls of a hundred thousand: `python -m softbandit_tests.odd_calls 100000` makes them all."""
    assert run(1000) == []
