"""Publishes what the workers' tests come to, as pytest does in a session of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conformance.isolation.worker_process import WorkerProcess
    from conformance.isolation.worker_state import RunningTest


class Publisher:
    """Calls pytest's hooks for tests that ran elsewhere, and keeps next to nothing of them.

    Args:
        config: of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @property
    def _terminal(self) -> pytest.TerminalReporter | None:
        reporter: pytest.TerminalReporter | None = self._config.pluginmanager.get_plugin("terminalreporter")
        return reporter

    def prepare(self) -> None:
        """Let the terminal show tests that come in no order which lines by file could show."""
        if self._terminal is not None:
            self._terminal.showfspath = False

    def started(self, nodeid: str) -> None:
        """Publish that a test begins."""
        self._config.hook.pytest_runtest_logstart(nodeid=nodeid, location=_location(nodeid))

    def publish(self, test: RunningTest, process: WorkerProcess) -> None:
        """Publish the reports of a test that ran in `process`."""
        for report in test.reports:
            if report.failed:  # keeps the connection alive, so not with every report
                vars(report)["node"] = process
            self._config.hook.pytest_runtest_logreport(report=report)
        self._config.hook.pytest_runtest_logfinish(nodeid=test.nodeid, location=_location(test.nodeid))
        self._forget()

    def _forget(self) -> None:
        # pytest keeps each report of a set-up and a teardown, and never looks again at one that passed; of tests that
        # passed it wants only the number, unless it is asked to show them.
        reporter = self._terminal
        if reporter is None or self._config.getoption("durations", None) is not None:  # which are told of each report
            return
        reporter.stats.pop("", None)
        passed = reporter.stats.get("passed")
        if passed and not (reporter.hasopt("p") or reporter.hasopt("P")):
            passed[-1] = passed[0]

    def note(self, line: str) -> None:
        """Show a line to a user who asked for details."""
        if self._terminal is not None and self._config.option.verbose > 0:
            self._terminal.ensure_newline()
            self._terminal.write_line(line)


def _location(nodeid: str) -> tuple[str, int | None, str]:
    file, _, name = nodeid.partition("::")
    return file, None, name
