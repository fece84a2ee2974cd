"""``graph-conformance run``: the installed suites, from any folder."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from conformance.cli.commands import add_command
from conformance.errors import KitError
from conformance.paths import HOME, PYTEST_SETTINGS, SUITES

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "run", _run, passes_on=True)
    parser.add_argument(
        "--impl",
        action="append",
        required=True,
        metavar="NAME[,NAME]",
        help="reference, torch.cuda, package.module:attribute or path/to/file.py:attribute",
    )
    parser.add_argument("--device", help="for implementations with a choice: cpu, cuda or cuda:N")
    parser.add_argument("--revision", metavar="R", help="the PyTorch release to be held to")
    parser.add_argument("--record", metavar="PATH", help="write the record there")
    parser.add_argument("--force", action="store_true", help="replace a record that exists")
    parser.add_argument(
        "--profile", action="append", default=[], metavar="P[,P]", help="claim these profiles, instead of all"
    )
    parser.add_argument("--strict", action="store_true", help="exit status 1 unless the advice is followed, too")
    parser.add_argument("--complete", action="store_true", help="exit status 1 when a part is left out or did not run")
    parser.add_argument("--waivers", metavar="FILE", help="accept the known failures that this TOML file lists")
    parser.add_argument("--reruns", metavar="N", help="run tests that failed N times again; mixed outcomes are no pass")
    parser.add_argument("--test", action="append", default=[], metavar="ID", help="only this test, by its recorded id")


def _run(options: argparse.Namespace) -> int:
    if not SUITES.is_dir():
        raise KitError(f"the suites are not installed: there is no folder {SUITES}")
    # Plug-ins and settings are named: an environment may have pytest's automatic loading turned off, and pytest would
    # otherwise use the settings of the project that the environment is in.
    words = [
        "-p",
        "conformance",
        "-p",
        "xdist",
        "-p",
        "conformance.cli.suites_of_run",
        "-p",
        "no:cacheprovider",
        "-c",
        str(PYTEST_SETTINGS),
        f"--rootdir={HOME}",
    ]
    words += [f"--impl={name}" for name in options.impl]
    words += [
        f"--{option}={value}"
        for option in ("device", "revision", "record", "waivers", "reruns")
        if (value := getattr(options, option)) is not None
    ]
    # Whoever names a test wants to see all of it; of a whole run, the causes say more than hundreds of tracebacks.
    words += [f"--test={test}" for test in options.test] or ["--tb=no", "-rN"]
    words += [f"--profile={names}" for names in options.profile]
    words += ["--force"] if options.force else []
    words += ["--strict"] if options.strict else []
    words += ["--complete"] if options.complete else []
    return int(pytest.main([*words, *options.rest]))
