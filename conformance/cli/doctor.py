"""``graph-conformance doctor``: whether this environment, or one implementation in it, is fit for a run."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
from typing import TYPE_CHECKING

from conformance import __version__
from conformance.adapters.implementations import KNOWN, check_name, resolve
from conformance.cli.commands import add_command
from conformance.diagnosis.account import account, exit_status, failures, faults
from conformance.diagnosis.examination import Request, examine
from conformance.diagnosis.probes import probe
from conformance.errors import ConformanceError, ExitStatus, KitError
from conformance.paths import SUITES, suite_digest
from conformance.requirements.loading import load_registry
from conformance.session.options import TEST_TIMEOUT_S, positive

if TYPE_CHECKING:
    from conformance.cli.commands import Commands

_PACKAGES = ("torch", "cuda-bindings", "pytest", "hypothesis", "pytest-xdist")


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "doctor", _doctor)
    parser.add_argument(
        "implementation",
        nargs="?",
        metavar="NAME",
        help="as for run --impl; without it, the environment is checked",
    )
    parser.add_argument("--device", help="for implementations with a choice: cpu, cuda or cuda:N")
    parser.add_argument("--revision", metavar="R", help="the PyTorch release to be held to")
    parser.add_argument(
        "--test-timeout",
        type=float,
        default=TEST_TIMEOUT_S,
        metavar="SECONDS",
        help=f"give up what does not come back in that time (default {TEST_TIMEOUT_S:g})",
    )


def _doctor(options: argparse.Namespace) -> int:
    positive("--test-timeout", options.test_timeout, "a number of seconds")
    return _environment() if options.implementation is None else _implementation(options)


def _implementation(options: argparse.Namespace) -> int:
    check_name(options.implementation)
    request = Request(options.implementation, options.device, options.revision, options.test_timeout)
    findings = examine(request)
    # Where no small graph can be captured, a probe would say that, each in its own way.
    in_vain = findings.kit is not None or faults(findings, ()) or failures(findings)
    probes, trouble = ((), "first mend what stands below") if in_vain else probe(request)
    for line in account(request, findings, probes, trouble):
        print(line)
    return exit_status(findings, probes, trouble)


def _environment() -> int:
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
