"""What refutes a record: where it contradicts itself, or the suites of its digest, when those are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from conformance.errors import ExitStatus, KitError, one_line
from conformance.paths import SUITES, suite_digest
from conformance.records.assessment import Assessment, as_json
from conformance.records.installed import installed_plan
from conformance.records.runs import verdict_of
from conformance.records.shards import Shard
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.requirements.loading import load_registry
from conformance.requirements.registry import Requirement

if TYPE_CHECKING:
    from conformance.records.footer import Footer
    from conformance.records.header import Header
    from conformance.records.plan import Plan
    from conformance.records.record import Record
    from conformance.records.result import TestResult


class _Named:
    """What all of some names have in common, told with the first of them."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._first = ""
        self._count = 0

    def add(self, name: str) -> None:
        self._first = self._first if self._count else name
        self._count += 1

    def sentences(self) -> Iterator[str]:
        """One sentence, or none when there is no name."""
        if self._count:
            first = self._first if self._first.isprintable() else repr(self._first)
            more = f", and {self._count - 1:,} more" if self._count > 1 else ""
            yield f"{one_line(first, 200)} {self._what}{more}"


def _some(what: str, names: Iterable[str]) -> Iterator[str]:
    named = _Named(what)
    for name in names:
        named.add(name)
    return named.sentences()


class _InstalledSuites:
    """Compares the plan of a record with the tests of the installed suites, which are those of its digest.

    Attributes:
        missing: the tests that apply, and were not planned.
        is_run: whether any test of the suites was planned: a session may be of other suites alone.
    """

    def __init__(self, header: Header) -> None:
        self._plan = installed_plan()
        self._foreign = _Named("was planned, and its suites have no such test")
        self._inapplicable = _Named("was planned, and does not apply to the dialect and the revision")
        self._differing = _Named("decides others in the plan than in its suites")
        requirements = load_registry().seen_by(header.dialect).requirements
        self._applicable = {
            test
            for test, ids in self._plan.items()
            if all(requirements[name].holds_for(header.dialect, header.revision) for name in ids)
        }
        is_here = _shard_of(header)
        self.missing = {test: None for test in self._plan if test in self._applicable and is_here(test)}
        self.is_run = False

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        if not test.startswith(f"{SUITES.name}/"):
            return
        self.is_run = True
        self.missing.pop(test, None)
        if test not in self._plan:
            self._foreign.add(test)
        elif test not in self._applicable:
            self._inapplicable.add(test)
        elif set(ids) != set(self._plan[test]):
            self._differing.add(test)

    def joined(self, others: Iterable[_InstalledSuites]) -> _InstalledSuites:
        """That of a run with these parts."""
        whole = copy(self)
        for other in others:
            whole.missing = {**whole.missing, **other.missing}
            whole.is_run |= other.is_run
        return whole

    def sentences(self, *, is_part: bool, claims: bool) -> Iterator[str]:
        if not is_part and (self.is_run or claims):
            yield from _some("is a test of its suites that applies, and it was not planned", self.missing)
        for named in (self._foreign, self._inapplicable, self._differing):
            yield from named.sentences()


