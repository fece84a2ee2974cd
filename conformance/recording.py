"""The part of the plug-in that keeps the books: records, the summary and the exit status of a session."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest
import torch

from conformance import __version__
from conformance.errors import ExitStatus, one_line
from conformance.options import record_paths
from conformance.places import suite_digest
from conformance.record import Footer, Header, RecordWriter, TestResult
from conformance.selection import Case, Selection, split_nodeid
from conformance.summary import RunSummary, render
from conformance.verdicts import Assessment, assess

if TYPE_CHECKING:
    from conformance.adapter import Adapter
    from conformance.options import Options
    from conformance.registry import Registry

# Of several runs in one session the gravest decides the exit status.
_GRAVITY = (ExitStatus.CONFORMING, ExitStatus.NOT_CONFORMING, ExitStatus.KIT_FAILED)


class Run:
    """One implementation's run."""

    def __init__(self, adapter: Adapter, registry: Registry, writer: RecordWriter | None) -> None:
        self.adapter = adapter
        self.registry = registry
        self.writer = writer
        self.planned: dict[str, tuple[str, ...]] = {}
        self.results: dict[str, TestResult] = {}

    def assess(self, *, narrowed: bool) -> Assessment:
        """The run, judged from what has happened so far."""
        return assess(
            self.registry.requirements.values(),
            list(self.results.values()),
            planned=self.planned,
            dialect=self.adapter.dialect,
            revision=self.adapter.revision,
            capabilities=self.adapter.capabilities,
            narrowed=narrowed,
        )


