import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from softbandit_tests.tiny_experiment import tiny, written

import softbandit as sb
from softbandit.experiments import reproduce, runner
from softbandit.experiments.cells import all_cells
from softbandit.experiments.tables import Table

pytestmark = pytest.mark.extra


def run(spec, out, jobs=1, progress=lambda name, work: None):
    (outcome,) = runner.run([spec], [runner.check(spec, None)], out, None, "local", jobs, progress)
    return outcome


def test_a_run_leaves_a_table_and_a_manifest(tmp_path):
    outcome = run(tiny(), tmp_path)
    manifest = json.loads((tmp_path / "tiny" / "manifest.json").read_text())
    assert manifest["spec"]["horizon"] == 40
    assert manifest["data"][0]["source"] == "synthetic"
    assert manifest["engines"] == {"ckb-ucb": "numpy", "queue": "numpy", "stageopt": "numpy"}
    assert set(manifest) >= {"key", "versions", "machine", "seconds", "finished", "code", "table"}
    assert len(Table.read(tmp_path / "tiny" / "results.csv")) == len(outcome.table)
    assert not outcome.reused


def test_two_runs_give_identical_tables_whatever_the_number_of_processes(tmp_path):
    run(tiny(), tmp_path / "a")
    run(tiny(), tmp_path / "b", jobs=2)
    a, b = ((tmp_path / name / "tiny" / "results.csv").read_bytes() for name in "ab")
    assert a == b


def test_a_finished_and_unchanged_experiment_is_used_again(tmp_path):
    steps = []
    first = run(tiny(), tmp_path)
    again = run(tiny(), tmp_path, progress=lambda name, work: steps.append(work))
    assert again.reused
    assert sum(steps) == runner.work(tiny())
    assert again.table["strong_regret"] == pytest.approx(first.table["strong_regret"], rel=1e-9)
    assert not run(tiny(seed=1), tmp_path).reused


def test_a_new_title_runs_nothing_again_and_earlier_outcomes_join_a_report(tmp_path):
    run(tiny(), tmp_path)
    other = replace(tiny(), name="other", title="Other")
    outcomes = list(reproduce.execute([other], tmp_path))
    renamed = replace(tiny(), title="Another title")
    both = reproduce.with_earlier([renamed, other, replace(tiny(), name="third")], outcomes, tmp_path, None)
    assert [(outcome.spec.title, outcome.reused) for outcome in both] == [("Another title", True), ("Other", False)]


@pytest.mark.parametrize("place", ["a file", "a file/inside"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path, place, monkeypatch):
    (tmp_path / "a file").write_text("")
    monkeypatch.setattr(runner, "play", None)
    with pytest.raises(sb.FileError, match="expected a folder to write to.*--out"):
        list(reproduce.execute([tiny()], tmp_path / place))


def test_an_experiment_whose_folder_is_a_file_is_refused_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "tiny").write_text("mine")
    monkeypatch.setattr(runner, "play", None)
    with pytest.raises(sb.FileError, match="expected a folder to write to.*--out"):
        list(reproduce.execute([tiny()], tmp_path))
    assert (tmp_path / "tiny").read_text() == "mine"


def test_changed_code_or_a_damaged_file_runs_the_experiment_again(tmp_path, monkeypatch):
    run(tiny(), tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(runner, "_code_hash", lambda: "another")
        assert not run(tiny(), tmp_path).reused
    assert not run(tiny(), tmp_path).reused
    table = tmp_path / "tiny" / "results.csv"
    table.write_text(table.read_text()[:-20])
    assert not run(tiny(), tmp_path).reused
    (tmp_path / "tiny" / "manifest.json").write_text("{")
    assert not run(tiny(), tmp_path).reused
    assert run(tiny(), tmp_path).reused


def test_the_code_that_draws_is_not_part_of_the_key():
    names = [name for name in runner.PRESENTATION if name.endswith(("figures", "report"))]
    assert names == ["experiments/figures", "experiments/report"]


def test_an_interrupt_keeps_what_was_finished(tmp_path, monkeypatch):
    first, second = tiny(), replace(tiny(), name="second")
    play, played = runner.play, []

    def interrupted(cell, engines, data):
        played.append(cell.spec.name)
        if played.count("second") == 3:
            raise KeyboardInterrupt
        return play(cell, engines, data)

    monkeypatch.setattr(runner, "play", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(reproduce.execute([first, second], tmp_path))
    assert not (tmp_path / "second").exists()
    monkeypatch.setattr(runner, "play", play)
    outcomes = list(reproduce.execute([first, second], tmp_path))
    assert [outcome.reused for outcome in outcomes] == [True, False]


def test_experiments_that_measure_times_run_first_and_each_outcome_is_its_own(tmp_path):
    """The others share one queue: their tables must equal those of runs alone."""
    timed = replace(tiny(), name="timed", measure="time", horizon=2, figures={})
    specs = [tiny(), replace(tiny(seed=1), name="other"), timed]
    outcomes = list(reproduce.execute(specs, tmp_path / "all", jobs=2))
    assert [outcome.spec.name for outcome in outcomes] == ["timed", "tiny", "other"]
    for outcome in outcomes[1:]:
        alone = run(outcome.spec, tmp_path / "alone")
        assert (alone.folder / "results.csv").read_bytes() == (outcome.folder / "results.csv").read_bytes()


def test_workers_begin_with_cells_of_different_policies():
    cells = all_cells(tiny())
    first = [cells[i].policy for i in runner._order(cells)][:3]
    assert sorted(first) == sorted(tiny().policies)


def test_all_experiments_are_checked_before_the_first_is_run(tmp_path):
    broken = replace(tiny(), name="broken", policies={"ckb-ucb": {"slak": 1}})
    with pytest.raises(sb.ArgumentError, match="broken.toml"):
        list(reproduce.execute([tiny(), broken], tmp_path))
    assert not list(tmp_path.iterdir())


def test_progress_adds_up_to_the_work_of_the_experiment(tmp_path):
    steps = []
    run(tiny(), tmp_path, progress=lambda name, work: steps.append(work))
    assert len(steps) == len(all_cells(tiny()))
    assert sum(steps) == runner.work(tiny())


def command(path, out, *options):
    return [sys.executable, "-m", "softbandit", "run", str(path), "--out", str(out), *options]


FULL = """
import resource, runpy, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
runpy.run_module("softbandit", run_name="__main__", alter_sys=True)
"""


def test_a_full_disk_is_reported_and_keeps_finished_results(tmp_path):
    """No file may grow beyond 2 kB: the table cannot be written, as on a full disk."""
    run(tiny(), tmp_path)
    before = (tmp_path / "tiny" / "results.csv").read_bytes()
    options = command(written(tmp_path), tmp_path, "--jobs", "1")[3:]
    done = subprocess.run([sys.executable, "-c", FULL, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "results.csv could not be written" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert (tmp_path / "tiny" / "results.csv").read_bytes() == before


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_prints_interrupted_and_exits_with_130(tmp_path, jobs):
    text = (written(tmp_path).read_text()).replace("horizon = 40", "horizon = 600000")
    path = written(tmp_path, text)
    process = subprocess.Popen(
        command(path, tmp_path / "out", "--jobs", jobs),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(4)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the group
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted." in errors
    assert not (tmp_path / "out" / "tiny" / "manifest.json").exists()
