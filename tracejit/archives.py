"""One file of named members that is either exactly as it was written, or refused.

It is a zip archive, so that any tool can look into it: members are stored uncompressed, and the comment at its end
holds a SHA-256 digest of everything before. The digest finds what happens to files; it is no signature.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

import numpy as np

from tracejit.errors import SavedFileError
from tracejit.saving import PathLike, opened, written_aside
from tracejit.tensor_files import damaged, read_tensors

_COMMENT = b"tracejit sha256 "
_DIGITS = 64
_TAIL = re.compile(re.escape(_COMMENT) + rb"[0-9a-f]{64}")
_OLDEST_TIME = (1980, 1, 1, 0, 0, 0)  # the same contents make the same file
_BLOCK = 1 << 20

#: Writes a member to a stream.
Writer = Callable[[Any], None]


def write_archive(path: PathLike, members: Mapping[str, Writer]) -> None:
    """Write members in order; the file has its name only when it is complete."""
    with written_aside(path) as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = _COMMENT + b"0" * _DIGITS
            for name, write in members.items():
                with archive.open(zipfile.ZipInfo(name, _OLDEST_TIME), "w", force_zip64=True) as member:
                    write(member)
        length = stream.seek(0, 2)
        digest = _digest(stream, length)
        stream.seek(length - _DIGITS)
        stream.write(digest)


def _digest(stream: BinaryIO, length: int) -> bytes:
    """Return the digest of all but the place where it is written."""
    stream.seek(0)
    digest, remaining = hashlib.sha256(), length - _DIGITS
    while remaining:
        block = stream.read(min(remaining, _BLOCK))
        if not block:
            break
        digest.update(block)
        remaining -= len(block)
    return digest.hexdigest().encode()


class Archive:
    """An archive that has been found to be as it was written."""

    def __init__(self, archive: zipfile.ZipFile, what: str):
        self._archive, self.what = archive, what

    def bytes(self, name: str) -> bytes:
        """Return a member."""
        with _refusing(self.what):
            return self._archive.read(name)

    def tensors(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of a safetensors member."""
        with _refusing(self.what), self._archive.open(name) as member:
            length = self._archive.getinfo(name).file_size
            return dict(read_tensors(member, length, f"{self.what}, {name}"))  # type: ignore[arg-type]


@contextmanager
def read_archive(path: PathLike, names: Sequence[str]) -> Iterator[Archive]:
    """Open an archive that has exactly these members, in this order. Nothing is written, and no path is made of them.

    Raises SavedFileError for whatever differs from what `write_archive` makes.
    """
    with opened(path) as (stream, length), ExitStack() as stack:
        what = os.fspath(path)
        _check_whole(stream, length, what)
        with _refusing(what):
            archive = stack.enter_context(zipfile.ZipFile(stream))
        _check_members(archive, names, what)
        yield Archive(archive, what)


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turn what `zipfile` raises for archives that are none into our error."""
    try:
        yield
    except SavedFileError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, OverflowError, struct.error) as error:
        damaged(what, f"it is no proper archive ({error})")


def _check_whole(stream: BinaryIO, length: int, what: str) -> None:
    start = stream.read(4)
    if start != b"PK\x03\x04":
        damaged(what, "it does not begin as a program that tracejit saved")
    stream.seek(max(0, length - len(_COMMENT) - _DIGITS))
    tail = stream.read()
    if not _TAIL.fullmatch(tail):
        damaged(what, "its end is missing, or it was not saved by tracejit")
    if _digest(stream, length) != tail[-_DIGITS:]:
        damaged(what, "its digest is not that of its contents")


def _check_members(archive: zipfile.ZipFile, names: Sequence[str], what: str) -> None:
    found = [member.filename for member in archive.infolist()]
    if found != list(names):
        damaged(what, f"its members are {', '.join(found) or 'none'} instead of {', '.join(names)}")
    if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in archive.infolist()):
        damaged(what, "its members are compressed or encrypted")
