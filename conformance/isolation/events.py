"""What the controller does when a worker says something: the events of pytest-xdist's, and the kit's own messages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import ConformanceError, ExitStatus, KitError, one_line
from conformance.isolation import messages
from conformance.isolation.messages import (
    Done,
    ForkReady,
    InternalError,
    Judged,
    Message,
    Ready,
    Refused,
    Script,
    Started,
)
from conformance.isolation.worker_state import HangUp, Shutdown
from conformance.records.verdicts import Verdict
from conformance.session.ending import end_session, refuse
from conformance.text import visible_lines

if TYPE_CHECKING:
    from conformance.isolation.distributor import Distributor
    from conformance.isolation.plan import Plan
    from conformance.isolation.supervisor import Supervisor
    from conformance.isolation.worker_state import WorkerState
    from conformance.session.recorder import Recorder


class EventHandlers:
    """Handles the events of workers, one at a time.

    Args:
        session: that fails when test files cannot be read.
        recorder: is stopped when the workers cannot be relied on.
        plan: what there is to run.
        supervisor: looks after the workers.
        distributor: gives them their tests.
    """

    def __init__(
        self, session: pytest.Session, recorder: Recorder, plan: Plan, supervisor: Supervisor, distributor: Distributor
    ) -> None:
        self._session = session
        self._hook = session.config.hook
        self._recorder = recorder
        self._plan = plan
        self._supervisor = supervisor
        self._distributor = distributor
        self._events: dict[str, Callable[..., None]] = {
            "workerready": self._on_worker_ready,
            "collectreport": self._on_collect_report,
            "testreport": self._on_test_report,
            "workerfinished": self._on_worker_finished,
            "errordown": self._on_broken_message,
            "hung_up": self._on_hang_up,
            "message": self._on_message,
        }
        self._messages: dict[type[Message], Callable[[WorkerState, Any], None]] = {
            Started: self._on_started,
            Refused: self._on_refused,
            Ready: self._on_ready,
            ForkReady: self._on_ready,
            Judged: distributor.expect_graphs,
            Done: distributor.take_result,
            Script: distributor.take_script,
            InternalError: self._on_internal_error,
        }

    def handle(self, name: str, values: dict[str, Any]) -> None:
        """Handle one event; those that mean nothing to the kit are passed over."""
        if name == "warning_recorded":  # the one event that comes without its worker
            self._hook.pytest_warning_recorded.call_historic(kwargs=values)
            return
        worker = self._supervisor.workers.get(values.pop("node"))
        if worker is not None and name in self._events:  # of one that is retired these are the last words
            self._events[name](worker, **values)

    # -- of pytest-xdist -----------------------------------------------------------------------------------------------

    def _on_worker_ready(self, worker: WorkerState, workerinfo: Any) -> None:
        worker.process.workerinfo = workerinfo
        workerinfo["id"], workerinfo["spec"] = worker.process.gateway.id, worker.process.gateway.spec
        self._hook.pytest_testnodeready(node=worker.process)

    def _on_collect_report(self, worker: WorkerState, rep: pytest.CollectReport) -> None:  # noqa: ARG002 - a handler
        self._hook.pytest_collectreport(report=rep)
        if rep.failed:
            self._session.shouldfail = "test files cannot be read"

    def _on_test_report(self, worker: WorkerState, rep: pytest.TestReport) -> None:
        if worker.test is not None:
            rep.nodeid = worker.test.nodeid  # one string for all that is kept of a test
            was_being_read = worker.test.is_being_read
            worker.test.reports.append(rep)
            if was_being_read and not worker.test.is_being_read:
                self._distributor.go_on_with_test(worker)

    def _on_worker_finished(self, worker: WorkerState) -> None:
        if worker.shutdown is not None:
            worker.shutdown.finished = True
        # The session there is over; now the gateway, and with it the process.
        worker.process.gateway.exit()

    def _on_broken_message(self, worker: WorkerState, error: object) -> None:
        self._stop(KitError(f"a worker's message cannot be read: {one_line(str(error))}"))
        worker.shutdown = worker.shutdown or Shutdown("its message cannot be read")

    def _on_hang_up(self, worker: WorkerState, error: str | None) -> None:
        worker.hang_up = HangUp(error)
        with contextlib.suppress(OSError, EOFError):  # the other end may be gone
            worker.process.gateway.exit()
        if worker.shutdown is None and worker.watchdog.overdue is None:
            self._distributor.expect_end(worker)
        self._distributor.look_around()

    # -- the kit's own -------------------------------------------------------------------------------------------------

    def _on_message(self, worker: WorkerState, event: tuple[str, dict[str, Any]]) -> None:
        message = messages.from_event(event)
        self._messages[type(message)](worker, message)

    def _on_started(self, worker: WorkerState, started: Started) -> None:
        worker.process.pid = started.pid

    def _on_refused(self, worker: WorkerState, refused: Refused) -> None:  # noqa: ARG002 - a handler
        """A worker says no to what the user asked for: so does the session."""
        if refused.exit_status == ExitStatus.USAGE:
            raise pytest.UsageError(visible_lines(refused.text))
        end_session(visible_lines(refused.text), refused.exit_status)

    def _on_ready(self, worker: WorkerState, ready: Ready | ForkReady) -> None:
        worker.ready = True
        worker.watchdog.rest()
        if not self._session.config.option.collectonly and worker.process.share(ready.accelerators):
            self._recorder.note_other_run()
            self._recorder.tell_of_other_run()
        if isinstance(ready, Ready) and self._plan.ready is None:
            self._adopt(ready)
            return
        assert self._plan.ready is not None  # a fork is never the first worker
        difference = self._plan.ready.difference(ready)
        if difference is None:
            self._distributor.go_on(worker)
        else:
            self._stop(KitError(f"worker {worker.process.gateway.id} {difference}"))

    def _adopt(self, ready: Ready) -> None:
        self._supervisor.devices = ready.devices
        try:
            self._plan.adopt(ready)
        except ConformanceError as error:
            refuse(error)

    def _on_internal_error(self, worker: WorkerState, error: InternalError) -> None:
        """In a worker, pytest itself failed: the fault of the test that changed it, or else the kit's."""
        text, changes = one_line(error.text.strip().splitlines()[-1]), "; ".join(error.changes)
        if worker.test is None:
            self._stop(KitError(f"pytest failed in a worker: {text}"))
        elif changes:
            message = f"left behind: {changes}; then pytest failed in the worker: {text}"
            self._distributor.fail(worker, worker.test, Verdict.FAIL, message)
        else:
            self._distributor.fail(worker, worker.test, Verdict.ERROR, f"pytest failed: {text}")

    def _stop(self, error: ConformanceError) -> None:
        self._recorder.stopped = str(error)
