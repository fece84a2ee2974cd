"""The parent: gives each worker one test at a time, keeps the books, and outlives whatever the workers do.

A test's reports are held until its worker has said that it is well, or, when it was the worker's last one, until the
worker has ended well.  Whatever goes wrong before that belongs to this one test.
"""

from __future__ import annotations

import contextlib
import queue
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import ConformanceError, ExitStatus, KitError, RecordError, UsageError, one_line
from conformance.isolation import remote
from conformance.isolation.evidence import Ending
from conformance.isolation.hands import OUTPUT
from conformance.isolation.link import Link, Links
from conformance.isolation.verdict import charged, lost_report
from conformance.isolation.watchdog import Watchdog
from conformance.records.subject import Subject
from conformance.records.verdicts import Verdict
from conformance.session.cases import Case, rerun_command
from conformance.session.outcome import Outcome, outcome_of

if TYPE_CHECKING:
    from conformance.requirements.registry import Registry
    from conformance.session.cases import Selection
    from conformance.session.options import Options
    from conformance.session.recorder import Recorder

#: In a row, for one place; then there is no sense in going on.
STARTS = 3
#: Seconds that a worker may take to end.
EXIT_S = 15.0
#: Seconds between two looks at the workers, and at one that has hung up and must end any moment.
_TICK_S = 0.5
_END_TICK_S = 0.01
#: Verdicts after which a destructive test in a healthy worker has destroyed nothing.
_HARMLESS = {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SKIPPED}


@dataclass
class Worker:
    """What the parent knows of one worker.

    Attributes:
        slot: its place among the workers.
        link: to the process.
        watchdog: over it.
        ready: whether it has told what it can run.
        running: the node id of its test.
        reports: of that test, held.
        done: whether that test has ended and the worker said that it is well.
        closing: why it was told to end, or ``None``.
        finished: whether it said goodbye.
        silent: whether it has hung up.
        error: what the gateway said of that.
        ran: how many tests it has run.
        unharmed: whether all of them were destructive ones that destroyed nothing.
        writing: the node id of the lost test whose script it writes.
    """

    slot: int
    link: Link
    watchdog: Watchdog
    ready: bool = False
    running: str | None = None
    reports: list[pytest.TestReport] = field(default_factory=list)
    done: bool = False
    closing: str | None = None
    finished: bool = False
    silent: bool = False
    error: str | None = None
    ran: int = 0
    unharmed: bool = True
    writing: str | None = None


