"""The part of the plug-in that runs in every process with tests: selects them, runs them and judges them."""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import textwrap
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from conformance.adapter import Adapter
from conformance.adapters.implementations import is_software
from conformance.errors import RequirementError, UsageError, one_line
from conformance.evidence.calls import CallRing
from conformance.evidence.gathering import Evidence
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.session.cases import Case, Selection, case_of, is_narrowed, only, rerun_command
from conformance.session.ending import end_session
from conformance.session.fixtures import OBSERVATIONS
from conformance.session.foreign_warnings import portable, recorded
from conformance.session.health import Baseline, Health
from conformance.session.judging import (
    after_teardown,
    judge,
    lack_of_memory,
    lacking,
    leaking,
    recover,
    starved,
    with_residue,
)
from conformance.session.outcome import Outcome, attach
from conformance.text import brief, each_text, said, visible

if TYPE_CHECKING:
    from conformance.requirements.registry import Registry
    from conformance.session.device_memory import DeviceMemory
    from conformance.session.options import Options

#: Distinct warnings kept of one test; an implementation that warns at each replay would fill the record.
_KEPT_WARNINGS = 20
#: Characters of pytest's account of a failure that fit on a terminal; a longer one gives way to the message.
_SHOWN = 100_000
#: So many more make each collection of garbage take longer by more than one collection.
_MANY_MODULES = 100


@dataclass
class _Progress:
    """One test as it runs: its result so far, and what is needed to complete it."""

    result: TestResult
    baseline: Baseline
    absent: str | None = None
    unfit: str | None = None
    starved: bool = False


_PROGRESS = pytest.StashKey[_Progress]()


