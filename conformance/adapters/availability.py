"""Whether an implementation that the kit knows can run here, and why not."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from conformance.adapters.implementations import resolve
from conformance.adapters.vendors import VENDORS
from conformance.errors import ConformanceError, one_line

#: Seconds that a vendor's package may take to be imported and asked for its devices.
_PATIENCE = 120
_USABLE = "usable"


def here(name: str) -> str:
    """``usable, …`` with the device, or the reason why it cannot run here, on one line."""
    package = next((vendor.package for _, vendor in VENDORS if vendor.name == name), None)
    if package is None:
        return state(name)
    if not _is_installed(package):
        return f"the package {package} is not installed"
    # A package that takes its process with it must not take this one.
    return _in_a_process(name)


def state(name: str) -> str:
    """The same, in this process."""
    try:
        adapter = resolve(name)
    except ConformanceError as error:
        return str(error).removeprefix(f"--impl={name}: ")
    except Exception as error:  # a vendor's code may raise anything
        return one_line(error)
    return f"{_USABLE}, as {adapter.dialect} {adapter.revision} on {adapter.device}"


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # of the package around it, or of one that is half loaded
        return False


def _in_a_process(name: str) -> str:
    code = f"import sys; from conformance.adapters.availability import state; sys.stdout.write('\\n' + state({name!r}))"
    try:
        done = subprocess.run(  # noqa: S603  # this Python, and a name of the kit's own
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"importing it and asking for its devices took more than {_PATIENCE} seconds"
    if done.returncode == 0:
        return done.stdout.rpartition("\n")[2]
    last = next(iter(reversed(done.stderr.strip().splitlines())), "it said nothing")
    return f"importing it and asking for its devices ended the process with status {done.returncode}: {one_line(last)}"
