"""The set of workers: starts them, looks after them, and retires those that have ended."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.errors import one_line
from conformance.isolation.evidence import Ending
from conformance.isolation.launcher import Launcher
from conformance.isolation.messages import Begin
from conformance.isolation.process_control import OUTPUT
from conformance.isolation.watchdog import Watchdog
from conformance.isolation.worker_state import WorkerState

if TYPE_CHECKING:
    import pytest

    from conformance.isolation.messages import Devices
    from conformance.isolation.worker_process import WorkerProcess
    from conformance.isolation.zygote import Zygote
    from conformance.session.options import Options
    from conformance.session.recorder import Recorder

#: In a row, for one place; then there is no sense in going on.
STARTS = 3
#: Spare workers that may end before they are needed; then there is no sense in having any.
SPARES = 3
#: Seconds between two looks at the workers, and at one that has hung up and must end any moment.
_TICK_S = 0.5
_END_TICK_S = 0.01


class Supervisor:
    """Looks after the workers of a session.

    Args:
        config: of the session.
        options: what the command line says.
        recorder: is stopped when no worker can be started.

    Attributes:
        workers: by their processes.
        places: how many workers there may be at a time.
        reads: whether workers read the graphs of tests that failed.
        devices: those that the workers are spread over, once that is known.
    """

    def __init__(self, config: pytest.Config, options: Options, recorder: Recorder) -> None:
        self.workers: dict[WorkerProcess, WorkerState] = {}
        self.devices: Devices | None = None
        self.reads = bool(options.record or options.resume)
        self._config = config
        self._options = options
        self._recorder = recorder
        self._specs = _specs(config)
        self._events: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._launcher: Launcher | None = None
        self._zygote: Zygote | None = None
        self._failed_starts = 0
        self._trial = True
        self._expects_losses = False
        self._spares_left = SPARES

    @property
    def places(self) -> int:
        return len(self._specs)

    @property
    def is_busy(self) -> bool:
        """Whether there is a worker that is no spare."""
        return not all(worker.spare for worker in self.workers.values())

    # -- starting -----------------------------------------------------------------------------------------------------

    def start(self, slot: int) -> None:
        """Start a worker, which says so when it is ready."""
        try:
            if not self._take_spare(slot):
                process = self._fork(slot) or self._launch(slot)
                worker = self.workers[process] = WorkerState(slot, process, Watchdog(process))
                worker.watchdog.allow(self._options.start_timeout, "its start")
                process.setup()
        except Exception as error:
            self.workers = {
                process: worker for process, worker in self.workers.items() if worker.slot != slot or worker.spare
            }
            self._start_again(slot, f"{self._specs[slot]}: {one_line(error)}")
        else:
            self._keep_spare(slot)

    def _launch(self, slot: int, *, spare: bool = False) -> WorkerProcess:
        if self._launcher is None:
            self._launcher = Launcher(self._config, self._specs)
        return self._launcher.launch(
            slot, self._variables(slot), self._events.put, trial=self._trial, spare=spare, reads=self.reads
        )

    def _take_spare(self, slot: int) -> bool:
        """Let a spare worker have that place, if there is one that was started as the place asks for."""
        for worker in self._spares():
            if self._specs[worker.slot] == self._specs[slot] and self._variables(worker.slot) == self._variables(slot):
                worker.slot, worker.spare = slot, False
                worker.watchdog.allow(self._options.start_timeout, "its start")
                with contextlib.suppress(OSError):  # one that has just died says so itself
                    worker.process.send(Begin(trial=self._trial, reads=self.reads))
                return True
        return False

    def _keep_spare(self, slot: int) -> None:
        """Start a spare worker, where workers are lost: one for two that work, from a zygote where there is one."""
        if not self._expects_losses or self._spares_left == 0 or 2 * len(self._spares()) >= self.places:
            return
        try:
            forks = self._zygote is not None and self._zygote.unfit is None
            process = self._fork(slot, spare=True) if forks else self._launch(slot, spare=True)
            if process is None:  # the zygote is not ready yet
                return
            process.setup()
        except Exception:  # whatever keeps it from starting is told of when a worker that is needed does not start
            self._spares_left = 0
        else:
            self.workers[process] = WorkerState(slot, process, Watchdog(process), spare=True)

    def _spares(self) -> list[WorkerState]:
        return [worker for worker in self.workers.values() if worker.spare]

    def _fork(self, slot: int, *, spare: bool = False) -> WorkerProcess | None:
        """A worker from the zygote, if there is one that can be forked."""
        if self._launcher is None or self._zygote is None or not self._zygote.is_ready():
            return None
        if not self._launcher.forks(slot, self._variables(slot)):
            return None
        return self._launcher.fork(self._zygote, self._events.put, trial=self._trial, reads=self.reads, spare=spare)

    def _variables(self, slot: int) -> dict[str, str]:
        return {} if self.devices is None else self.devices.variables(slot)

    def expect_losses(self) -> None:
        """Prepare for more workers that have to be replaced: a class that has cost one may cost many."""
        self._expects_losses = True
        if self._zygote is not None or self._launcher is None or self._options.isolate == "test":
            return
        if any(self._launcher.forks(slot, self._variables(slot)) for slot in range(self.places)):
            self._zygote = self._launcher.zygote(self._options.start_timeout)

    def start_instead(self, worker: WorkerState, ending: Ending) -> None:
        """Start another worker in the place of one that has ended before it did anything.

        It may have ended by what the class did when it was tried.  The others come as far as their tests without that,
        so that each test says what the class does in it.
        """
        if worker.process.forked and self._zygote is not None:
            # Whatever the reason is: a fresh interpreter will show whether it is the class.  Other forks go on.
            self._zygote.unfit = "a fork of it came to no test"
            self.start(worker.slot)
            return
        self._trial = False
        late = f"took more than {worker.watchdog.allowed:g} s to start and " if worker.watchdog.overdue else ""
        details = ending.details()
        self._start_again(worker.slot, f"it {late}{ending.how}" + (f"\n{details}" if details else ""))

    def _start_again(self, slot: int, why: str) -> None:
        self._failed_starts += 1
        if self._failed_starts < STARTS:
            self.start(slot)
        else:
            self._recorder.stopped = f"a worker could not be started {STARTS} times in a row; the last one: {why}"

    def forget_failed_starts(self) -> None:
        """Count them from none again: a worker has come as far as a test."""
        self._failed_starts = 0

    # -- looking after them -------------------------------------------------------------------------------------------

    def next_event(self) -> tuple[str, dict[str, Any]] | None:
        """Wait for an event; ``None`` when it is time to look after the workers first."""
        patience = min((_patience(worker) for worker in self.workers.values()), default=_TICK_S)
        try:
            return self._events.get(timeout=patience)
        except queue.Empty:
            return None

    def is_overdue(self) -> bool:
        """Whether a watchdog has something to do now."""
        return any(worker.watchdog.seconds_left() == 0 for worker in self.workers.values())

    def retire(self) -> Iterator[tuple[WorkerState, Ending]]:
        """Look at each worker, and retire those whose process has ended."""
        for worker in list(self.workers.values()):
            worker.watchdog.look()
            worker.process.bound(OUTPUT)
            # What it still had to say comes first, and a process that has ended may not have let go of the connection.
            if self._events.empty() and (worker.process.has_ended() or worker.watchdog.is_at_an_end):
                yield worker, self._retire(worker)

    def _retire(self, worker: WorkerState) -> Ending:
        error = None if worker.hang_up is None else worker.hang_up.error
        ending = Ending.of(worker.process, worker.process.exit_code, error)
        worker.process.send_signal("SIGKILL", group=True)
        del self.workers[worker.process]
        self._spares_left -= worker.spare
        self._config.hook.pytest_testnodedown(node=worker.process, error=None)
        worker.process.clear()
        return ending

    def end(self) -> None:
        """End whatever still runs."""
        for process in list(self.workers):
            process.send_signal("SIGKILL", group=True)
            process.clear()
        self.workers.clear()
        if self._zygote is not None:
            self._zygote.end()
        if self._launcher is not None:
            self._launcher.teardown_nodes()


def _specs(config: pytest.Config) -> list[str]:
    """A gateway specification for each worker."""
    specs: list[str] = []
    for word in config.getoption("tx") or ["popen"]:
        number, star, spec = word.partition("*")
        specs += [spec] * int(number) if star and number.isdigit() else [word]
    return specs


def _patience(worker: WorkerState) -> float:
    """How long nothing needs to be done for a worker that says nothing."""
    return min(_TICK_S if worker.hang_up is None else _END_TICK_S, worker.watchdog.seconds_left())
