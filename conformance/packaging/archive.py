"""A ZIP archive as `write` makes it, and nothing else: `Archive` refuses what differs before anything is unpacked.

ZIP leaves room for what two readers take differently: bytes between the files, headers that say one thing in front of
a file and another at the end, names in several encodings.  A package has none of that: each byte is accounted for.
"""

from __future__ import annotations

import hashlib
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from conformance.packaging.limits import (
    ARCHIVE_LIMIT,
    COUNT_LIMIT,
    FILE_LIMIT,
    RATIO_LIMIT,
    TOTAL_LIMIT,
    PackageError,
    why_not_a_name,
)
from conformance.records.lines import opened

_CHUNK = 1 << 20
#: Characters of a name that a refusal shows.
_SHOWN = 80
#: The first moment that ZIP can name: no file has a time, so that the same input gives the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)
_DOS_TIME, _DOS_DATE = 0, 0x21
_PLAIN_FILE = (stat.S_IFREG | 0o644) << 16
_UNIX = 3

#: The end of an archive without a comment, and what a larger kind of archive has in front of it.
_END = struct.Struct("<4s4H2LH")
_END_MARK, _LARGE_MARK, _LARGE_SIZE = b"PK\5\6", b"PK\6\7", 20
#: The header in front of a file, before its name.
_LOCAL = struct.Struct("<4s5H3L2H")
_LOCAL_MARK, _VERSION = b"PK\3\4", 20
#: The entry of a file in the list at the end, before its name.
_LISTED = struct.Struct("<4sBB5H3L5H2L")
_LISTED_MARK = b"PK\1\2"
_ENCRYPTED = 1


def write(path: Path, files: Iterable[tuple[str, Iterable[bytes]]]) -> None:
    """Write an archive of `files`, each a name and its content in pieces."""
    with zipfile.ZipFile(path, "w", allowZip64=False) as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, _UNIX, _PLAIN_FILE
            with archive.open(info, "w") as stream:
                for piece in content:
                    stream.write(piece)


def pieces_of(stream: BinaryIO) -> Iterator[bytes]:
    """The rest of `stream` in pieces that fit into memory."""
    while piece := stream.read(_CHUNK):
        yield piece


