"""The page of measured times says what the files of results say, and nothing else."""

import csv
import re

import bandwidth
import cells
import grid
import pytest
import report
import tables

from softbandit.baselines import POLICIES

PAGE = report.DOCS / "performance.md"
FILES = sorted(tables.RESULTS.glob("grid-*.csv"))


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_tables_are_those_that_the_results_give():
    assert report.page(PAGE.read_text()) == PAGE.read_text(), "run: python benchmarks/report.py"


def test_a_number_changed_by_hand_is_found():
    part = re.search(r"<!-- grid -->\n(.*?)<!-- /grid -->", PAGE.read_text(), flags=re.DOTALL)[1]
    figure = re.findall(r"\| (\d{2,3}(?:,\d{3})+) \|", part)[0]
    edited = PAGE.read_text().replace(f"| {figure} |", "| 987,654,321 |", 1)
    assert edited != PAGE.read_text()
    assert report.page(edited) == PAGE.read_text()


def test_figures_of_the_page_stand_in_the_files():
    """Read off the page's first table as a reader would, not with the code that wrote it."""
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
def test_every_row_is_a_figure_or_says_why_not(path):
    for row in rows_of(path):
        assert bool(row["rounds_per_second"]) != bool(row["note"])
        assert row["policy"] in POLICIES
        assert row["command"].startswith("python benchmarks/grid.py")
        assert row["machine"]
        assert row["device"]
        if not row["note"]:
            # Six digits are kept of each: their product is 1e6 to 1e-5.
            each = float(row["us_per_trial_round"]) * float(row["rounds_per_second"])
            assert each == pytest.approx(1e6, rel=1e-5)


def test_the_grid_names_every_policy_once():
    assert sorted([*grid.POLICIES, "ckb"]) == sorted(POLICIES)


def test_a_row_of_the_grid_is_read_as_it_was_measured():
    cell = grid.Cell("ckb-ucb", "numpy", 100, 50)
    done = grid.Measured(cell, rank=17, rounds=64, seconds=2.5e-4)
    left_out = grid.Measured(cell, rank=17, note="memory: 24 GB")
    for result in (done, left_out):
        again = grid.measured({name: str(value) for name, value in grid.row(result).items()})
        assert again[:3] == result[:3]
        assert again.note == result.note
        assert again.seconds == pytest.approx(result.seconds, rel=1e-5, nan_ok=True)


def test_bytes_of_a_round_counted_by_hand():
    """3 arms, rank 2, 5 trials: Phi 6 numbers read; L 4, mu 6, var 3 a trial, read and written: 6 + 5 * 26 = 136."""
    features = bandwidth.features_bytes(3, 2, 5, "a GPU")
    assert bandwidth.bytes_a_round(3, 2, 5, features) == 8 * 136
    assert bandwidth.working_set(3, 2, 5, features) == 8 * (6 + 5 * 13)


def test_features_of_64_mb_are_read_in_6_bytes_a_number_by_one_trial_on_an_accelerator():
    on_cpu, on_gpu = bandwidth.machine.CPU, "a GPU"
    least = 2**26 // 8 // 16  # arms of rank 16
    sizes = [(least, 1, on_gpu), (least, 2, on_gpu), (least - 1, 1, on_gpu), (least, 1, on_cpu)]
    found = [bandwidth.features_bytes(n, 16, b, device) / (16 * n) for n, b, device in sizes]
    assert found == [6, 8, 8, 8]


@pytest.mark.parametrize(
    ("value", "text"),
    [("1234567", "1,230,000"), ("999.6", "1,000"), ("99.96", "100"), ("12.345", "12.3"), ("0.01234", "0.0123")],
)
def test_numbers_are_shown_with_three_digits(value, text):
    assert report.number(value) == text


def test_a_cell_too_large_or_too_slow_is_planned_with_a_note():
    limits = cells.Limits(target=0.2, longest=10.0, memory=10**9)
    slow = cells.plan(cells.Cell("safeopt", "numpy", 2000, 1000), limits, [])
    assert slow.note.startswith("time: ")
    large = cells.plan(cells.Cell("ckb-ucb", "numpy", 2000, 10**6), limits, [])
    # 8 (17^2 + 3 x 2,000) bytes a trial, four times over, for 10^6 trials: 201 GB, and little besides.
    assert int(re.fullmatch(r"memory: (\d+) GB", large.note)[1]) == pytest.approx(201, rel=0.01)
    fine = cells.plan(cells.Cell("ckb-ucb", "numpy", 2000, 1), limits, [])
    assert fine.note == ""
    assert fine.rounds >= cells.FEWEST


def test_files_of_results_are_on_the_page():
    texts = {path.stem for path in tables.RESULTS.glob("*.txt")}
    assert texts == set(report.TEXTS)
