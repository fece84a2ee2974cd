"""What the command modules share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # argparse has no public name for what add_subparsers returns.
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001


def add_command(
    commands: Commands, name: str, about: str, call: Callable[[argparse.Namespace], int], *, passes_on: bool = False
) -> argparse.ArgumentParser:
    """Add the command `name`, which `call` carries out and returns the exit status of.

    With `passes_on`, arguments that the command does not know reach it as ``rest``.
    """
    parser = commands.add_parser(name, help=about, description=about)
    parser.set_defaults(call=call, passes_on=passes_on)
    return parser
