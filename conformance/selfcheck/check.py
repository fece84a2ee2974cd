"""The self-check: from the catalogues to the kill table."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from operator import itemgetter

from conformance import __version__
from conformance.adapters.implementations import resolve
from conformance.errors import UsageError
from conformance.paths import suite_digest
from conformance.records.result import TestResult
from conformance.records.subject import environment
from conformance.records.verdicts import Verdict
from conformance.requirements.loading import load_registry
from conformance.requirements.registry import Registry
from conformance.selfcheck import catalogue, children
from conformance.selfcheck.catalogue import Fault, Variant
from conformance.selfcheck.outcomes import Observed, Outcome, Row, first_kill, judge_fault, judge_variant, kills
from conformance.selfcheck.running import Job, run
from conformance.selfcheck.scripts import Trial, try_scripts
from conformance.selfcheck.table import Table
from conformance.session.cases import Case
from conformance.session.options import EXPLORING

#: Seconds that a test of something correct may take: with new examples it draws many, perhaps on a busy machine.
VARIANT_LIMIT_S = 300.0

#: Where among the short jobs the last long one begins.
_LONG_ONES_END = 0.6


@dataclass(frozen=True)
class Request:
    """What to check.

    Attributes:
        faults, variants: the modules of the catalogues.
        only_faults, only_variants: names; when either has any, only what is named is checked.
        processes: how many tests run at a time.
        explore: the seed of new examples for property tests; ``None`` for the usual ones.
        examples: how many times as many as usual there are when they are new.
        search: whether to run all tests against a fault that the tests of its own requirements let pass.
        areas: when there are any, only their tests run, and each of their requirements may kill a fault: what these
            areas alone detect.
    """

    faults: str = catalogue.FAULTS
    variants: str = catalogue.VARIANTS
    only_faults: tuple[str, ...] = ()
    only_variants: tuple[str, ...] = ()
    processes: int = 2
    explore: int | None = None
    examples: float = EXPLORING
    search: bool = True
    areas: tuple[str, ...] = ()


def check(request: Request, say: Callable[[str], None]) -> Table:
    """Carry a self-check out.

    Args:
        request: what to check.
        say: called with a line whenever something is finished.

    Raises:
        ConformanceError: a catalogue is malformed, or the suites cannot be collected.
    """
    registry = load_registry()
    narrowed = bool(request.only_faults or request.only_variants)
    faults: Sequence[Fault] = ()
    variants: Sequence[Variant] = ()
    if request.only_faults or not narrowed:
        faults = catalogue.faults(request.faults, registry, request.only_faults)
    if request.only_variants or not narrowed:
        variants = catalogue.variants(request.variants, registry, request.only_variants)

    rows: dict[tuple[str, str], Row] = {}
    for area in request.areas:
        if area not in registry.areas:
            raise UsageError(f"there is no area {area!r}")
    trials: list[Trial] = []
    jobs = _mixed(
        _variant_jobs(variants, request, registry, rows, say),
        _fault_jobs(faults, request, registry, rows, trials, say),
    )
    began, started_at = time.monotonic(), datetime.now(timezone.utc).isoformat(timespec="seconds")
    run(jobs, request.processes, request.explore, examples=request.examples)
    _try(trials, request.processes, rows, say)
    lasted = time.monotonic() - began

    ordered = [rows[fault.name, fault.implementation] for fault in faults]
    ordered += [rows[variant.name, each] for variant in variants for each in variant.implementations]
    return Table(
        tuple(ordered),
        environment(resolve("reference")),
        narrowed or bool(request.areas),
        __version__,
        suite_digest(),
        started_at,
        lasted,
        request.processes,
    )


def _mixed(long: Sequence[Job], short: Sequence[Job]) -> list[Job]:
    """All of them, in an order that has work left while a fault's tests wait, and short jobs at the end."""
    places = [(_LONG_ONES_END * place / len(long), job) for place, job in enumerate(long)]
    places += [(place / len(short), job) for place, job in enumerate(short)]
    return [job for _, job in sorted(places, key=itemgetter(0))]


