import hashlib
import re

import numpy as np
import pytest
from softbandit_tests.data_files import SOME_PRICES, some_readings, write_csv, write_mat

import softbandit as sb
from softbandit.data import KNOWN, SENSORS, STOCKS, identify, simulated_office
from softbandit.data.folders import cache_folder

pytestmark = pytest.mark.usefixtures("empty_cache")


def test_a_fresh_machine_gets_the_stand_ins():
    found = identify("sensors")
    values = simulated_office()
    digest = hashlib.sha256(values.train.tobytes() + values.test.tobytes() + values.coords.tobytes()).hexdigest()
    assert found == {
        "name": "sensors",
        "kind": "stand-in",
        "path": None,
        "sha256": digest,
        "text": "stand-in: simulated office of 41 sensors, seed 0",
    }
    assert identify("sensors", "stand-in") == found
    assert identify("stocks")["kind"] == "stand-in"


@pytest.mark.parametrize("source", [SENSORS, STOCKS], ids=lambda source: source.known.name)
def test_a_named_folder_must_hold_the_file(source, tmp_path, monkeypatch):
    known = source.known
    with pytest.raises(sb.DataError) as error:
        source.choose(tmp_path)
    message = str(error.value)
    assert f"{known.file} is not in {tmp_path}." in message
    assert f"softbandit data fetch {known.name} --to {tmp_path}" in message
    assert all(part in message for part in (known.address, known.sha256, "say 'stand-in'"))
    monkeypatch.setenv("SOFTBANDIT_DATA", str(tmp_path))
    with pytest.raises(sb.DataError) as error:
        source.choose()
    assert f"softbandit data fetch {known.name}\n" in str(error.value)
    assert "unset SOFTBANDIT_DATA" in str(error.value)
    assert source.choose("stand-in")[1].kind == "stand-in"


def test_the_original_may_be_demanded():
    with pytest.raises(sb.DataError, match=r"(?s)fetch sensors\n.*say 'stand-in'") as error:
        SENSORS.choose("original")
    assert "Did you mean" not in str(error.value)


def test_a_folder_that_is_not_there_may_be_a_slip():
    with pytest.raises(sb.DataError, match="no such folder. Did you mean 'stand-in'"):
        SENSORS.choose("standin")


def test_an_original_is_known_by_its_checksum_in_any_of_the_three_places(tmp_path, monkeypatch):
    """With a record that fits a made-up file in place of the original's."""
    path = write_csv(tmp_path / "fin.csv", SOME_PRICES)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    record = vars(KNOWN["stocks"]) | {"sha256": digest}
    source = sb.data.Source(sb.data.Known(**record), STOCKS.parse, STOCKS.stand_in, STOCKS.stand_in_title)
    values, origin = source.choose(tmp_path)
    assert values.tickers == ("AAA", "BBB")
    assert (origin.name, origin.kind, origin.path, origin.sha256) == ("stocks", "original", str(path), digest)
    assert origin.text == f"prices of 29 stocks, fin.csv sha256 {digest[:8]}..."
    monkeypatch.setenv("SOFTBANDIT_DATA", str(tmp_path))
    assert source.choose()[1] == origin == source.choose("original")[1]
    monkeypatch.delenv("SOFTBANDIT_DATA")
    cache_folder().mkdir(parents=True)
    path.rename(cache_folder() / "fin.csv")
    assert source.choose()[1].kind == "original"
    assert source.choose("original")[1].path == str(cache_folder() / "fin.csv")
    assert source.choose("stand-in")[1].kind == "stand-in"


def test_a_file_of_that_name_with_a_fault_is_refused_for_it(tmp_path):
    write_csv(tmp_path / "fin.csv", [*SOME_PRICES, ("2020-01-03", 1, 1)])
    with pytest.raises(sb.DataError, match="line 5, column Date: expected a day after 2020-01-06") as error:
        STOCKS.choose(tmp_path)
    assert "the original 333,618" in str(error.value)
    assert "of your own" not in str(error.value)
    (tmp_path / "iw_data_all.mat").write_text("<html>not found</html>")
    with pytest.raises(sb.DataError, match="expected a MATLAB file"):
        SENSORS.choose(tmp_path)


def test_a_sound_file_that_is_another_is_refused_and_told_how_it_may_be_used(tmp_path):
    file = write_csv(tmp_path / "fin.csv", SOME_PRICES)
    with pytest.raises(sb.DataError, match="is another file than the original fin.csv") as error:
        STOCKS.choose(tmp_path)
    code = re.search(r"softbandit\.problems\.(stocks\(path='.*'\))", str(error.value))[1]
    problem = eval(f"sb.problems.{code}")
    np.testing.assert_allclose(problem.reward, [(10.5 + 11.25 + 12) / 570.5, 1.0])
    assert problem.source.startswith("own file fin.csv sha256 ")
    found = identify("stocks", path=file)
    assert (found["kind"], found["path"]) == ("own file", str(file))
    assert found["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_foreign_file_in_the_cache_is_not_passed_over_in_silence():
    cache_folder().mkdir(parents=True)
    write_mat(cache_folder() / "iw_data_all.mat", *some_readings(np.random.default_rng(0)))
    with pytest.raises(sb.DataError, match="another file"):
        SENSORS.choose()


def test_a_folder_and_a_file_are_not_named_at_once(tmp_path):
    with pytest.raises(sb.ArgumentError, match="data: expected None where path names a file"):
        STOCKS.choose(tmp_path, tmp_path / "fin.csv")


def test_unknown_names_get_the_nearest():
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'stocks'"):
        identify("stock")


def test_the_addresses_are_pinned_to_a_commit():
    for name, known in KNOWN.items():
        assert known.name == name
        assert re.fullmatch(r"[0-9a-f]{64}", known.sha256)
        assert re.fullmatch(r"https://\S+/[0-9a-f]{40}/" + re.escape(known.file), known.address)
