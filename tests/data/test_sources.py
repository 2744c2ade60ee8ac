import hashlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from softbandit_tests.data_files import ORIGINALS, SOME_PRICES, needs_originals, random_readings, write_csv, write_mat

import softbandit as sb
from softbandit.data import KNOWN, SENSORS, STOCKS, identify, simulated_office
from softbandit.data.sources import cache_folder, data_folder

pytestmark = pytest.mark.usefixtures("empty_cache")


@pytest.mark.parametrize(
    ("platform", "variable", "default"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache/softbandit"),
        ("darwin", None, "Library/Caches/softbandit"),
        ("win32", "LOCALAPPDATA", "AppData/Local/softbandit"),
    ],
)
def test_the_cache_folder_follows_the_platforms_convention(monkeypatch, tmp_path, platform, variable, default):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == tmp_path / default
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
        assert cache_folder() == tmp_path / "elsewhere" / "softbandit"


def test_the_folder_is_the_callers_else_the_variables_else_the_cache(monkeypatch, empty_cache):
    assert data_folder() == (cache_folder(), "")
    monkeypatch.setenv("SOFTBANDIT_DATA", "/named")
    assert data_folder() == (Path("/named"), "SOFTBANDIT_DATA")
    assert data_folder("/given") == (Path("/given"), "caller")
    monkeypatch.setenv("SOFTBANDIT_DATA", "")  # like unset
    assert data_folder() == (cache_folder(), "")


@pytest.mark.extra
def test_without_the_originals_the_stand_ins_are_used():
    origin = identify("sensors")
    values = simulated_office()
    digest = hashlib.sha256(values.train.tobytes() + values.test.tobytes() + values.coords.tobytes()).hexdigest()
    assert origin == {
        "name": "sensors",
        "kind": "stand-in",
        "path": None,
        "sha256": digest,
        "text": "stand-in: simulated office of 41 sensors, seed 0",
    }
    assert identify("sensors", "stand-in") == origin
    assert identify("stocks")["kind"] == "stand-in"


@pytest.mark.extra
@pytest.mark.parametrize("source", [SENSORS, STOCKS], ids=lambda source: source.known.name)
def test_a_named_folder_without_the_file_is_refused(source, tmp_path, monkeypatch):
    known = source.known
    with pytest.raises(sb.DataError) as error:
        source.choose(tmp_path)
    message = str(error.value)
    assert f"{known.file} is not in {tmp_path}." in message
    assert f"softbandit data fetch {known.name} --to {tmp_path}" in message
    assert all(part in message for part in (known.address, known.sha256, "pass 'stand-in'"))
    monkeypatch.setenv("SOFTBANDIT_DATA", str(tmp_path))
    with pytest.raises(sb.DataError) as error:
        source.choose()
    assert f"softbandit data fetch {known.name}\n" in str(error.value)
    assert "unset SOFTBANDIT_DATA" in str(error.value)
    assert source.choose("stand-in")[1].kind == "stand-in"


def test_asking_for_a_missing_original_is_refused():
    with pytest.raises(sb.DataError, match=r"(?s)fetch sensors\n.*pass 'stand-in'") as error:
        SENSORS.choose("original")
    assert "Did you mean" not in str(error.value)


def test_a_misspelt_stand_in_is_suggested_for_a_missing_folder():
    with pytest.raises(sb.DataError, match="no such folder. Did you mean 'stand-in'"):
        SENSORS.choose("standin")


@pytest.mark.extra
def test_an_original_is_recognised_by_its_checksum_in_the_folder_the_variable_and_the_cache(tmp_path, monkeypatch):
    """The record has the checksum of an invented file instead of the original's."""
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


def test_a_malformed_file_with_the_originals_name_is_refused_for_its_fault(tmp_path):
    write_csv(tmp_path / "fin.csv", [*SOME_PRICES, ("2020-01-03", 1, 1)])
    with pytest.raises(sb.DataError, match="line 5, column Date: expected a day after 2020-01-06") as error:
        STOCKS.choose(tmp_path)
    assert "the original 333,618" in str(error.value)
    assert "of your own" not in str(error.value)
    (tmp_path / "iw_data_all.mat").write_text("<html>not found</html>")
    with pytest.raises(sb.DataError, match="expected a MATLAB file"):
        SENSORS.choose(tmp_path)


def test_a_well_formed_file_with_the_originals_name_is_refused_with_a_call_that_uses_it(tmp_path):
    file = write_csv(tmp_path / "fin.csv", SOME_PRICES)
    with pytest.raises(sb.DataError, match="is another file than the original fin.csv") as error:
        STOCKS.choose(tmp_path)
    code = re.search(r"softbandit\.problems\.(stocks\(path='.*'\))", str(error.value))[1]
    problem = eval(f"sb.problems.{code}")
    np.testing.assert_allclose(problem.reward, [(10.5 + 11.25 + 12) / 570.5, 1.0])
    assert problem.source.startswith("own file fin.csv sha256 ")
    origin = identify("stocks", path=file)
    assert (origin["kind"], origin["path"]) == ("own file", str(file))
    assert origin["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_different_file_in_the_cache_is_an_error_and_not_replaced_by_the_stand_in():
    cache_folder().mkdir(parents=True)
    write_mat(cache_folder() / "iw_data_all.mat", *random_readings(np.random.default_rng(0)))
    with pytest.raises(sb.DataError, match="another file"):
        SENSORS.choose()


def test_passing_both_a_folder_and_a_file_is_refused(tmp_path):
    with pytest.raises(sb.ArgumentError, match="data: expected None if path names a file"):
        STOCKS.choose(tmp_path, tmp_path / "fin.csv")


def test_identify_suggests_the_nearest_name():
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'stocks'"):
        identify("stock")


def test_download_addresses_are_pinned_to_a_commit():
    for name, known in KNOWN.items():
        assert known.name == name
        assert re.fullmatch(r"[0-9a-f]{64}", known.sha256)
        assert re.fullmatch(r"https://\S+/[0-9a-f]{40}/" + re.escape(known.file), known.address)


@needs_originals
def test_identify_returns_the_path_and_checksum_of_the_originals(monkeypatch):
    monkeypatch.setenv("SOFTBANDIT_DATA", ORIGINALS)
    assert identify("sensors") == {
        "name": "sensors",
        "kind": "original",
        "path": str(Path(ORIGINALS) / "iw_data_all.mat"),
        "sha256": "3d87e03ae8bc9e3f0a4abeb57c64933c7d3dee7476ac5c4f6ca28b4efc357c15",
        "text": "CMU light sensors, iw_data_all.mat sha256 3d87e03a...",
    }
    assert identify("stocks")["sha256"] == "e9f7d7c3a0ad4ada75e5b8fa3830c77ed0579232b45837438c671d83b1818199"
