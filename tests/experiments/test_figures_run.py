import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.experiments.figures_run import run_figure

pytestmark = pytest.mark.extra


def played(policy, rounds):
    agent = sb.Agent(policy)
    for t in range(rounds):
        agent.tell(agent.ask(), 0.1 * t, [0.2 * (-1) ** t] * policy.constraints)
    return agent


@pytest.mark.parametrize("name", ["CKB", "CKB, two constraints", "Doubling"])
def test_the_figure_of_a_run_shows_its_last_certificate_and_its_prices(name):
    agent = played(examples_of.POLICIES[name], 30)
    report = agent.certificate()
    budget, regret, price = run_figure(agent).axes
    for i in range(agent.policy.constraints):
        assert budget.lines[i].get_xydata()[-1] == pytest.approx([30, report.observed[1 + i]])
        band = budget.collections[i].get_paths()[0].vertices
        ends = band[band[:, 0] == 30][:, 1]
        np.testing.assert_allclose([ends.min(), ends.max()], report.violation[i])
        np.testing.assert_allclose(price.lines[2 * i].get_ydata(), agent.record.dual[:, i])
    assert regret.lines[0].get_xydata()[-1] == pytest.approx([30, report.regret / 30])


def test_the_figure_of_a_single_round_and_of_an_unbounded_regret_can_be_drawn(tmp_path):
    run_figure(played(examples_of.POLICIES["CKB"], 1)).savefig(tmp_path / "one.png")
    told = sb.Agent(examples_of.policy(noise=1e-3))
    for t in range(20):
        told.tell(told.ask(), 5.0 * (-1) ** t, 0.0)  # contradicts the noise
    assert told.certificate().regret == np.inf
    run_figure(told).savefig(tmp_path / "none.png")
