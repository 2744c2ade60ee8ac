import pytest

import softbandit as sb
from softbandit.policies.dual import checked_slack, dual_cap


def test_too_much_slack_is_refused_with_what_it_does_to_the_problem():
    with pytest.raises(sb.ArgumentError, match="slater / 2 = 0.1.*tightened constraints"):
        checked_slack(0.11, 0.2)


def test_the_cap_follows_from_the_margin():
    assert dual_cap(None, B=3.0, slater=0.5, needed=True) == 24.0
    assert dual_cap(7.0, B=3.0, slater=None, needed=True) == 7.0
