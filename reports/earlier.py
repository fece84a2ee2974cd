"""What an earlier report left in a folder: pages that a new one lacks would be taken for its own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from reports.formats.index import INDEX, digest_of

#: An index of more bytes than that is none of ours.
_MOST_BYTES = 64 << 20


def files_of(folder: Path, owned: Collection[str]) -> dict[str, str]:
    """The files of the report in a folder, each with its digest; none where there is no report.

    Args:
        folder: of the report.
        owned: the names in it that a report may write: of files, and of folders.
    """
    place = folder / INDEX
    try:
        content = json.loads(place.read_bytes()) if place.stat().st_size <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    entries = content.get("files") if isinstance(content, dict) else None
    named = entries if isinstance(entries, list) else []
    return {
        entry["path"]: entry["sha256"]
        for entry in named
        if isinstance(entry, dict) and isinstance(entry.get("sha256"), str) and _is_owned(entry.get("path"), owned)
    }


def _is_owned(path: Any, owned: Collection[str]) -> bool:
    if not isinstance(path, str) or not path.isprintable():
        return False
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] in owned and ".." not in parts


def remove(folder: Path, files: Mapping[str, str]) -> None:
    """Remove files that are still what a report wrote, and folders that are empty then.

    Args:
        folder: of the report.
        files: each with its digest.
    """
    home = folder.resolve()
    for path, digest in files.items():
        file = home / path
        # Whoever changed a file or put a link in its place wants to keep it; what is in the way otherwise stays, too.
        with contextlib.suppress(OSError):
            if file.resolve() == file and digest_of(file) == digest:
                file.unlink()
    folders = {above for path in files for above in PurePosixPath(path).parents if above.parts}
    for above in sorted(folders, key=lambda entry: len(entry.parts), reverse=True):
        with contextlib.suppress(OSError):  # it has other files
            (home / above).rmdir()