class Controller:
    """Runs a session's tests in workers.

    Args:
        config: of the session.
        options: what the command line says.
        registry: the requirements.
        recorder: keeps the books.
        cases: by node id; filled from what the first worker tells.
        selection: likewise.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        registry: Registry,
        recorder: Recorder,
        cases: dict[str, Case],
        selection: Selection,
    ) -> None:
        self.config = config
        self.options = options
        self.registry = registry
        self.recorder = recorder
        self.cases = cases
        self.selection = selection
        self._specs = _specs(config)
        # The kit gives out the tests itself.
        config.option.dist = "no"
        self._events: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._links: Links | None = None
        self._workers: dict[Link, Worker] = {}
        self._failed_starts = 0
        self._told: dict[str, Any] | None = None
        self._index: dict[str, int] = {}
        self._ordinary: deque[str] = deque()
        self._destructive: deque[str] = deque()
        #: Tests that were lost with their processes, and how, whose scripts another process has to write.
        self._unwritten: deque[tuple[str, str]] = deque()
        self._session: pytest.Session | None = None

    # -- the session --------------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_getremotemodule(self) -> Any:
        """What the gateways run, instead of pytest-xdist's own."""
        return remote

    @pytest.hookimpl
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Ask the first worker what there is to run; nothing is collected here."""
        self._session = session
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            # Tests of several workers come in no order that lines by file could show.
            reporter.showfspath = False
        self._links = Links(self.config, self._specs)
        self._start(0)
        while self._told is None and self.recorder.stopped is None and not session.shouldfail:
            self._turn()
        self._begin(session)
        return True

    def _begin(self, session: pytest.Session) -> None:
        if self._told is None:
            self._begin_without_workers()
            return
        ids: list[str] = self._told["ids"]
        session.testscollected = len(ids)
        if self.config.option.collectonly:
            print(*ids, sep="\n")
            return
        try:
            left = {case.nodeid for case in self.recorder.begin(self.cases[one] for one in ids if one in self.cases)}
        except RecordError as error:
            raise pytest.UsageError(f"conformance: {error}") from None
        for nodeid in ids:
            if nodeid not in self.cases:
                self._ordinary.append(nodeid)
            elif nodeid in left:
                (self._destructive if self.cases[nodeid].destructive else self._ordinary).append(nodeid)

    def _begin_without_workers(self) -> None:
        """Leave a record that says why there was no run."""
        if self.recorder.stopped is None or self.options.resume is not None or self.config.option.collectonly:
            return
        self.recorder.open(Subject.unknown(spec) for spec in self.options.implementations)
        self.recorder.begin([])

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests."""
        if self._told is None or self.config.option.collectonly:
            return True
        for slot in range(1, min(len(self._specs), len(self._ordinary) + len(self._destructive))):
            self._start(slot)
        for worker in list(self._workers.values()):
            if worker.ready:
                self._go_on(worker)
        while self._workers and self.recorder.stopped is None:
            self._turn()
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End whatever still runs."""
        for worker in list(self._workers.values()):
            worker.link.send_signal("SIGKILL", group=True)
            worker.link.clear()
        self._workers.clear()
        if self._links is not None:
            self._links.teardown_nodes()

    def _say(self, line: str) -> None:
        """Tell a user who asked for details what becomes of the workers."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self.config.option.verbose > 0:
            reporter.ensure_newline()
            reporter.write_line(line)

    # -- one turn -----------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Wait for one event, or for the time to look after a worker."""
        patience = min((self._patience(worker) for worker in self._workers.values()), default=_TICK_S)
        try:
            name, values = self._events.get(timeout=patience)
        except queue.Empty:
            self._look_around()
            return
        if name == "warning_recorded":  # the one event that comes without its worker
            self.config.hook.pytest_warning_recorded.call_historic(kwargs=values)
            return
        worker = self._workers.get(values.pop("node"))
        if worker is None:  # the last words of one that has been buried
            return
        handle = getattr(self, f"_on_{name}", None)
        if handle is not None:
            handle(worker, **values)
        if any(worker.watchdog.seconds_left() == 0 for worker in self._workers.values()):
            self._look_around()

    def _patience(self, worker: Worker) -> float:
        """How long nothing needs to be done for a worker that says nothing."""
        return min(_TICK_S if not worker.silent else _END_TICK_S, worker.watchdog.seconds_left())

    def _look_around(self) -> None:
        for worker in list(self._workers.values()):
            worker.watchdog.look()
            worker.link.bound(OUTPUT)
            # What it still had to say comes first, and a process that has ended may not have let go of the line.
            if self._events.empty() and (worker.link.has_ended() or worker.watchdog.is_at_an_end):
                self._bury(worker)

    # -- starting -----------------------------------------------------------------------------------------------------

    def _start(self, slot: int) -> None:
        assert self._links is not None
        try:
            link = self._links.make(slot, self._device(slot), self._events.put)
            worker = self._workers[link] = Worker(slot, link, Watchdog(link))
            worker.watchdog.allow(self.options.start_timeout, "its start")
            link.setup()
        except Exception as error:
            self._workers = {link: worker for link, worker in self._workers.items() if worker.slot != slot}
            self._did_not_start(slot, f"{self._specs[slot]}: {one_line(error)}")

    def _device(self, slot: int) -> dict[str, str]:
        """The environment that gives the worker in `slot` a device of its own."""
        devices = None if self._told is None else self._told["devices"]
        if devices is None or devices["count"] < 2:
            return {}
        return {devices["variable"]: _nth_device(devices["variable"], slot % devices["count"])}

    def _did_not_start(self, slot: int, why: str) -> None:
        self._failed_starts += 1
        if self._failed_starts < STARTS:
            self._start(slot)
        else:
            self.recorder.stopped = f"a worker could not be started {STARTS} times in a row; the last one: {why}"

    def _on_workerready(self, worker: Worker, workerinfo: Any) -> None:
        worker.link.workerinfo = workerinfo
        workerinfo["id"], workerinfo["spec"] = worker.link.gateway.id, worker.link.gateway.spec
        self.config.hook.pytest_testnodeready(node=worker.link)

    def _on_pid(self, worker: Worker, pid: int) -> None:
        worker.link.pid = pid

    def _on_refused(self, worker: Worker, text: str, exit_status: int) -> None:  # noqa: ARG002 - a handler
        """A worker says no to what the user asked for: so does the session."""
        if exit_status == ExitStatus.USAGE:
            raise pytest.UsageError(text)
        pytest.exit(text, returncode=exit_status)

    def _on_collectreport(self, worker: Worker, rep: pytest.CollectReport) -> None:  # noqa: ARG002 - a handler
        self.config.hook.pytest_collectreport(report=rep)
        if rep.failed and self._session is not None:
            self._session.shouldfail = "test files cannot be read"

    def _on_ready(self, worker: Worker, **told: Any) -> None:
        worker.ready = True
        worker.watchdog.rest()
        if self._told is None:
            self._take_over(told)
        elif self._told["ids"] != told["ids"] or self._told["subjects"] != told["subjects"]:
            self._stop(KitError(f"worker {worker.link.gateway.id} {_difference(self._told, told)}"))
        else:
            self._go_on(worker)

    def _take_over(self, told: dict[str, Any]) -> None:
        self._told = told
        self.selection.not_applicable = told["not_applicable"]
        self.selection.narrowed = told["narrowed"]
        for nodeid, one in told["cases"].items():
            entries = tuple(self.registry.get(identity, nodeid) for identity in one["requirements"])
            self.cases[nodeid] = Case(nodeid, one["test"], one["implementation"], entries, one["seconds"], one["draws"])
        self._index = {nodeid: index for index, nodeid in enumerate(told["ids"])}
        try:
            self.recorder.open(Subject(**subject) for subject in told["subjects"])
        except UsageError as error:
            raise pytest.UsageError(f"conformance: {error}") from None

    def _stop(self, error: ConformanceError) -> None:
        self.recorder.stopped = str(error)

    # -- running ------------------------------------------------------------------------------------------------------

    def _go_on(self, worker: Worker) -> None:
        """Give a worker its next test, let it wait for one, or end it; the script of a lost test comes first."""
        if self._unwritten:
            self._ask_for_script(worker, *self._unwritten.popleft())
            return
        nodeid = self._next(worker)
        if nodeid is None:
            if not (worker.ran == 0 and self._destructive):
                self._close(worker, "there is nothing left for it")
            return
        self._failed_starts = 0
        worker.running, worker.reports, worker.done = nodeid, [], False
        worker.ran += 1
        worker.watchdog.allow(self._limit(self.cases.get(nodeid)), "the test")
        self.config.hook.pytest_runtest_logstart(nodeid=nodeid, location=_location(nodeid))
        with contextlib.suppress(OSError):  # a worker that has just died says so itself
            worker.link.send_runtest_some([self._index[nodeid]])

    def _limit(self, case: Case | None) -> float:
        """The seconds that a test may take: more where it was asked to draw more than usual."""
        if case is None:
            return self.options.test_timeout
        limit = max(self.options.test_timeout, case.seconds)
        exploring = case.draws and self.options.explore is not None
        return limit * max(1.0, self.options.examples) if exploring else limit

    def _ask_for_script(self, worker: Worker, nodeid: str, seen: str) -> None:
        worker.writing = nodeid
        worker.watchdog.allow(self.options.test_timeout, "the script")
        with contextlib.suppress(OSError):  # a worker that has just died says so itself
            worker.link.sendcommand("conformance_script", index=self._index[nodeid], seen=seen)

    def _on_script(self, worker: Worker, index: int, text: str | None) -> None:  # noqa: ARG002 - a handler
        nodeid, worker.writing = worker.writing, None
        worker.watchdog.rest()
        if nodeid is not None and text is not None:
            self.recorder.reproduced(self.cases[nodeid], text)
        self._go_on(worker)

    def _next(self, worker: Worker) -> str | None:
        if self._ordinary:
            return self._ordinary.popleft()
        # What may leave the process, or the device, unusable runs in a worker that is as good as fresh, and alone: the
        # workers for those after it may be there, but whatever else has run a test has ended.
        alone = all(other.ran == 0 for other in self._workers.values() if other is not worker)
        return self._destructive.popleft() if self._destructive and alone and worker.unharmed else None

    def _on_testreport(self, worker: Worker, rep: pytest.TestReport) -> None:
        if worker.running is not None:
            rep.nodeid = worker.running  # one string for all that is kept of a test
        worker.reports.append(rep)

    def _on_done(self, worker: Worker, index: int, exit_hooks: bool) -> None:  # noqa: ARG002 - a handler
        worker.done = True
        if worker.watchdog.overdue is not None:
            # It came back after all, most likely because the signal for its stacks woke it; its end is on its way.
            return
        worker.watchdog.rest()
        case = self.cases.get(worker.running or "")
        worker.unharmed &= case is not None and case.destructive and _verdict(worker.reports) in _HARMLESS
        outcome = _outcome(worker.reports)
        if outcome is not None and outcome.unfit:
            # What is wrong with it is known; how it would end says nothing more.
            self._flush(worker)
            self._close(worker, "it is not fit for another test")
            worker.link.send_signal("SIGKILL", group=True)
            return
        reason = None
        if exit_hooks:
            reason = "its test has put something off to its end"
        elif self.options.isolate == "test":
            reason = "it was for one test"
        elif not self._ordinary and not (self._destructive and worker.unharmed):
            reason = "there is nothing left for it"
        if reason is None:
            self._flush(worker)
            self._go_on(worker)
        else:
            self._close(worker, reason)

    def _flush(self, worker: Worker) -> None:
        """Publish the reports of a worker's test."""
        nodeid, worker.running = worker.running, None
        for report in worker.reports:
            if report.failed and worker.ready:  # keeps the worker's end of the line alive, so not with every report
                vars(report)["node"] = worker.link
            self.config.hook.pytest_runtest_logreport(report=report)
        if nodeid is not None:
            self.config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=_location(nodeid))
        self._forget_reports()

    def _forget_reports(self) -> None:
        # pytest keeps each report of a set-up and a teardown, and never looks at one that passed again; of those of
        # tests that passed it only wants the number, unless it is asked to show them.
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        reporter.stats.pop("", None)
        passed = reporter.stats.get("passed")
        if passed and not (reporter.hasopt("p") or reporter.hasopt("P")):
            passed[-1] = passed[0]

    # -- ending -------------------------------------------------------------------------------------------------------

    def _close(self, worker: Worker, why: str) -> None:
        worker.closing = why
        self._say(f"{worker.link.gateway.id} is to end after {worker.running}: {why}")
        worker.watchdog.allow(self._exit_seconds, "its end")
        worker.link.shutdown()

    def _on_workerfinished(self, worker: Worker) -> None:
        worker.finished = True
        # The session there is over; now the gateway, and with it the process.
        worker.link.gateway.exit()

    def _on_internal(self, worker: Worker, text: str, changed: list[str]) -> None:
        """In a worker, pytest itself failed: the fault of the test that changed it, or else the kit's."""
        if worker.running is None:
            self._stop(KitError(f"pytest failed in a worker: {one_line(text.strip().splitlines()[-1])}"))
            return
        verdict = Verdict.FAIL if changed else Verdict.ERROR
        why = f"left behind: {'; '.join(changed)}; then pytest failed in the worker" if changed else "pytest failed"
        worker.reports = [self._lost(worker, verdict, f"{why}: {one_line(text.strip().splitlines()[-1])}", None)]
        worker.done = True
        self._close(worker, "pytest failed in it")

    def _on_errordown(self, worker: Worker, error: object) -> None:
        self._stop(KitError(f"a worker's message cannot be read: {one_line(str(error))}"))
        worker.closing = "its message cannot be read"

    def _on_ended(self, worker: Worker, error: str | None) -> None:
        """A worker has hung up: its process has ended, or is about to."""
        worker.silent, worker.error = True, error
        with contextlib.suppress(OSError, EOFError):  # there may be nobody left to tell
            worker.link.gateway.exit()
        if worker.closing is None and worker.watchdog.overdue is None:
            worker.watchdog.allow(self._exit_seconds, "its end")
        self._look_around()

    @property
    def _exit_seconds(self) -> float:
        return min(EXIT_S, self.options.test_timeout)

    def _bury(self, worker: Worker) -> None:
        """Draw the consequences of a worker's end."""
        ending = Ending.of(worker.link, worker.link.exit_code, worker.error)
        # What the test started must not outlive it.
        worker.link.send_signal("SIGKILL", group=True)
        del self._workers[worker.link]
        self.config.hook.pytest_testnodedown(node=worker.link, error=None)
        worker.link.clear()
        self._charge(worker, ending)
        self._replace(worker, ending)

    def _charge(self, worker: Worker, ending: Ending) -> None:
        """Say what became of the worker's last test."""
        if worker.running is None:
            return
        well = worker.closing is not None and worker.finished and ending.code == 0 and worker.watchdog.overdue is None
        if worker.done and well:
            self._flush(worker)
            return
        if worker.watchdog.overdue is not None:
            verdict = Verdict.TIMEOUT
            what = "its process did not end" if worker.watchdog.overdue == "its end" else "it did not come back"
            message = f"{what} in {worker.watchdog.allowed:g} s and {ending.how}"
        else:
            verdict = Verdict.CRASH
            message = f"its process {ending.how}"
            if worker.done:
                message += " after the test, when it was to end"
                if worker.ran > 1:
                    message += f" (it had run {worker.ran} tests; --isolate=test tells them apart)"
        lost = self._lost(worker, verdict, message, ending)
        if worker.running in self.cases:
            self._unwritten.append((worker.running, message))
        worker.reports = [*(rep for rep in worker.reports if not rep.failed and rep.when == "setup"), lost]
        self._flush(worker)

    def _lost(self, worker: Worker, verdict: Verdict, message: str, ending: Ending | None) -> pytest.TestReport:
        assert worker.running is not None
        case = self.cases.get(worker.running)
        at_exit = worker.done and worker.watchdog.overdue != "the test"
        phase = "exit" if at_exit else ("setup", "call", "teardown")[min(len(worker.reports), 2)]
        result = None
        if case is not None:
            spec = self.recorder.runs[case.implementation].subject.spec
            command = rerun_command(case, spec, self.options, self.config)
            result = charged(case, worker.reports, verdict, phase, message, ending, command)
        return lost_report(worker.running, case, result, verdict, message, ending)

    def _replace(self, worker: Worker, ending: Ending) -> None:
        if self.recorder.stopped is not None:
            return
        if worker.closing is None and worker.ran == 0 and worker.writing is None:
            late = f"took more than {worker.watchdog.allowed:g} s to start and " if worker.watchdog.overdue else ""
            told = ending.told()
            self._did_not_start(worker.slot, f"it {late}{ending.how}" + (f"\n{told}" if told else ""))
            return
        fresh = [other for other in self._workers.values() if other.ran == 0]
        if self._ordinary or len(self._destructive) > len(fresh) or (self._unwritten and not self._workers):
            self._start(worker.slot)
        for other in fresh:
            if other.ready and other.closing is None and other.writing is None:
                self._go_on(other)


