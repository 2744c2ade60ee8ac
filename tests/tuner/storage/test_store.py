"""What a store does when processes are killed, race, or lose it: short forms of what `make faults` does at length."""

import os
import sqlite3
import threading

import numpy as np
import pytest
from softbandit_tests import bad_tuner_calls
from softbandit_tests import stressed_tuners as stressed
from softbandit_tests.broken_network import Network

import softbandit as sb
from softbandit.tuner.storage import retries, tables
from softbandit.tuner.storage.store import Store

# Other tests may have imported JAX, which warns at a fork; forked processes do not use it here.
pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings(r"ignore:os.fork\(\) was called:RuntimeWarning")]

# -- Kills and races. --


@pytest.mark.slow
def test_no_acknowledged_report_of_a_killed_process_is_lost(store):
    result = stressed.kills(store, 6, asks=150)
    assert result.acknowledged >= 6
    assert result.lost == 0


@pytest.mark.slow
def test_processes_that_start_at_once_share_one_tuner_and_know_the_same(store):
    assert stressed.race(store, processes=6, rounds=2) == stressed.Race(0, 12, 0, 0)


# -- Disks and databases. --


def test_a_full_disk_raises_an_error_and_reports_go_on_when_there_is_space(file_store):
    assert stressed.full_disk(file_store, 60) == stressed.Outcome(60, 0, 1)


def test_a_read_only_file_raises_an_error(tmp_path):
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        os.chmod(folder, 0o755)  # so that another user can read it
    assert stressed.read_only(str(tmp_path / "tuners.db")) == stressed.Outcome(1, 0, 1)


@pytest.mark.slow
def test_reports_wait_while_the_database_restarts(server):
    with stressed.telling(server.empty_database(), 40, pause=0.005) as results:
        server.stop("immediate")
        server.start()
    assert results == [stressed.Outcome(40, 0, 0)]


@pytest.fixture
def network(server):
    with Network(server.port) as network:
        network.url = server.empty_database().replace(str(server.port), str(network.port))
        yield network


def test_reports_wait_while_the_network_is_cut(network):
    with stressed.telling(network.url, 40, pause=0.005) as results:
        network.cut()
        threading.Timer(0.2, network.mend).start()
    assert results == [stressed.Outcome(40, 0, 0)]


@pytest.mark.parametrize("words", [[b"INSERT", b"COMMIT"], [b"INSERT"], [b"BEGIN"]])
def test_what_was_committed_without_an_answer_is_not_written_twice(network, words):
    tuner = stressed.new_tuner(network.url)
    network.lose_answer_to(*words)
    assert tuner.ask().id == 1
    network.lose_answer_to(*words)
    tuner.observe({"a": 1, "b": 2, "c": 3}, {"rows": 1, "latency": 1})
    network.lose_answer_to(*words)
    tuner.fail(1, "timeout")
    network.lose_answer_to(*words)
    tuner.pause()
    kinds = [event.kind for event in tuner._session.events()]
    assert kinds == ["created", "asked", "observed", "failed", "paused"]


def test_a_report_that_arrived_without_an_answer_is_written_once(network):
    tuner = stressed.new_tuner(network.url)
    suggestions = [tuner.ask(), tuner.ask()]
    tuner.tell(suggestions[0], rows=1, latency=1)  # after which a report is one statement
    network.lose_answer_to(b"INSERT")
    tuner.tell(suggestions[1], rows=2, latency=2)
    assert [event.kind for event in tuner._session.events()] == ["created", "asked", "asked", "told", "told"]


def test_a_database_that_stays_away_is_an_error_after_a_while(network, monkeypatch):
    tuner = stressed.new_tuner(network.url)
    monkeypatch.setattr(retries, "PATIENCE", 0.3)
    network.cut()
    with pytest.raises(sb.StoreError, match=r"no answer for 0\.3 s.*call again"):
        tuner.ask()
    network.mend()
    assert tuner.ask().id == 1


