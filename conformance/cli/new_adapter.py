"""``graph-conformance new-adapter``: the files that a vendor begins with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.adapters.known import KNOWN
from conformance.cli.commands import add_command
from conformance.errors import ExitStatus, UsageError
from conformance.requirements.vocabulary import DIALECTS, is_name
from conformance.scaffold.writing import Subject, files_for
from conformance.waivers.clock import today

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "new-adapter", _write)
    parser.add_argument("name", metavar="NAME", help="of the implementation, such as torch.mine")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", default=Path("conformance_adapter"), help="a new or empty folder"
    )
    parser.add_argument("--dialect", choices=DIALECTS, default="cuda", help="the documented shape of the class")
    parser.add_argument(
        "--stand-in",
        action="store_true",
        help="put the kit's software device in the place of the device, so that the adapter runs at once",
    )


def _write(options: argparse.Namespace) -> int:
    name, folder = options.name, options.output
    if not is_name(name) or not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{name!r} is no name for an implementation: write one like torch.mine")
    if options.stand_in and options.dialect != "cuda":
        raise UsageError("--stand-in is of the dialect cuda")
    subject = Subject.of(name, dialect=options.dialect, stand_in=options.stand_in)
    _create(folder, files_for(subject, folder.as_posix(), today()))
    for path in sorted(folder.iterdir()):
        print(f"written: {path}")
    if name in KNOWN:
        print(f"note: the kit has an adapter of its own for {name}: --impl={name}")
    print(f"next: graph-conformance doctor {folder / 'adapter.py'}:{subject.adapter}")
    return ExitStatus.CONFORMING


def _create(folder: Path, texts: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"--output={folder}: there are files in it, and none is replaced")
        for name, text in texts.items():
            with (folder / name).open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
    except OSError as error:
        raise UsageError(f"--output={folder} cannot be written: {error.strerror or error}") from None
