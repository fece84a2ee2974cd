"""``index.json``: what is in a report's folder, for whoever wants to find it without a person's help."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.formats.badges import NAMES, badge_path
from reports.formats.report_json import identity
from reports.formats.runs import RecordedRun

INDEX = "index.json"
#: Grows when a reader of the old form would be misled.
SCHEMA = 1
_BLOCK = 1 << 20

_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".html": "text/html",
    ".md": "text/markdown",
    ".json": "application/json",
    ".csv": "text/csv",
    ".xml": "application/xml",
}


def index(runs: Sequence[RecordedRun], files: Mapping[str, Path]) -> dict[str, Any]:
    """What is in the folder besides this file.

    Args:
        runs: the records that are reported on.
        files: the other files, by their places in the folder, each with where it is now.
    """
    return {
        "format": "graph-conformance index",
        "schema": SCHEMA,
        "records": [{**identity(run), "badges": {name: badge_path(run, name) for name in NAMES}} for run in runs],
        "files": [
            {
                "path": path,
                "media_type": _TYPES[Path(path).suffix],
                "bytes": file.stat().st_size,
                "sha256": digest_of(file),
            }
            for path, file in files.items()
        ],
    }


def digest_of(file: Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
