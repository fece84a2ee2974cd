"""The result of one test: it carries a verdict from the phase that decides it to the page that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from conformance.records.verdicts import Verdict


@dataclass(frozen=True)
class TestResult:
    """The result of one test.

    Attributes:
        test: ``suites/AREA/test_file.py::test_name[parameters]``, without the implementation's name.
        requirements: the ids that it decides.
        verdict: see `conformance.records.verdicts.Verdict`.
        phase: where it was decided: ``setup``, ``call``, ``teardown``, or ``exit`` (of the test's process).
        message: why, for a person; empty for a pass.
        expected: what was expected, when the test said it.
        seen: what was seen instead, when the test said it.
        left_behind: what could not be put right after the test, or ``None``.
        frames: the innermost frames inside the implementation, ``file:line in function``, outermost first.
        duration_s: seconds from set-up to the end of the call.
        observations: what the test noted of things that the documents leave open.
        warnings: the distinct warnings of the test, ``Category: message``.
        command: runs just this test again.
        reproducer: a script that shows the failure without the kit, or ``None``.
        reproduction: what running that script alone came to, when it was: ``outcome`` (``shown``, ``passed``,
            ``otherwise``) and ``why``.
        calls: of a test that went wrong, the last ones that it made on the implementation, oldest first.
        graphs: of such a test, what its graphs consisted of then; see `conformance.records.graphs.CapturedGraph`.
        ending: of a test that its process did not survive: how the process ended, and what it left to read.
        waiver: why a failure was accepted, when it was: ``reason``, ``link``, ``owner``, ``expires`` and ``verdict``,
            which is what the test came to.
        runs: of a test that failed and ran again, how many of all its runs came to each verdict.
        cause: of what failed for want of something, when that is known: ``kind``, which is ``missing`` (from the class
            or its module) or ``adapter``, the ``name`` of it, and the capability to ``declare`` absent, or ``None``.
    """

    __test__ = False  # pytest would otherwise take the name for a test class

    test: str
    requirements: tuple[str, ...]
    verdict: Verdict
    phase: str = "call"
    message: str = ""
    expected: str | None = None
    seen: str | None = None
    left_behind: str | None = None
    frames: tuple[str, ...] = ()
    duration_s: float = 0.0
    observations: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    command: str = ""
    calls: tuple[str, ...] = ()
    graphs: tuple[Mapping[str, Any], ...] = ()
    ending: Mapping[str, Any] | None = None
    reproducer: str | None = None
    reproduction: Mapping[str, str] | None = None
    waiver: Mapping[str, str] | None = None
    cause: Mapping[str, str | None] | None = None
    runs: Mapping[str, int] | None = None

    @property
    def rejection(self) -> Verdict:
        """The verdict in front of a waiver, and of a test that is flaky that of its gravest run."""
        verdict = self.verdict if self.waiver is None else Verdict(self.waiver["verdict"])
        if verdict is not Verdict.FLAKY:
            return verdict
        runs = (Verdict(name) for name, count in (self.runs or {}).items() if count)
        return max((run for run in runs if run.rejects), key=lambda run: run.severity, default=Verdict.FAIL)

    @property
    def is_loss(self) -> bool:
        """Whether its process did not come back from it, in one of its runs, and no waiver accepts that."""
        return self.verdict.rejects and self.rejection.is_loss

    def tried(self, reproduction: Mapping[str, str]) -> TestResult:
        """The result with what running its script alone came to; one that shows another failure is none of it."""
        script = None if reproduction["outcome"] == "otherwise" else self.reproducer
        return replace(self, reproducer=script, reproduction=dict(reproduction))

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        values = {name: getattr(self, name) for name in _RESULT_FIELDS}
        values["verdict"] = self.verdict.value
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TestResult:
        """The inverse of `to_dict`; keys of later versions are ignored.

        Earlier ones have the calls of a test that its process did not survive in `ending`.
        """
        arguments: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if name in _KNOWN
        }
        arguments["verdict"] = Verdict(arguments["verdict"])
        if "calls" not in arguments and arguments.get("ending"):
            arguments["calls"] = tuple(arguments["ending"].get("calls") or ())
        if len(arguments) < len(_RESULT_FIELDS):
            return cls(**arguments)
        # The same, without a call for each of the fields: a long run has as many results as tests.
        result = object.__new__(cls)
        vars(result).update(arguments)
        return result


#: Looked up once: a long run has as many results as tests.
_RESULT_FIELDS = tuple(entry.name for entry in fields(TestResult))
_KNOWN = frozenset(_RESULT_FIELDS)
