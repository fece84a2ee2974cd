"""The tests that are still to run, and those whose scripts are still to be written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class LostTest:
    """A test whose process did not survive it.

    Attributes:
        nodeid: of the test.
        failure: how the process ended.
    """

    nodeid: str
    failure: str


class CaseQueue:
    """First the ordinary tests, then the destructive ones, each kind in its order; scripts come first or last."""

    def __init__(self) -> None:
        self._ordinary: deque[str] = deque()
        self._destructive: deque[str] = deque()
        self._unwritten: deque[LostTest] = deque()
        #: Those whose scripts can wait until all tests are over.
        self._patient: deque[LostTest] = deque()

    def put(self, nodeid: str, *, destructive: bool) -> None:
        """Add a test."""
        (self._destructive if destructive else self._ordinary).append(nodeid)

    def put_first(self, nodeid: str, *, destructive: bool) -> None:
        """Add a test that is the next one of its kind."""
        (self._destructive if destructive else self._ordinary).appendleft(nodeid)

    def leave_out(self, is_in_vain: Callable[[str], bool]) -> None:
        """Forget the tests that need not run any more."""
        for kind in (self._ordinary, self._destructive):
            rest = [nodeid for nodeid in kind if not is_in_vain(nodeid)]
            kind.clear()
            kind.extend(rest)

    def put_lost(self, test: LostTest, *, urgent: bool) -> None:
        """Add a test whose script another process has to write, at once or when all tests are over."""
        (self._unwritten if urgent else self._patient).append(test)

    def drop_patient(self) -> None:
        """Forget the scripts that have waited until all tests were over."""
        self._patient.clear()

    def __len__(self) -> int:
        """How many tests are to run."""
        return len(self._ordinary) + len(self._destructive)

    def next_lost(self) -> LostTest | None:
        """Take a test whose script is to be written."""
        if self._unwritten:
            return self._unwritten.popleft()
        return self._patient.popleft() if self._patient and not len(self) else None

    def has_lost(self) -> bool:
        """Whether there is a test whose script is to be written."""
        return bool(self._unwritten or self._patient)

    def next_test(self, *, unharmed: bool, alone: bool) -> str | None:
        """Take a test for a worker.

        Args:
            unharmed: whether the worker is as good as fresh.
            alone: whether no other worker is there that has run a test.
        """
        if self._ordinary:
            return self._ordinary.popleft()
        # What may leave the process, or the device, unusable needs a worker that nothing has harmed, and no company.
        return self._destructive.popleft() if self._destructive and unharmed and alone else None

    def has_test(self, *, unharmed: bool) -> bool:
        """Whether there is a test for a worker, now or once it is alone."""
        return bool(self._ordinary) or (unharmed and bool(self._destructive))

    def needs_worker(self, *, fresh: int, others: int) -> bool:
        """Whether one more worker would have something to do.

        Args:
            fresh: how many workers are there that have run no test.
            others: how many workers are there at all.
        """
        scripts = self.has_lost() and others == 0
        return bool(self._ordinary) or len(self._destructive) > fresh or scripts
