"""Runs the work of a self-check in forked children, a few at a time, inside one pytest session that only collects."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import selectors
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from conformance.errors import KitError
from conformance.paths import HOME, PYTEST_SETTINGS, SUITES
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.selfcheck import children
from conformance.selfcheck.catalogue import Defect
from conformance.selfcheck.children import Child
from conformance.selfcheck.outcomes import Observed
from conformance.session.cases import Case
from conformance.session.executor import Executor
from conformance.session.options import EXPLORING

#: After that many tests whose process did not survive them, the rest is left out.
_LOSSES = 3


@dataclass
class Job:
    """A change, and the tests to run with it.

    Attributes:
        entry: what to apply.
        implementation: what to apply it to.
        stages: each says which of the implementation's tests to run next, given the results so far; the job is over
            when one wants none.
        done: called with the results; may give a job to do next.
        enough: whether a result says all that there is to learn, so that the job is over.
        order: by what a stage's tests are sorted; as they were collected unless given.
        limit: the seconds that a test may take.
    """

    entry: Defect
    implementation: str
    stages: Sequence[Callable[[Case, Sequence[TestResult]], bool]]
    done: Callable[[Observed], Job | None]
    enough: Callable[[TestResult], bool] = lambda _: False
    order: Callable[[Case], Any] = lambda _: 0
    limit: Callable[[Case], float] = children.limit


@dataclass
class _Work:
    """A job under way."""

    job: Job
    stages: Iterator[Callable[[Case, Sequence[TestResult]], bool]]
    queue: list[tuple[pytest.Item, Case]] = field(default_factory=list)
    batch: list[tuple[pytest.Item, Case]] = field(default_factory=list)
    results: list[TestResult] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    limits: list[float] = field(default_factory=list)
    losses: int = 0
    buffered: bytes = b""


def run(
    jobs: Sequence[Job],
    processes: int,
    explore: int | None,
    *,
    examples: float = EXPLORING,
    implementations: Sequence[str] = (),
    suites: Path = SUITES,
    collected: Callable[[], object] = lambda: None,
    scripts: bool = True,
) -> None:
    """Carry `jobs` out, `processes` at a time.

    Args:
        jobs: what to do.
        processes: how many tests run at a time.
        explore: the seed of new examples for property tests; ``None`` for the usual ones.
        examples: how many times as many as usual there are when they are new.
        implementations: those that only later jobs name.
        suites: a file or folder of tests.
        collected: called when the tests are collected, before the first job.
        scripts: whether failures come with scripts that show them.

    Raises:
        KitError: the suites cannot be collected.
    """
    names = list(dict.fromkeys([*(job.implementation for job in jobs), *implementations]))
    plugin = _Runner(jobs, processes, collected, scripts)
    words = ["-p", _plugin(), "-p", "no:cacheprovider", "-c", str(PYTEST_SETTINGS), f"--rootdir={HOME}", "--no-isolate"]
    words += ["-p", "no:logging", "-p", "no:faulthandler", "-q", "--capture=no"]  # the log is never read
    words += [f"--impl={','.join(names)}", str(suites)]
    words += [] if explore is None else [f"--explore={explore}", f"--examples={examples}"]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        pytest.main(words, plugins=[plugin])
    if plugin.failure is not None:
        raise plugin.failure
    if not plugin.collected:
        raise KitError(f"the suites cannot be collected:\n{output.getvalue()[-4000:]}")


def _plugin() -> str:
    """What pytest knows the kit's plug-in by: in a checkout that is not installed, by its module."""
    return "conformance" if entry_points(group="pytest11", name="conformance") else "conformance.plugin"


