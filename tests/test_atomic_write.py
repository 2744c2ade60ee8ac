import errno
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import softbandit as sb
from softbandit import atomic_write
from softbandit.atomic_write import replacing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions and locks are those of POSIX")


def write(path, content):
    with replacing(path) as file:
        file.write(content)


def test_threads_that_write_one_file_leave_one_of_their_contents_at_any_time(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([i]) * 100_000 for i in range(4)]
    write(path, contents[0])

    def write_often(content):
        for _ in range(15):
            write(path, content)
            assert path.read_bytes() in contents

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_often, contents))
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444])
def test_an_existing_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    with replacing(path) as file:
        file.write(b"secret")
        file.flush()
        part = next(other for other in tmp_path.iterdir() if other != path)
        assert stat.S_IMODE(part.stat().st_mode) == mode | 0o600  # nobody else can read it meanwhile
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"secret"


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path):
    earlier = os.umask(0o027)
    try:
        write(tmp_path / "file", b"new")
    finally:
        os.umask(earlier)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_the_file_and_then_its_folder_are_written_to_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    write(tmp_path / "file", b"new")
    assert synced == [False, True]


def test_what_a_killed_process_left_is_used_again_and_removed(tmp_path):
    (tmp_path / ".file.part").write_bytes(b"left by a kill, and longer than what comes")
    write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_writer_waits_for_another_and_gives_up_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic_write, "PATIENCE", 0.05)
    with replacing(tmp_path / "file") as file:
        file.write(b"first")
        with pytest.raises(sb.FileError, match="another process has been writing it for 0.05 seconds"):
            write(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"


def no_lock(*args):
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("lock", [no_lock, None], ids=["none on this disk", "Windows"])
def test_without_locks_every_writer_has_a_temporary_file_of_its_own(tmp_path, monkeypatch, lock):
    if lock is None:
        monkeypatch.setattr(atomic_write, "fcntl", None)
    else:
        monkeypatch.setattr(atomic_write.fcntl, "flock", lock)
    with replacing(tmp_path / "file") as file:
        file.write(b"first")
        write(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"
    with pytest.raises(sb.FileError, match="No space left"), replacing(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert os.listdir(tmp_path) == ["file"]


def test_a_symbolic_link_in_place_of_the_temporary_file_is_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"keep")
    (tmp_path / ".file.part").symlink_to(victim)
    with pytest.raises(sb.FileError, match="could not be written"):
        write(tmp_path / "file", b"new")
    assert victim.read_bytes() == b"keep"


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(sb.FileError):
        write(tmp_path / "a", b"new")


def test_a_folder_in_place_of_the_file_is_refused_and_nothing_is_left(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(sb.FileError, match="could not be written"):
        write(tmp_path / "folder", b"new")
    assert os.listdir(tmp_path) == ["folder"]
