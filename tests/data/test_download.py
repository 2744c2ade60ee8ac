import os
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest
from softbandit_tests.file_server import CONTENT, serving

import softbandit as sb
from softbandit.data import download
from softbandit.data.download import fetch

pytestmark = pytest.mark.usefixtures("empty_cache")


def has_manual_instructions(message, known, folder):
    return all(part in message for part in (known.address, str(folder / known.file), known.sha256))


def contains_only_the_file(folder):
    return [path.name for path in folder.iterdir()] == ["file.bin"]


def test_a_file_is_downloaded_once_with_progress_reports(tmp_path):
    folder, reports = tmp_path / "new" / "folder", []
    with serving() as server:
        path = fetch(server.known(), folder, lambda done, total: reports.append((done, total)))
        assert path == folder / "file.bin"
        assert path.read_bytes() == CONTENT
        assert contains_only_the_file(folder)
        assert reports[0] == (0, 50_000)
        assert reports[-1] == (50_000, 50_000)
        assert reports == sorted(reports)
        assert fetch(server.known(), folder) == path
        assert server.ranges == [None]  # no second request


def test_the_default_folder_of_a_download_is_the_one_that_is_read(tmp_path, monkeypatch, empty_cache):
    with serving() as server:
        if os.name == "posix" and os.uname().sysname == "Linux":
            assert fetch(server.known()) == empty_cache / "file.bin"
        monkeypatch.setenv("SOFTBANDIT_DATA", str(tmp_path / "named"))
        assert fetch(server.known()) == tmp_path / "named" / "file.bin"


def test_a_broken_download_is_kept_and_resumed(tmp_path):
    with serving(stop_after=20_000) as server:
        known = server.known()
        with pytest.raises(sb.OfflineError, match="broke after 20,000 of 50,000 bytes") as broken:
            fetch(known, tmp_path)
        assert "resumes from there" in str(broken.value)
        assert has_manual_instructions(str(broken.value), known, tmp_path)
        assert not (tmp_path / "file.bin").exists()
        server.stop_after = None
        assert fetch(known, tmp_path).read_bytes() == CONTENT
        assert server.ranges == [None, "bytes=20000-"]
    assert contains_only_the_file(tmp_path)


def test_an_interrupted_download_keeps_the_bytes_received(tmp_path):
    def interrupt(done, total):
        if done > 20_000:
            raise KeyboardInterrupt

    with serving() as server:
        with pytest.raises(KeyboardInterrupt):
            fetch(server.known(), tmp_path, interrupt)
        kept = (tmp_path / "file.bin.part").stat().st_size
        assert 20_000 < kept < 50_000
        assert fetch(server.known(), tmp_path).read_bytes() == CONTENT
        assert server.ranges == [None, f"bytes={kept}-"]


def test_a_server_that_cannot_resume_sends_the_whole_file_again(tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:30_000])
    with serving(ranges=False) as server:
        assert fetch(server.known(), tmp_path).read_bytes() == CONTENT
        assert server.ranges == ["bytes=30000-"]
    assert contains_only_the_file(tmp_path)


def test_a_complete_part_file_needs_no_network_and_an_oversized_one_is_downloaded_again(tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    with serving() as server:
        assert fetch(server.known(), tmp_path).read_bytes() == CONTENT
        assert server.ranges == []
        (tmp_path / "file.bin").unlink()
        (tmp_path / "file.bin.part").write_bytes(CONTENT + b"more")
        assert fetch(server.known(), tmp_path).read_bytes() == CONTENT
        assert server.ranges == [None]


def test_a_part_file_longer_than_the_servers_file_is_downloaded_again(tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:30_000])
    with serving(CONTENT[:20_000]) as server:
        with pytest.raises(sb.OfflineError, match="20,000 of 50,000"):
            fetch(server.known(), tmp_path)
        assert server.ranges == ["bytes=30000-", None]


@pytest.mark.parametrize("wrong", [bytes(50_000), CONTENT + b"x", CONTENT * 40], ids=["other", "longer", "huge"])
def test_a_download_with_the_wrong_checksum_is_removed(tmp_path, wrong):
    with serving(wrong) as server:
        with pytest.raises(sb.ChecksumError, match="another file") as error:
            fetch(server.known(), tmp_path)
        assert has_manual_instructions(str(error.value), server.known(), tmp_path)
    assert not list(tmp_path.glob("file.bin*"))


