"""What a worker's test is charged with when the worker has ended and should not have, or not so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.records.verdicts import Verdict

if TYPE_CHECKING:
    from conformance.isolation.evidence import Ending
    from conformance.isolation.worker_state import RunningTest, WorkerState


@dataclass(frozen=True)
class Loss:
    """The loss of a worker during a test, or after its last one.

    Attributes:
        verdict: on the test.
        phase: in which the worker was lost.
        message: how.
        ending: what its process left behind; ``None`` while the process is there.
    """

    verdict: Verdict
    phase: str
    message: str
    ending: Ending | None = None


def loss_of(worker: WorkerState, test: RunningTest, ending: Ending) -> Loss | None:
    """The loss of `worker` with its `test`; ``None`` when it has ended well."""
    if test.done and _ended_well(worker, ending):
        return None
    if worker.watchdog.overdue is not None:
        verdict, message = Verdict.TIMEOUT, _timeout(worker, ending)
    else:
        verdict, message = Verdict.CRASH, _crash(worker, test, ending)
    return Loss(verdict, phase_of(worker, test), message, ending)


def phase_of(worker: WorkerState, test: RunningTest) -> str:
    """The phase that `test` is in: ``setup``, ``call``, ``teardown``, or ``exit`` after them, while its worker ends."""
    if test.done and worker.watchdog.overdue != "the test":
        return "exit"
    return ("setup", "call", "teardown")[min(len(test.reports), 2)]


def _ended_well(worker: WorkerState, ending: Ending) -> bool:
    return worker.ended_in_order and ending.code == 0 and worker.watchdog.overdue is None


def _timeout(worker: WorkerState, ending: Ending) -> str:
    what = "its process did not end" if worker.watchdog.overdue == "its end" else "it did not come back"
    return f"{what} in {worker.watchdog.allowed:g} s and {ending.how}"


def _crash(worker: WorkerState, test: RunningTest, ending: Ending) -> str:
    message = f"its process {ending.how}"
    if test.done:
        message += " after the test, when it was to end"
        if worker.ran > 1:
            message += f" (it had run {worker.ran} tests; --isolate=test tells them apart)"
    return message
