import numpy as np
import pytest
import scipy.io
from softbandit_tests.data_files import SOME_PRICES, random_readings, write_csv, write_mat

import softbandit as sb
from softbandit.data import load_prices, load_sensors


@pytest.fixture
def readings():
    return random_readings(np.random.default_rng(0))


def test_readings_are_loaded_as_they_were_written(tmp_path, readings):
    train, test, coords = readings
    path = write_mat(tmp_path / "a.mat", train.astype(np.uint16), test, coords, note="more")
    loaded = load_sensors(path)
    for array, expected in zip(loaded.arrays, readings, strict=True):
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, expected)


def with_nan(train, test, coords):
    test = test.astype(float)
    test[3, 1] = np.nan
    return train, test, coords


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, b, c: (a, b[:, :4], c), r"data\.test\.sensordata: expected 5 sensors, as in train, got 4"),
        (lambda a, b, c: (a, b, c[:, :1].repeat(3, 1)), r"data\.coords: expected shape \(5, 2\), got \(5, 3\)"),
        (lambda a, b, c: (a[:, :, None].repeat(2, 2), b, c), r"data\.train\.sensordata: expected a matrix"),
        (lambda a, b, c: (a.astype(str).astype(object), b, c), r"data\.train\.sensordata: expected a matrix"),
        (lambda a, b, c: (a * 1j, b, c), r"data\.train\.sensordata: expected a matrix of numbers, got complex"),
        (with_nan, r"data\.test\.sensordata, row 3, column 1: expected a finite number, got"),
    ],
)
def test_malformed_readings_are_refused_by_field(tmp_path, readings, change, message):
    path = write_mat(tmp_path / "a.mat", *change(*readings))
    with pytest.raises(sb.DataError, match=message):
        load_sensors(path)


def test_missing_fields_of_the_struct_are_named(tmp_path, readings):
    train, _, coords = readings
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"data": {"train": {"sensordata": train}, "coords": coords}})
    with pytest.raises(sb.DataError, match=r"data: expected a field 'test', got \['coords', 'train'\]"):
        load_sensors(path)
    scipy.io.savemat(path, {"data": {"train": train, "coords": coords}})
    with pytest.raises(sb.DataError, match=r"data\.train: expected a field 'sensordata', got ndarray"):
        load_sensors(path)
    scipy.io.savemat(path, {"readings": train})
    with pytest.raises(sb.DataError, match=r"expected a struct `data`, got variables \['readings'\]"):
        load_sensors(path)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_matlab_file_is_refused(tmp_path, readings, share):
    path = write_mat(tmp_path / "a.mat", *readings)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(sb.DataError, match="truncated" if share > 0.01 else "expected a MATLAB file"):
        load_sensors(path)


@pytest.mark.parametrize("offset", [140, 200, -20])
def test_a_damaged_matlab_file_is_refused(tmp_path, readings, offset):
    path = write_mat(tmp_path / "a.mat", *readings)
    content = bytearray(path.read_bytes())
    content[offset : offset + 10] = bytes(255 - byte for byte in content[offset : offset + 10])
    path.write_bytes(content)
    with pytest.raises(sb.DataError, match="is damaged"):
        load_sensors(path)


def test_a_file_without_the_matlab_header_is_refused(tmp_path):
    path = write_csv(tmp_path / "a.mat", SOME_PRICES)
    with pytest.raises(sb.DataError, match="expected a MATLAB file.* begin with b'Date,AAA"):
        load_sensors(path)


@pytest.mark.parametrize("load", [load_sensors, load_prices])
def test_a_file_that_cannot_be_read_raises_data_error(tmp_path, load):
    with pytest.raises(sb.DataError, match="none could not be read: No such file"):
        load(tmp_path / "none")
    with pytest.raises(sb.DataError, match="could not be read: Is a directory"):
        load(tmp_path)


def test_prices_are_loaded_as_they_were_written(tmp_path):
    prices = load_prices(write_csv(tmp_path / "a.csv", SOME_PRICES))
    assert prices.tickers == ("AAA", "BBB")
    assert prices.dates == ("2020-01-02", "2020-01-03", "2020-01-06")
    np.testing.assert_array_equal(prices.values, [[10.5, 200], [11.25, 190.5], [12, 180]])


def test_prices_may_have_a_byte_order_mark_and_windows_line_ends(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf" + b"Date,AAA\r\n2020-01-02,1\r\n\r\n2020-01-03,2\r\n")
    np.testing.assert_array_equal(load_prices(path).values, [[1], [2]])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("2020-01-07", "", 1), "line 5, column AAA: expected a price, got ''. Fill the gap"),
        (("2020-01-07", 1, " "), "line 5, column BBB: expected a price"),
        (("2020-01-07", "n/a", 1), "line 5, column AAA: expected a positive number, got 'n/a'"),
        (("2020-01-07", "nan", 1), "line 5, column AAA: expected a positive number, got 'nan'"),
        (("2020-01-07", 1, "inf"), "line 5, column BBB: expected a positive number, got 'inf'"),
        (("2020-01-07", 1, -3), "line 5, column BBB: expected a positive number, got '-3'"),
        (("2020-01-07", 0, 3), "line 5, column AAA: expected a positive number, got '0'"),
        (("2020-01-05", 1, 1), "line 5, column Date: expected a day after 2020-01-06, got '2020-01-05'"),
        (("2020-01-06", 1, 1), "line 5, column Date: expected a day after 2020-01-06, got '2020-01-06'"),
        (("7/1/2020", 1, 1), "line 5, column Date: expected a date like 2016-01-04, got '7/1/2020'"),
        (("2020-02-30", 1, 1), "line 5, column Date: expected a date"),
        (("2020-W02-2", 1, 1), "line 5, column Date: expected a date"),
        (("2020-01-07", 1), "line 5: expected 3 cells, got 2. The file is truncated"),
        (("2020-01-07", 1, 2, 3), "line 5: expected 3 cells, got 4"),
    ],
)
def test_a_malformed_row_of_prices_is_refused_by_line_and_column(tmp_path, row, message):
    with pytest.raises(sb.DataError, match=message):
        load_prices(write_csv(tmp_path / "a.csv", [*SOME_PRICES, row]))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (("AAA", "BBB", "CCC"), "line 1: expected the columns Date and at least one stock, got"),
        (("Date", "AAA", "AAA"), r"line 1: expected one name per column, got \['AAA'\]"),
        (("Date", "AAA", ""), "line 1: expected one name per column"),
    ],
)
def test_a_header_with_missing_or_repeated_columns_is_refused(tmp_path, header, message):
    with pytest.raises(sb.DataError, match=message):
        load_prices(write_csv(tmp_path / "a.csv", SOME_PRICES, header))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: expected the columns"),
        (b"Date,AAA\n", "at least 2 days"),
        (b"\x93NUMPY\x00\xff", "not comma-separated text"),
        (b'Date,AAA\n"2020-01-02,1\n', "not comma-separated text"),
    ],
)
def test_a_file_without_a_table_of_prices_is_refused(tmp_path, content, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(sb.DataError, match=message):
        load_prices(tmp_path / "a.csv")
