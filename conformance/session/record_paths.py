"""Where the records of a session are written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def is_one_file(record: str, implementations: int) -> bool:
    """Whether `record` is the file of a session with that many implementations, and no folder for files."""
    return implementations == 1 and not Path(record).is_dir() and not record.endswith(("/", os.sep))


def record_paths(record: str, implementations: Iterable[str]) -> dict[str, Path]:
    """The file of each implementation's record: `record` itself for one, files in the folder `record` for several."""
    names = list(implementations)
    target = Path(record)
    if is_one_file(record, len(names)):
        return {names[0]: target}
    paths: dict[str, Path] = {}
    for name in names:
        stem = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
        while target / f"{stem}.jsonl" in paths.values():
            stem += "_"
        paths[name] = target / f"{stem}.jsonl"
    return paths
