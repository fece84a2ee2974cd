"""``graph-conformance requirements`` and ``implementations``: what the kit knows."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from tabulate import tabulate

from conformance.cli.commands import add_command
from conformance.errors import ExitStatus, UsageError
from conformance.implementations import KNOWN
from conformance.registry import load_registry
from conformance.vocabulary import LEVELS

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the commands."""
    parser = add_command(commands, "requirements", "List what implementations are held to.", _requirements)
    parser.add_argument("--area", action="append", default=[], help="only this area; may be repeated")
    parser.add_argument("--level", action="append", default=[], choices=LEVELS, help="only this level; may be repeated")
    parser.add_argument("--json", action="store_true", help="all that is known of each, as JSON")
    add_command(commands, "implementations", "List the implementations that --impl knows by name.", _implementations)


def _requirements(given: argparse.Namespace) -> int:
    registry = load_registry()
    for area in given.area:
        if area not in registry.areas:
            raise UsageError(f"--area={area}: no such area (known: {', '.join(registry.areas)})")
    chosen = [
        entry
        for entry in registry.requirements.values()
        if (not given.area or entry.area in given.area) and (not given.level or entry.level in given.level)
    ]
    if given.json:
        print(json.dumps([entry.to_dict() for entry in chosen], indent=2))
        return ExitStatus.CONFORMING
    rows = [(entry.id, entry.level, entry.since, entry.capability or "", entry.text) for entry in chosen]
    print(
        tabulate(
            rows,
            headers=("requirement", "level", "since", "capability", "text"),
            disable_numparse=True,
            maxcolwidths=[None, None, None, None, 80],
        )
    )
    return ExitStatus.CONFORMING


def _implementations(_: argparse.Namespace) -> int:
    rows = [(name, known.about, f"{known.package}.{known.graph_class}") for name, known in KNOWN.items()]
    print(tabulate(rows, headers=("name", "what it is", "graph class")))
    print(
        "\nA class of your own: --impl=package.module:attribute or --impl=path/to/file.py:attribute, "
        "an adapter, a function that returns one, or a subclass of a graph class above."
    )
    return ExitStatus.CONFORMING
