"""What a fault or a variant came to, judged from its tests' results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import Enum
from typing import Any, Protocol

from conformance.errors import one_line
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Registry
from conformance.requirements.vocabulary import Dialect, Level
from conformance.selfcheck.addresses import without_addresses
from conformance.selfcheck.catalogue import Fault, Variant

#: What is said of a script that fails with the fault that it was written for and passes without it.
AS_PROMISED = "as promised"

#: What is said of a pair of faults neither of which hides the other.
BOTH = "both are rejected"


class Outcome(str, Enum):
    """What became of a fault or a variant."""

    #: A requirement that the fault names rejected it, with a message that says what was promised.
    KILLED = "killed"
    #: Rejected, but by no requirement that it names, or without saying what was promised.
    WRONG_REASON = "wrong reason"
    #: No scored requirement rejected it.
    SURVIVED = "survived"
    #: No scored requirement rejected a distortion, and a reason is listed why no document forbids it.
    EQUIVALENT = "equivalent"
    #: The variant met every scored requirement that was tried, but for the advice that it declines.
    ACCEPTED = "accepted"
    #: A scored requirement rejected a variant, which is correct, or a distortion that is listed as equivalent.
    FALSE_ALARM = "false alarm"
    #: It could not be applied, or the kit failed: it says nothing.
    BROKEN = "broken"

    @property
    def good(self) -> bool:
        return self in {Outcome.KILLED, Outcome.EQUIVALENT, Outcome.ACCEPTED}

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Row:
    """One line of the kill table.

    Attributes:
        name: of the fault or the variant.
        kind: ``fault``, ``variant``, ``distortion`` or ``pair``.
        layer: of a fault.
        implementation: that was changed.
        about: what is wrong with it, or what differs.
        outcome: what became of it.
        requirements: the scored requirements that rejected it; of a fault, only those that it names unless there are
            none.
        tests: how many tests rejected it.
        run: how many tests ran.
        message: the first rejection, or what was wrong, in one line.
        explore: the seed of the property tests' examples, when they were not the usual ones.
        level: of a killed fault, ``must`` when a requirement that a document states rejected it, ``should`` when only
            advice or safety did.
        script: of a killed fault, what its first right kill's script came to: `AS_PROMISED` when it fails with the
            fault and passes without it, otherwise what it does instead.
    """

    name: str
    kind: str
    layer: str
    implementation: str
    about: str
    outcome: Outcome
    requirements: tuple[str, ...]
    tests: int
    run: int
    message: str
    explore: int | None = None
    level: str | None = None
    script: str | None = None

    @property
    def good(self) -> bool:
        """Whether the suites did all that they should."""
        return self.outcome.good and self.script in {None, AS_PROMISED}

    @property
    def areas(self) -> tuple[str, ...]:
        """The areas of the requirements, each once."""
        return tuple(dict.fromkeys(identity.partition(".")[0] for identity in self.requirements))

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values."""
        return {**asdict(self), "outcome": str(self.outcome), "areas": list(self.areas)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Row:
        """The inverse of `to_dict`; a table of an earlier version has no levels."""
        arguments = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        arguments["outcome"] = Outcome(arguments["outcome"])
        if isinstance(arguments["requirements"], list):
            arguments["requirements"] = tuple(arguments["requirements"])
        return cls(**arguments)


class Described(Protocol):
    """Whatever has a name and a description."""

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str: ...


@dataclass(frozen=True)
class Observed:
    """What running the tests gave.

    Attributes:
        results: of the tests that ended, one way or another.
        trouble: why the tests could not be run, or ``None``.
    """

    results: Sequence[TestResult]
    trouble: str | None = None


@dataclass(frozen=True)
class Judgement:
    """What a run says of a change.

    Attributes:
        outcome, message, tests, level: as in `Row`.
        ids: of the scored requirements that rejected the change.
    """

    outcome: Outcome
    message: str
    ids: Collection[str]
    tests: int
    level: Level | None = None

    def row(
        self,
        kind: str,
        change: Described,
        implementation: str,
        observed: Observed,
        explore: int | None = None,
        layer: str = "",
    ) -> Row:
        """The line of the table about `change`."""
        return Row(
            change.name,
            kind,
            layer,
            implementation,
            change.about,
            self.outcome,
            tuple(sorted(self.ids)),
            self.tests,
            len(observed.results),
            self.message,
            explore,
            self.level,
        )


def judge_fault(
    fault: Fault, dialect: Dialect, may_kill: Collection[str], observed: Observed, registry: Registry
) -> Row:
    """The row of a fault of a class of `dialect`, which only the requirements `may_kill` reject for a right reason."""
    named = set(may_kill)
    rejecting = _rejecting(observed.results, registry)
    right = {result.test: ids & named for result, ids in rejecting if kills(named, result)}
    first = first_kill(named, observed.results)
    if observed.trouble is not None:
        outcome, message = Outcome.BROKEN, observed.trouble
    elif first is not None:
        outcome, message = Outcome.KILLED, reason(first)
    elif rejecting:
        outcome = Outcome.WRONG_REASON
        by_named = [result for result, ids in rejecting if ids & named]
        example = (by_named or [result for result, _ in rejecting])[0]
        complaint = "says nothing of a promise" if by_named else "no named requirement rejects it"
        message = f"{complaint}; {example.test}: {reason(example)}"
    else:
        outcome, message = Outcome.SURVIVED, "no scored requirement rejects it"
    ids = set().union(*(right.values() if right else (each for _, each in rejecting)))
    judgement = Judgement(outcome, message, ids, len(rejecting), strongest(outcome, ids, dialect, registry))
    return judgement.row("fault", fault, fault.implementation, observed, layer=fault.layer)


def strongest(outcome: Outcome, ids: Collection[str], dialect: Dialect, registry: Registry) -> Level | None:
    """The level of the strongest of the requirements that killed, if any did."""
    if outcome is not Outcome.KILLED:
        return None
    levels = {registry.requirements[identity].level_for(dialect) for identity in ids}
    return "must" if "must" in levels else "should"


def judge_variant(
    variant: Variant, implementation: str, observed: Observed, registry: Registry, explore: int | None
) -> Row:
    """The row of a variant of `implementation`, which may decline the advice that it names, and has to."""
    rejections = _rejecting(observed.results, registry)
    declined = set(variant.declines)
    rejecting = [(result, ids) for result, ids in rejections if not ids <= declined]
    kept = declined & set().union(*(result.requirements for result in observed.results))
    kept -= set().union(*(ids for _, ids in rejections))
    broken = [result for result in observed.results if result.verdict in {Verdict.ERROR, Verdict.SKIPPED}]
    if observed.trouble is not None:
        outcome, message = Outcome.BROKEN, observed.trouble
    elif rejecting:
        outcome = Outcome.FALSE_ALARM
        message = "; ".join(f"{result.test}: {reason(result)}" for result, _ in rejecting[:3])
    elif kept:
        outcome, message = Outcome.BROKEN, f"follows the advice that it says it declines: {', '.join(sorted(kept))}"
    elif broken or not observed.results:
        outcome = Outcome.BROKEN
        message = f"{broken[0].test}: {reason(broken[0])}" if broken else "no test ran"
    else:
        outcome = Outcome.ACCEPTED
        message = f"declines the advice {', '.join(sorted(declined))}" if declined else ""
    ids = set().union(*(each for _, each in rejecting))
    return Judgement(outcome, message, ids, len(rejecting)).row("variant", variant, implementation, observed, explore)


def kills(may_kill: Collection[str], result: TestResult) -> bool:
    """Whether one result alone is enough."""
    return result.verdict.rejects and not set(may_kill).isdisjoint(result.requirements) and tells(result)


def first_kill(may_kill: Collection[str], results: Sequence[TestResult]) -> TestResult | None:
    """The first result that is enough."""
    return next((result for result in results if kills(may_kill, result)), None)


def tells(result: TestResult) -> bool:
    """Whether a rejection says what was promised, and does not only show what the fault happened to raise.

    What the kit itself says of a crash, of a test that never ended, or of what a test left behind is as good.
    """
    if result.expected is not None or result.verdict.is_loss:
        return True
    return result.left_behind is not None and result.message.startswith("left behind")


def reason(result: TestResult) -> str:
    """A result's message in one line that is the same in every run."""
    whole = result.message
    if result.expected is not None and result.seen is not None:
        whole = f"expected: {result.expected}; seen: {result.seen}"
    return one_line(without_addresses(whole))


def _rejecting(results: Sequence[TestResult], registry: Registry) -> list[tuple[TestResult, set[str]]]:
    """The rejecting results, each with the scored requirements that it decides."""
    rejections = []
    for result in results:
        ids = {identity for identity in result.requirements if registry.requirements[identity].scored}
        if result.verdict.rejects and ids:
            rejections.append((result, ids))
    return rejections


def counts(rows: Sequence[Row]) -> Mapping[Outcome, int]:
    """How many rows have each outcome; outcomes that none has are left out."""
    outcomes = [row.outcome for row in rows]
    return {outcome: outcomes.count(outcome) for outcome in Outcome if outcome in outcomes}


def levels(rows: Sequence[Row]) -> str:
    """In words: how many of these faults a must rejected, and how many only a should did."""
    by = [row.level for row in rows if row.outcome is Outcome.KILLED]
    return f"{by.count('must')} of {len(rows)} faults rejected by a must, {by.count('should')} by a should alone"