def _specs(config: pytest.Config) -> list[str]:
    """A gateway specification for each worker."""
    specs: list[str] = []
    for given in config.getoption("tx") or ["popen"]:
        number, star, spec = given.partition("*")
        specs += [spec] * int(number) if star and number.isdigit() else [given]
    return specs


def _nth_device(variable: str, number: int) -> str:
    import os

    visible = [name for name in os.environ.get(variable, "").split(",") if name]
    return visible[number] if number < len(visible) else str(number)


def _location(nodeid: str) -> tuple[str, int | None, str]:
    file, _, name = nodeid.partition("::")
    return file, None, name


def _outcome(reports: list[pytest.TestReport]) -> Outcome | None:
    return next(filter(None, map(outcome_of, reports)), None)


def _verdict(reports: list[pytest.TestReport]) -> Verdict | None:
    outcome = _outcome(reports)
    return None if outcome is None else outcome.result.verdict


def _difference(first: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """How what one worker told differs from what the first one did."""
    if first["subjects"] == other["subjects"]:
        odd = sorted(set(first["ids"]) ^ set(other["ids"]))
        return f"collected other tests than the first, such as {odd[0]}" if odd else "collected in another order"
    for one, two in zip(first["subjects"], other["subjects"], strict=False):
        for name, value in one.items():
            if two[name] != value:
                return f"differs from the first in its {name}: {two[name]!r} instead of {value!r}"
    return "tests other implementations than the first"
