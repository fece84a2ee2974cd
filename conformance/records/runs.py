"""The runs of one test that failed and ran again, and what they come to together: never the best of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict


class Runs:
    """The runs of one test, the first of which failed.

    Attributes:
        worst: the result of the gravest, and of several the first.
    """

    def __init__(self) -> None:
        self.worst: TestResult | None = None
        self._counts: Counter[Verdict] = Counter()

    @property
    def number(self) -> int:
        """How many there were."""
        return self._counts.total()

    def add(self, result: TestResult) -> None:
        """Take in what one came to."""
        self._counts[result.verdict] += 1
        if self.worst is None or _gravity(result.verdict) > _gravity(self.worst.verdict):
            self.worst = result

    @property
    def result(self) -> TestResult:
        """What they come to: the evidence of the gravest, and how often it was so."""
        assert self.worst is not None, "no run"
        verdict = verdict_of(self._counts)
        counts = {each.value: self._counts[each] for each in Verdict if self._counts[each]}
        lead = f"{how_often(counts)}: " if verdict is Verdict.FLAKY else ""
        return replace(self.worst, verdict=verdict, message=lead + self.worst.message, runs=counts)


def verdict_of(counts: Mapping[Verdict, int]) -> Verdict:
    """The verdict of a test whose runs came to these.

    Runs that say nothing of the class, such as an error of the kit, decide nothing as long as there are others.

    >>> verdict_of({Verdict.PASS: 2, Verdict.CRASH: 1})
    <Verdict.FLAKY: 'flaky'>
    >>> verdict_of({Verdict.FAIL: 2, Verdict.CRASH: 1})
    <Verdict.CRASH: 'crash'>
    """
    worst = max((verdict for verdict, count in counts.items() if count), key=_gravity)
    return Verdict.FLAKY if worst.rejects and counts.get(Verdict.PASS) else worst


def _gravity(verdict: Verdict) -> int:
    return verdict.severity if verdict.rejects else -1


def how_often(runs: Mapping[str, int]) -> str:
    """How often a test failed.

    >>> how_often({"pass": 2, "fail": 1})
    'failed 1 of 3 times'
    >>> how_often({"pass": 1, "fail": 1, "crash": 1})
    'failed 2 of 3 times (1 pass, 1 fail, 1 crash)'
    """
    rejected = sum(count for name, count in runs.items() if Verdict(name).rejects)
    text = f"failed {rejected} of {sum(runs.values())} times"
    if runs.keys() <= {Verdict.PASS.value, Verdict.FAIL.value}:
        return text
    return f"{text} ({each_number(runs)})"


def each_number(runs: Mapping[str, int] | None) -> str:
    """How many of all runs of a test came to each verdict; empty of a test that ran once.

    >>> each_number({"fail": 1, "pass": 2})
    '2 pass, 1 fail'
    """
    return ", ".join(f"{runs[each.value]} {each}" for each in Verdict if runs.get(each.value)) if runs else ""