class Contradictions:
    """What in the tests and the results of one record cannot be true, noted as they pass.

    Attributes:
        suites: what of it the installed suites show; ``None`` when the record is of others, or they are not to be had.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._unplanned = _Named("has a result and was not planned")
        self._differing = _Named("decides others in its result than in the plan")
        self._left_out = _Named("is planned and left out as not applicable")
        self._unwaived = _Named("is waived, and no waiver in the header is for it")
        self._unused = _Named("has a waiver and is not waived")
        self._expired = _Named("is waived by a waiver that had expired when the run began")
        self._unlike_runs = _Named("has another verdict than its runs come to, or ran more often than was asked for")
        self._elsewhere = _Named("was planned, and belongs to another shard")
        self._absent = _Named("ran, and needs a capability that is declared absent")
        self._absent_ids = {entry.id for entry in header.requirements if entry.lacks(header.capabilities) is not None}
        self._is_here = _shard_of(header)
        self.suites = _InstalledSuites(header) if why_not_compared(header) is None else None

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        if not self._is_here(test):
            self._elsewhere.add(test)
        if self.suites is not None:
            self.suites.planned(test, ids)

    def left_out(self, test: str, *, is_planned: bool) -> None:
        if is_planned:
            self._left_out.add(test)

    def result(self, result: TestResult, planned_ids: tuple[str, ...] | None) -> None:
        """Note a result of a test that decides `planned_ids` by the plan; ``None`` when it is not planned."""
        if planned_ids is None:
            self._unplanned.add(result.test)
        elif planned_ids != result.requirements and set(planned_ids) != set(result.requirements):
            self._differing.add(result.test)
        if self._is_unlike_its_runs(result):
            self._unlike_runs.add(result.test)
        if self._ran_without(result):
            self._absent.add(result.test)
        # Both days are ISO 8601, and waivers expire by the day of UTC.
        if result.waiver is not None and result.waiver.get("expires", "9") < self._header.started_at[:10]:
            self._expired.add(result.test)
        if result.verdict is not Verdict.WAIVED:
            if result.waiver is not None:
                self._unused.add(result.test)
        elif not any(_is_for(waiver, result) for waiver in self._header.waivers):
            self._unwaived.add(result.test)

    def _is_unlike_its_runs(self, result: TestResult) -> bool:
        """Whether the runs of a test that failed and ran again are not those of its verdict."""
        verdict = result.verdict if result.waiver is None else Verdict(result.waiver["verdict"])
        if result.runs is None:
            return verdict is Verdict.FLAKY
        counts = {Verdict(name): count for name, count in result.runs.items()}
        most = 1 + int(self._header.options.get("reruns") or 0)
        return verdict is not verdict_of(counts) or sum(counts.values()) > most

    def _ran_without(self, result: TestResult) -> bool:
        """Whether a test ran that is left out before its first line, since it needs what is declared absent."""
        if self._absent_ids.isdisjoint(result.requirements):
            return False
        # What was left behind is found after a test that was left out, too.
        failed = result.verdict in {Verdict.FLAKY, Verdict.FAIL} and result.phase in {"setup", "call"}
        return failed or result.verdict is Verdict.PASS

    def joined(self, others: Iterable[Contradictions]) -> Contradictions:
        """Those of a run with these parts, none of which has a contradiction."""
        whole = copy(self)
        if self.suites is not None:
            whole.suites = self.suites.joined(other.suites for other in others if other.suites is not None)
        return whole

    def sentences(self, plan: Plan) -> Iterator[str]:
        """What was found, each a sentence without its stop."""
        known_ids = {entry.id for entry in self._header.requirements}
        unknown_ids = {identity for ids in plan.sets() for identity in ids if identity not in known_ids}
        yield from _some("is decided by a test, and is none of its requirements", sorted(unknown_ids))
        for named in (self._unplanned, self._differing, self._left_out, self._elsewhere, self._absent):
            yield from named.sentences()
        for named in (self._unlike_runs, self._unwaived, self._expired, self._unused):
            yield from named.sentences()
        if self._header.waivers and not self._header.options.get("waivers"):
            yield "there are waivers in the header, and its options name no file of them"


def defects_of(record: Record, assessment: Assessment) -> tuple[str, ...]:
    """What refutes `record`, whose values come to `assessment`, each a sentence without its stop.

    A record is not believed for it: who writes a record can write a good one of a run that never was.
    """
    header = record.header
    found = [] if record.chain.broken is None else [record.chain.broken]
    found += record.contradictions.sentences(record.plan)
    found += _against_its_environment(header)
    if header.suite_digest == suite_digest():
        found += _against_the_installed(header)
    if record.contradictions.suites is not None:
        claims = assessment.verdict in {RunVerdict.CONFORMS, RunVerdict.CONFORMS_IN_PART}
        found += record.contradictions.suites.sentences(is_part=header.narrowed, claims=claims)
    if record.footer is not None:
        found += _against_its_footer(record, record.footer, assessment)
        if record.footer.stopped is None and not assessment.musts:
            found.append("no must of it holds for the dialect and the revision")
    return tuple(found)


def why_not_compared(header: Header) -> str | None:
    """Why a record with this header is compared with nothing but itself, as a sentence without its stop."""
    if header.suite_digest != suite_digest():
        return "made with other suites than the installed ones, so its plan and requirements were not checked"
    try:
        installed_plan()
    except KitError as error:
        return f"its plan was compared with none: {error}"
    return None


def _shard_of(header: Header) -> Callable[[str], bool]:
    """Whether a test belongs to the shard that the record is of; all do when it is of none."""
    shard = header.options.get("shard")
    return Shard.parse(shard).holds if shard else lambda _: True


# -- against itself ---------------------------------------------------------------------------------------------------


def _is_for(waiver: Mapping[str, str], result: TestResult) -> bool:
    """Whether `waiver` is the one that `result` names, and is for its test."""
    names = result.waiver or {}
    is_same = all(waiver.get(key) == names.get(key) for key in ("reason", "link", "owner", "expires"))
    tests = {result.test, result.test.partition("[")[0]}
    return is_same and (waiver.get("test") in tests or waiver.get("requirement") in result.requirements)


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
    if footer.complete != (footer.stopped is None and record.plan.ended == record.plan.planned):
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


def _difference(recorded: Requirement, installed: Requirement) -> str:
    names = [entry.name for entry in fields(Requirement)]
    return "; ".join(
        f"{name} {_shown(getattr(recorded, name))} for {_shown(getattr(installed, name))}"
        for name in names
        if getattr(recorded, name) != getattr(installed, name)
    )


def _shown(value: Any) -> str:
    return one_line(repr(value)[:200], 60)
