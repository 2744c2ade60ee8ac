import sys

import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.experiments.comparison import compare
from softbandit.experiments.figures import overview


@pytest.fixture(scope="module")
def results():
    problem = examples_of.problem()
    policies = {"one": examples_of.policy(problem), "two": examples_of.policy(problem, explore="ts")}
    steps = []
    found = compare(policies, problem, trials=3, seed=0, progress=lambda *step: steps.append(step))
    assert steps == [("one", 60), ("two", 60)]
    return problem, found


def test_the_overview_shows_each_policy(results):
    figure = overview(*results, note="a note")
    _, regret, cost = figure.axes
    assert [text.get_text() for text in regret.get_legend().get_texts()] == ["one", "two"]
    assert regret.lines[0].get_xydata()[-1] == pytest.approx([60, results[1][0].scores.strong_regret[:, -1].mean()])
    mean_cost = results[0].cost[results[1][1].trace.arms].mean()
    assert cost.lines[1].get_xydata()[-1] == pytest.approx([60, mean_cost])
    assert "a note" in figure.texts[0].get_text()


def test_without_matplotlib_the_error_says_what_to_install(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(sb.MissingExtraError, match=r"softbandit\[plot\]"):
        overview(*results, note="")
