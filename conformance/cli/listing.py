"""``graph-conformance implementations``: what the kit knows by name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tabulate import tabulate

from conformance.adapters.implementations import KNOWN
from conformance.adapters.installed import installed, package_of
from conformance.cli.commands import add_command
from conformance.errors import ExitStatus

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    add_command(commands, "implementations", _implementations)


def _implementations(_: argparse.Namespace) -> int:
    from conformance.adapters.availability import here

    rows = [
        (name, implementation.about, f"{implementation.package}.{implementation.graph_class}", here(name))
        for name, implementation in KNOWN.items()
    ]
    rows += [
        (entry.name, f"added by {package_of(entry)}", entry.value, here(entry.name)) for entry in installed().values()
    ]
    print(tabulate(rows, headers=("name", "what it is", "graph class", "here")))
    print(
        "\nA class of your own: --impl=package.module:attribute or --impl=path/to/file.py:attribute, "
        "an adapter, a function that returns one, or a graph class with capture_begin, capture_end and replay."
    )
    return ExitStatus.CONFORMING
