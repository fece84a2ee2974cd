"""The part of the plug-in that writes records while the tests of a session run."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from conformance.errors import ExitStatus, RecordError, WriteError
from conformance.files import refuse_to_replace
from conformance.records.run import Run
from conformance.records.tested import SHARED_DEVICE
from conformance.records.verdicts import Verdict
from conformance.reproducing.saving import save
from conformance.reproducing.trials import Reproduction, try_scripts
from conformance.session.cases import Case, Selection
from conformance.session.digests import digests_of
from conformance.session.interrupts import interrupts_held_back
from conformance.session.outcome import attach, outcome_of
from conformance.session.publishing import publishable, script
from conformance.session.record_paths import record_paths
from conformance.session.repetition import Repetitions

if TYPE_CHECKING:
    from conformance.records.result import TestResult
    from conformance.records.subject import Subject
    from conformance.requirements.registry import Registry
    from conformance.session.options import Options
    from conformance.waivers.session_waivers import SessionWaivers

#: What trying scripts may add to a session: a share of its time so far, and so many seconds at least.
_TRIAL_SHARE = 0.25
#: With this environment variable at 0 no script is run.
_SWITCH = "GRAPH_CONFORMANCE_TRY_SCRIPTS"
_LEAST_TRIAL_S = 30.0
#: What pytest calls failed, with a letter of its own.
_FAILED = {"crash": "C", "timeout": "T", "flaky": "f"}
_LETTERS = {"error": "E", "noted": "n", "unsupported": "u", "waived": "w"}


class Recorder:
    """Records the runs of a session, in the process that the user started.

    Args:
        config: of the session.
        options: what the command line says.
        registry: the requirements.
        cases: by node id; filled as tests are collected, here or elsewhere.
        selection: what the session leaves out.
        waivers: for its failures.

    Attributes:
        runs: by implementation.
        stopped: why the kit could not go on.
        headed: whether the records have their headers.
        files_failed: whether there are test files that cannot be read.
        others_failed: whether tests failed that are none of the kit's.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        registry: Registry,
        cases: Mapping[str, Case],
        selection: Selection,
        waivers: SessionWaivers,
    ) -> None:
        self.config = config
        self.options = options
        self.registry = registry
        self.cases = cases
        self.selection = selection
        self.waivers = waivers
        self.runs: dict[str, Run] = {}
        self.stopped: str | None = None
        #: By implementation, why no other test of it was begun; the session goes on for the others.
        self.given_up: dict[str, str] = {}
        self.headed = False
        self.files_failed = False
        self.others_failed = False
        self._begun = time.monotonic()
        self.started_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._shares_device = False
        self._has_told = False
        self._repetitions = Repetitions()
        # Sessions that are refused after this have no end of their own.
        config.add_cleanup(self._close)

    def _close(self) -> None:
        for run in self.runs.values():
            run.close()

    # -- who else is there --------------------------------------------------------------------------------------------

    def note_other_run(self) -> None:
        """Note that another run is on a device of this one; records that are opened from now on say so."""
        self._shares_device = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        """Tell of another run, where it is known by now."""
        self.tell_of_other_run()

    def tell_of_other_run(self) -> None:
        """Tell the user of another run, once."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if self._shares_device and not self._has_told and reporter is not None:
            self._has_told = True
            reporter.write_line(f"note: {SHARED_DEVICE}")

    # -- what will run ------------------------------------------------------------------------------------------------

    def open(self, subjects: Iterable[Subject]) -> None:
        """Open the records.

        Raises:
            UsageError: one cannot be written or resumed, or another one is there.
            WriteError: the disk is full.
        """
        shared = {"shared_device": SHARED_DEVICE} if self._shares_device else {}
        by_name = {
            subject.name: replace(subject, environment={**subject.environment, **shared}) for subject in subjects
        }
        paths = self._paths(by_name)
        resume = self.options.resume is not None
        for path in paths.values() if not resume else ():
            refuse_to_replace("--record", path, force=self.options.force)
        for name, subject in by_name.items():
            self.runs[name] = Run(subject, self.registry, paths.get(name), resume=resume)

    def _paths(self, names: Collection[str]) -> dict[str, Path]:
        target = self.options.resume or self.options.record
        return {} if target is None or self.config.option.collectonly else record_paths(target, names)

    def begin(self, cases: Iterable[Case]) -> list[Case]:
        """Write the headers.

        Returns:
            Those `cases` that an earlier part of the run has not finished.

        Raises:
            RecordError: a record to resume is of another run.
        """
        case_list = list(cases)
        plans: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in self.runs}
        for case in case_list:
            plans[case.implementation][case.test] = case.ids
        digests = digests_of((case.test for case in case_list), self.config.rootpath) if self._is_recorded else {}
        try:
            for name, run in self.runs.items():
                run.begin(
                    plans[name],
                    self._options(),
                    self.started_at,
                    not_applicable=self.selection.not_applicable.get(name, ()),
                    narrowed=self.selection.narrowed,
                    waivers=[waiver.to_dict() for waiver in self.waivers.of(run.subject)],
                    digests=digests,
                )
        except WriteError as error:
            self._give_up(error)
        self.headed = True
        return [case for case in case_list if case.test not in self.runs[case.implementation].results]

    @property
    def _is_recorded(self) -> bool:
        return any(run.writer is not None for run in self.runs.values())

    def _options(self) -> dict[str, Any]:
        values = {
            **self.options.deciding(),
            "keyword": self.config.option.keyword,
            "markers": self.config.option.markexpr,
            "waivers": self.waivers.option,
        }
        return {name: value for name, value in values.items() if value}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the headers, where this process collects."""
        if self.config.option.collectonly or not self.selection.settled:
            return
        try:
            nodeids = {case.nodeid for case in self.begin(self._collected(session))}
        except RecordError as error:
            raise pytest.UsageError(f"conformance: {error}") from None
        session.items[:] = [item for item in session.items if item.nodeid not in self.cases or item.nodeid in nodeids]

    def _collected(self, session: pytest.Session) -> list[Case]:
        return [self.cases[item.nodeid] for item in session.items if item.nodeid in self.cases]

    # -- what happens -------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Begin no test when the kit cannot go on; where tests run in workers, they get none."""
        return True if self.stopped is not None or self.is_in_vain(item.nodeid) else None

    def is_in_vain(self, nodeid: str) -> bool:
        """Whether a test is of an implementation of which no other is begun."""
        case = self.cases.get(nodeid)
        return case is not None and case.implementation in self.given_up

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notice test files that cannot be read."""
        self.files_failed |= report.failed

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a test begins."""
        case = self.cases.get(nodeid)
        # One that runs again has its line already, and stops the run when its second result comes.
        if case is not None and case.test not in self.runs[case.implementation].results:
            try:
                with interrupts_held_back():
                    self.runs[case.implementation].started(case.test)
            except WriteError as error:
                self._give_up(error)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Accept a waived failure before anyone counts it, and note the test's result."""
        self._waive(report)
        try:
            with interrupts_held_back():
                self._note(report)
        except WriteError as error:
            self._give_up(error)
        return (yield)

    def ran(self, case: Case, result: TestResult) -> None:
        """Note what came of a run of a test that is to run again."""
        try:
            with interrupts_held_back():
                self.runs[case.implementation].ran(publishable(result))
        except WriteError as error:
            self._give_up(error)

    def _give_up(self, error: WriteError) -> NoReturn:
        """End the session: what would go on is in no record."""
        self.stopped = str(error)
        pytest.exit(self.stopped, returncode=ExitStatus.KIT_FAILED)

    def _waive(self, report: pytest.TestReport) -> None:
        """Let `report`, of any phase and from any process, show a waived failure as such."""
        case = self.cases.get(report.nodeid)
        if case is None:
            return
        subject, outcome = self.runs[case.implementation].subject, outcome_of(report)
        if outcome is not None:
            result = self.waivers.waive(subject, outcome.result, case.scored_ids)
            attach(report, replace(outcome, result=result))
            waived = result.verdict is Verdict.WAIVED
        else:
            # The result comes with a later phase, and is that of this one if it failed.
            is_error = getattr(report, "conformance_status", None) == Verdict.ERROR.value
            waived = not is_error and self.waivers.cover(subject, case.test, case.scored_ids)
        if waived and report.failed:
            report.outcome = "passed"
            vars(report)["conformance_status"] = Verdict.WAIVED.value

    def _note(self, report: pytest.TestReport) -> None:
        """Note a test's result, which comes with its last phase."""
        outcome = outcome_of(report)
        if outcome is not None and outcome.result.test in self.runs[outcome.implementation].results:
            # A later result must not hide an earlier one, nor the other way round.
            self.stopped = f"{outcome.result.test} ran more than once: leave the plug-in out that runs tests again"
        elif outcome is not None:
            outcome = replace(outcome, result=publishable(outcome.result))
            self.runs[outcome.implementation].ended(outcome.result)
            self._give_up_on(outcome.implementation, self._repetitions.note(outcome))
        elif report.failed and report.nodeid not in self.cases:
            self.others_failed = True

    def _give_up_on(self, name: str, why: str | None) -> None:
        """Begin no other test of an implementation, and none at all when nobody has any left."""
        if why is None:
            return
        self.given_up.setdefault(name, why)
        if self.given_up.keys() == self.runs.keys():
            self.stopped = self.stopped or "; ".join(self.given_up.values())

    def why_stopped(self, name: str) -> str | None:
        """Why tests of an implementation were not begun, for the whole session or for itself; ``None`` if all were."""
        return self.stopped or self.given_up.get(name)

    def reproduced(self, case: Case, text: str) -> None:
        """Take in the script that shows why a process was lost, which another one has written."""
        shown = script(text)
        if shown is None:
            return
        try:
            with interrupts_held_back():
                self.runs[case.implementation].reproduced(case.test, shown)
        except WriteError as error:
            self._give_up(error)

    def try_scripts(self) -> None:
        """Run each script once, alone, where anybody is to have it.

        Raises:
            WriteError: the disk is full.
        """
        deadline = time.monotonic() + max(_LEAST_TRIAL_S, _TRIAL_SHARE * (time.monotonic() - self._begun))
        wanted = self.options.reproducers or self.options.record or self.options.resume
        if wanted is None or os.environ.get(_SWITCH) == "0":
            return
        for run in self.runs.values():

            def tell(result: TestResult, reproduction: Reproduction, run: Run = run) -> None:
                with interrupts_held_back():
                    run.tried(result.test, asdict(reproduction))

            try_scripts(run.untried, deadline - time.monotonic(), os.cpu_count() or 1, tell)

    def save_scripts(self) -> None:
        """Save what shows failures, or may."""
        for name, run in self.runs.items() if self.options.reproducers is not None else ():
            for result in run.scripts:
                save(Path(str(self.options.reproducers)), name, result)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Show what pytest has no word for under the kit's own."""
        status: str | None = getattr(report, "conformance_status", None)
        if status is None:
            return None
        if status in _FAILED:
            return "failed", _FAILED[status], status.upper()
        return status, _LETTERS[status], status.upper()
