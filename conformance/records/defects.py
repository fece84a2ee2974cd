"""What refutes a record: where it contradicts itself, or the suites of its digest, when those are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from conformance.errors import ExitStatus, KitError, one_line
from conformance.paths import SUITES, suite_digest
from conformance.records.assessment import Assessment, as_json
from conformance.records.installed import installed_plan
from conformance.records.shards import Shard
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.requirements.loading import load_registry
from conformance.requirements.registry import Requirement

if TYPE_CHECKING:
    from conformance.records.record import Footer, Header, Record
    from conformance.records.result import TestResult


def defects_of(record: Record, assessment: Assessment) -> tuple[str, ...]:
    """What refutes `record`, whose values come to `assessment`, each a sentence without its stop.

    A record is not believed for it: who writes a record can write a good one of a run that never was.
    """
    header = record.header
    found = [] if record.chain.broken is None else [record.chain.broken]
    found += [*_against_its_requirements(record), *_waived_without_a_waiver(record)]
    found += [*_against_its_capabilities(record), *_against_its_environment(header)]
    if header.suite_digest == suite_digest():
        found += _against_the_installed(header)
        if why_not_compared(header) is None:
            found += _against_the_installed_plan(record, installed_plan(), assessment.verdict)
    if record.footer is not None:
        found += _against_its_footer(record, record.footer, assessment)
        if record.footer.stopped is None and not assessment.musts:
            found.append("no must of it holds for the dialect and the revision")
    return tuple(found)


def why_not_compared(header: Header) -> str | None:
    """Why a record with this header is compared with nothing but itself, as a sentence without its stop."""
    if header.suite_digest != suite_digest():
        return "its suites are not the installed ones, so its plan and its requirements were compared with none"
    try:
        installed_plan()
    except KitError as error:
        return f"its plan was compared with none: {error}"
    return None


# -- against itself ---------------------------------------------------------------------------------------------------


def _against_its_requirements(record: Record) -> Iterator[str]:
    planned = record.header.planned
    known_ids = {entry.id for entry in record.header.requirements}
    unknown_ids = {identity for ids in planned.values() for identity in ids if identity not in known_ids}
    yield from _some("is decided by a test, and is none of its requirements", sorted(unknown_ids))
    yield from _some(
        "has a result and was not planned", (one.test for one in record.results if one.test not in planned)
    )
    yield from _some(
        "decides others in its result than in the plan",
        (one.test for one in record.results if set(planned.get(one.test, one.requirements)) != set(one.requirements)),
    )
    is_here = _shard_of(record.header)
    yield from _some("was planned, and belongs to another shard", (test for test in planned if not is_here(test)))
    left_out = set(record.not_applicable)
    yield from _some("is planned and left out as not applicable", (test for test in planned if test in left_out))


def _waived_without_a_waiver(record: Record) -> Iterator[str]:
    waivers = record.header.waivers
    yield from _some(
        "is waived, and no waiver in the header is for it",
        (
            one.test
            for one in record.results
            if one.verdict is Verdict.WAIVED and not any(_is_for(waiver, one) for waiver in waivers)
        ),
    )
    yield from _some(
        "is waived by a waiver that had expired when the run began",
        (one.test for one in record.results if _expired(one, record.header.started_at)),
    )
    if waivers and not record.header.options.get("waivers"):
        yield "there are waivers in the header, and its options name no file of them"
    yield from _some(
        "has a waiver and is not waived",
        (one.test for one in record.results if one.waiver is not None and one.verdict is not Verdict.WAIVED),
    )


def _expired(result: TestResult, started_at: str) -> bool:
    # Both are ISO 8601, and the run's day is that of UTC, by which waivers expire.
    return result.waiver is not None and result.waiver.get("expires", "9") < started_at[:10]


def _is_for(waiver: Mapping[str, str], result: TestResult) -> bool:
    """Whether `waiver` is the one that `result` names, and is for its test."""
    names = result.waiver or {}
    is_same = all(waiver.get(key) == names.get(key) for key in ("reason", "link", "owner", "expires"))
    tests = {result.test, result.test.partition("[")[0]}
    return is_same and (waiver.get("test") in tests or waiver.get("requirement") in result.requirements)


def _against_its_capabilities(record: Record) -> Iterator[str]:
    """A test that needs what is declared absent is left out before its first line."""
    capabilities = record.header.capabilities
    absent = {entry.id for entry in record.header.requirements if capabilities.get(entry.capability or "") is False}
    yield from _some(
        "ran, and needs a capability that is declared absent",
        (
            one.test
            for one in record.results
            if not absent.isdisjoint(one.requirements)
            and (one.verdict is Verdict.PASS or (one.verdict is Verdict.FAIL and one.phase in {"setup", "call"}))
        ),
    )


def _against_its_environment(header: Header) -> Iterator[str]:
    """What the kit says of a class of its own and of the host, where the values that it says it for stand."""
    environment = header.environment
    if "graph_class" not in environment:
        return
    if environment["graph_class"].startswith("reference_impl.") and "reference" not in environment:
        yield "its class is the kit's own reference, and it does not say so"
    if environment.get("device", "").partition(":")[0] == "cpu" and "runs_on" not in environment:
        yield "its device is the host, and it does not say so"


def _against_its_footer(record: Record, footer: Footer, assessment: Assessment) -> Iterator[str]:
    tallies = {"counts": assessment.tests, "musts": assessment.musts, "advice": assessment.advice}
    for name, tally in tallies.items():
        if dict(getattr(footer, name)) != as_json(tally):
            yield f"the {name} that it ends with are not those of its results"
    if footer.verdict != assessment.verdict.value:
        yield f"it ends with the verdict {footer.verdict}, and its results come to {assessment.verdict.value}"
    tests = {result.test for result in record.results}
    if footer.complete != (footer.stopped is None and all(test in tests for test in record.header.planned)):
        yield f"it ends as {'complete' if footer.complete else 'incomplete'}, and its results say otherwise"
    # A session of several implementations ends with the gravest status, so only a milder one is wrong.
    least = ExitStatus.NOT_CONFORMING if footer.waiver_problems else ExitStatus.CONFORMING
    least = max(least, assessment.exit_status)
    if footer.exit_status < least:
        yield f"it ends with the exit status {footer.exit_status}, and its results come to {int(least)}"


# -- against the suites of the same digest ----------------------------------------------------------------------------


def _against_the_installed(header: Header) -> Iterator[str]:
    installed = load_registry().seen_by(header.dialect).requirements
    recorded = {entry.id: entry for entry in header.requirements}
    yield from _some(
        "is a requirement of its suites, and it has none", (name for name in installed if name not in recorded)
    )
    yield from _some("is no requirement of its suites", (name for name in recorded if name not in installed))
    changed = {
        name: _difference(entry, installed[name])
        for name, entry in recorded.items()
        if name in installed and entry != installed[name]
    }
    yield from _some("is another in its suites", (f"{name} ({difference})" for name, difference in changed.items()))


def _against_the_installed_plan(
    record: Record, plan: Mapping[str, tuple[str, ...]], verdict: RunVerdict
) -> Iterator[str]:
    header = record.header
    requirements = load_registry().seen_by(header.dialect).requirements
    applicable = {
        test
        for test, ids in plan.items()
        if all(requirements[name].holds_for(header.dialect, header.revision) for name in ids)
    }
    is_here = _shard_of(header)
    planned = {test: ids for test, ids in header.planned.items() if test.startswith(f"{SUITES.name}/")}
    is_part = header.narrowed or (record.footer is not None and record.footer.narrowed)
    # A session of other suites has none of these, and makes no claim.
    claims = verdict in {RunVerdict.CONFORMS, RunVerdict.CONFORMS_IN_PART}
    if not is_part and (planned or claims):
        missing = sorted(test for test in applicable if is_here(test) and test not in planned)
        yield from _some("is a test of its suites that applies, and it was not planned", missing)
    yield from _some("was planned, and its suites have no such test", (test for test in planned if test not in plan))
    yield from _some(
        "was planned, and does not apply to the dialect and the revision",
        (test for test in planned if test in plan and test not in applicable),
    )
    yield from _some(
        "decides others in the plan than in its suites",
        (test for test, ids in planned.items() if test in plan and set(ids) != set(plan[test])),
    )


def _shard_of(header: Header) -> Callable[[str], bool]:
    """Whether a test belongs to the shard that the record is of; all do when it is of none."""
    shard = header.options.get("shard")
    return Shard.parse(shard).holds if shard else lambda _: True


def _difference(recorded: Requirement, installed: Requirement) -> str:
    names = [entry.name for entry in fields(Requirement)]
    return "; ".join(
        f"{name} {_shown(getattr(recorded, name))} for {_shown(getattr(installed, name))}"
        for name in names
        if getattr(recorded, name) != getattr(installed, name)
    )


def _shown(value: Any) -> str:
    return one_line(repr(value)[:200], 60)


def _some(what: str, names: Iterable[str]) -> Iterator[str]:
    """One sentence for all of `names`, which tells the first."""
    all_names = list(names)
    if all_names:
        first = all_names[0] if all_names[0].isprintable() else repr(all_names[0])
        more = f", and {len(all_names) - 1} more" if len(all_names) > 1 else ""
        yield f"{one_line(first, 200)} {what}{more}"
