"""The comparison of decisions measures what it says, runs every method, and can be continued."""

import argparse
import os
import re
import subprocess
import sys

import decision_report
import decision_runs
import decisions
import numpy as np
import pytest
import report
import tables
from decision_measures import measures, truth
from decision_methods import METHODS, best_feasible

import softbandit as sb

pytestmark = pytest.mark.extra

PEERS = ("optuna", "botorch")  # not in the development install
OWN = [name for name in METHODS if not name.startswith(PEERS) and (name != "autopilot" or hasattr(sb, "Autopilot"))]
KINDS = {"rkhs-2-limits": (False, False), "wireless": (False, True), "gardner-1": (True, False)}  # space, contexts
SUITABLE = [(problem, method) for problem, kind in KINDS.items() for method in OWN if METHODS[method].suits(*kind, 12)]


def two_arms(**options):
    """f = 0, 1 and g = -1, 3: pi* plays the second arm in a quarter of the rounds, f* = 1/4 = lambda*."""
    bounds = {"noise": 0.1, "reward_bound": 1.0, "cost_bound": 3.0, "slater": 1.0}
    return sb.problems.Problem([[0.0], [1.0]], sb.Matern(0.5), [0.0, 1.0], [-1.0, 3.0], **bounds, **options)


def test_measures_match_a_run_worked_by_hand():
    """The spreads are s_f = 1/2 and s_g = 2, so u = 1/4 and u / 4 < lambda*."""
    problem = two_arms()
    row = measures(problem, truth(problem), [1, 1, 0, 0])
    # R = 4 / 4 - 2 = -1 and V = 4: P = -1 + 4 / 4, strict = -1 + 2 * 4 / 4, in units of 1/2.
    assert row["P"] == pytest.approx(0.0, abs=1e-12)
    assert row["strict"] == pytest.approx(2.0)
    assert row["regret"] == pytest.approx(-2.0)
    assert row["violation"] == pytest.approx(4 / 2)
    assert row["over"] == 0.5
    assert row["excess"] == pytest.approx(1 / (3 * 0.1 / 2))  # the mean cost is 1, and sqrt(T) = 2
    assert row["floor"] == pytest.approx(0.25 * 0.1 * 2 / 0.5)
    assert (row["gap_first"], row["gap_last"]) == pytest.approx((0.0, 0.0), abs=1e-12)  # both arms are in pi*


def test_a_run_on_a_safe_arm_is_stuck_unless_it_repays_a_debt():
    """Staying on arm 0 costs f* = 1/4 per round, half a spread; in debt its cost of -1 is worth lambda* = 1/4."""
    problem = two_arms()
    idle, repaying = (measures(problem, truth(problem), played) for played in ([0, 0, 0, 0], [1, 1, 0, 0]))
    assert (idle["top_share"], idle["top_cost"], idle["stuck"]) == pytest.approx((1.0, 0.5, 1))
    assert (repaying["top_share"], repaying["top_cost"], repaying["stuck"]) == pytest.approx((1.0, 0.0, 0), abs=1e-12)


def test_strict_measure_charges_a_quarter_of_u_if_the_limit_has_no_price():
    """f = 1, 0 and g = -1, 1: the best arm is feasible, lambda* = 0; s_f = 1/2, s_g = 1, u / 4 = 1/8."""
    problem = sb.problems.Problem([[0.0], [1.0]], sb.Matern(0.5), [1.0, 0.0], [-1.0, 1.0], 0.1, 1.0, 1.0, 1.0)
    row = measures(problem, truth(problem), [1, 1, 1, 1])
    assert row["P"] == pytest.approx(4 / 0.5)
    assert row["strict"] == pytest.approx((4 + 2 / 8 * 4) / 0.5)


def test_with_contexts_the_sum_of_gaps_is_a_lower_bound_of_P():
    problem = sb.problems.wireless()
    known = truth(problem)
    played = np.random.default_rng(0).integers(len(problem.arms), size=50).tolist()
    row = measures(problem, known, played)
    f, g = problem.reward[played], problem.cost[played]
    best = [(problem.reward - known.prices[0] * problem.cost)[problem.contexts == c].max() for c in range(8)]
    gaps = np.array(best)[problem.contexts[played]] - f + known.prices[0] * g
    assert (gaps >= -1e-9).all()
    assert row["P"] >= gaps.sum() / problem.reward.std() - 1e-9


def test_seeds_differ_between_problems_and_numbers_but_not_between_methods():
    cells = [decision_runs.Cell(problem, "random", 10, seed) for problem in ("SS-D", "cloud") for seed in (0, 1)]
    assert len({decision_runs.cell_seed(cell) for cell in cells}) == 4
    assert decision_runs.cell_seed(cells[0]) == decision_runs.cell_seed(cells[0]._replace(method="ckb", rounds=300))


