"""How large a package may be, and what its files may be called: held to by who makes one and by who verifies it."""

from __future__ import annotations

import re

from conformance.errors import UsageError

#: Bytes of the archive, of one file in it, and of all of them.
ARCHIVE_LIMIT = 1 << 30
FILE_LIMIT = 1 << 30
TOTAL_LIMIT = 2 << 30
#: Files in one package.
COUNT_LIMIT = 20_000
#: How many times as large as the archive its files may be together.  Records come to between 10 and 30.
RATIO_LIMIT = 200

MANIFEST = "manifest.json"
RECORDS, WAIVERS, REPORT = "records/", "waivers/", "report/"

_NAME_LIMIT, _DEPTH_LIMIT = 200, 8
_PART = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_-])?", re.ASCII)
#: What Windows takes for a device, whatever its ending.
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(10))}
)


class PackageError(UsageError):
    """A package cannot be made of what was named, or is refused."""


def why_not_a_name(name: str) -> str | None:
    """Why no file of a package may be called `name`, which has to mean the same file on each system.

    >>> why_not_a_name("report/index.html")
    >>> why_not_a_name("report/../../etc/passwd")
    "its part '..' is no portable name of a file"
    """
    if len(name) > _NAME_LIMIT:
        return f"its name is longer than {_NAME_LIMIT} characters"
    parts = name.split("/")
    if len(parts) > _DEPTH_LIMIT:
        return f"it lies deeper than {_DEPTH_LIMIT} folders"
    for part in parts:
        if not _PART.fullmatch(part) or part.partition(".")[0].lower() in _DEVICES:
            return f"its part {part!r} is no portable name of a file"
    if name != MANIFEST and not name.startswith((RECORDS, WAIVERS, REPORT)):
        return f"there are only {MANIFEST}, {RECORDS}, {WAIVERS} and {REPORT} in a package"
    return None
