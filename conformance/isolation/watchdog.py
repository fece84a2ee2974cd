"""Ends a worker that does not come back: its stacks first, then SIGTERM, then SIGKILL for it and all it started.

Each step is taken when its time has come, and none waits, so that the other workers go on meanwhile.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from conformance.isolation.process_control import STACKS

if TYPE_CHECKING:
    from conformance.isolation.worker_process import WorkerProcess

#: Seconds for each step.
_STACKS_S = 1.0
_TERM_S = 1.0
_POLL_S = 0.05


class Watchdog:
    """Watches one worker against one deadline at a time."""

    def __init__(self, process: WorkerProcess) -> None:
        self._process = process
        self._deadline: float | None = None
        self._allowed = 0.0
        self._step = 0
        self._until = 0.0
        self._stacks: bytes | None = None
        #: What took too long: ``the test``, ``its start``, ``its end``; ``None`` while nothing has.
        self.overdue: str | None = None
        self._doing = ""

    @property
    def allowed(self) -> float:
        """The seconds that were allowed."""
        return self._allowed

    def allow(self, seconds: float, doing: str) -> None:
        """Expect the worker to be done with `doing` in `seconds`."""
        self._deadline, self._allowed, self._doing = time.monotonic() + seconds, seconds, doing

    def rest(self) -> None:
        """Expect nothing."""
        self._deadline = None

    @property
    def is_at_an_end(self) -> bool:
        """Whether even the last step has had no effect."""
        return self._step == 3 and time.monotonic() >= self._until

    def seconds_left(self) -> float:
        """How long until there may be something to do."""
        if self._step:
            return _POLL_S
        return 1.0 if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def look(self) -> None:
        """Take the next step, if its time has come."""
        now = time.monotonic()
        if self._step == 0 and self._deadline is not None and now >= self._deadline:
            self.overdue = self._doing
            self._stacks = self._process.tail(STACKS)
            self._process.send_signal("SIGUSR1")
            self._step, self._until = 1, now + _STACKS_S
        elif self._step == 1 and (now >= self._until or self._has_stacks()):
            self._process.send_signal("SIGTERM")
            self._step, self._until = 2, now + _TERM_S
        elif self._step == 2 and now >= self._until:
            self._process.send_signal("SIGKILL", group=True)
            self._step, self._until = 3, now + _TERM_S

    def _has_stacks(self) -> bool:
        """Whether the dump is there, and no longer growing."""
        before, self._stacks = self._stacks, self._process.tail(STACKS)
        return bool(self._stacks) and self._stacks == before
