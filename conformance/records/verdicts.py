"""Verdicts, and the one function that every count and every judgement of a run comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from conformance.errors import ExitStatus
from conformance.requirements.registry import Requirement


class Verdict(str, Enum):
    """What a run says of one test or one requirement; each member's place is its severity, mildest first."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"
    NOT_RUN = "not_run"
    WAIVED = "waived"
    FAIL = "fail"
    TIMEOUT = "timeout"
    CRASH = "crash"
    ERROR = "error"

    @property
    def severity(self) -> int:
        return _SEVERITY[self]

    @property
    def rejects(self) -> bool:
        """Whether it says that the implementation did something wrong."""
        return self in {Verdict.FAIL, Verdict.TIMEOUT, Verdict.CRASH}

    def __str__(self) -> str:
        return self.value


_SEVERITY = {verdict: place for place, verdict in enumerate(Verdict)}


class RunVerdict(str, Enum):
    """What a run says of the implementation as a whole."""

    #: Every scored requirement passed, or needs a capability that is declared absent.
    PASS = "pass"  # noqa: S105 - a verdict, not a password
    #: What was selected passed, but the selection leaves scored requirements undecided: no claim can rest on it.
    PARTIAL = "partial"
    #: Something planned did not run or was skipped, or the run did not come to its end.
    INCOMPLETE = "incomplete"
    #: A scored requirement was not met, or a test crashed or hung.
    FAIL = "fail"
    #: The kit failed, so that nothing can be said.
    ERROR = "error"

    @property
    def exit_status(self) -> ExitStatus:
        return _EXIT_STATUS[self]

    def __str__(self) -> str:
        return self.value


_EXIT_STATUS = {
    RunVerdict.PASS: ExitStatus.CONFORMING,
    RunVerdict.PARTIAL: ExitStatus.CONFORMING,
    RunVerdict.INCOMPLETE: ExitStatus.NOT_CONFORMING,
    RunVerdict.FAIL: ExitStatus.NOT_CONFORMING,
    RunVerdict.ERROR: ExitStatus.KIT_FAILED,
}


class Result(Protocol):
    """What is judged: one test's outcome."""

    @property
    def test(self) -> str: ...
    @property
    def requirements(self) -> tuple[str, ...]: ...
    @property
    def verdict(self) -> Verdict: ...


@dataclass(frozen=True)
class Assessment:
    """A run, judged.

    Attributes:
        verdict: of the whole run.
        tests: how many tests have each verdict; verdicts that no test has are left out.
        requirements: the verdict of each requirement that holds for the implementation and can be tested.
        scored: how many scored requirements (``must`` and ``should``) have each verdict.
        not_applicable: the requirements of other dialects or later revisions.
        untestable: the requirements that hold but that no test can decide.
    """

    verdict: RunVerdict
    tests: Mapping[Verdict, int]
    requirements: Mapping[str, Verdict]
    scored: Mapping[Verdict, int]
    not_applicable: tuple[str, ...]
    untestable: tuple[str, ...]


def assess(
    requirements: Iterable[Requirement],
    results: Collection[Result],
    *,
    planned: Mapping[str, tuple[str, ...]],
    dialect: str,
    revision: str,
    capabilities: Mapping[str, bool],
    narrowed: bool = False,
    stopped: bool = False,
    ended: bool = True,
) -> Assessment:
    """Judge a run.

    Args:
        requirements: all that the kit knew.
        results: of the tests that ended.
        planned: the tests that were to run, each with the requirements that it decides.
        dialect: of the implementation.
        revision: the release that it claims.
        capabilities: what it declares.
        narrowed: whether the operator asked for a part of the suites only.
        stopped: whether the kit could not go on.
        ended: whether the run came to its end; a record without its footer did not.

    A test that was planned and has no result is `not_run`.  A requirement has the worst verdict of its tests, where
    tests behind an absent capability decide nothing as long as others remain.
    """
    result_tests = {result.test for result in results}
    outcomes = [(result.requirements, result.verdict) for result in results]
    outcomes += [(ids, Verdict.NOT_RUN) for test, ids in planned.items() if test not in result_tests]
    by_requirement: dict[str, list[Verdict]] = {}
    for ids, verdict in outcomes:
        for identity in ids:
            by_requirement.setdefault(identity, []).append(verdict)

    requirement_verdicts: dict[str, Verdict] = {}
    scored: dict[str, Verdict] = {}
    not_applicable: list[str] = []
    untestable: list[str] = []
    for entry in requirements:
        if not entry.holds_for(dialect, revision):
            not_applicable.append(entry.id)
        elif entry.untestable is not None:
            untestable.append(entry.id)
        else:
            absent = entry.capability is not None and capabilities.get(entry.capability) is False
            verdict = Verdict.UNSUPPORTED if absent else _worst(by_requirement.get(entry.id, ()))
            requirement_verdicts[entry.id] = verdict
            if entry.scored:
                scored[entry.id] = verdict

    verdicts = [verdict for _, verdict in outcomes]
    untried = {identity for identity in scored if identity not in by_requirement}
    return Assessment(
        verdict=RunVerdict.ERROR if stopped else _judge(verdicts, scored, untried, narrowed=narrowed, ended=ended),
        tests=_count(verdicts),
        requirements=requirement_verdicts,
        scored=_count(scored.values()),
        not_applicable=tuple(not_applicable),
        untestable=tuple(untestable),
    )


def _worst(verdicts: Collection[Verdict]) -> Verdict:
    candidates = [verdict for verdict in verdicts if verdict != Verdict.UNSUPPORTED]
    return max(candidates or verdicts, key=lambda verdict: verdict.severity, default=Verdict.NOT_RUN)


def _count(verdicts: Iterable[Verdict]) -> dict[Verdict, int]:
    values = list(verdicts)
    return {verdict: values.count(verdict) for verdict in Verdict if verdict in values}


def _judge(
    tests: Collection[Verdict], scored: Mapping[str, Verdict], untried: set[str], *, narrowed: bool, ended: bool
) -> RunVerdict:
    if Verdict.ERROR in tests:
        return RunVerdict.ERROR
    # A crash or a hang is not left to the implementation by any document, so it counts whatever the level.
    if Verdict.CRASH in tests or Verdict.TIMEOUT in tests or any(verdict.rejects for verdict in scored.values()):
        return RunVerdict.FAIL
    if not ended or not tests or Verdict.NOT_RUN in tests:
        return RunVerdict.INCOMPLETE
    verdicts_of_tried = {identity: verdict for identity, verdict in scored.items() if identity not in untried}
    if Verdict.SKIPPED in verdicts_of_tried.values():
        return RunVerdict.INCOMPLETE
    if narrowed or any(scored[identity] is Verdict.NOT_RUN for identity in untried):
        return RunVerdict.PARTIAL
    return RunVerdict.PASS
