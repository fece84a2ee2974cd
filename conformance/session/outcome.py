"""What the process that ran a test says about it: an attribute of pytest's report, plain values between processes."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.records.result import TestResult

_ATTRIBUTE = "conformance"


@dataclass(frozen=True)
class Outcome:
    """One test's result, and the implementation that was tested.

    Attributes:
        implementation: its name.
        result: of the test.
        unfit: why the process can run no other test, or ``None``.
        starved: whether the device had no memory for the test, so that it says nothing.
    """

    implementation: str
    result: TestResult
    unfit: str | None = None
    starved: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        return {
            "implementation": self.implementation,
            "result": self.result.to_dict(),
            "unfit": self.unfit,
            "starved": self.starved,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Outcome:
        """The inverse of `to_dict`."""
        return cls(values["implementation"], TestResult.from_dict(values["result"]), values["unfit"], values["starved"])


def attach(report: pytest.TestReport, outcome: Outcome) -> None:
    """Let `report` carry `outcome`."""
    vars(report)[_ATTRIBUTE] = outcome


def outcome_of(report: pytest.TestReport | pytest.CollectReport) -> Outcome | None:
    """The outcome that `report` carries; only the last one of a test's phases does."""
    outcome: Outcome | None = vars(report).get(_ATTRIBUTE)
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(
    report: pytest.TestReport | pytest.CollectReport,
) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """Send the outcome as plain values, where a worker process sends its reports."""
    values = yield
    outcome = outcome_of(report)
    if values is not None and outcome is not None:
        values[_ATTRIBUTE] = outcome.to_dict()
    return values


@pytest.hookimpl(wrapper=True)
def pytest_report_from_serializable() -> Generator[
    None, pytest.TestReport | pytest.CollectReport | None, pytest.TestReport | pytest.CollectReport | None
]:
    """Read the outcome back, where the controller receives reports."""
    report = yield
    values = None if report is None else vars(report).get(_ATTRIBUTE)
    if isinstance(report, pytest.TestReport) and isinstance(values, dict):
        attach(report, Outcome.from_dict(values))
    return report