def test_a_part_file_of_another_file_is_removed_and_the_next_download_succeeds(tmp_path):
    (tmp_path / "file.bin.part").write_bytes(bytes(30_000))
    with serving() as server:
        with pytest.raises(sb.ChecksumError):
            fetch(server.known(), tmp_path)
        assert fetch(server.known(), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(("status", "kind"), [(404, sb.MovedError), (410, sb.MovedError), (503, sb.FetchError)])
def test_an_http_error_raises_an_error_with_its_status_code(tmp_path, status, kind):
    with serving(status=status) as server:
        with pytest.raises(kind, match=f"answered {status}") as error:
            fetch(server.known(), tmp_path)
        assert type(error.value) is kind
        assert "http://page" in str(error.value)
        assert has_manual_instructions(str(error.value), server.known(), tmp_path)


def test_a_refused_connection_raises_offline_error(tmp_path):
    with serving() as server:
        known = server.known()
    with socket.socket() as free:  # bound but not listening, so that the connection is refused
        free.bind(("127.0.0.1", int(known.address.split(":")[2].split("/")[0])))
        with pytest.raises(sb.OfflineError, match="(?i)refused") as error:
            fetch(known, tmp_path)
    assert has_manual_instructions(str(error.value), known, tmp_path)


@pytest.mark.parametrize("slow", ["head", "body"])
def test_an_answer_that_arrives_byte_by_byte_ends_at_the_deadline(tmp_path, monkeypatch, slow):
    monkeypatch.setattr(download, "DEADLINE", 0.2)
    with serving(drip=slow) as server:
        start = time.monotonic()
        with pytest.raises(sb.OfflineError, match="it took too long|timed out"):
            fetch(server.known(), tmp_path)
        assert time.monotonic() - start < 2  # all bytes would take 1,000 seconds


def test_a_redirect_within_the_server_is_followed(tmp_path):
    with serving() as server:
        server.redirect = server.address.replace("/some/", "/other/")
        assert fetch(server.known(), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "address", ["ftp://127.0.0.1:{}/file.bin", "http://localhost:{}/file.bin", "file:///etc/passwd"]
)
def test_a_redirect_to_another_server_or_scheme_is_refused(tmp_path, address):
    with serving() as server:
        server.redirect = address.format(server.server_port)
        with pytest.raises(sb.FetchError) as error:
            fetch(server.known(), tmp_path)
        assert has_manual_instructions(str(error.value), server.known(), tmp_path)
        assert len(server.ranges) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scheme", ["ftp", "file", "data"])
def test_an_address_that_is_not_of_the_web_is_refused(tmp_path, scheme):
    with serving() as server:
        known = replace(server.known(), address=server.address.replace("http", scheme))
        with pytest.raises(sb.FetchError, match="no address of the web"):
            fetch(known, tmp_path)


def test_a_part_file_that_is_a_link_is_not_written_to(tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    (tmp_path / "file.bin.part").symlink_to(precious)
    with serving() as server, pytest.raises(sb.FetchError, match="no plain file"):
        fetch(server.known(), tmp_path)
    assert precious.read_bytes() == b"mine"


def test_a_link_that_appears_during_the_download_is_not_written_to(tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")

    def plant(done, total):
        if not done:
            (tmp_path / "file.bin.part").symlink_to(precious)

    with serving() as server, pytest.raises(sb.FetchError, match="could not be written"):
        fetch(server.known(), tmp_path, plant)
    assert precious.read_bytes() == b"mine"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_raises_disk_full_error(tmp_path, monkeypatch):
    open_file = download._plain_file
    monkeypatch.setattr(download, "_plain_file", lambda part, append: open_file(Path("/dev/full"), append))
    with serving() as server:
        with pytest.raises(sb.DiskFullError, match="no room for 50,000 bytes") as error:
            fetch(server.known(), tmp_path)
        assert has_manual_instructions(str(error.value), server.known(), tmp_path)
    assert not (tmp_path / "file.bin").exists()


def test_a_folder_that_cannot_be_created_raises_fetch_error(tmp_path):
    (tmp_path / "file").write_text("")
    with serving() as server, pytest.raises(sb.FetchError, match="could not be written: Not a directory"):
        fetch(server.known(), tmp_path / "file" / "below")


def test_a_different_file_of_that_name_is_not_overwritten(tmp_path):
    (tmp_path / "file.bin").write_text("mine")
    with serving() as server:
        with pytest.raises(sb.DataError, match="exists and is another file"):
            fetch(server.known(), tmp_path)
        assert server.ranges == []
    assert (tmp_path / "file.bin").read_text() == "mine"


def test_an_unknown_data_name_suggests_the_nearest():
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'sensors'"):
        fetch("sensor")
