"""ZIP archives byte by byte, so that each byte of one can be wrong."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

#: Deflate, a plain file of everybody's, and the first moment that ZIP can name.
METHOD, MODE, DATE = 8, 0o100644, 0x21


def deflated(content: bytes) -> bytes:
    packing = zlib.compressobj(-1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packing.compress(content) + packing.flush()


@dataclass(frozen=True)
class Member:
    """A file of an archive, with what its headers say; ``None`` is what is true."""

    name: bytes
    content: bytes = b""
    flags: int = 0
    method: int = METHOD
    mode: int = MODE
    system: int = 3
    date: int = DATE
    extra: bytes = b""
    comment: bytes = b""
    packed: bytes | None = None
    size: int | None = None
    checksum: int | None = None
    place: int | None = None
    local_name: bytes | None = None
    local_size: int | None = None
    local_flags: int | None = None

    @property
    def data(self) -> bytes:
        return deflated(self.content) if self.packed is None else self.packed

    def local(self) -> bytes:
        name = self.name if self.local_name is None else self.local_name
        size = self.told_size if self.local_size is None else self.local_size
        flags = self.flags if self.local_flags is None else self.local_flags
        values = (20, flags, self.method, 0, self.date, self.told_checksum, len(self.data), size, len(name))
        return struct.pack("<4s5H3L2H", b"PK\3\4", *values, len(self.extra)) + name + self.extra + self.data

    def listed(self, place: int) -> bytes:
        values = (20, self.system, 20, self.flags, self.method, 0, self.date, self.told_checksum)
        lengths = (len(self.data), self.told_size, len(self.name), len(self.extra), len(self.comment))
        where = (0, 0, self.mode << 16, place if self.place is None else self.place)
        head = struct.pack("<4sBBHHHHHLLLHHHHHLL", b"PK\1\2", values[0], values[1], *values[2:], *lengths, *where)
        return head + self.name + self.extra + self.comment

    @property
    def told_size(self) -> int:
        return len(self.content) if self.size is None else self.size

    @property
    def told_checksum(self) -> int:
        return zlib.crc32(self.content) if self.checksum is None else self.checksum


def zipped(
    members: Sequence[Member],
    *,
    before: bytes = b"",
    between: bytes = b"",
    behind_list: bytes = b"",
    behind: bytes = b"",
    comment: bytes = b"",
    count: int | None = None,
    disks: tuple[int, int] = (0, 0),
) -> bytes:
    """An archive of `members`, with other bytes at these places."""
    content, listed = before, b""
    for member in members:
        listed += member.listed(len(content))
        content += member.local() + between
    place, number = len(content), len(members) if count is None else count
    listed += behind_list
    end = struct.pack("<4s4H2LH", b"PK\5\6", *disks, number, number, len(listed), place, len(comment))
    return content + listed + end + comment + behind


def members_of(package: bytes) -> list[Member]:
    """The members of a good archive."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        return [Member(info.filename.encode(), archive.read(info)) for info in archive.infolist()]


def changed(members: Sequence[Member], name: str, **values: object) -> list[Member]:
    """`members`, the one called `name` with other `values`."""
    assert any(member.name == name.encode() for member in members)
    return [
        replace(member, **values) if member.name == name.encode() else member  # type: ignore[arg-type]
        for member in members
    ]