class Archive:
    """An archive of a form that `write` gives it, open to be read.

    Args:
        path: of it, for messages.
        stream: its content.

    Attributes:
        sizes: of its files, by their names, in their order.

    Raises:
        PackageError: it has another form, or is beyond the limits.
    """

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path = path
        self._stream = stream
        self._size = stream.seek(0, 2)
        end, count = self._end()
        self._files: Mapping[str, zipfile.ZipInfo] = self._checked(self._directory(count))
        self._check_layout(end)
        self.sizes = {name: info.file_size for name, info in self._files.items()}

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a file, in pieces.

        Raises:
            PackageError: it cannot be unpacked, or is not as large as the archive says.
        """
        info = self._files[name]
        self._stream.seek(info.header_offset + _LOCAL.size + len(name))
        unpacking, rest, left, check = zlib.decompressobj(-zlib.MAX_WBITS), info.compress_size, info.file_size, 0
        try:
            while not unpacking.eof:
                packed = unpacking.unconsumed_tail or self._stream.read(min(_CHUNK, rest))
                rest -= 0 if unpacking.unconsumed_tail else len(packed)
                # One byte more than is announced shows that there is more.
                piece = unpacking.decompress(packed, min(_CHUNK, left + 1))
                left -= len(piece)
                if left < 0 or (not packed and not piece):
                    raise self._refusal(f"{name} is not as large as the archive says")
                check = zlib.crc32(piece, check)
                yield piece
        except zlib.error:
            raise self._refusal(f"{name} cannot be unpacked") from None
        if left or rest or unpacking.unused_data:
            raise self._refusal(f"{name} is not as large as the archive says")
        if check != info.CRC:
            raise self._refusal(f"{name} was altered: its checksum in the archive is another")

    def digest(self) -> str:
        """SHA-256 of the whole archive."""
        self._stream.seek(0)
        digest = hashlib.sha256()
        for piece in pieces_of(self._stream):
            digest.update(piece)
        return digest.hexdigest()

    def _refusal(self, reason: str) -> PackageError:
        return PackageError(f"{self._path} is no package: {reason}")

    def _end(self) -> tuple[int, int]:
        """Check the end of the archive; return where the list of its files begins, and how many there are."""
        cut = "it does not end as a ZIP archive does: it was cut off, something stands behind it, or it is none"
        if self._size < _END.size:
            raise self._refusal(cut)
        self._stream.seek(-_END.size, 2)
        mark, disk, first_disk, here, count, size, place, comment = _END.unpack(self._stream.read(_END.size))
        if mark != _END_MARK or comment:
            raise self._refusal(cut)
        if disk or first_disk or here != count:
            raise self._refusal("it is one part of an archive in several")
        if count > COUNT_LIMIT:
            raise self._refusal(f"it has more than {COUNT_LIMIT:,} files")
        if place + size + _END.size != self._size:
            raise self._refusal("something stands before, behind or between its files")
        if self._size >= _END.size + _LARGE_SIZE:
            self._stream.seek(-_END.size - _LARGE_SIZE, 2)
            if self._stream.read(len(_LARGE_MARK)) == _LARGE_MARK:
                raise self._refusal("it is of the kind for more than 4 GiB, which no package needs")
        return place, count

    def _directory(self, count: int) -> list[zipfile.ZipInfo]:
        """The list of the files, which its end says are so many."""
        try:
            with zipfile.ZipFile(self._stream) as archive:
                infos = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error):
            raise self._refusal("its list of files cannot be read") from None
        if len(infos) != count:
            raise self._refusal("its list of files is not as long as its end says")
        return infos

    def _checked(self, infos: Iterable[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        """The files by their names, each of which is checked."""
        files: dict[str, zipfile.ZipInfo] = {}
        seen: set[str] = set()
        for info in infos:
            # What zipfile makes of a name is not always what stands there.
            name = info.orig_filename
            reason = why_not_a_name(name) or _why_not_plain(info)
            if reason is not None:
                shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
                raise self._refusal(f"{shown!r}: {reason}" if shown.isprintable() else f"{shown!a}: {reason}")
            if name.lower() in seen:
                raise self._refusal(f"{name} is there twice")
            seen.add(name.lower())
            files[name] = info
        total = sum(info.file_size for info in files.values())
        if total > TOTAL_LIMIT:
            raise self._refusal(f"its files have more than {TOTAL_LIMIT >> 20:,} MiB together")
        if total > RATIO_LIMIT * self._size:
            raise self._refusal(f"its files would be more than {RATIO_LIMIT} times as large as the archive")
        return files

    def _check_layout(self, end: int) -> None:
        """Refuse headers that say other things than the list at the end, and bytes that belong to no file."""
        place, entries = 0, []
        for name, info in self._files.items():
            header = (_VERSION, 0, zipfile.ZIP_DEFLATED, _DOS_TIME, _DOS_DATE)
            sizes = (info.CRC, info.compress_size, info.file_size, len(name), 0)
            self._stream.seek(place)
            if self._stream.read(_LOCAL.size + len(name)) != _LOCAL.pack(_LOCAL_MARK, *header, *sizes) + name.encode():
                raise self._refusal(f"in front of {name} stands another header than the list of files has")
            if info.header_offset != place:
                raise self._refusal(f"{name} does not stand where the list of files says")
            entry = _LISTED.pack(_LISTED_MARK, _VERSION, _UNIX, *header, *sizes, 0, 0, 0, _PLAIN_FILE, place)
            entries.append(entry + name.encode())
            place += _LOCAL.size + len(name) + info.compress_size
        if place != end:
            raise self._refusal("something stands before, behind or between its files")
        self._stream.seek(end)
        if self._stream.read(self._size - end - _END.size) != b"".join(entries):
            raise self._refusal("its list of files is not written as the kit writes it")


def _why_not_plain(info: zipfile.ZipInfo) -> str | None:
    """Why a file is none as `write` writes it, whatever its name."""
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        return "it is a link"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted"
    if info.compress_type != zipfile.ZIP_DEFLATED:
        return f"it is packed by method {info.compress_type}, and a package only uses {zipfile.ZIP_DEFLATED} (deflate)"
    if info.file_size > FILE_LIMIT:
        return f"it is larger than {FILE_LIMIT >> 20:,} MiB"
    if info.flag_bits or info.extra or info.comment or info.date_time != _TIME:
        return "it has attributes that no file of a package has"
    if info.external_attr != _PLAIN_FILE or info.create_system != _UNIX:
        return "it is not marked as a plain file"
    return None


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open the archive at `path`.

    Raises:
        PackageError: it has not the form of a package.
        RecordError: it cannot be read.
    """
    with opened(path, "package", ARCHIVE_LIMIT) as stream:
        yield Archive(path, stream)
