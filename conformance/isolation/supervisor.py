"""The set of workers: starts them, looks after them, and retires those that have ended."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.errors import one_line
from conformance.isolation.evidence import Ending
from conformance.isolation.launcher import Launcher
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
        devices: those that the workers are spread over, once that is known.
    """

    def __init__(self, config: pytest.Config, options: Options, recorder: Recorder) -> None:
        self.workers: dict[WorkerProcess, WorkerState] = {}
        self.devices: Devices | None = None
        self._config = config
        self._options = options
        self._recorder = recorder
        self._specs = _specs(config)
        self._events: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._launcher: Launcher | None = None
        self._zygote: Zygote | None = None
        self._failed_starts = 0
        self._trial = True

    @property
    def places(self) -> int:
        return len(self._specs)

    # -- starting -----------------------------------------------------------------------------------------------------

    def start(self, slot: int) -> None:
        """Start a worker, which says so when it is ready."""
        try:
            process = self._fork(slot) or self._launch(slot)
            worker = self.workers[process] = WorkerState(slot, process, Watchdog(process))
            worker.watchdog.allow(self._options.start_timeout, "its start")
            process.setup()
        except Exception as error:
            self.workers = {process: worker for process, worker in self.workers.items() if worker.slot != slot}
            self._start_again(slot, f"{self._specs[slot]}: {one_line(error)}")

    def _launch(self, slot: int) -> WorkerProcess:
        if self._launcher is None:
            self._launcher = Launcher(self._config, self._specs)
        return self._launcher.launch(slot, self._variables(slot), self._events.put, trial=self._trial)

    def _fork(self, slot: int) -> WorkerProcess | None:
        """A worker from the zygote, if there is one that can be forked."""
        if self._launcher is None or self._zygote is None or not self._zygote.is_ready():
            return None
        if not self._launcher.forks(slot, self._variables(slot)):
            return None
        return self._launcher.fork(self._zygote, self._events.put, trial=self._trial)

    def _variables(self, slot: int) -> dict[str, str]:
        return {} if self.devices is None else self.devices.variables(slot)

    def expect_losses(self) -> None:
        """Prepare for more workers that have to be replaced: a class that has cost one may cost many."""
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
            # Whatever the reason is: a fresh interpreter will show whether it is the class.
            self._zygote.end()
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
