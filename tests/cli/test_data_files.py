import hashlib

import pytest
from softbandit_tests.data_files import SOME_PRICES, write_csv
from softbandit_tests.file_server import CONTENT, serving

from softbandit.data import KNOWN
from softbandit.data.sources import cache_folder

CliRunner = pytest.importorskip("typer.testing").CliRunner
app = pytest.importorskip("softbandit.cli").app
pytestmark = [pytest.mark.extra, pytest.mark.usefixtures("empty_cache")]


def run(*arguments, **variables):
    return CliRunner().invoke(app, ["data", *map(str, arguments)], env={"COLUMNS": "80", **variables})


def words(result):
    return " ".join(result.output.replace("│", " ").split())


def test_data_on_a_fresh_machine_lists_the_stand_ins():
    result = run()
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= 80
    for known in KNOWN.values():
        assert all(word in result.output for word in (known.name, known.file, known.sha256, known.page))
    assert "sensors iw_data_all.mat absent not here: stand-in, simulated office" in words(result)
    assert result.output.count("absent") == 2


def test_data_lists_the_folder_and_the_checksum_of_each_file(tmp_path):
    write_csv(tmp_path / "fin.csv", SOME_PRICES)
    for result in (run("--data", tmp_path), run(SOFTBANDIT_DATA=str(tmp_path))):
        assert result.exit_code == 0
        assert "differs" in result.output
        assert f"absentnotin{tmp_path}" in words(result).replace(" ", "")  # a long path is folded
        assert max(map(len, result.output.splitlines())) <= 80


@pytest.fixture
def served(monkeypatch):
    """Serve a made-up sensors file from this machine."""
    with serving() as server:
        known = type(server.known())(
            **vars(KNOWN["sensors"])
            | {"address": server.address, "bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
        )
        monkeypatch.setitem(KNOWN, "sensors", known)
        yield server


def test_fetch_saves_the_file_in_the_cache_or_in_the_folder_given(served, tmp_path):
    result = run("fetch", "sensors")
    assert result.exit_code == 0, result.output
    assert (cache_folder() / "iw_data_all.mat").read_bytes() == CONTENT
    assert str(cache_folder() / "iw_data_all.mat") in result.output
    assert "50000/50000 bytes" in result.output
    assert run("fetch", "sensors", "--to", tmp_path / "here").exit_code == 0
    assert (tmp_path / "here" / "iw_data_all.mat").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"status": 404}, "answered 404"),
        ({"content": bytes(50_000)}, "is another file"),
        ({"stop_after": 7}, "broke after 7 of 50,000 bytes"),
    ],
)
def test_a_failed_fetch_prints_the_reason_and_exits_with_1(served, fault, says):
    vars(served).update(fault)
    result = run("fetch", "sensors")
    assert result.exit_code == 1
    assert says in result.output
    assert f"download  {served.address}\n" in result.output  # on one line, to be copied
    assert "Traceback" not in result.output
    assert not (cache_folder() / "iw_data_all.mat").exists()


def test_misspelt_data_names_get_a_suggestion():
    result = run("fetch", "sensor")
    assert result.exit_code == 1
    assert "Did you mean 'sensors'?" in result.output
    assert "fetch" in run("fetsh").output
