"""How far a session has come, and about how long it will go on: in place on a terminal, in a few lines elsewhere."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

from conformance.records.verdicts import Verdict
from conformance.session.outcome import outcome_of

if TYPE_CHECKING:
    from conformance.session.recorder import Recorder

#: A test that draws examples takes as long as so many others.
_DRAWN = 15
#: Seconds before which an estimate would be a guess.
_SOON = 3.0
#: Seconds between two changes of the line on a terminal.
_PAUSE = 0.1
#: Elsewhere a line comes with each tenth of the tests, but not so soon after another, and at the latest after so long.
_SHORTEST, _LONGEST = 3.0, 60.0


class Progress:
    """Shows how many tests are left, in the place of pytest's letters.

    Args:
        recorder: of the session's runs.
        reporter: pytest's, which writes to the terminal.
        clock: seconds.
    """

    def __init__(
        self, recorder: Recorder, reporter: pytest.TerminalReporter, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._recorder = recorder
        self._reporter = reporter
        self._clock = clock
        # A log keeps each change of a line, so a service that gives out a terminal gets no such line.
        self._in_place = reporter.isatty and not os.environ.get("CI")
        self._began: float | None = None
        self._told = 0.0
        self._tenth = 0
        self._drawn: frozenset[tuple[str, str]] = frozenset()
        self._weight = self._all_weight = 0
        self._done = self._all = 0
        self._troubles: Counter[Verdict] = Counter()
        reporter.showfspath = False

    # -- what happens -------------------------------------------------------------------------------------------------

    def pytest_runtest_logstart(self) -> None:
        """Count what there is to do, once it begins."""
        if self._began is None:
            self._begin()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self,
    ) -> Generator[None, tuple[str, str, str | tuple[str, dict[str, bool]]] | None, tuple[str, str, str] | None]:
        """Let pytest count each test, and show no letter for it."""
        status = yield
        return None if status is None else (status[0], "", "")

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that has ended."""
        outcome = outcome_of(report)
        if outcome is None or self._began is None:
            return
        result = outcome.result
        case = self._recorder.cases.get(report.nodeid)
        if result.verdict.is_trouble and (case is None or case.scored or result.verdict is not Verdict.FAIL):
            self._troubles[result.verdict] += 1
        self._done += 1
        self._weight += self._weight_of(outcome.implementation, result.test)
        self._tell()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave the last line as it is."""
        if self._began is not None and self._in_place:
            self._reporter.rewrite(self.line(), erase=True)
            self._reporter.line("")

    # -- what it shows ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        runs = self._recorder.runs
        cases = self._recorder.cases.values()
        self._began = self._told = self._clock()
        self._drawn = frozenset((case.implementation, case.test) for case in cases if case.draws)
        for name, run in runs.items():
            # A run that goes on with a record has some behind it, which say nothing of the time that the others take.
            left = [test for test in run.planned if test not in run.results]
            self._all += len(left)
            self._all_weight += sum(self._weight_of(name, test) for test in left)

    def _weight_of(self, implementation: str, test: str) -> int:
        return _DRAWN if (implementation, test) in self._drawn else 1

    def _tell(self) -> None:
        now = self._clock()
        since = now - self._told
        if self._in_place:
            if since >= _PAUSE or self._done == self._all:
                self._told = now
                self._reporter.rewrite(self.line(), erase=True)
                self._reporter.currentfspath = -2  # whoever writes next begins a line of their own
            return
        tenth = 10 * self._done // max(self._all, 1)
        if (tenth > self._tenth and since >= _SHORTEST) or since >= _LONGEST or self._done == self._all:
            self._told, self._tenth = now, tenth
            self._reporter.write_line(self.line())

    def line(self) -> str:
        """How far it has come: ``512 of 1,587 tests (32%), 14 fail; about 40 s left``."""
        done, total = self._done, self._all
        counts = [f"{done:,} of {total:,} tests ({100 * done // max(total, 1)}%)"]
        counts += [f"{count:,} {verdict}" for verdict, count in self._troubles.items()]
        left = self._time_left()
        return ", ".join(counts) + (f"; about {duration(left)} left" if left is not None else "")

    def _time_left(self) -> float | None:
        seconds = 0.0 if self._began is None else self._clock() - self._began
        if seconds < _SOON or not self._weight or self._done >= self._all:
            return None
        return seconds * (self._all_weight - self._weight) / self._weight


def duration(seconds: float) -> str:
    """A duration for a person, no finer than an estimate can be.

    >>> [duration(seconds) for seconds in (2, 44, 150, 8_000)]
    ['5 s', '45 s', '2 min 30 s', '2 h 13 min']
    """
    rounded = max(5 * round(seconds / 5), 5)
    minutes, rest = divmod(rounded, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    if minutes:
        return f"{minutes} min {rest:02} s"
    return f"{rest} s"