def _fault_jobs(
    faults: Sequence[Fault],
    request: Request,
    registry: Registry,
    rows: dict[tuple[str, str], Row],
    trials: list[Trial],
    say: Callable[[str], None],
) -> list[Job]:
    def job(fault: Fault) -> Job:
        may_kill = _may_kill(fault, request.areas, registry)
        adapter = resolve(fault.implementation)

        def finish(observed: Observed) -> None:
            row = judge_fault(fault, adapter.dialect, may_kill, observed, registry)
            first = first_kill(may_kill, observed.results)
            # Only what failed has a script: a process that did not survive its test cannot write one.
            if row.outcome is Outcome.KILLED and first is not None and first.verdict is Verdict.FAIL:
                if first.reproducer is None:
                    row = replace(row, script="is missing")
                else:
                    own = adapter.graph_class.__name__
                    trials.append(Trial(fault, first, own))
            rows[fault.name, fault.implementation] = row
            say(_line(row))

        stages = _stages(may_kill, search=request.search and not request.areas)
        # Of areas alone the question is whether they notice, not how often.
        enough = partial(kills, may_kill) if request.areas else _never
        return Job(fault, fault.implementation, stages, finish, enough)

    return [job(fault) for fault in faults]


def _try(trials: Sequence[Trial], processes: int, rows: dict[tuple[str, str], Row], say: Callable[[str], None]) -> None:
    """Run the scripts, and note their outcomes in the rows."""
    for trial, what in zip(trials, try_scripts(trials, processes), strict=True):
        key = trial.fault.name, trial.fault.implementation
        rows[key] = replace(rows[key], script=what)
        if not rows[key].good:
            say(f"fault {trial.fault.name}: its script {what}")


def _may_kill(fault: Fault, areas: Collection[str], registry: Registry) -> frozenset[str]:
    """The requirements by which the fault may be rejected: those that it names, or all of `areas`."""
    if not areas:
        return frozenset(fault.rejected_by)
    return frozenset(entry.id for entry in registry.requirements.values() if entry.scored and entry.area in areas)


def _stages(may_kill: Collection[str], *, search: bool) -> list[Callable[[Case, Sequence[TestResult]], bool]]:
    """The tests of these requirements; the others only to learn what rejects what those let pass."""
    named = set(may_kill)

    def near(case: Case, _: Sequence[TestResult]) -> bool:
        return not named.isdisjoint(case.ids)

    def far(_: Case, results: Sequence[TestResult]) -> bool:
        return not any(kills(may_kill, result) for result in results)

    return [near, far] if search else [near]


def _variant_jobs(
    variants: Sequence[Variant],
    request: Request,
    registry: Registry,
    rows: dict[tuple[str, str], Row],
    say: Callable[[str], None],
) -> list[Job]:
    explore = request.explore

    def has_news(case: Case, _: Sequence[TestResult]) -> bool:
        # With new examples, what draws none has nothing new to say.
        is_new = explore is None or case.draws
        return is_new and (not request.areas or any(entry.area in request.areas for entry in case.requirements))

    def job(variant: Variant, implementation: str) -> Job:
        def finish(observed: Observed) -> None:
            row = judge_variant(variant, implementation, observed, registry, explore)
            rows[variant.name, implementation] = row
            say(_line(row))

        return Job(variant, implementation, [has_news], finish, limit=_patient)

    return [job(variant, implementation) for variant in variants for implementation in variant.implementations]


def _patient(case: Case) -> float:
    """What is correct ends, and must not be blamed for a slow machine or for many examples."""
    return max(VARIANT_LIMIT_S, children.limit(case))


def _never(_: TestResult) -> bool:
    return False


def _line(row: Row) -> str:
    by = f" by {', '.join(row.areas)}" if row.areas else ""
    return f"{row.kind} {row.name} ({row.implementation}): {row.outcome}{by}, {row.tests} of {row.run} tests"
