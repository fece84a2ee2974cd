"""Run the suites of the right areas against every broken class, each up to its first failure, in one process.

    python -m tests.broken.run FOLDER

writes a record for each class into FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.broken.classes import AREAS

CLASSES = "tests/broken/classes.py"


def main(folder: Path) -> None:
    for broken, areas in AREAS.items():
        status = pytest.main(
            [
                *("-q", "-x", "--tb=no", "--no-header", "--no-isolate", "-p", "no:cacheprovider"),
                f"--impl={CLASSES}:{broken.__name__}",
                f"--record={folder / broken.__name__}.jsonl",
                *sorted(f"suites/{area.replace('-', '_')}" for area in areas),
            ]
        )
        print(f"{broken.__name__}: exit status {int(status)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