class Recorder:
    """Keeps the books of a session.

    Args:
        config: of the session.
        options: what the command line says.
        registry: the requirements.
        adapters: by name.
        cases: by node id; empty in the main process of pytest-xdist, which collects nothing.
        selection: what the session leaves out.

    Raises:
        RecordError: a record cannot be written.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        registry: Registry,
        adapters: Mapping[str, Adapter],
        cases: Mapping[str, Case],
        selection: Selection,
    ) -> None:
        self.config = config
        self.options = options
        self.cases = cases
        self.selection = selection
        wanted = options.record is not None and not config.option.collectonly
        paths = record_paths(options.record, adapters) if wanted and options.record is not None else {}
        self.runs = {
            name: Run(adapter, registry, RecordWriter(paths[name]) if name in paths else None)
            for name, adapter in adapters.items()
        }
        self.begun = time.monotonic()
        self.started_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._headed = False
        self._broken_files = False
        self._foreign_failures = False

    # -- what will run ------------------------------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the headers."""
        cases = [self.cases[item.nodeid] for item in session.items if item.nodeid in self.cases]
        if cases or not self.config.pluginmanager.has_plugin("dsession"):
            self._head({case.nodeid: (case.implementation, case.test, case.ids) for case in cases})

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Write the headers from the node ids, which are all that the main process of pytest-xdist is told."""
        split = {nodeid: split_nodeid(nodeid, self.config.rootpath, self.runs) for nodeid in ids}
        self._head({nodeid: (*found, ()) for nodeid, found in split.items() if found is not None})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what only a worker knows."""
        told = getattr(node, "workeroutput", {}).get("conformance")
        if told is not None:
            self.selection.not_applicable = told["not_applicable"]
            self.selection.narrowed = told["narrowed"]

    def _head(self, planned: Mapping[str, tuple[str, str, tuple[str, ...]]]) -> None:
        if self._headed:
            return
        self._headed = True
        for name, test, ids in planned.values():
            self.runs[name].planned[test] = ids
        for run in self.runs.values():
            if run.writer is not None:
                run.writer.header(self._header(run))

    def _header(self, run: Run) -> Header:
        adapter, option = run.adapter, self.config.option
        given = {
            "device": self.options.device,
            "revision": self.options.revision,
            "tests": list(self.options.tests),
            "keyword": option.keyword,
            "markers": option.markexpr,
        }
        return Header(
            implementation=adapter.name,
            dialect=adapter.dialect,
            revision=adapter.revision,
            capabilities=dict(adapter.capabilities),
            environment=environment(adapter),
            options={name: value for name, value in given.items() if value},
            planned=run.planned,
            not_applicable=tuple(self.selection.not_applicable.get(adapter.name, ())),
            narrowed=self.selection.narrowed,
            requirements=tuple(run.registry.requirements.values()),
            kit_version=__version__,
            suite_digest=suite_digest(),
            started_at=self.started_at,
        )

    # -- what happens -------------------------------------------------------------------------------------------------

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notice test files that cannot be read."""
        self._broken_files |= report.failed

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a test begins, for the case that it ends the process."""
        found = split_nodeid(nodeid, self.config.rootpath, self.runs)
        if found is None:
            return
        writer = self.runs[found[0]].writer
        if writer is not None:
            writer.started(found[1])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test's result, which comes with its last phase."""
        sent: dict[str, Any] | None = getattr(report, "conformance", None)
        if sent is not None:
            run, result = self.runs[sent["implementation"]], TestResult.from_dict(sent["result"])
            run.results[result.test] = result
            if run.writer is not None:
                run.writer.result(result)
        elif report.failed and split_nodeid(report.nodeid, self.config.rootpath, self.runs) is None:
            self._foreign_failures = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Show what pytest has no word for under the kit's own."""
        status: str | None = getattr(report, "conformance_status", None)
        if status is None:
            return None
        letter = {"error": "E", "noted": "n", "unsupported": "u"}[status]
        return status, letter, status.upper()

    # -- what it comes to ---------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Set the exit status, and end the records."""
        if self.config.option.collectonly:
            return
        status = self._exit_status(exitstatus)
        session.exitstatus = status
        for run in self.runs.values():
            if run.writer is not None and self._headed:
                run.writer.footer(self._footer(run, status))
            if run.writer is not None:
                run.writer.close()

    def _exit_status(self, given: int) -> int:
        if self._broken_files:
            return ExitStatus.KIT_FAILED
        if given == pytest.ExitCode.NO_TESTS_COLLECTED:
            return ExitStatus.USAGE
        if given not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            return given
        statuses = [self._assess(run).verdict.exit_status for run in self.runs.values()]
        if self._foreign_failures:
            statuses.append(ExitStatus.NOT_CONFORMING)
        return max(statuses, key=_GRAVITY.index)

    def _assess(self, run: Run) -> Assessment:
        return run.assess(narrowed=self.selection.narrowed)

    def _footer(self, run: Run, status: int) -> Footer:
        assessment = self._assess(run)
        return Footer(
            counts={verdict.value: count for verdict, count in assessment.tests.items()},
            verdict=assessment.verdict.value,
            complete=all(test in run.results for test in run.planned),
            exit_status=int(status),
            duration_s=round(time.monotonic() - self.begun, 3),
            not_applicable=tuple(self.selection.not_applicable.get(run.adapter.name, ())),
            narrowed=self.selection.narrowed,
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the runs come to."""
        if self.config.option.collectonly or not self._headed:
            return
        for name, run in self.runs.items():
            summary = RunSummary(
                implementation=name,
                dialect=run.adapter.dialect,
                revision=run.adapter.revision,
                assessment=self._assess(run),
                results=tuple(run.results.values()),
                requirements=run.registry.requirements,
                not_applicable=len(self.selection.not_applicable.get(name, ())),
                record=None if run.writer is None else run.writer.path,
            )
            terminalreporter.section(f"conformance of {name}")
            terminalreporter.write_line(render(summary))


def environment(adapter: Adapter) -> dict[str, str]:
    """What a reader needs to repeat a run: an allow-list, since a record is published."""
    found = {
        "python": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "torch": str(torch.__version__),
    }
    for package in ("pytest", "hypothesis", "cuda-bindings"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    try:
        found.update({str(name): str(value) for name, value in adapter.environment().items()})
    except Exception as error:  # the adapter's own code; a run without these lines is still a run
        found["adapter"] = f"environment() raised {one_line(error)}"
    return found