def test_a_locked_file_is_an_error_after_a_while(file_store, monkeypatch):
    tuner = stressed.new_tuner(file_store)
    monkeypatch.setattr(retries, "PATIENCE", 0.05)
    monkeypatch.setattr("softbandit.tuner.storage.engine.LOCK_PATIENCE", 0.05)
    holder = sqlite3.connect(file_store, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(sb.StoreError, match="database is locked"):
        tuner.ask()
    holder.execute("ROLLBACK")
    assert tuner.ask().id == 1
    holder.close()


def test_an_error_shows_no_password(monkeypatch):
    monkeypatch.setattr(retries, "PATIENCE", 0.0)
    with pytest.raises(sb.StoreError) as caught:
        sb.tuners("postgresql://user:secret@127.0.0.1:1/database")
    assert "secret" not in str(caught.value)


# -- Versions, and what nobody wrote. --


def test_an_older_schema_is_migrated_in_one_step_after_another(file_store, monkeypatch):
    old = stressed.new_tuner(file_store)
    old.tell(old.ask(), rows=1, latency=1)

    def to_version_2(connection):
        connection.exec_driver_sql("ALTER TABLE softbandit_tuners ADD COLUMN note TEXT")

    def to_version_3(connection):
        connection.exec_driver_sql("UPDATE softbandit_tuners SET note = 'migrated'")

    monkeypatch.setattr(tables, "VERSION", 3)
    monkeypatch.setattr(tables, "MIGRATIONS", {1: to_version_2, 2: to_version_3})
    for _ in range(2):
        assert stressed.new_tuner(file_store).history() == old.history()
    with sqlite3.connect(file_store) as connection:
        assert connection.execute("SELECT version FROM softbandit_schema").fetchall() == [(3,)]
        assert connection.execute("SELECT note FROM softbandit_tuners").fetchall() == [("migrated",)]
    connection.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(file_store, monkeypatch):
    stressed.new_tuner(file_store)

    def failing(connection):
        connection.exec_driver_sql("DELETE FROM softbandit_events")
        connection.exec_driver_sql("no SQL")

    with monkeypatch.context() as patch:
        patch.setattr(tables, "VERSION", 2)
        patch.setattr(tables, "MIGRATIONS", {1: failing})
        with pytest.raises(sb.StoreError):
            stressed.new_tuner(file_store)
    assert stressed.new_tuner(file_store).history() == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE softbandit_schema SET version = 9", "newer softbandit"),
        ("UPDATE softbandit_schema SET version = -1", "damaged"),
        ("DELETE FROM softbandit_schema", "damaged"),
    ],
)
def test_a_newer_or_senseless_schema_is_refused(file_store, statement, message):
    stressed.new_tuner(file_store)
    change(file_store, statement)
    with pytest.raises(sb.StoreError, match=message):
        sb.tuners(file_store)


