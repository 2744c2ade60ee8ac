"""The deprecated name of Autopilot."""

import pytest

import softbandit as sb
from softbandit.agent.agent_file import same_settings

BOX = sb.Box([0, 0], [1, 1])
IGNORED = {"explore": "ts", "explore_cost": "ucb", "relearn": 5, "initial": 4, "width_scale": 0.2, "slater": 0.1}
IGNORED |= {"confidence": 0.05, "dual": "queue"}


def test_practical_warns_where_it_is_called_and_returns_an_autopilot_with_its_settings():
    with pytest.warns(DeprecationWarning, match=r"Practical is deprecated; use sb.Autopilot\(space") as caught:
        policy = sb.Practical(BOX, sb.Matern(0.5), horizon=40, constraints=2, **IGNORED)
    assert caught[0].filename == __file__
    assert same_settings(policy, sb.Autopilot(BOX, constraints=2, horizon=40, kernel=sb.Matern(0.5)))


@pytest.mark.filterwarnings("ignore:Practical is deprecated:DeprecationWarning")
@pytest.mark.parametrize("settings", [{"space": "here"}, {"kernel": sb.Matern([1.0] * 3)}, {"horizon": 0}])
def test_bad_settings_of_practical_are_refused(settings):
    with pytest.raises(sb.ArgumentError):
        sb.Practical(**{"space": BOX, "kernel": sb.Matern(1.0), "horizon": 10} | settings)
