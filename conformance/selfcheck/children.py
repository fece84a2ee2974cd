"""A forked process that runs some of the collected tests with a change applied, and says what becomes of each.

A fork costs milliseconds where importing and collecting cost seconds, whatever a fault breaks stays in the child, and
the parent has touched neither device nor threads by then.  Only implementations on the host can be tested this way.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Any

import pytest

from conformance.adapter import Adapter
from conformance.adapters.implementations import check
from conformance.errors import KitError, one_line
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.selfcheck.catalogue import Change
from conformance.session.cases import Case
from conformance.session.outcome import outcome_of

#: Seconds that a test may take, unless it asks for more; the suites' tests take milliseconds.
TEST_LIMIT_S = 20.0

Apply = Callable[[], AbstractContextManager[Change]]

#: They keep every report, which each collection of garbage would walk through; here the parent has them all.
_KEEPERS = ("terminalreporter", "conformance-recorder")


@dataclass
class Forked:
    """A forked process as its parent sees it.

    Attributes:
        pid: of the process.
        pipe: what it writes, one JSON line after the other.
        deadline: when what it does at present has taken too long.
    """

    pid: int
    pipe: IO[bytes]
    deadline: float

    def kill(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit status, negative for a signal."""
        self.pipe.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@dataclass
class Child(Forked):
    """A forked process that runs tests.

    Attributes:
        running: the place of its present test among those that it was given.
        results: of the tests that ended.
        trouble: why it could not apply the change.
        unfit: whether it ended because its last test left it unusable.
    """

    running: int | None = None
    results: list[TestResult] = field(default_factory=list)
    trouble: str | None = None
    unfit: bool = False

    def hear(self, line: bytes, limits: Sequence[float]) -> None:
        """Take one line in."""
        message = json.loads(line)
        if message["kind"] == "started":
            self.running = message["place"]
            self.deadline = time.monotonic() + limits[message["place"]]
        elif message["kind"] == "result":
            self.running = None
            self.results.append(TestResult.from_dict(message["result"]))
            self.unfit = message["unfit"]
        else:
            self.trouble = message["message"]


def start(batch: Sequence[tuple[pytest.Item, Case]], apply: Apply, adapter: Adapter) -> Child:
    """Fork a child that runs the tests of `batch` with the change applied to `adapter`'s implementation."""

    def live(reporter: Reporter) -> None:
        with _applied(apply, adapter):
            _run(batch, reporter, adapter)

    pid, pipe = fork(live)
    return Child(pid, pipe, time.monotonic() + TEST_LIMIT_S)


def fork(live: Callable[[Reporter], None]) -> tuple[int, IO[bytes]]:
    """Fork a process whose whole life is `live`; its id, and what its reporter writes.

    It ends with status 0.  An exception is written as ``trouble``.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _live(live, writing)
    os.close(writing)
    os.set_blocking(reading, False)
    return pid, os.fdopen(reading, "rb", buffering=0)


def limit(case: Case) -> float:
    """The seconds that a test may take."""
    return max(TEST_LIMIT_S, case.seconds)


def lost(case: Case, verdict: Verdict, how: str) -> TestResult:
    """The result of a test that its process did not survive."""
    return TestResult(case.test, case.ids, verdict, "exit", how)


def ended(status: int) -> str:
    """How a process ended, in words."""
    if status < 0:
        return f"the process died of {signal.Signals(-status).name}"
    return f"the process exited with status {status}"


# -- in the child -----------------------------------------------------------------------------------------------------


def _live(live: Callable[[Reporter], None], writing: int) -> None:
    """The child's whole life; never returns, because what follows is the parent's code."""
    try:
        _silence()
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            reporter = Reporter(pipe)
            try:
                live(reporter)
            except BaseException as error:  # anything: the parent must hear of it
                last = traceback.extract_tb(error.__traceback__)[-1]
                reporter.say("trouble", message=f"{one_line(error)} (in {last.name}, line {last.lineno})")
    finally:
        os._exit(0)


def _silence() -> None:
    """Let what the tests and the libraries print go nowhere: several children share the parent's terminal."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)


@contextlib.contextmanager
def _applied(apply: Apply, adapter: Adapter) -> Iterator[None]:
    with apply() as change:
        _state(adapter, {"graph_class": change} if isinstance(change, type) else change or {})
        yield


def _state(adapter: Adapter, attributes: Mapping[str, Any]) -> None:
    """Let `adapter` state what a vendor's own would; capabilities come to those that it declares already.

    Raises:
        ImplementationError: no suite could work with it.
        KitError: adapters have no such attribute.
    """
    for name, value in attributes.items():
        if not hasattr(adapter, name):
            raise KitError(f"a change states {name!r}, which no adapter has")
        setattr(adapter, name, {**adapter.capabilities, **value} if name == "capabilities" else value)
    check(adapter.name, adapter)


class Reporter:
    """Writes what happens to the parent; a pytest plug-in."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self.unfit = False

    def say(self, kind: str, **values: Any) -> None:
        """Write one line."""
        self._pipe.write(json.dumps({"kind": kind, **values}).encode() + b"\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a test's result, which comes with its last phase."""
        outcome = outcome_of(report)
        if outcome is not None:
            self.unfit = outcome.unfit is not None
            self.say("result", result=outcome.result.to_dict(), unfit=self.unfit)


def _run(batch: Sequence[tuple[pytest.Item, Case]], reporter: Reporter, adapter: Adapter) -> None:
    plugins = batch[0][0].config.pluginmanager
    for name in _KEEPERS:
        if plugins.has_plugin(name):
            plugins.unregister(name=name)
    plugins.register(reporter)
    for place, (item, case) in enumerate(batch):
        reporter.say("started", place=place)
        if not case.applies_to(adapter):  # which may state another revision than the one that they were collected for
            reporter.say("result", result=_inapplicable(case, adapter).to_dict(), unfit=False)
            continue
        following = next((later for later, its_case in batch[place + 1 :] if its_case.applies_to(adapter)), None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if reporter.unfit:
            return


def _inapplicable(case: Case, adapter: Adapter) -> TestResult:
    reason = f"it is not about {adapter.dialect} {adapter.revision}"
    return TestResult(case.test, case.ids, Verdict.UNSUPPORTED, "setup", reason)
