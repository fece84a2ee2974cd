"""Where the kit's own files are, and what identifies the version of the suites."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

#: The packages `conformance` and `suites` lie side by side, in a checkout and when installed.
HOME = Path(__file__).resolve().parent.parent
KIT = HOME / "conformance"
SUITES = HOME / "suites"
#: What pytest is told instead of a project's own settings when the suites run by themselves.
PYTEST_SETTINGS = KIT / "pytest.ini"


@cache
def suite_digest() -> str:
    """SHA-256 over the names and contents of the suites' and the requirements' files."""
    digest = hashlib.sha256()
    files = [*SUITES.rglob("*.py"), *(KIT / "requirements" / "areas").glob("*.toml")]
    for file in sorted(files, key=lambda path: path.relative_to(HOME).as_posix()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(HOME).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
