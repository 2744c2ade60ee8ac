"""The table of `make faults`, whose checks are in the suite in a short form: odd arguments, files, threads, agents."""

from softbandit_tests import faults


def test_the_table_of_faults_fits_in_eighty_columns():
    rows = [faults.Row("a" * 26, 1_000_000, 12, "b" * 17, "c" * 15), faults.Row("a", 0, 0, "b", "c")]
    lines = faults.table(rows).splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80


def test_a_check_that_ends_in_an_exception_is_a_failure():
    row = faults.run_check("no such check", share=0.001)
    assert row.failures == 1
    assert "exit status 1" in row.worst


def test_one_failure_fails_the_whole_command(monkeypatch, capsys):
    results = {check.__name__: faults.Row(check.__name__, 9, 0, "", "") for check in faults.CHECKS}
    monkeypatch.setattr(faults, "run_check", lambda name, share: results[name])
    assert faults.main(1.0) == 0
    results["kills"] = results["kills"]._replace(failures=1)
    assert faults.main(1.0) == 1
    assert "kills" in capsys.readouterr().out
