"""The plug-in's options.

They are registered only when ``--impl`` is given.  The plug-in is installed for every project of an environment, and
names like ``--device`` are taken by many of them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.errors import UsageError

_GROUP = "conformance"
_REGISTERED = pytest.StashKey[bool]()


@dataclass(frozen=True)
class Options:
    """What the command line says.

    Attributes:
        implementations: the names that ``--impl`` gave, in order.
        device: for the factories that take one.
        revision: replaces the release that the adapters claim.
        record: the file, or the folder, that records go to.
        tests: record ids of the only tests to run; empty for all.
    """

    implementations: tuple[str, ...]
    device: str | None = None
    revision: str | None = None
    record: str | None = None
    tests: tuple[str, ...] = ()

    def command_line(self, implementation: str) -> list[str]:
        """The options that decide what `implementation` is judged by, to run it again."""
        words = [f"--impl={implementation}"]
        if self.device is not None:
            words.append(f"--device={self.device}")
        if self.revision is not None:
            words.append(f"--revision={self.revision}")
        return words


def wanted(arguments: Iterable[str]) -> bool:
    """Whether a command line asks for the plug-in."""
    given = [*arguments, *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    return any(word == "--impl" or word.startswith("--impl=") for word in given)


def register(parser: pytest.Parser, config: pytest.Config) -> None:
    """Add the options to pytest's own, once."""
    if config.stash.get(_REGISTERED, False):
        return
    config.stash[_REGISTERED] = True
    group = parser.getgroup(_GROUP, "conformance of graph capture")
    group.addoption(
        "--impl",
        action="append",
        default=[],
        metavar="NAME[,NAME]",
        help="the implementation under test: reference, torch.cuda, package.module:attribute or file.py:attribute",
    )
    group.addoption("--device", metavar="DEVICE", help="for implementations with a choice: cpu, cuda or cuda:N")
    group.addoption("--revision", metavar="R", help="the PyTorch release to be held to, instead of the adapter's own")
    group.addoption(
        "--record", metavar="PATH", help="write the record there (a folder, or several names: one file for each)"
    )
    group.addoption(
        "--test",
        action="append",
        default=[],
        metavar="ID",
        help="run only this test, by its id in a record; may be repeated",
    )


def read(config: pytest.Config) -> Options | None:
    """The options of a session, or ``None`` when it is none of the plug-in's business.

    Raises:
        UsageError: ``--impl`` without a name.
    """
    # Without this, an --impl that another project defines for itself would be taken for this one.
    if not config.stash.get(_REGISTERED, False):
        return None
    given: list[str] = config.getoption("impl")
    names = tuple(name.strip() for text in given for name in text.split(","))
    if not all(names):
        raise UsageError("--impl needs a name: reference, torch.cuda, package.module:attribute or file.py:attribute")
    return Options(
        implementations=names,
        device=config.getoption("device"),
        revision=config.getoption("revision"),
        record=config.getoption("record"),
        tests=tuple(config.getoption("test")),
    )


def record_paths(record: str, implementations: Iterable[str]) -> dict[str, Path]:
    """The file of each implementation's record: `record` itself for one, files in the folder `record` for several."""
    names = list(implementations)
    target = Path(record)
    if len(names) == 1 and not target.is_dir() and not record.endswith(("/", os.sep)):
        return {names[0]: target}
    paths: dict[str, Path] = {}
    for name in names:
        stem = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
        while target / f"{stem}.jsonl" in paths.values():
            stem += "_"
        paths[name] = target / f"{stem}.jsonl"
    return paths
