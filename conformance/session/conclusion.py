"""The part of the plug-in that judges the runs of a session when it is over, and sets its exit status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from conformance.errors import ExitStatus, RecordError, WriteError
from conformance.records.summary import render
from conformance.records.tested import remarks
from conformance.session.interrupts import interrupts_held_back
from conformance.text import published, visible
from conformance.waivers.checking import RunFacts

if TYPE_CHECKING:
    from conformance.records.assessment import Assessment
    from conformance.session.recorder import Recorder

# Of several runs in one session the gravest decides the exit status.
_GRAVITY = (ExitStatus.CONFORMING, ExitStatus.NOT_CONFORMING, ExitStatus.KIT_FAILED)


class Conclusion:
    """Sums a session up, in the process that the user started.

    Args:
        recorder: of its runs.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        #: Each run judged, once.
        self._assessments: dict[str, Assessment] = {}
        #: What is wrong with waivers, likewise.
        self._waiver_problems: list[str] = []
        #: The last line of each run.
        self._last_lines: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Set the exit status, and end the records."""
        if self._recorder.config.option.collectonly:
            return
        if self._recorder.headed:
            self._scripts(exitstatus)
            self._assessments = {
                name: run.assess(narrowed=self._narrowed, stopped=self._recorder.why_stopped(name))
                for name, run in self._recorder.runs.items()
            }
            # Otherwise nobody knows what there was to run.
            if self._recorder.stopped is None and not self._recorder.given_up and not self._recorder.files_failed:
                self._waiver_problems = self._recorder.waivers.problems(self._run_facts())
        status = self._exit_status(exitstatus)
        session.exitstatus = status
        for name, assessment in self._assessments.items():
            why = self._recorder.why_stopped(name)
            stopped = None if why is None else published(why)
            try:
                with interrupts_held_back():
                    self._recorder.runs[name].end(assessment, status, stopped, self._waiver_problems)
            except WriteError as error:
                self._recorder.stopped = str(error)
                session.exitstatus = ExitStatus.KIT_FAILED

    def _scripts(self, pytest_status: int) -> None:
        """Try the scripts of the failures, unless the session was cut short, and save them."""
        try:
            if self._recorder.stopped is None and pytest_status != pytest.ExitCode.INTERRUPTED:
                self._recorder.try_scripts()
            self._recorder.save_scripts()
        except (WriteError, RecordError) as error:
            self._recorder.stopped = str(error)

    def _run_facts(self) -> list[RunFacts]:
        """What waivers are checked against."""
        return [
            self._recorder.waivers.facts_of(
                run.subject,
                run.planned,
                {test: result.verdict for test, result in run.results.items()},
                self._recorder.registry.requirements.values(),
                narrowed=self._narrowed,
            )
            for run in self._recorder.runs.values()
        ]

    @property
    def _narrowed(self) -> bool:
        return self._recorder.selection.narrowed or self._recorder.options.shard is not None

    def _exit_status(self, pytest_status: int) -> int:
        if self._recorder.files_failed or self._recorder.stopped is not None:
            return ExitStatus.KIT_FAILED
        has_results = any(run.results for run in self._recorder.runs.values())
        if pytest_status == pytest.ExitCode.NO_TESTS_COLLECTED and not has_results:
            return ExitStatus.USAGE
        if pytest_status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}:
            return pytest_status
        statuses = [assessment.exit_status for assessment in self._assessments.values()]
        if self._recorder.others_failed or self._waiver_problems:
            statuses.append(ExitStatus.NOT_CONFORMING)
        return max(statuses, key=_GRAVITY.index, default=ExitStatus.NOT_CONFORMING)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the summary of each run."""
        if self._recorder.config.option.collectonly or not self._recorder.headed:
            return
        self._write_section(terminalreporter, "waivers", self._recorder.waivers.report(self._run_facts()))
        for name, run in self._recorder.runs.items():
            terminalreporter.section(f"conformance of {name}")
            for remark in remarks(run.subject.environment):
                terminalreporter.write_line(f"note: {remark}")
            not_applicable = len(self._recorder.selection.not_applicable.get(name, ()))
            summary = run.summary(self._assessments[name], not_applicable)
            terminalreporter.write_line(render(summary))
            self._last_lines.append(summary.claim.line)
        self._write_section(terminalreporter, "waivers to change", self._waiver_problems)
        reasons = self._recorder.given_up.values() if self._recorder.stopped is None else [self._recorder.stopped]
        for reason in reasons:
            terminalreporter.write_line(f"\nSTOPPED: {visible(reason)}")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Write what may be claimed, below all that pytest has to say, be it that the session was interrupted."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._last_lines:
            reporter.write_line("\n" + "\n".join(self._last_lines))
        self._last_lines.clear()

    @staticmethod
    def _write_section(terminalreporter: pytest.TerminalReporter, title: str, lines: Iterable[str]) -> None:
        for number, line in enumerate(lines):
            if not number:
                terminalreporter.section(title)
            terminalreporter.write_line(line)