class Executor:
    """Runs the tests of `adapters`.

    Args:
        config: of the session.
        options: what the command line says.
        registry: the requirements.
        adapters: by name.
        specs: what ``--impl`` said for each of those names.
        cases: by node id; filled at collection.
        selection: filled at collection.

    Attributes:
        writes_scripts: whether failures come with scripts that show them.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        registry: Registry,
        adapters: Mapping[str, Adapter],
        specs: Mapping[str, str],
        cases: dict[str, Case],
        selection: Selection,
    ) -> None:
        self.config = config
        self.options = options
        self.registry = registry
        self.adapters = adapters
        self.specs = specs
        self.selection = selection
        self.cases = cases
        self.writes_scripts = True
        self._health = {name: Health(adapter) for name, adapter in adapters.items()}
        self._deselecting = False
        self._evidence: Evidence | None = None
        #: Takes a test's outcome into safety before its graphs are read, which may end a process; ``None`` where no
        #: other process could, so that only the graphs of software are read.
        self.secure: Callable[[Outcome], None] | None = None
        #: Whether all tests share this process, so that what a class has made of it matters to each.
        self.alone = False
        self._modules = 0
        #: By implementation, the test after which no other could come to anything here, and why.
        self._unusable: dict[str, tuple[str, str]] = {}

    def collect_garbage(self) -> None:
        """Collect garbage after each test from now on."""
        for health in self._health.values():
            health.collects = True

    def try_captures(self, *, allowed: bool) -> None:
        """Capture a small graph with each class now; unless `allowed`, with none of them before a test does."""
        for health in self._health.values():
            if allowed:
                health.try_capture()
            else:
                health.captures = False

    def gather_evidence(self, ring: CallRing) -> None:
        """Note the calls of each test from now on, in `ring`."""
        self._evidence = Evidence(self.adapters, ring)

    # -- collection ---------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test of each for every implementation; first, so that its name leads the node id."""
        if "impl" in metafunc.fixturenames:
            adapters = list(self.adapters.values())
            metafunc.parametrize("impl", adapters, ids=list(self.adapters), indirect=True, scope="session")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what does not apply."""
        try:
            registries = {name: self.registry.seen_by(adapter.dialect) for name, adapter in self.adapters.items()}
            candidates = {item.nodeid: case_of(item, registries) for item in items}
            self.cases.update({nodeid: case for nodeid, case in candidates.items() if case is not None})
            nodeids = only(self.cases, self.options.tests) if self.options.tests else set(candidates)
        except RequirementError as error:
            end_session(f"conformance: {error}", error.exit_status)
        except UsageError as error:
            raise pytest.UsageError(f"conformance: {error}") from None
        self.selection.narrowed |= is_narrowed(self.config) or bool(self.options.tests)
        for case in self.cases.values():
            if not self._applies(case):
                self.selection.not_applicable.setdefault(case.implementation, []).append(case.test)
        deselected = [
            item
            for item in items
            if item.nodeid not in nodeids or not self._item_applies(item) or not self._in_shard(item)
        ]
        if deselected:
            deselected_ids = {item.nodeid for item in deselected}
            items[:] = [item for item in items if item.nodeid not in deselected_ids]
            self._deselecting = True
            self.config.hook.pytest_deselected(items=deselected)
            self._deselecting = False

    def _applies(self, case: Case) -> bool:
        return case.applies_to(self.adapters[case.implementation])

    def _item_applies(self, item: pytest.Item) -> bool:
        case = self.cases.get(item.nodeid)
        return case is None or self._applies(case)

    def _in_shard(self, item: pytest.Item) -> bool:
        shard = self.options.shard
        # A test of no implementation is in no record: every shard runs it.
        return shard is None or item.nodeid not in self.cases or shard.holds(self.cases[item.nodeid].test)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Notice that the operator left tests out."""
        if not self._deselecting and any(item.nodeid in self.cases for item in items):
            self.selection.narrowed = True

    # -- running ------------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Let the collections of garbage that tests ask for pass over all that was loaded before the first of them.

        It stays to the end anyway, and walking through it takes longer than most tests.
        """
        if self.alone and (self.options.record or self.options.resume):  # nobody else would see it
            self.gather_evidence(CallRing())
        self._freeze()
        try:
            return (yield)
        finally:
            gc.unfreeze()
            if self._evidence is not None:
                self._evidence.release()

    def _freeze(self) -> None:
        gc.collect()
        gc.freeze()
        self._modules = len(sys.modules)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logfinish(self) -> Generator[None, object, object]:
        """Do so again after a test that imported much, as the first with an optimizer does."""
        result = yield
        if self.alone and len(sys.modules) > self._modules + _MANY_MODULES:
            self._freeze()
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Leave a test out that could only be blamed for an earlier one."""
        case = self.cases.get(item.nodeid)
        return True if case is not None and not self.is_usable(case) else None

    def is_usable(self, case: Case) -> bool:
        """Whether this process can run tests of the case's implementation."""
        return case.implementation not in self._unusable

    def _watches(self, case: Case) -> bool:
        """Whether its implementation, in the one process, is one that may make it unusable."""
        return self.alone and not is_software(self.specs[case.implementation], self.options.device)

    @pytest.hookimpl(tryfirst=True)  # the last line is the claim
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was left out."""
        for name, (test, why) in self._unusable.items():
            terminalreporter.write_line(
                f"{name}: no test ran after {test}, which left this process unusable ({why}); "
                "with --isolate, the others get a new one"
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave a test out whose capability is declared absent."""
        case = self.cases.get(item.nodeid)
        if case is None:
            return
        if self._evidence is not None:
            self._evidence.clear()
        result = TestResult(case.test, case.ids, Verdict.PASS, command=self._command(case))
        progress = item.stash[_PROGRESS] = _Progress(
            result, self._health[case.implementation].before(probe=self._watches(case))
        )
        progress.absent = case.why_not_asked(self.adapters[case.implementation])
        if progress.absent is not None:
            pytest.skip(progress.absent)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a test from a known state, and leave one for the next."""
        case = self.cases.get(item.nodeid)
        if case is None:
            return (yield)
        adapter, progress = self.adapters[case.implementation], item.stash[_PROGRESS]
        with _keep_warnings(progress), contextlib.ExitStack() as stack:
            stream = adapter.current_stream()
            stack.enter_context(adapter.stream(stream))
            try:
                with (
                    contextlib.nullcontext() if self._evidence is None else self._evidence.of_test(case.implementation)
                ):
                    outcome = yield
            finally:
                left_behind = _left_behind(adapter, stream)
                progress.result = replace(progress.result, left_behind=left_behind)
        if left_behind is not None:
            pytest.fail(f"left behind: {left_behind}", pytrace=False)
        return outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> None:
        """Seed the generators, right before the call: plug-ins of others seed them, too."""
        if pyfuncitem.nodeid not in self.cases:
            return
        random.seed(0)
        torch = sys.modules.get("torch")
        if torch is not None:
            # Only the host's generator: seeding a device that an earlier test broke would blame this one.
            torch.default_generator.manual_seed(0)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Judge each phase, and send the result with the last one."""
        case, progress = self.cases.get(item.nodeid), item.stash.get(_PROGRESS, None)
        if case is not None and progress is not None and call.excinfo is not None and progress.absent is None:
            progress.absent = lacking(call.excinfo.value, self.adapters[case.implementation])
            if progress.absent is not None:
                call.excinfo = _skipped(progress.absent)
        report = yield
        if case is None or progress is None:
            return report
        if call.when != "teardown":
            progress.result = replace(progress.result, duration_s=progress.result.duration_s + call.duration)
        if call.excinfo is not None:
            progress.result = self._with_calls(self._judged(case, progress, call))
            _make_readable(report, item.config, progress.result)
            self._show(case, progress.result, report)
            if progress.result.verdict is Verdict.FAIL:
                script = self.reproducer(item, progress.result.message, call.excinfo.value)
                progress.result = replace(progress.result, reproducer=script)
                if call.when == "call" and case.scored:
                    progress.result = replace(progress.result, graphs=self._graphs(case, progress.result))
        if call.when == "teardown":
            self._complete(case, progress, report, item.stash.get(OBSERVATIONS, {}))
            progress.result = self._with_calls(progress.result)
            attach(report, Outcome(case.implementation, progress.result, progress.unfit, progress.starved))
            if progress.result.verdict.rejects:
                # The traceback held the test's graphs and tensors; memory must be back at its baseline for the next.
                call.excinfo = None
                gc.collect()
            # Items stay to the session's end, and what one began with is large.
            del item.stash[_PROGRESS]
        return report

    def _judged(self, case: Case, progress: _Progress, call: pytest.CallInfo[None]) -> TestResult:
        """The result after a phase that raised."""
        assert call.excinfo is not None
        result, error = progress.result, call.excinfo.value
        memory = self._health[case.implementation].memory
        memory.wanted = memory.wanted or lack_of_memory(error)
        if progress.absent is not None:
            return replace(result, verdict=Verdict.UNSUPPORTED, phase=call.when, message=progress.absent)
        promised = all(entry.level == "must" for entry in case.requirements)
        new_result = judge(result, call.when, error, self.adapters[case.implementation], promised=promised)
        if memory.wanted is not None:
            new_result = starved(new_result, memory.wanted)
        return after_teardown(result, new_result) if call.when == "teardown" else new_result

    def _with_calls(self, result: TestResult) -> TestResult:
        """`result` with the calls of its test, where somebody will want to see them."""
        if self._evidence is None or not result.verdict.is_trouble:
            return result
        return replace(result, calls=self._evidence.calls())

    def _graphs(self, case: Case, result: TestResult) -> tuple[dict[str, Any], ...]:
        """What the graphs of a test consist of that has come to `result`."""
        name = case.implementation
        if self._evidence is None or not (self.secure or is_software(self.specs[name], self.options.device)):
            return ()
        graphs = self._evidence.readable(name)
        if graphs and self.secure is not None:
            self.secure(Outcome(name, result))
        return self._evidence.read(name, graphs)

    def _show(self, case: Case, result: TestResult, report: pytest.TestReport) -> None:
        """Let pytest's report of a phase say what the result does."""
        if report.outcome == "failed" and result.verdict.rejects and not case.scored:
            # What is left to the implementation is recorded and never judged, so -x must not stop at it either.
            report.outcome = "passed"
            vars(report)["conformance_status"] = "noted"
        elif result.verdict in {Verdict.ERROR, Verdict.UNSUPPORTED}:
            vars(report)["conformance_status"] = result.verdict.value
        if report.outcome == "failed":
            _explain(case, result, report)

    def _complete(
        self, case: Case, progress: _Progress, report: pytest.TestReport, observations: dict[str, Any]
    ) -> None:
        """Note what the test observed, and judge it by what it left behind in the process."""
        seconds = round(progress.result.duration_s, 6)
        before = progress.result = replace(progress.result, duration_s=seconds, observations=observations)
        health = self._health[case.implementation]
        residue = health.after(progress.baseline)
        if residue is not None:
            progress.unfit = residue.unfit
            progress.result = with_residue(progress.result, residue.changes)
            if residue.unusable is not None and self._watches(case):
                self._unusable[case.implementation] = case.test, residue.unusable
        want = health.memory.wanted or (None if residue is None else residue.want)
        if want is not None:
            self._settle_want(progress, health.memory, want)
        if progress.result.verdict is not before.verdict:
            report.outcome, report.longrepr = "failed", progress.result.message
            self._show(case, progress.result, report)

    def _settle_want(self, progress: _Progress, memory: DeviceMemory, want: str) -> None:
        """Say that the device had no memory for a test, or that the implementation has it."""
        excess = memory.own_excess()
        if excess is None:
            progress.result, progress.starved = starved(progress.result, want), True
        else:
            progress.result = leaking(progress.result, want, excess)
            progress.unfit = progress.unfit or progress.result.message

    def reproducer(self, item: pytest.Item, message: str, error: BaseException | None = None) -> str | None:
        """The script that shows a failure of `item` without the kit, if one can be written.

        Args:
            item: the test.
            message: the failure's message.
            error: what the test raised; ``None`` when its process did not survive it.
        """
        # Only now: most sessions have nothing to write.
        if not self.writes_scripts or "torch" not in sys.modules:
            return None  # a script in plain torch cannot test an implementation that runs without it
        from conformance.reproducing.writing import write

        case = self.cases[item.nodeid]
        adapter, spec = self.adapters[case.implementation], self.specs[case.implementation]
        try:
            return write(item, adapter, spec, case.requirements, message, error, draws=case.draws)
        except Exception as trouble:  # a failure without a script is still a failure to report
            with contextlib.suppress(UserWarning):  # as an error, under -W error, it would end the session
                warnings.warn(f"no reproducer for {case.test}: {one_line(trouble)}", stacklevel=1)
            return None

    def _command(self, case: Case) -> str:
        return rerun_command(case, self.specs[case.implementation], self.options, self.config)


