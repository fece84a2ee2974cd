"""Runs mutants: each in forked processes, against the tests that run the changed statement, up to the first kill."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import CodeType
from typing import Any

from conformance.adapters.implementations import resolve
from conformance.errors import one_line
from conformance.paths import SUITES, suite_digest
from conformance.records.result import TestResult
from conformance.records.subject import environment
from conformance.records.verdicts import Verdict
from conformance.selfcheck.outcomes import Observed, reason
from conformance.selfcheck.running import Job, run
from conformance.session.cases import Case
from reference_impl.devices import chosen as chosen_device
from reference_impl.runtime import scheduler
from tools.mutants.code_trees import Live, differing, outermost, tree
from tools.mutants.plan import ROOT, Mutant, Plan, PlanError
from tools.mutants.reach import Reach, learn
from tools.mutants.results import Outcome, Result

#: Whose tests to try, one after the other, while nothing has killed a mutant.
_FACES = {
    "reference_impl/xpu.py": ("reference.xpu",),
    "reference_impl/graphs/xpu_graph.py": ("reference.xpu",),
    "reference_impl/graphs/accelerator_graph.py": ("reference.accelerator",),
}
_CLASS = ("reference", "reference.asynchronous", "reference.xpu", "reference.accelerator")
_DEVICE = ("reference", "reference.asynchronous")
_DEVICE_MODULES = ("runtime", "allocator", "devices/software", "devices/operators", "devices/mode", "devices/chosen")

#: So many tests of different areas, and so many that killed others, come before the rest.
_SPREAD = 12


@dataclass(frozen=True)
class Settings:
    """How to run mutants.

    Attributes:
        processes: how many at a time.
        limit_s: seconds that a test may take, besides ten times what it takes undisturbed.
        budget_s: the most to spend on a mutant with the tests of one implementation, in seconds that its tests take
            while they are watched, which is two or three times what they take otherwise.
        suites: a file or folder of tests.
        implementations: instead of the usual ones for the module.
        root: what the modules' files are relative to.
        reach: where to keep which tests run which lines, for further runs of the same mutants' modules.
    """

    processes: int = 2
    limit_s: float = 10.0
    budget_s: float = 120.0
    suites: Path = SUITES
    implementations: tuple[str, ...] = ()
    root: Path = ROOT
    reach: Path | None = None

    def faces(self, module: str) -> tuple[str, ...]:
        """The implementations whose tests are tried on the mutants of `module`."""
        if self.implementations:
            return self.implementations
        if module in _FACES:
            return _FACES[module]
        return _DEVICE if module.removeprefix("reference_impl/").startswith(_DEVICE_MODULES) else _CLASS


def run_mutants(
    plan: Plan,
    mutants: Sequence[Mutant],
    settings: Settings,
    write: Callable[[Result], None],
    say: Callable[[str], None],
) -> None:
    """Run `mutants` of `plan`; `write` gets each result, `say` a line now and then.

    Raises:
        PlanError: a source is not what it was when the plan was made.
        ConformanceError: the suites cannot be collected.
    """
    modules = list(plan.sources)
    sources = plan.originals(settings.root, modules)
    files = {module: str(settings.root / module) for module in modules}
    names = list(dict.fromkeys(name for module in modules for name in settings.faces(module)))
    reach = _reach(settings, sources, files, names)
    say(f"{len(reach.lines)} tests watched, {sum(reach.seconds.values()):.0f} s")
    for (name, test), why in reach.unusable.items():
        say(f"not used: {name}: {test}: {one_line(why)}")
    runner = _Runner(settings, reach, sources, files, write, say, len(mutants))
    jobs = [job for job in map(runner.first, mutants) if job is not None]
    run(
        *(jobs, settings.processes, None),
        implementations=names,
        suites=settings.suites,
        collected=lambda: runner.look_around(set(files.values())),
    )


def surroundings() -> dict[str, str]:
    """What one needs to know to repeat a run."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"started": started, "suites": suite_digest()[:12], **environment(resolve("reference"))}


def _reach(settings: Settings, sources: dict[str, str], files: dict[str, str], names: list[str]) -> Reach:
    text = json.dumps([names, sys.version, str(settings.root), suite_digest(), sources])
    made_of = hashlib.sha256(text.encode()).hexdigest()
    reach = Reach.read(settings.reach, made_of) if settings.reach is not None else None
    if reach is None:
        reach = learn(files.values(), names, settings.processes, settings.suites, _fresh_device)
        if settings.reach is not None:
            reach.write(settings.reach, made_of)
    return reach


@dataclass(frozen=True)
class _Change:
    name: str
    about: str
    apply: Callable[[], AbstractContextManager[Any]]


@dataclass
class _Course:
    """A mutant under way."""

    mutant: Mutant
    implementations: list[str]
    began: float = 0.0
    tests: int = 0
    troubles: list[str] = field(default_factory=list)


