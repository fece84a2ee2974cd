"""The self-check: from the catalogues to the kill table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.implementations import resolve
from conformance.record import TestResult
from conformance.registry import Registry, load_registry
from conformance.selection import Case
from conformance.selfcheck import catalogue
from conformance.selfcheck.catalogue import Fault, Variant
from conformance.selfcheck.outcomes import Observed, Row, judge_fault, judge_variant, kills
from conformance.selfcheck.running import Job, run
from conformance.selfcheck.table import Table
from conformance.subjects import environment


@dataclass(frozen=True)
class Request:
    """What to check.

    Attributes:
        faults, variants: the modules of the catalogues.
        only_faults, only_variants: names; when either has any, only what is named is checked.
        processes: how many tests run at a time.
        explore: the seed of new examples for property tests; ``None`` for the usual ones.
        search: whether to run all tests against a fault that the tests of its own requirements let pass.
    """

    faults: str = catalogue.FAULTS
    variants: str = catalogue.VARIANTS
    only_faults: tuple[str, ...] = ()
    only_variants: tuple[str, ...] = ()
    processes: int = 2
    explore: int | None = None
    search: bool = True


def check(request: Request, say: Callable[[str], None]) -> tuple[Table, dict[str, str]]:
    """Carry a self-check out.

    Args:
        request: what to check.
        say: told a line whenever something is finished.

    Returns:
        The table, and what each fault and variant is, by name.

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
        variants = catalogue.variants(request.variants, request.only_variants)

    rows: dict[tuple[str, str], Row] = {}
    jobs = _variant_jobs(variants, request.explore, registry, rows, say) + _fault_jobs(
        faults, request.search, registry, rows, say
    )
    began = time.monotonic()
    run(jobs, request.processes, request.explore)
    lasted = time.monotonic() - began

    ordered = [rows[fault.name, fault.implementation] for fault in faults]
    ordered += [rows[variant.name, each] for variant in variants for each in variant.implementations]
    abouts = {entry.name: entry.about for entry in (*faults, *variants)}
    return Table(tuple(ordered), _environment(), lasted, request.processes), abouts


def _fault_jobs(
    faults: Sequence[Fault],
    search: bool,
    registry: Registry,
    rows: dict[tuple[str, str], Row],
    say: Callable[[str], None],
) -> list[Job]:
    def job(fault: Fault) -> Job:
        def done(seen: Observed) -> None:
            row = rows[fault.name, fault.implementation] = judge_fault(fault, seen, registry)
            say(_line(row))

        return Job(fault, fault.implementation, _stages(fault, search=search), done)

    return [job(fault) for fault in faults]


def _stages(fault: Fault, *, search: bool) -> list[Callable[[Case, Sequence[TestResult]], bool]]:
    """The tests of the requirements that it names; the others only to learn what rejects what those let pass."""
    named = set(fault.rejected_by)

    def near(case: Case, _: Sequence[TestResult]) -> bool:
        return not named.isdisjoint(case.ids)

    def far(_: Case, results: Sequence[TestResult]) -> bool:
        return not any(kills(fault, result) for result in results)

    return [near, far] if search else [near]


def _variant_jobs(
    variants: Sequence[Variant],
    explore: int | None,
    registry: Registry,
    rows: dict[tuple[str, str], Row],
    say: Callable[[str], None],
) -> list[Job]:
    def job(variant: Variant, implementation: str) -> Job:
        def done(seen: Observed) -> None:
            row = judge_variant(variant, implementation, seen, registry, explore)
            rows[variant.name, implementation] = row
            say(_line(row))

        return Job(variant, implementation, [_everything if explore is None else _drawing], done)

    return [job(variant, implementation) for variant in variants for implementation in variant.implementations]


def _everything(_: Case, __: Sequence[TestResult]) -> bool:
    return True


def _drawing(case: Case, _: Sequence[TestResult]) -> bool:
    """The others have nothing new to say when only the examples are new."""
    return case.draws


def _line(row: Row) -> str:
    by = f" by {', '.join(row.areas)}" if row.areas else ""
    return f"{row.kind} {row.name} ({row.implementation}): {row.outcome}{by}, {row.tests} of {row.run} tests"


def _environment() -> dict[str, str]:
    return environment(resolve("reference"))