def change(path, statement, *parameters):
    """Change a store behind the library's back."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, parameters)
    connection.close()


@pytest.mark.parametrize("start", [0, 20, 100])
def test_a_damaged_file_is_refused(file_store, start):
    stressed.new_tuner(file_store)._session.store._engine.dispose()
    size = os.path.getsize(file_store)
    with open(file_store, "r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * (size - start))
    with pytest.raises(sb.StoreError, match="damaged|exports"):
        sb.Tuner.open("stressed", store=file_store)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE softbandit_events SET kind = 'danced' WHERE number = 2", "event 2: .*got 'danced'.*Update softbandit"),
        ("UPDATE softbandit_events SET body = '{' WHERE number = 2", "event 2: .*damaged"),
        ("UPDATE softbandit_events SET body = '[1]' WHERE number = 2", "event 2: .*damaged"),
        ("UPDATE softbandit_events SET body = '{}' WHERE number = 3", "event 3: .*damaged"),
        ("UPDATE softbandit_events SET ask = 7 WHERE number = 3", "event 3: .*damaged"),
        ("UPDATE softbandit_events SET ask = NULL WHERE number = 3", "event 3: .*damaged"),
        ("DELETE FROM softbandit_events WHERE number = 2", "event 2 next, got event 3"),
        ("DELETE FROM softbandit_events WHERE number = 1", "event 1 next, got event 2"),
        ("UPDATE softbandit_events SET at = 1e300 WHERE number = 2", "event 2: .*damaged"),
        (
            "UPDATE softbandit_events SET body = replace(body, '\"version\": 1', '\"version\": 2')",
            "event 1: .*version 1",
        ),
    ],
)
def test_a_log_that_no_version_wrote_is_refused(file_store, statement, message):
    tuner = stressed.new_tuner(file_store)
    tuner.tell(tuner.ask(), rows=1, latency=1)
    change(file_store, statement)
    with pytest.raises(sb.StoreError, match=message):
        sb.Tuner.open("stressed", store=file_store).ask()


def test_a_file_that_is_no_database_is_refused(file_store):
    with open(file_store, "w") as file:
        file.write("a text file, long enough to be looked at as a database" * 100)
    with pytest.raises(sb.StoreError, match="no SQLite file"):
        stressed.new_tuner(file_store)


def test_opening_another_database_is_refused_and_changes_nothing(file_store):
    change(file_store, "CREATE TABLE other (a INTEGER)")
    with pytest.raises(sb.StoreError, match="a database with tuners"):
        sb.tuners(file_store)
    connection = sqlite3.connect(file_store)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("other",)]
    connection.close()


@pytest.mark.parametrize(("old", "new"), [("/postgres", "/nowhere"), ("postgres@", "nobody@")])
def test_a_database_or_user_that_does_not_exist_is_an_error_at_once(server, old, new):
    with pytest.raises(sb.StoreError, match="does not exist"):
        sb.tuners(new.join(server.url.rsplit(old, 1)))


def test_a_folder_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(sb.StoreError, match="folder exists"):
        stressed.new_tuner(str(tmp_path / "no such folder" / "a.db"))


# -- Snapshots. --


@pytest.mark.parametrize("damage", ["DELETE FROM softbandit_snapshots", "UPDATE softbandit_snapshots SET body = X'00'"])
def test_a_deleted_or_damaged_snapshot_changes_nothing(file_store, damage):
    tuner = stressed.new_tuner(file_store)
    stressed.add_asks(tuner, 120, told=100)
    tuner.ask()
    (kept,) = tuner._session.store.snapshots(tuner.name)
    assert kept.number == 221
    stressed.add_asks(tuner, 3, told=3)
    known = [stressed.fingerprint(sb.Tuner.open("stressed", store=file_store))]
    change(file_store, damage)
    known.append(stressed.fingerprint(sb.Tuner.open("stressed", store=file_store)))
    known.append(stressed.fingerprint(tuner))
    assert len(set(known)) == 1


def test_a_process_starts_from_the_snapshot(file_store, monkeypatch):
    tuner = stressed.new_tuner(file_store)
    stressed.add_asks(tuner, 60, told=60)
    tuner.ask()
    monkeypatch.setattr("softbandit.tuner.deciding.memory.learn_models", None)  # to learn again would fail
    assert sb.Tuner.open("stressed", store=file_store).ask().id == 62


# -- Connections. --


def test_a_forked_process_uses_no_connection_of_its_parent(store):
    tuner = stressed.new_tuner(store)
    first = tuner.ask()
    inherited = connection_of(tuner)

    def in_child(report):
        report(tuner.ask().id)
        report(int(connection_of(tuner) is inherited))

    assert stressed.Child(in_child).end() == (0, [2, 0])
    assert connection_of(tuner) is inherited
    tuner.tell(first, rows=1, latency=1)
    assert [row.status for row in tuner.history()] == ["told", "asked"]


def connection_of(tuner):
    """Return the driver's connection that a tuner uses now."""
    with tuner._session.store._engine.connect() as connection:
        return connection.connection.driver_connection


def test_a_store_given_as_url_or_path_is_the_same(file_store):
    stressed.new_tuner(file_store)
    assert sb.tuners(f"sqlite:///{file_store}") == ["stressed"]
    assert Store(file_store).names() == ["stressed"]


# -- Odd arguments. --


@pytest.mark.parametrize("odd", [np.zeros((1, 0, 1)), np.array([":memory:", "b"]), 3.0, None])
def test_a_store_that_is_neither_path_nor_url_is_refused(odd):
    with pytest.raises(sb.ArgumentError, match="store"):
        sb.tuners(odd)


def test_bad_calls_raise_softbandit_errors_only_and_write_nothing():
    """Some of a hundred thousand: `make faults` makes them all."""
    assert bad_tuner_calls.run(150) == []
