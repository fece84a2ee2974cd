"""The harness's own commands, and what the modules that carry them out share.

Listing all of them imports none of those modules: ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    # argparse has no public name for what add_subparsers returns.
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001


class Command(NamedTuple):
    """One command of the harness.

    Attributes:
        module: in `conformance.cli`; its function ``add`` says what the command takes, and what carries it out.
        about: what it does, in a sentence.
    """

    module: str
    about: str


#: Commands of other packages are listed between these two.
FIRST: Mapping[str, Command] = MappingProxyType(
    {"run": Command("run", "Run the suites, or those that paths name; arguments not listed here go to pytest.")}
)
LAST: Mapping[str, Command] = MappingProxyType(
    {
        "merge": Command("merge", "Join the records of shards into the record of one run."),
        "compare": Command(
            "compare",
            "Say what regressed, was fixed, is new or gone from one record to another; "
            "the exit status is 1 for regressions only.",
        ),
        "package": Command("package", "Write records, and what goes with them, as one file to publish."),
        "verify": Command(
            "verify",
            "Say whether a package is what it says: exit status 0; 1 when a record in it makes no claim; 4 when it is "
            "refused.",
        ),
        "waivers": Command(
            "waivers", "Write a waiver file for the failures in a record, with the reasons left to fill in."
        ),
        "requirements": Command("requirements", "List what implementations are held to."),
        "implementations": Command("listing", "List the implementations that --impl knows by name."),
        "doctor": Command("doctor", "Check the environment, or call each member of one implementation's adapter once."),
        "new-adapter": Command("new_adapter", "Write an adapter, a waiver file and a workflow to begin with."),
        "explore": Command(
            "explore",
            "Draw thousands of programs and lives of graphs, and keep a script of each failure; arguments not listed "
            "here go to run.",
        ),
        "self-check": Command(
            "self_check",
            "Run the suites against implementations that are wrong on purpose, and against correct ones that differ.",
        ),
    }
)
OWN: Mapping[str, Command] = MappingProxyType({**FIRST, **LAST})


def add_command(
    commands: Commands,
    name: str,
    call: Callable[[argparse.Namespace], int],
    *,
    about: str | None = None,
    passes_on: bool = False,
) -> argparse.ArgumentParser:
    """Add a command.

    Args:
        commands: of the command line.
        name: of the command.
        call: carries it out, and returns the exit status.
        about: what it does, in a sentence; of the harness's own it is known.
        passes_on: whether arguments that the command does not know reach it as ``rest``.
    """
    text = OWN[name].about if about is None else about
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(call=call, passes_on=passes_on)
    return parser
