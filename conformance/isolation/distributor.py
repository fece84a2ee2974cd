"""Gives each worker one test at a time, and draws the consequences of each end.

A test's reports are held back until its worker has said that it is well, or, when it was the worker's last one, until
the worker has ended well.  Whatever goes wrong before that belongs to this one test.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.isolation.case_queue import CaseQueue, LostTest
from conformance.isolation.deadlines import Deadlines
from conformance.isolation.loss import Loss, loss_of, phase_of
from conformance.isolation.messages import Done, Judged, Script, WriteScript
from conformance.isolation.script_plan import ScriptPlan
from conformance.isolation.verdict import charged, lost_report
from conformance.isolation.worker_state import RunningTest, Shutdown
from conformance.records.verdicts import Verdict
from conformance.session.cases import rerun_command
from conformance.session.outcome import Outcome
from conformance.session.reruns import Reruns

if TYPE_CHECKING:
    from conformance.isolation.evidence import Ending
    from conformance.isolation.plan import Plan
    from conformance.isolation.publisher import Publisher
    from conformance.isolation.supervisor import Supervisor
    from conformance.isolation.worker_state import WorkerState
    from conformance.session.cases import Case
    from conformance.session.options import Options
    from conformance.session.recorder import Recorder

#: Seconds that a worker may take to read the graphs of a test, and what that is called.
GRAPHS_S = 10.0
_GRAPHS = "its graphs"
#: Seconds that a worker may take to end.
EXIT_S = 15.0
#: Tests of a session that run a second time because the device had no memory; it may never have any.
_SECOND_RUNS = 200
#: Verdicts after which a destructive test in a healthy worker has destroyed nothing.
_HARMLESS = {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SKIPPED}


class Distributor:
    """Distributes a session's tests.

    Args:
        config: of the session.
        options: what the command line says.
        recorder: keeps the records.
        plan: what there is to run.
        supervisor: looks after the workers.
        publisher: publishes the tests' reports.

    Attributes:
        queue: of the tests that are left.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        recorder: Recorder,
        plan: Plan,
        supervisor: Supervisor,
        publisher: Publisher,
    ) -> None:
        self.queue = CaseQueue()
        self._config = config
        self._options = options
        self._recorder = recorder
        self._plan = plan
        self._supervisor = supervisor
        self._publisher = publisher
        self._deadlines = Deadlines(options)
        #: Node ids of the tests that run a second time, with a warning that says what came of the first.
        self._second_runs: dict[str, str] = {}
        self._reruns = Reruns(options.reruns, recorder)
        #: Node ids of the tests that failed and run again.
        self._reran: set[str] = set()
        #: How the processes of tests ended that did not survive them, for their scripts.
        self._losses: dict[str, str] = {}
        self._scripts = ScriptPlan()
        self._starved = 0

    # -- giving out ---------------------------------------------------------------------------------------------------

    def go_on(self, worker: WorkerState) -> None:
        """Give a worker its next test, let it wait for one, or end it; an urgent script of a lost test comes first."""
        if not self.queue and not self._scripts.has_time():
            self.queue.drop_patient()
        lost = self.queue.next_lost()
        if lost is not None:
            self._ask_for_script(worker, lost)
            return
        nodeid = self.queue.next_test(unharmed=worker.unharmed, alone=self._is_alone(worker))
        if nodeid is not None:
            self._give(worker, nodeid)
        elif not self.queue.has_test(unharmed=worker.ran == 0):
            self.shut_down(worker, "there is nothing left for it")

    def _is_alone(self, worker: WorkerState) -> bool:
        """Whether every other worker is still fresh: those that have run a test have ended."""
        return all(other.ran == 0 for other in self._supervisor.workers.values() if other is not worker)

    def _give(self, worker: WorkerState, nodeid: str) -> None:
        self._supervisor.forget_failed_starts()
        worker.test = RunningTest(nodeid)
        worker.ran += 1
        worker.watchdog.allow(self._deadlines.limit(self._plan.cases.get(nodeid)), "the test")
        if nodeid not in self._second_runs and nodeid not in self._reran:
            self._publisher.started(nodeid)
        with contextlib.suppress(OSError):  # a worker that has just died says so itself
            worker.process.send_runtest_some([self._plan.index(nodeid)])

    def run_no_more(self) -> None:
        """Give out no other test; what workers have is left to them."""
        self.queue.leave_out(lambda _: True)

    def owes_scripts(self) -> bool:
        """Whether scripts of lost tests are to be written, or are being written."""
        return self.queue.has_lost() or any(worker.script for worker in self._supervisor.workers.values())

    def _ask_for_script(self, worker: WorkerState, lost: LostTest) -> None:
        worker.script = lost.nodeid
        worker.watchdog.allow(self._options.test_timeout, "the script")
        with contextlib.suppress(OSError):  # a worker that has just died says so itself
            worker.process.send(WriteScript(self._plan.index(lost.nodeid), lost.failure))

    def shut_down(self, worker: WorkerState, reason: str) -> None:
        """Ask a worker to end."""
        worker.shutdown = Shutdown(reason)
        nodeid = None if worker.test is None else worker.test.nodeid
        self._publisher.note(f"{worker.process.gateway.id} is to end after {nodeid}: {reason}")
        self.expect_end(worker)
        worker.process.shutdown()

    def expect_end(self, worker: WorkerState) -> None:
        """Give a worker time to end, and no more than a test has."""
        worker.watchdog.allow(min(EXIT_S, self._options.test_timeout), "its end")

    # -- what comes back ----------------------------------------------------------------------------------------------

    def take_script(self, worker: WorkerState, script: Script) -> None:
        """Record a script that a worker has written."""
        nodeid, worker.script = worker.script, None
        worker.watchdog.rest()
        if nodeid is not None and script.text is not None:
            self._recorder.reproduced(self._plan.cases[nodeid], script.text)
        self.go_on(worker)

    def expect_graphs(self, worker: WorkerState, message: Judged) -> None:
        """Take a failed test's outcome into safety, and give its worker time to read the graphs."""
        if worker.test is None:
            return
        worker.test.judged = Outcome.from_dict(message.outcome)
        worker.test.allowed = worker.watchdog.allowed
        worker.watchdog.allow(min(GRAPHS_S, worker.test.allowed), _GRAPHS)

    def go_on_with_test(self, worker: WorkerState) -> None:
        """Expect the rest of a test whose graphs have been read."""
        if worker.test is not None and worker.watchdog.overdue is None:
            worker.watchdog.allow(worker.test.allowed, "the test")

    def take_result(self, worker: WorkerState, message: Done) -> None:
        """Publish what a test came to, or first end its worker when that was the worker's last test."""
        test = worker.test
        if test is None:
            return
        test.done = True
        if worker.watchdog.overdue is not None:
            # It came back after all, most likely because the signal for its stacks woke it; its end is on its way.
            return
        worker.watchdog.rest()
        self._note_time(test)
        worker.unharmed &= self._was_harmless(test)
        if self._runs_again(test):
            worker.test = None
        if test.outcome is not None and test.outcome.unfit is not None:
            self._end_unfit(worker)
            return
        reason = self._reason_to_end(worker, message)
        if reason is None:
            self._publish(worker)
            self.go_on(worker)
        else:
            self.shut_down(worker, reason)

    def _runs_again(self, test: RunningTest) -> bool:
        """Whether `test`, for which the device had no memory, gets another turn when the others of its kind had theirs.

        Then what came of it is put aside.
        """
        outcome, case = test.outcome, self._plan.cases.get(test.nodeid)
        if outcome is None or case is None or not outcome.starved:
            return False
        if test.nodeid in self._second_runs or self._starved >= _SECOND_RUNS:
            return False
        self._starved += 1
        self._run_again(test, "OutOfMemory", outcome.result.message)
        self.queue.put(test.nodeid, destructive=case.destructive)
        return True

    def _run_again(self, test: RunningTest, category: str, why: str) -> None:
        self._second_runs[test.nodeid] = f"{category}: this is its second run; in the first {why}"
        self._publisher.note(f"{test.nodeid} is to run again: {why}")

    def _note_time(self, test: RunningTest) -> None:
        case = self._plan.cases.get(test.nodeid)
        if case is not None:
            self._deadlines.came_back(case, test.seconds)

    def _was_harmless(self, test: RunningTest) -> bool:
        """Whether `test` is a destructive one that destroyed nothing."""
        case, outcome = self._plan.cases.get(test.nodeid), test.outcome
        return case is not None and case.destructive and outcome is not None and outcome.result.verdict in _HARMLESS

    def _end_unfit(self, worker: WorkerState) -> None:
        # What is wrong with it is known; how it would end says nothing more.
        self._publish(worker)
        self.shut_down(worker, "it is not fit for another test")
        worker.process.send_signal("SIGKILL", group=True)

    def _reason_to_end(self, worker: WorkerState, message: Done) -> str | None:
        if message.exit_hooks:
            return "its test has put something off to its end"
        if self._options.isolate == "test":
            return "it was for one test"
        if self.queue.has_test(unharmed=worker.unharmed) or self._goes_on_with_a_rerun(worker):
            return None
        return "there is nothing left for it"

    def _goes_on_with_a_rerun(self, worker: WorkerState) -> bool:
        """Whether the test that the worker has just run is to run again, and may do so there."""
        case = None if worker.test is None else self._plan.cases.get(worker.test.nodeid)
        outcome = None if worker.test is None else worker.test.outcome
        return (
            case is not None
            and outcome is not None
            and self._reruns.wants(case, outcome)
            and (worker.unharmed or not case.destructive)
        )

    def _publish(self, worker: WorkerState) -> None:
        test, worker.test = worker.test, None
        if test is None:
            return
        if test.nodeid in self._second_runs:
            test.add_warning(self._second_runs.pop(test.nodeid))
        case, outcome = self._plan.cases.get(test.nodeid), test.outcome
        if case is not None and outcome is not None and self._reruns.wants(case, outcome):
            self._rerun(case, outcome, test)
            return
        if case is not None:
            test.reports = [*self._reruns.settled(case, test.reports)]
            self._ask_for_scripts(case, test)
        given_up = len(self._recorder.given_up)
        self._publisher.publish(test, worker.process)
        if len(self._recorder.given_up) > given_up:
            self.queue.leave_out(self._recorder.is_in_vain)

    def _rerun(self, case: Case, outcome: Outcome, test: RunningTest) -> None:
        """Let a test that failed run again, after the others of its kind unless the session ends with a failure."""
        self._reruns.put_aside(case, outcome, test.reports)
        self._reran.add(case.nodeid)
        self._publisher.note(f"{case.nodeid} is to run again: it came to {outcome.result.verdict}")
        put = self.queue.put_first if self._config.option.maxfail else self.queue.put
        put(case.nodeid, destructive=case.destructive)

    def _ask_for_scripts(self, case: Case, test: RunningTest) -> None:
        """Let another worker write the script of a test that its process did not survive, if that is what counts."""
        failure, outcome = self._losses.pop(case.nodeid, None), test.outcome
        if failure is not None and outcome is not None and outcome.result.ending is not None:
            urgent = self._scripts.is_urgent(case.implementation, outcome.result)
            self.queue.put_lost(LostTest(case.nodeid, failure), urgent=urgent)

    # -- when a worker is lost ----------------------------------------------------------------------------------------

    def look_around(self) -> None:
        """Look after the workers, and draw the consequences for each that has ended."""
        for worker, ending in self._supervisor.retire():
            self._settle(worker, ending)
            self._replace(worker, ending)

    def _settle(self, worker: WorkerState, ending: Ending) -> None:
        """Publish the test of a worker that has ended, and charge it with that end when it was no good one."""
        test = worker.test
        if test is None:
            return
        loss = loss_of(worker, test, ending)
        if loss is not None and (test.is_being_read or worker.watchdog.overdue == _GRAPHS):
            self._settle_unread(test, loss)
            loss = None
        if loss is not None and worker.watchdog.overdue == "the test":
            loss = self._believed(test, loss, worker.watchdog.allowed)
            if loss is None:
                return
        if loss is not None:
            report = self._report(test, loss)
            if report.failed and test.nodeid in self._plan.cases:
                self._losses[test.nodeid] = loss.message
            test.reports = [*(rep for rep in test.reports if not rep.failed and rep.when == "setup"), report]
        self._publish(worker)

    def _settle_unread(self, test: RunningTest, loss: Loss) -> None:
        """Let a test have its own verdict when reading its graphs has cost the worker; nobody reads any more then."""
        self._supervisor.reads = False
        judged, case = test.outcome or test.judged, self._plan.cases.get(test.nodeid)
        if judged is None:
            return
        result = judged.result
        report = lost_report(test.nodeid, case, result, Loss(result.verdict, result.phase, result.message))
        test.reports = [*(rep for rep in test.reports if not rep.failed and rep.when == "setup"), report]
        test.add_warning(f"Unreadable: {loss.message} when its graphs were read; no others are read")

    def _believed(self, test: RunningTest, loss: Loss, allowed: float) -> Loss | None:
        """The loss by a test that has not come back in `allowed` seconds; ``None`` when it first gets more of them."""
        case = self._plan.cases.get(test.nodeid)
        if case is None:
            return loss
        if self._deadlines.runs_again(case, allowed):
            self._run_again(test, "Timeout", f"it did not come back in {allowed:g} s")
            self.queue.put_first(test.nodeid, destructive=case.destructive)
            return None
        remark = "" if self._deadlines.is_whole(case, allowed) else f" {self._deadlines.remark(case)}"
        return replace(loss, message=loss.message + remark)

    def fail(self, worker: WorkerState, test: RunningTest, verdict: Verdict, message: str) -> None:
        """Charge a test with a failure of its worker that goes on, and end the worker."""
        test.reports = [self._report(test, Loss(verdict, phase_of(worker, test), message))]
        test.done = True
        self.shut_down(worker, "pytest failed in it")

    def _report(self, test: RunningTest, loss: Loss) -> pytest.TestReport:
        case, result = self._plan.cases.get(test.nodeid), None
        if case is not None:
            subject = self._recorder.runs[case.implementation].subject
            command = rerun_command(case, subject.spec, self._options, self._config)
            result = charged(case, test, loss, command, subject.capabilities)
        return lost_report(test.nodeid, case, result, loss)

    def _replace(self, worker: WorkerState, ending: Ending) -> None:
        """Start a worker in the place of one that has ended, if there is work for it."""
        if self._recorder.stopped is not None or worker.spare:
            return
        if worker.failed_to_start:
            self._supervisor.start_instead(worker, ending)
            return
        others = [other for other in self._supervisor.workers.values() if not other.spare]
        fresh = [other for other in others if other.ran == 0]
        if self.queue.needs_worker(fresh=len(fresh), others=len(others)):
            if not worker.ended_in_order or self._options.isolate == "test":
                self._supervisor.expect_losses()
            self._supervisor.start(worker.slot)
        for other in fresh:
            if other.waits:
                self.go_on(other)
