"""Where the kit's own files are, how its packages are found, and what identifies the version of the suites."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from functools import cache
from pathlib import Path

from conformance.errors import UsageError

#: The packages `conformance` and `suites` lie side by side, in a checkout and when installed.
HOME = Path(__file__).resolve().parent.parent
KIT = HOME / "conformance"
SUITES = HOME / "suites"
#: The settings for pytest when the suites run by themselves, in place of those of a project.
PYTEST_SETTINGS = KIT / "pytest.ini"


def use_own(package: str) -> None:
    """Let the name `package` mean the kit's own package, whatever of that name comes before it on the path.

    Their names are such as others give to their folders.

    Args:
        package: a top-level one; one that does not lie next to this one is left alone.

    Raises:
        UsageError: another package of that name is imported already.
    """
    file = HOME / package / "__init__.py"
    if package in sys.modules:
        _check_own(package, file)
    elif (spec := importlib.util.spec_from_file_location(package, file)) and spec.loader and file.is_file():
        sys.modules[package] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[package]
            raise


def _check_own(package: str, file: Path) -> None:
    other = getattr(sys.modules[package], "__file__", None)
    if other is not None and file.is_file() and Path(other).resolve() != file:
        raise UsageError(
            f"{other} hides the kit's package {package!r} ({file.parent}): "
            "rename it, or keep the folder that it lies in off the path"
        )


@cache
def suite_digest() -> str:
    """SHA-256 over the names and contents of the files of the suites, the requirements and the documents."""
    digest = hashlib.sha256()
    files = [*SUITES.rglob("*.py"), *(KIT / "requirements").rglob("*.toml")]
    for file in sorted(files, key=lambda path: path.relative_to(HOME).as_posix()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(HOME).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
