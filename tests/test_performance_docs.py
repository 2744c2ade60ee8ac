"""docs/performance.md shows the figures of the files in benchmarks/results, and the benchmarks count correctly."""

import csv
import os
import re
import subprocess
import sys

import bandwidth
import cells
import grid
import pytest
import report
import tables
import tuner_and_optuna

from softbandit.baselines import POLICIES

pytestmark = pytest.mark.extra

PAGE = report.DOCS / "performance.md"
FILES = sorted(tables.RESULTS.glob("grid-*.csv"))


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_tables_of_the_page_match_the_results():
    assert report.page(PAGE.read_text()) == PAGE.read_text(), "run: python benchmarks/report.py"


def test_the_page_about_optuna_matches_its_results_and_programs():
    text = tuner_and_optuna.PAGE.read_text()
    assert tuner_and_optuna.page(text) == text, "run: python benchmarks/tuner_and_optuna.py"


def test_the_program_with_a_tuner_runs_and_recommends_a_configuration(monkeypatch):
    monkeypatch.setattr(tuner_and_optuna, "ROUNDS", 6)
    row = tuner_and_optuna.result("Tuner", seed=0)
    configurations = tuner_and_optuna.Storm(0).true.values()
    assert (row["kept_throughput"], row["kept_latency_ms"]) in configurations
    assert min(latency for _, latency in configurations) <= row["latency_ms"] <= tuner_and_optuna.GIVEN_UP


def test_a_number_edited_by_hand_is_restored():
    part = re.search(r"<!-- grid -->\n(.*?)<!-- /grid -->", PAGE.read_text(), flags=re.DOTALL)[1]
    figure = re.findall(r"\| (\d{2,3}(?:,\d{3})+) \|", part)[0]
    edited = PAGE.read_text().replace(f"| {figure} |", "| 987,654,321 |", 1)
    assert edited != PAGE.read_text()
    assert report.page(edited) == PAGE.read_text()


def test_figures_of_the_first_table_are_in_the_result_files():
    """Parses the table as a reader would, not with the code that wrote it."""
    lines = re.search(r"<!-- grid -->\n(.*?)\n\n", PAGE.read_text(), flags=re.DOTALL)[1].splitlines()
    head, _, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    arms = [int(cell.removesuffix(" arms").replace(",", "")) for cell in head[3:]]
    engines = {"NumPy": ("numpy", "CPU"), "JAX": ("jax", "CPU"), "JAX, H200": ("jax", "NVIDIA H200")}
    measured = {
        (row["policy"], row["engine"], row["device"], int(row["trials"]), int(row["arms"])): row["rounds_per_second"]
        for path in FILES
        for row in rows_of(path)
    }
    shown = 0
    for policy, engine, trials, *figures in body:
        for n, cell in zip(arms, figures, strict=True):
            if cell[:1].isdigit():
                key = policy, *engines[engine], int(trials.replace(",", "")), n
                # Three digits are shown: at most half a unit of the third is lost, 0.5% of the number.
                assert float(cell.replace(",", "")) == pytest.approx(float(measured[key]), rel=0.005)
                shown += 1
    assert shown > 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_row_of_the_grid_has_a_figure_or_a_note(path):
    for row in rows_of(path):
        assert bool(row["rounds_per_second"]) != bool(row["note"])
        assert row["policy"] in POLICIES
        assert row["command"].startswith("python benchmarks/grid.py")
        assert row["machine"]
        assert row["device"]
        if not row["note"]:
            # Both are written with six digits: their product is 1e6 to a relative 1e-5.
            product = float(row["us_per_trial_round"]) * float(row["rounds_per_second"])
            assert product == pytest.approx(1e6, rel=1e-5)


def test_the_grid_names_every_policy_once():
    assert sorted([*grid.POLICIES, *grid.LEFT_OUT]) == sorted(POLICIES)


def test_a_row_of_the_grid_reads_back_as_its_measurement():
    cell = grid.Cell("ckb-ucb", "numpy", 100, 50)
    done = grid.Measurement(cell, rank=17, rounds=64, seconds=2.5e-4)
    left_out = grid.Measurement(cell, rank=17, note="memory: 24 GB")
    for result in (done, left_out):
        read = grid.from_row({name: str(value) for name, value in grid.to_row(result).items()})
        assert read[:3] == result[:3]
        assert read.note == result.note
        assert read.seconds == pytest.approx(result.seconds, rel=1e-5, nan_ok=True)


def test_bytes_per_round_match_a_count_by_hand():
    """3 arms, rank 2, 5 trials: read 6 numbers of Phi; read and write U 4, mu 6, var 3 per trial: 6 + 5 * 26 = 136."""
    assert bandwidth.bytes_per_round(3, 2, 5) == 8 * 136
    assert bandwidth.working_set(3, 2, 5) == 8 * (6 + 5 * 13)


def test_columns_of_older_bandwidth_files_are_read_under_their_new_names(tmp_path):
    path = tmp_path / "bandwidth.csv"
    path.write_text("arms,bytes_a_round,us_a_round\n100,23024,68.2\n")
    assert tables.read(path) == [{"arms": "100", "bytes_per_round": "23024", "us_per_round": "68.2"}]


@pytest.mark.parametrize(
    ("value", "text"),
    [("1234567", "1,230,000"), ("999.6", "1,000"), ("99.96", "100"), ("12.345", "12.3"), ("0.01234", "0.0123")],
)
def test_numbers_are_shown_with_three_significant_digits(value, text):
    assert report.number(value) == text


def test_a_cell_that_is_too_large_or_too_slow_is_planned_with_a_note():
    limits = cells.Limits(target=0.2, longest=10.0, memory=10**9)
    slow = cells.plan(cells.Cell("safeopt", "numpy", 2000, 1000), limits, [])
    assert slow.note.startswith("time: ")
    large = cells.plan(cells.Cell("ckb-ucb", "numpy", 2000, 10**6), limits, [])
    # 8 (17^2 + 3 x 2,000) bytes per trial, four copies, 10^6 trials: 201 GB, and little else.
    assert int(re.fullmatch(r"memory: (\d+) GB", large.note)[1]) == pytest.approx(201, rel=0.01)
    feasible = cells.plan(cells.Cell("ckb-ucb", "numpy", 2000, 1), limits, [])
    assert feasible.note == ""
    assert feasible.rounds >= cells.FEWEST


@pytest.mark.parametrize("engine", ["numpy", pytest.param("jax", marks=pytest.mark.extra)])
def test_a_small_cell_is_measured(engine):
    cell = cells.Cell("ckb-ucb", engine, arms=20, trials=2)
    planned = cells.plan(cell, cells.Limits(target=1e-3, longest=10.0, memory=10**9), [])
    result = cells.measure(planned, 1e-3)
    assert result.note == ""
    assert result.rounds >= cells.FEWEST
    assert result.seconds > 0


def test_every_benchmark_can_be_imported():
    folder = tables.RESULTS.parent
    peers = "continuous_botorch", "decision_botorch", "decision_optuna"  # need other libraries
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem not in peers)
    paths = os.pathsep.join([str(folder), *sys.path])
    subprocess.run(
        [sys.executable, "-c", f"import {', '.join(names)}"], check=True, env=os.environ | {"PYTHONPATH": paths}
    )


def test_every_text_file_of_results_is_on_the_page():
    texts = {path.stem for path in tables.RESULTS.glob("*.txt")}
    assert texts == set(report.TEXTS)
