"""The plug-in's options.

They are registered only when ``--impl`` is given.  The plug-in is installed for every project of an environment, and
names like ``--device`` are taken by many of them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from conformance.errors import UsageError, one_line
from conformance.records.assessment import Target
from conformance.records.shards import Shard
from conformance.requirements.profiles import CORE, FULL, PROFILES

_GROUP = "conformance"
#: How tests are kept apart: all in this process, in workers that are reused, or each in a worker of its own.
Isolation = Literal["none", "worker", "test"]

TEST_TIMEOUT_S = 60.0
START_TIMEOUT_S = 300.0

#: As often may a test that failed run again.
MOST_RERUNS = 100

#: How many times as many examples an exploring session draws by default.
EXPLORING = 4.0

#: The options whose value may be left out: what they mean then, and what is a value.
_OPTIONAL: dict[str, tuple[str, Callable[[str], bool]]] = {
    "--isolate": ("worker", {"test", "worker"}.__contains__),
    "--explore": ("new", str.isdecimal),
}

_REGISTERED = pytest.StashKey[bool]()


@dataclass(frozen=True)
class Options:
    """What the command line says.

    Attributes:
        implementations: the names that ``--impl`` gave, in order.
        device: for the factories that take one.
        revision: replaces the release that the adapters claim.
        record: the file, or the folder, that records go to.
        force: whether a record that is there may be replaced.
        tests: record ids of the only tests to run; empty for all.
        isolate: how tests are kept apart; ``None`` leaves it to the implementation.
        resume: the record, or the folder of records, to continue.
        shard: the part of the suites to run.
        test_timeout: seconds that a test may take in a worker.
        start_timeout: seconds that a worker may take until it knows its tests.
        explore: the seed of new examples for property tests; ``None`` for the usual ones.
        examples: how many times as many examples as usual there are when they are new.
        reruns: how often a test that failed runs again.
        reproducers: the folder for scripts that show failures without the kit.
        waivers: the file of known failures that are accepted.
        target: what the run is to show.
    """

    implementations: tuple[str, ...]
    device: str | None = None
    revision: str | None = None
    record: str | None = None
    force: bool = False
    tests: tuple[str, ...] = ()
    isolate: Isolation | None = None
    resume: str | None = None
    shard: Shard | None = None
    test_timeout: float = TEST_TIMEOUT_S
    start_timeout: float = START_TIMEOUT_S
    explore: int | None = None
    examples: float = EXPLORING
    reruns: int = 0
    reproducers: str | None = None
    waivers: str | None = None
    target: Target = field(default_factory=Target)

    def deciding(self) -> dict[str, Any]:
        """The options that decide which tests run and what they are judged by, as JSON values."""
        return {
            "device": self.device,
            "revision": self.revision,
            "tests": list(self.tests),
            "explore": None if self.explore is None else str(self.explore),
            "examples": None if self.examples == EXPLORING else self.examples,
            "reruns": self.reruns,
            "shard": None if self.shard is None else str(self.shard),
            "test_timeout": None if self.test_timeout == TEST_TIMEOUT_S else self.test_timeout,
            "profile": list(self.target.profiles),
            "strict": self.target.strict,
            "complete": self.target.complete,
        }

    def command_line(self, implementation: str) -> list[str]:
        """The options that decide what `implementation` is judged by, to run it again."""
        words = [f"--impl={implementation}"]
        if self.device is not None:
            words.append(f"--device={self.device}")
        if self.revision is not None:
            words.append(f"--revision={self.revision}")
        if self.explore is not None:
            words.append(f"--explore={self.explore}")
        if self.examples != EXPLORING:
            words.append(f"--examples={self.examples:g}")
        return words


def is_requested(arguments: Iterable[str]) -> bool:
    """Whether a command line asks for the plug-in."""
    words = [*arguments, *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    return any(word == "--impl" or word.startswith("--impl=") for word in words)


def separate(words: Sequence[str]) -> list[str]:
    """`words` with each value that may be left out behind its option's ``=``, so that no path is taken for one."""
    separated: list[str] = []
    for word in words:
        option = separated[-1] if separated else ""
        if option in _OPTIONAL:
            default, is_value = _OPTIONAL[option]
            separated[-1] = f"{option}={word if is_value(word) else default}"
            if is_value(word):
                continue
        separated.append(word)
    return separated


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
        "--profile",
        action="append",
        default=[],
        metavar="P[,P]",
        help=f"claim these parts of what is documented, instead of all: {', '.join(PROFILES)}",
    )
    with contextlib.suppress(
        ValueError, argparse.ArgumentError
    ):  # pytest has an option of that name, which then says it for both
        group.addoption("--strict", action="store_true", help="exit status 1 unless the advice is followed, too")
    group.addoption(
        "--complete", action="store_true", help="exit status 1 when a part of the suites is left out or did not run"
    )
    group.addoption(
        "--record", metavar="PATH", help="write the record there (a folder, or several names: one file for each)"
    )
    group.addoption("--force", action="store_true", help="replace a record that exists")
    group.addoption(
        "--test",
        action="append",
        default=[],
        metavar="ID",
        help="run only this test, by its id in a record; may be repeated",
    )
    group.addoption(
        "--isolate",
        nargs="?",
        const="worker",
        dest="isolate",
        metavar="test",
        help="run tests in worker processes; --isolate=test: a process for each (on but for the software reference)",
    )
    group.addoption(
        "--no-isolate", action="store_const", const="none", dest="isolate", help="run tests in this process"
    )
    group.addoption("--resume", metavar="PATH", help="go on with the record of a run that was interrupted or killed")
    group.addoption(
        "--shard", metavar="I/N", help="run the I-th of N parts; graph-conformance merge joins their records"
    )
    group.addoption(
        "--test-timeout",
        type=float,
        default=TEST_TIMEOUT_S,
        metavar="SECONDS",
        help=f"end an isolated test after that time (default {TEST_TIMEOUT_S:g}; some tests ask for more)",
    )
    group.addoption(
        "--explore",
        nargs="?",
        const="new",
        metavar="SEED",
        help="draw new and more examples for property tests, from a seed that the record names",
    )
    group.addoption(
        "--examples",
        type=float,
        metavar="TIMES",
        help=f"with --explore: draw that many times as many as usual (default {EXPLORING:g}; less than 1 for fewer)",
    )
    group.addoption(
        "--reproducers", metavar="FOLDER", help="write a script for each failure there that shows it without the kit"
    )
    group.addoption(
        "--waivers", metavar="FILE", help="accept the known failures that this TOML file lists, until they expire"
    )
    group.addoption(
        "--start-timeout",
        type=float,
        default=START_TIMEOUT_S,
        metavar="SECONDS",
        help=f"give a worker up that takes longer to import and collect (default {START_TIMEOUT_S:g})",
    )