@pytest.mark.parametrize(("problem", "method"), SUITABLE)
def test_a_method_runs_wherever_it_is_said_to(problem, method):
    [(_, row, _)] = decision_runs.results([decision_runs.Cell(problem, method, 12, 0)])
    assert not isinstance(row, str), row
    assert float(row["P"]) >= -1e-6


@pytest.mark.parametrize("problem", ["SS-D", "SS-M-2", "rkhs-1d", "cloud"])
def test_the_clairvoyant_is_below_the_noise_level(problem):
    [(_, row, _)] = decision_runs.results([decision_runs.Cell(problem, "clairvoyant", 100, 0)])
    assert float(row["P"]) <= float(row["floor"])


def test_methods_meet_the_same_noise():
    """On one arm all methods play the same, so they must observe the same."""
    observed = []

    class Recorder:
        def ask(self, among):
            return 0

        def tell(self, choice, reward, costs):
            observed.append((reward, *costs))

    for _ in range(2):
        decision_runs.play(sb.problems.rkhs(seed=0), Recorder(), rounds=5, seed=3)
    assert observed[:5] == observed[5:]
    assert len(set(observed)) == 5


def test_a_method_that_is_not_told_its_rounds_is_played_once_for_all_lengths():
    def cells(*names):
        return [decision_runs.Cell("SS-D", name, rounds, 0) for name in names for rounds in (20, 41)]

    shared = cells("optuna-tpe", "optuna-tpe-commit")
    assert decision_runs.sharing(shared + cells("random", "ckb")) == [
        shared,
        cells("random"),
        *([cell] for cell in cells("ckb")),
    ]
    at_once = [row for _, row, _ in decision_runs.results(shared)]
    alone = [row for cell in shared for _, row, _ in decision_runs.results([cell])]
    for together, single in zip(at_once, alone, strict=True):
        assert together | {"seconds_per_round": 0} == single | {"seconds_per_round": 0}
    assert len({row["P"] for row in alone}) == 4


def test_a_method_that_commits_repeats_the_best_feasible_choice_of_its_first_half():
    run = decision_runs.Played([7, 8, 9, 6], [np.array(y) for y in ([2, 1], [1, -1], [3, -1], [9, -9])], [0.1] * 4)
    cell = decision_runs.Cell("SS-D", "optuna-tpe-commit", 5, 0)
    assert decision_runs.choices(cell, run) == [7, 8, 8, 8, 8]
    assert decision_runs.choices(cell._replace(rounds=6), run) == [7, 8, 9, 9, 9, 9]


def test_the_best_feasible_row_and_the_least_violating_one():
    assert best_feasible(np.array([[3.0, 0.1], [1.0, -1.0], [2.0, 0.0]])) == 2
    assert best_feasible(np.array([[3.0, 0.3, -9.0], [1.0, 0.1, 0.1]])) == 1


def test_finished_cells_are_skipped_unless_asked_for_again(tmp_path, capsys):
    asked = {"out": tmp_path, "jobs": 1, "methods": ["random"], "problems": ["rkhs-1d"], "rounds": [10], "first": 0}
    for seeds, again in ((1, False), (2, False), (2, True)):
        decisions.run(argparse.Namespace(**asked, seeds=seeds, again=again))
    assert re.findall(r"(\d) cells, (\d) finished", capsys.readouterr().out) == [("1", "0"), ("1", "1"), ("2", "2")]
    header, *rows = (tmp_path / "cells.csv").read_text().splitlines()
    assert header.split(",") == list(decision_runs.COLUMNS)
    assert [row.split(",")[3] for row in rows] == ["0", "1", "0", "1"]


def test_the_command_runs_cells_in_several_processes(tmp_path):
    options = ["--jobs", "2", "--methods", "random", "ckb", "--problems", "rkhs-1d", "--rounds", "10", "--seeds", "2"]
    command = [sys.executable, decisions.__file__, "run", "--out", str(tmp_path), *options]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert len((tmp_path / "cells.csv").read_text().splitlines()) == 1 + 4


# -- The report. --


@pytest.mark.slow
def test_the_page_shows_the_runs_that_are_kept():
    """The table of problems is left out: its prices on spaces are those of a search, whose last digit may differ."""
    text, rows = decision_report.PAGE.read_text(), tables.read(decisions.FOLDER / "cells.csv")
    parts = decision_report.parts(rows, "autopilot")
    del parts["problems"]
    assert report.replace_parts(text, parts) == text, "run: python benchmarks/decisions.py report"


