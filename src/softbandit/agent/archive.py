"""Named arrays in one file that may come from a stranger: a NumPy archive whose last bytes are its checksum.

A file is what `np.savez` writes, a zip archive of uncompressed .npy files, with the checksum of all bytes before it
as the archive's comment. Reading takes no more memory than the file has bytes: what a file says about itself is
compared with its size before anything is allocated, compressed members are refused, and nothing is unpickled.
"""

import hashlib
import math
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

DIGITS = 64  # of the checksum
CHUNK = 1 << 20  # bytes read at once
END = struct.Struct("<4s4H2LH")  # the record at the end of a zip archive, before the comment
LARGE = b"PK\x06\x07"  # precedes it in an archive of 4 GiB or more
LARGEST_DIRECTORY = 1 << 20  # bytes: about 15,000 members
MEMBER = re.compile(r"([a-z_]+[0-9]*)\.npy")
ENCRYPTED = 1
KINDS = "biufcUSmM"  # of dtype: no objects, and no structures


class Contents(NamedTuple):
    """The arrays of a file, and its checksum; None if it is older than these."""

    arrays: Arrays
    checksum: str | None


def write(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write the arrays to an empty file, and return the checksum."""
    np.savez(file, allow_pickle=False, **arrays)
    file.seek(-2, os.SEEK_END)
    file.write(struct.pack("<H", DIGITS))  # the length of the comment
    checksum = _digest(file, file.tell())
    file.seek(0, os.SEEK_END)
    file.write(checksum.encode())
    return checksum


def checksum(path: Path) -> str | None:
    """Return the checksum at the end of a file, unverified; None if it has none."""
    with path.open("rb") as file:
        return _stored_checksum(file, os.fstat(file.fileno()).st_size)


def read(path: Path) -> Contents:
    """Return what is in a file. Raise any kind of exception if it is damaged or was not written by `write`."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        stored = _stored_checksum(file, size)
        if stored is not None and stored != _digest(file, size - DIGITS):
            raise ValueError("its checksum is another")
        _check_end(file, size, 0 if stored is None else DIGITS)
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(members, size)
            return Contents({_name(member): _array(archive, member) for member in members}, stored)


def _digest(file: BinaryIO, size: int) -> str:
    """Return the checksum of the first bytes of a file."""
    digest, left = hashlib.blake2b(digest_size=DIGITS // 2), size
    file.seek(0)
    while left and (chunk := file.read(min(left, CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest()


def _stored_checksum(file: BinaryIO, size: int) -> str | None:
    if size < END.size + DIGITS:
        return None
    file.seek(size - 2 - DIGITS)
    length, digits = file.read(2), file.read()
    is_checksum = length == struct.pack("<H", DIGITS) and re.fullmatch(rb"[0-9a-f]{%d}" % DIGITS, digits)
    return digits.decode() if is_checksum else None


def _check_end(file: BinaryIO, size: int, comment: int) -> None:
    """Check the record at the archive's end: `zipfile` would read a directory of any length into memory."""
    start = size - END.size - comment
    if start < 0:
        raise ValueError("it is too short")
    file.seek(max(start - 20, 0))
    before, record = file.read(start - file.tell()), file.read(END.size)
    signature, *disks, here, total, length, offset, text = END.unpack(record)
    if signature != b"PK\x05\x06" or any(disks) or here != total or text != comment:
        raise ValueError("it does not end as an archive does")
    if before[:4] == LARGE:
        if size < 2**32:
            raise ValueError("its directory is for a larger file")
    elif length > LARGEST_DIRECTORY or offset + length != start:
        raise ValueError("its directory does not fit it")


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Check that members are plain arrays of different names, and no larger than the file."""
    names = {_name(member) for member in members}
    plain = all(m.compress_type == zipfile.ZIP_STORED and not m.flag_bits & ENCRYPTED for m in members)
    if len(names) != len(members) or not plain:
        raise ValueError("its members are compressed, encrypted, or of the same name")
    if any(m.file_size != m.compress_size for m in members) or sum(m.file_size for m in members) > size:
        raise ValueError("its members are larger than the file")


def _name(member: zipfile.ZipInfo) -> str:
    match = MEMBER.fullmatch(member.orig_filename)
    if match is None:
        raise ValueError(f"a member is called {member.orig_filename[:40]!r}")
    return match[1]


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Return a member, after comparing its size with what its first bytes say."""
    with archive.open(member) as file:
        if npy.read_magic(file) != (1, 0):
            raise ValueError(f"{member.filename} is of another format")
        shape, _, dtype = npy.read_array_header_1_0(file)
        if dtype.kind not in KINDS or not dtype.itemsize or min(shape, default=0) < 0:
            raise ValueError(f"{member.filename} holds {dtype} of shape {shape}")
        if file.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError(f"{member.filename} is not as long as an array of shape {shape}")
    with archive.open(member) as file:  # again, since seeking would switch off the check of its sum
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return array
