"""What the controller knows of one worker."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from conformance.errors import one_line
from conformance.session.outcome import Outcome, attach, outcome_of

if TYPE_CHECKING:
    import pytest

    from conformance.isolation.watchdog import Watchdog
    from conformance.isolation.worker_process import WorkerProcess


@dataclass
class RunningTest:
    """The test of a worker.

    Attributes:
        nodeid: of the test.
        reports: that came of it; they are held back until it is known what became of the worker.
        done: whether it has ended and the worker said that it is well.
        allowed: the seconds that it had before its graphs were read.
        judged: what it had come to when the worker began to read its graphs.
        start: when it was given to the worker, by the controller's clock.
    """

    nodeid: str
    reports: list[pytest.TestReport] = field(default_factory=list)
    done: bool = False
    allowed: float = 0.0
    judged: Outcome | None = None
    start: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long ago it was given to the worker."""
        return time.monotonic() - self.start

    @property
    def outcome(self) -> Outcome | None:
        """What came of it, once the worker has said so."""
        return next(filter(None, map(outcome_of, self.reports)), None)

    @property
    def is_being_read(self) -> bool:
        """Whether its verdict is known, and its graphs are being read."""
        return self.judged is not None and all(report.when == "setup" for report in self.reports)

    def add_warning(self, text: str) -> None:
        """Add a warning to its result."""
        for report in self.reports:
            outcome = outcome_of(report)
            if outcome is not None:
                result = replace(outcome.result, warnings=(one_line(text), *outcome.result.warnings))
                attach(report, replace(outcome, result=result))


@dataclass
class Shutdown:
    """A worker's orderly end.

    Attributes:
        reason: why it was asked to end.
        finished: whether its session is over.
    """

    reason: str
    finished: bool = False


@dataclass(frozen=True)
class HangUp:
    """The end of the connection to a worker: its process has ended, or is about to.

    Attributes:
        error: what the gateway said of it.
    """

    error: str | None


@dataclass
class WorkerState:
    """A worker from its start to its end.

    Attributes:
        slot: its place among the workers.
        process: that it is.
        watchdog: over it.
        ready: whether it has said what it can run.
        test: that it runs.
        script: the node id of the lost test whose script it writes.
        shutdown: under way.
        hang_up: of its process.
        ran: how many tests it has run.
        unharmed: whether all of them were destructive ones that destroyed nothing.
        spare: whether it waits to take the place of another one.
    """

    slot: int
    process: WorkerProcess
    watchdog: Watchdog
    ready: bool = False
    test: RunningTest | None = None
    script: str | None = None
    shutdown: Shutdown | None = None
    hang_up: HangUp | None = None
    ran: int = 0
    unharmed: bool = True
    spare: bool = False

    @property
    def waits(self) -> bool:
        """Whether it is fresh and waits for its first test."""
        return self.ran == 0 and self.ready and self.shutdown is None and self.script is None

    @property
    def ended_in_order(self) -> bool:
        """Whether it has ended because it was asked to, and no sooner."""
        return self.shutdown is not None and self.shutdown.finished

    @property
    def failed_to_start(self) -> bool:
        """Whether it, now that it has ended, has never done anything."""
        return self.ran == 0 and self.shutdown is None and self.script is None