def test_the_page_of_choices_shows_the_runs_that_are_kept():
    text, rows = decision_report.CHOICE_PAGE.read_text(), tables.read(decisions.FOLDER / "cells.csv")
    shown = report.replace_parts(text, decision_report.choice_parts(rows))
    assert shown == text, "run: python benchmarks/decisions.py report"


def row(problem, method, P, seed=0, rounds=2000, **others):
    zeros = dict.fromkeys(decision_runs.COLUMNS, 0.0)
    named = {"problem": problem, "method": method, "P": P, "seed": seed, "rounds": rounds, "floor": 1.0}
    return {name: str(value) for name, value in (zeros | named | others).items()}


def rows_of_two():
    """Two problems, two seeds; x is lowest on SS-D (2 and 8 against 4 and 9), and three times y on cloud."""
    x = [row("SS-D", "x", 2.0, 0, gap_first=2.0, gap_last=0.5), row("SS-D", "x", 8.0, 1, gap_first=2.0, gap_last=0.7)]
    y = [row("SS-D", "y", 4.0, 0), row("SS-D", "y", 9.0, 1)]
    x += [row("cloud", "x", 6.0, 0, stuck=1), row("cloud", "x", 3.0, 1, excess=1.5)]
    y += [row("cloud", "y", 2.0, 0), row("cloud", "y", -5.0, 1)]
    return [*x, *y, row("cloud", "clairvoyant", 0.0)]


def results():
    return decision_report.Results(rows_of_two())


def test_ratios_are_to_the_best_method_and_values_below_the_noise_level_count_as_that():
    found = results()
    assert found.ratio(("SS-D", 2000), "x") == 1.0
    assert found.ratio(("SS-D", 2000), "y") == pytest.approx(6.5 / 5)
    assert found.ratio(("cloud", 2000), "x") == pytest.approx(4.5 / 1.5)  # -5 counts as 1, the floor
    assert found.against("x", "y", [("cloud", 2000)]) == pytest.approx(np.sqrt(6 / 2 * 3 / 1))


def test_methods_with_fewer_seeds_are_compared_on_those():
    """On seed 0 alone z is at 1 against x at 2."""
    rows = [row("SS-D", "x", 2.0, 0), row("SS-D", "x", 8.0, 1), row("SS-D", "z", 1.0, 0)]
    found = decision_report.Results(rows)
    assert found.ratio(("SS-D", 2000), "x") == 2.0
    assert found.ratio(("SS-D", 2000), "z") == 1.0
    assert np.isnan(found.ratio(("SS-D", 2000), "y"))


def test_targets_report_what_was_measured():
    lowest, family, problem, kept, stuck, falls = decision_report.targets(results(), "x")
    assert lowest.measured == "1 of 2 (rivals in each: 1)"
    assert family.measured == "3.00 (services, against y)"
    assert problem.measured == "3.00 (cloud, against y)"
    assert kept.measured == "75.0% of 4; 75.0% of 4 where 4 average rounds can be repaid"
    assert stuck.measured == "1 runs"
    assert falls.measured == "0.30 (SS-D)"
    assert [t.reached for t in (lowest, family, problem, kept, stuck, falls)] == [False] * 5 + [True]


def test_a_cell_without_a_rival_is_not_won():
    rows = [row("SS-D", "x", 2.0), row("SS-D", "y", 3.0), row("cloud", "x", 1.0), row("cloud", "clairvoyant", 0.0)]
    lowest, *_ = decision_report.targets(decision_report.Results(rows), "x")
    assert lowest.measured == "1 of 1 (rivals in each: 1)"


def test_parts_of_the_page_show_every_method_and_problem():
    parts = decision_report.parts(rows_of_two(), "x")
    assert "| y | 1.30 | 1.00 | 1.14 | 2 | 2 |" in parts["methods"]  # sqrt(1.3)
    assert "| SS-D | " not in parts["cells"]
    assert "<summary>SS-D</summary>" in parts["cells"]
    assert "| services | y | 1.30 | 1.00 | 1.00 | 3.00 |" in parts["families"]


def test_the_page_names_the_problems_on_which_another_method_is_better_and_the_best_there():
    rows = [*rows_of_two(), row("cloud", "z", 1.0, 0), row("cloud", "x", 2.0, rounds=100)]  # on seed 0, z has 1, x 6
    head, _, *lines = decision_report.parts(rows, "x")["better"].splitlines()
    assert head == "| problem | T = 100 | T = 2,000 |"
    assert lines == ["| cloud |  | z, 6.00 |"]