class _Runner:
    """Takes the place of pytest's own loop over the tests."""

    def __init__(self, jobs: Sequence[Job], processes: int, collected: Callable[[], object], scripts: bool) -> None:
        self._jobs = list(jobs)
        self._processes = processes
        self._when_collected = collected
        self._scripts = scripts
        self.collected = False
        self.failure: BaseException | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Carry the jobs out."""
        if session.testsfailed:
            return True
        executor = session.config.pluginmanager.get_plugin("conformance-executor")
        if not isinstance(executor, Executor):
            raise KitError("the plug-in runs no tests in this process")
        self.collected = True
        executor.writes_scripts = self._scripts
        # Thousands of collected tests would be walked, and their pages copied, by every collection in every child.
        with contextlib.suppress(ImportError):
            # The first optimizer imports it, which takes seconds, and would in every child.
            importlib.import_module("torch._dynamo")
        gc.collect()
        try:
            self._when_collected()
            gc.freeze()
            _Loop(session.items, executor, self._processes).carry_out(self._jobs)
        except BaseException as error:  # pytest would print it where it is never seen
            self.failure = error
        finally:
            gc.unfreeze()
        return True


class _Loop:
    def __init__(self, items: Sequence[pytest.Item], executor: Executor, processes: int) -> None:
        self._executor = executor
        # Each child has its own, and says what each of its tests comes to.
        executor.alone = False
        self._processes = processes
        self._tests: dict[str, list[tuple[pytest.Item, Case]]] = {}
        for item in items:
            case = executor.cases[item.nodeid]
            if case.scored:
                _ = item.location  # pytest works it out once, here instead of in each child
                # Jobs call an implementation as `--impl` does; of a file, its adapter's name is only the last part.
                self._tests.setdefault(executor.specs[case.implementation], []).append((item, case))
        self._selector = selectors.DefaultSelector()
        self._live: dict[int, tuple[_Work, Child]] = {}

    def carry_out(self, jobs: Iterable[Job]) -> None:
        waiting = iter(jobs)
        try:
            while True:
                while len(self._live) < self._processes:
                    job = next(waiting, None)
                    if job is None:
                        break
                    self._go_on(_Work(job, iter(job.stages)))
                if not self._live:
                    return
                self._listen()
        finally:
            for _, child in self._live.values():
                child.kill()
                child.wait()

    def _go_on(self, work: _Work) -> None:
        """Start the next child of a job, or end the job."""
        while not work.queue:
            stage = next(work.stages, None)
            if stage is None:
                self._finish(work)
                return
            before = tuple(work.results)
            work.queue = [
                (item, case)
                for item, case in self._tests.get(work.job.implementation, ())
                if case.test not in work.names and stage(case, before)
            ]
            work.queue.sort(key=lambda each: work.job.order(each[1]))
        work.batch, work.queue, work.buffered = work.queue, [], b""
        work.names.update(case.test for _, case in work.batch)
        work.limits = [work.job.limit(case) for _, case in work.batch]
        names = {spec: name for name, spec in self._executor.specs.items()}
        adapter = self._executor.adapters[names[work.job.implementation]]
        child = children.start(work.batch, work.job.entry.apply, adapter)
        self._live[child.pid] = (work, child)
        self._selector.register(child.pipe, selectors.EVENT_READ, child.pid)

    def _listen(self) -> None:
        now = time.monotonic()
        soonest = min(child.deadline for _, child in self._live.values())
        for key, _ in self._selector.select(max(0.0, soonest - now)):
            work, child = self._live[key.data]
            content = os.read(child.pipe.fileno(), 1 << 20)
            if content:
                *lines, work.buffered = (work.buffered + content).split(b"\n")
                count = len(child.results)
                for line in lines:
                    child.hear(line, work.limits)
                if any(map(work.job.enough, child.results[count:])):
                    child.kill()
                    self._over(work, child, None)
            else:
                self._over(work, child, None)
        now = time.monotonic()
        for work, child in list(self._live.values()):
            if child.deadline <= now:
                child.kill()
                self._over(work, child, "it did not end in time")

    def _over(self, work: _Work, child: Child, timeout: str | None) -> None:
        self._selector.unregister(child.pipe)
        del self._live[child.pid]
        status = child.wait()
        work.results += child.results
        ran = len(child.results)
        if child.trouble is not None:
            self._finish(work, child.trouble)
            return
        if self._enough(work):
            return
        if child.running is not None:
            verdict = Verdict.CRASH if timeout is None else Verdict.TIMEOUT
            case = work.batch[child.running][1]
            work.results.append(children.lost(case, verdict, timeout or children.ended(status)))
            work.losses += 1
            ran += 1
        elif timeout is not None or (ran < len(work.batch) and not child.unfit):
            self._finish(work, timeout or children.ended(status))
            return
        if self._enough(work):
            return
        work.queue = work.batch[ran:] if work.losses < _LOSSES else []
        self._go_on(work)

    def _enough(self, work: _Work) -> bool:
        """End a job whose results say all that there is to learn."""
        if not any(map(work.job.enough, work.results)):
            return False
        self._finish(work)
        return True

    def _finish(self, work: _Work, trouble: str | None = None) -> None:
        """Hand the results over, and start the job that follows, if any."""
        following = work.job.done(Observed(work.results, trouble))
        if following is not None:
            self._go_on(_Work(following, iter(following.stages)))