class _Runner:
    def __init__(
        self,
        settings: Settings,
        reach: Reach,
        sources: dict[str, str],
        files: dict[str, str],
        write: Callable[[Result], None],
        say: Callable[[str], None],
        number: int,
    ) -> None:
        self._settings = settings
        self._reach = reach
        self._sources = sources
        self._files = files
        self._write_result = write
        self._say = say
        self._number = number
        self._written = 0
        self._live: Live | None = None
        #: How many mutants of a module each test of an implementation killed.
        self._kills: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._codes = {module: self._compiled(module, source) for module, source in sources.items()}

    def look_around(self, files: set[str]) -> None:
        """Find the functions that there are; called when everything is imported."""
        self._live = Live(files)

    def first(self, mutant: Mutant) -> Job | None:
        """The job for the first implementation; ``None``, with the result written, where no test runs the statement."""
        faces = self._settings.faces(mutant.module)
        course = _Course(mutant, [name for name in faces if self._tests(mutant, name)])
        if not course.implementations:
            self._write(Result.of(mutant, Outcome.NOT_REACHED))
            return None
        return self._next(course)

    def _chosen(self, mutant: Mutant, implementation: str) -> list[str]:
        """The tests to run, in their order.

        Quick ones of several areas first, then those that killed others of this module, then one of each test
        function, then a second one, and so on.
        """
        tests = self._tests(mutant, implementation)
        spread = list({test.rpartition("/")[0]: test for test in reversed(tests)}.values())[::-1][:_SPREAD]
        among = set(tests)
        proven = [test for test, _ in self._kills[mutant.module, implementation].most_common() if test in among]
        numbers: Counter[str] = Counter()
        rounds: list[tuple[int, int, str]] = []
        for place, test in enumerate(tests):
            function = test.partition("[")[0]
            rounds.append((numbers[function], place, test))
            numbers[function] += 1
        selection: list[str] = []
        spent = 0.0
        for test in dict.fromkeys([*spread, *proven[:_SPREAD], *(test for _, _, test in sorted(rounds))]):
            seconds = self._reach.seconds[implementation, test]
            if not selection or spent + seconds <= self._settings.budget_s:
                selection.append(test)
                spent += seconds
        return selection

    def _tests(self, mutant: Mutant, implementation: str) -> list[str]:
        return self._reach.tests(implementation, self._files[mutant.module], mutant.first, mutant.last)

    def _next(self, course: _Course) -> Job:
        implementation = course.implementations.pop(0)
        places: dict[str, int] = {}

        def wanted(case: Case, _: Sequence[TestResult]) -> bool:
            if not places:  # its turn has come: only now is it known what killed others
                course.began = course.began or time.monotonic()
                places.update({test: place for place, test in enumerate(self._chosen(course.mutant, implementation))})
            return case.test in places

        @contextlib.contextmanager
        def changed() -> Iterator[None]:
            self._apply(course.mutant)
            yield

        def done(observed: Observed) -> Job | None:
            return self._done(course, implementation, observed)

        def limit(case: Case) -> float:
            return self._settings.limit_s + 10 * self._reach.seconds[implementation, case.test]

        return Job(
            _Change(course.mutant.id, course.mutant.operator, changed),
            implementation,
            [wanted],
            done,
            enough=lambda result: result.verdict.rejects,
            order=lambda case: places[case.test],
            limit=limit,
        )

    def _done(self, course: _Course, implementation: str, observed: Observed) -> Job | None:
        course.tests += len(observed.results)
        further = {
            "implementation": implementation,
            "tests": course.tests,
            "seconds": round(time.monotonic() - course.began, 2),
        }
        killing = next((result for result in observed.results if result.verdict.rejects), None)
        course.troubles += [
            f"{each.test}: {each.message}" for each in observed.results if each.verdict is Verdict.ERROR
        ]
        course.troubles += [] if observed.trouble is None else [observed.trouble]
        if killing is not None:
            outcome = Outcome.TIMEOUT if killing.verdict is Verdict.TIMEOUT else Outcome.KILLED
            self._kills[course.mutant.module, implementation][killing.test] += 1
            further |= {"test": killing.test, "requirements": killing.requirements, "message": reason(killing)[:300]}
        elif course.implementations and observed.trouble is None:
            return self._next(course)
        elif course.troubles:
            outcome, further["message"] = Outcome.TROUBLE, one_line(course.troubles[0])[:300]
        else:
            outcome = Outcome.SURVIVED
        self._write(Result.of(course.mutant, outcome, **further))
        return None

    def _write(self, result: Result) -> None:
        self._written += 1
        self._write_result(result)
        if result.outcome not in {Outcome.KILLED, Outcome.NOT_REACHED} or self._written % 100 == 0:
            where = f"{result.module}:{result.line} {result.function}"
            self._say(f"{self._written}/{self._number} {result.outcome}: {where}: {' '.join(result.diff.split())}")

    # -- in the child -------------------------------------------------------------------------------------------------

    def _apply(self, mutant: Mutant) -> None:
        assert self._live is not None
        original = self._codes[mutant.module]
        source = mutant.source(self._sources[mutant.module])
        before, after = tree(original), tree(self._compiled(mutant.module, source))
        # The plan names functions; which code objects they are depends on the Python that runs it.
        tops = {top for way in differing(before, after) if (top := outermost(before, way)) is not None}
        changed = 0
        for top in tops:
            changed += self._live.change(original, lambda text: self._compiled(mutant.module, text), source, top)
        if changed == 0:
            raise PlanError(f"no live function of {mutant.module} does the work of {mutant.function}")
        _forget_device()

    def _compiled(self, module: str, source: str) -> CodeType:
        return compile(source, self._files[module], "exec", dont_inherit=True)


def _forget_device() -> None:
    """Let the first test make the device, as the making of one may have been changed."""
    chosen_device._chosen = None
    scheduler.policy.surround = contextlib.nullcontext  # as before any device was made


@contextlib.contextmanager
def _fresh_device() -> Iterator[None]:
    """Let the first test make the device again, so that what its making runs is seen."""
    _forget_device()
    chosen_device.use_device("cpu")
    yield
