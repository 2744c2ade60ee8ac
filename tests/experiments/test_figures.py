import re
import sys

import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.errors import install_command
from softbandit.experiments.figures import overview

pytestmark = pytest.mark.extra


@pytest.fixture(scope="module")
def traces():
    problem = examples_of.problem()
    policies = {"one": examples_of.policy(problem), "two": examples_of.policy(problem, explore="ts")}
    return problem, {name: sb.simulate(policy, problem, trials=3) for name, policy in policies.items()}


def test_the_overview_shows_the_mean_regret_and_cost_of_each_policy(traces):
    problem, runs = traces
    figure = overview(problem, runs, note="a note")
    _, regret, cost = figure.axes
    assert [text.get_text() for text in regret.get_legend().get_texts()] == ["one", "two"]
    regret_of_one = sb.score(runs["one"], problem).strong_regret[:, -1].mean()
    assert regret.lines[0].get_xydata()[-1] == pytest.approx([60, regret_of_one])
    mean_cost = problem.cost[runs["two"].arms].mean()
    assert cost.lines[1].get_xydata()[-1] == pytest.approx([60, mean_cost])
    assert "a note" in figure.texts[0].get_text()


def test_a_figure_without_matplotlib_raises_an_error_that_says_what_to_install(traces, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(sb.MissingExtraError, match=re.escape(install_command("plot"))):
        overview(*traces, note="")