def register_last(parser: pytest.Parser) -> None:
    """Add what plug-ins have names for, too, which then say it for both; they fail when they come second."""
    with contextlib.suppress(ValueError, argparse.ArgumentError):
        parser.getgroup(_GROUP).addoption(
            "--reruns",
            default=None,  # so that a plug-in of the same option sees whether its own setting counts
            metavar="N",
            help="run each test that failed N times again; one that then passes is flaky, which is no pass",
        )


def read(config: pytest.Config) -> Options | None:
    """The options of a session, or ``None`` when the session is not one of the plug-in's.

    Raises:
        UsageError: ``--impl`` without a name.
    """
    # Without this, an --impl that another project defines for itself would be taken for this one.
    if not config.stash.get(_REGISTERED, False):
        return None
    texts: list[str] = config.getoption("impl")
    names = tuple(name.strip() for text in texts for name in text.split(","))
    if not all(names):
        raise UsageError("--impl needs a name: reference, torch.cuda, package.module:attribute or file.py:attribute")
    return Options(
        implementations=names,
        device=config.getoption("device"),
        revision=config.getoption("revision"),
        record=config.getoption("record"),
        force=bool(config.getoption("force")),
        tests=tuple(config.getoption("test")),
        isolate=_isolation(config.getoption("isolate")),
        resume=_resume_path(config.getoption("resume"), config.getoption("record")),
        shard=None if config.getoption("shard") is None else Shard.parse(config.getoption("shard")),
        test_timeout=positive("--test-timeout", config.getoption("test_timeout"), "a number of seconds"),
        start_timeout=positive("--start-timeout", config.getoption("start_timeout"), "a number of seconds"),
        explore=_seed(config),
        examples=_examples(config),
        reruns=_reruns(config.getoption("reruns")),
        reproducers=config.getoption("reproducers"),
        waivers=config.getoption("waivers"),
        target=_target(config),
    )


def _target(config: pytest.Config) -> Target:
    complete = bool(config.getoption("complete"))
    if complete and config.getoption("shard") is not None:
        raise UsageError("--complete: a shard is a part; graph-conformance merge judges all of them, without it")
    strict = bool(config.getoption("strict"))
    return Target(_profiles(config.getoption("profile")), strict=strict, complete=complete)


def _profiles(texts: Iterable[str]) -> tuple[str, ...]:
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name != FULL and name not in PROFILES:
            raise UsageError(f"--profile={name}: no such profile (known: {', '.join([*PROFILES, FULL])})")
    # All that is documented holds every profile, and none is of use without the core.
    return () if FULL in names or not names else tuple(dict.fromkeys([CORE, *names]))


def _isolation(text: str | None) -> Isolation | None:
    for mode in (None, "none", "worker", "test"):
        if text == mode:
            return mode
    raise UsageError(f"--isolate={text}: write --isolate or --isolate=test")


def _seed(config: pytest.Config) -> int | None:
    seed: str | None = config.getoption("explore")
    if seed is None:
        return None
    if seed == "new":
        # Drawn once, and kept where worker processes find it.
        config.option.explore = seed = str(secrets.randbelow(1 << 32))
    if not seed.isdecimal():
        raise UsageError(f"--explore={seed}: give a whole number, or nothing")
    return int(seed)


def _examples(config: pytest.Config) -> float:
    times: float | None = config.getoption("examples")
    if times is None:
        return EXPLORING
    if config.getoption("explore") is None:
        raise UsageError(f"--examples={times:g} is for new examples: add --explore")
    return positive("--examples", times, "a number")


def _reruns(text: object) -> int:
    digits = "0" if text is None else str(text)  # a plug-in that has such an option may have no default
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(MOST_RERUNS))
    if not is_number or int(digits) > MOST_RERUNS:
        raise UsageError(f"--reruns={one_line(digits, 40)}: give a whole number from 0 to {MOST_RERUNS}")
    return int(digits)


def _resume_path(resume: str | None, record: str | None) -> str | None:
    if resume is not None and record is not None and Path(resume) != Path(record):
        raise UsageError(f"--resume={resume} goes on writing that record; leave --record={record} out")
    return resume


def positive(option: str, number: float, description: str) -> float:
    """The value of an option, checked.

    Raises:
        UsageError: it is not above 0, or not finite.
    """
    if not 0 < number < float("inf"):
        raise UsageError(f"{option}={number:g}: give {description} above 0")
    return number