def _skipped(reason: str) -> pytest.ExceptionInfo[BaseException]:
    """What pytest catches of a test that skips itself."""
    with pytest.raises(pytest.skip.Exception) as caught:
        pytest.skip(reason)
    return cast("pytest.ExceptionInfo[BaseException]", caught)


def _left_behind(adapter: Adapter, stream: Any) -> str | None:
    trouble = recover(adapter)
    if trouble is None:
        try:
            if adapter.current_stream() != stream:
                trouble = "another stream was left current"
        except Exception as error:  # asking must not hide what the test itself found
            trouble = f"current_stream raised {one_line(error)}"
    return trouble


def _make_readable(report: pytest.TestReport, config: pytest.Config, result: TestResult) -> None:
    """Let nothing in what pytest will print act on the terminal, or fill it."""
    # Indented, so that no line that the backend printed looks like one of the kit's own.
    report.sections = [
        (title, textwrap.indent(visible(text), "    ", lambda _: True)) for title, text in report.sections
    ]
    if len(report.longreprtext) > _SHOWN:
        report.longrepr = textwrap.indent(result.message, "    ", lambda _: True)
        return
    # As between processes: whatever pytest made of the exception, these are its texts.
    values = config.hook.pytest_report_to_serializable(config=config, report=report)
    copy = config.hook.pytest_report_from_serializable(config=config, data=each_text(values, visible))
    report.longrepr = copy.longrepr
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:  # its message ends a line of the summary, which pytest cuts short only outside CI
        crash.message = one_line(crash.message)


def _explain(case: Case, result: TestResult, report: pytest.TestReport) -> None:
    lines: list[str] = []
    for entry in case.requirements:
        lines += [entry.headline, *(f"    {line}" for line in entry.origins)]
    lines.append(f"run it again: {result.command}")
    text = "\n".join(lines)
    add_section = getattr(report.longrepr, "addsection", None)
    if add_section is not None:
        add_section("what it decides", text)
    else:
        report.sections.append(("what it decides", text))


@contextlib.contextmanager
def _keep_warnings(progress: _Progress) -> Iterator[None]:
    """Keep the distinct warnings of a test, and pass each on to pytest."""
    with recorded() as entries:
        try:
            yield
        finally:
            distinct = dict.fromkeys(_described(entry) for entry in entries)
            progress.result = replace(progress.result, warnings=tuple(distinct)[:_KEPT_WARNINGS])
    for entry in map(portable, entries):
        warnings.showwarning(entry.message, entry.category, entry.filename, entry.lineno)


def _described(entry: warnings.WarningMessage) -> str:
    return one_line(f"{entry.category.__name__}: {brief(said(entry.message))}")
