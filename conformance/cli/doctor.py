"""``graph-conformance doctor``: whether this environment can run the kit, in a few lines."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
from typing import TYPE_CHECKING

from conformance import __version__
from conformance.adapters.implementations import KNOWN, resolve
from conformance.cli.commands import add_command
from conformance.errors import ConformanceError, ExitStatus, KitError
from conformance.paths import SUITES, suite_digest
from conformance.requirements.loading import load_registry

if TYPE_CHECKING:
    from conformance.cli.commands import Commands

_PACKAGES = ("torch", "cuda-bindings", "pytest", "hypothesis", "pytest-xdist")


def add(commands: Commands) -> None:
    """Add the command."""
    add_command(commands, "doctor", "Check the environment.", _doctor)


def _doctor(_: argparse.Namespace) -> int:
    print(f"kit {__version__}, Python {platform.python_version()}, {platform.platform()}")
    print(", ".join(f"{name} {_version(name)}" for name in _PACKAGES))
    sound = True
    for what, check in (("requirements", _requirements), ("suites", _suites), ("plug-in", _plugin)):
        try:
            print(f"{what}: {check()}")
        except KitError as error:
            sound = False
            print(f"{what}: BROKEN: {error}")
    for name in KNOWN:
        print(f"{name}: {_usable(name)}")
    return ExitStatus.CONFORMING if sound else ExitStatus.KIT_FAILED


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def _requirements() -> str:
    registry = load_registry()
    return f"{len(registry.requirements)} in {len(registry.areas)} areas"


def _suites() -> str:
    count = sum(1 for _ in SUITES.rglob("test_*.py"))
    if not count:
        raise KitError(f"no test files in {SUITES}")
    return f"{count} test files, digest {suite_digest()[:12]}"


def _plugin() -> str:
    names = {entry.value for entry in importlib.metadata.entry_points(group="pytest11")}
    if "conformance.plugin" not in names:
        raise KitError("pytest does not find it; install the kit into this environment")
    return "registered with pytest"


def _usable(name: str) -> str:
    try:
        adapter = resolve(name)
    except ConformanceError as error:
        return f"not usable here: {str(error).removeprefix(f'--impl={name}: ')}"
    return f"usable, as {adapter.dialect} {adapter.revision} on {adapter.device}"
