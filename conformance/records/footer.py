"""The last line of a record: how its run ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Footer:
    """How a run ended.

    Attributes:
        counts: how many tests have each verdict.
        verdict: of the run; see `conformance.records.verdicts.RunVerdict`.
        musts: how many musts have each verdict.
        advice: how many shoulds have each verdict.
        complete: whether every planned test has a result.
        exit_status: of the run; see `conformance.errors.ExitStatus`.
        duration_s: seconds of wall time.
        stopped: why the kit could not go on, or ``None``.
        waiver_problems: why waivers failed the run, each with the line to change.
    """

    counts: Mapping[str, int]
    verdict: str
    complete: bool
    exit_status: int
    duration_s: float
    musts: Mapping[str, int]
    advice: Mapping[str, int]
    stopped: str | None = None
    waiver_problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The footer as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Footer:
        """The inverse of `to_dict`; keys of later versions are ignored."""
        names = {entry.name for entry in fields(cls)}
        arguments = {name: value for name, value in values.items() if name in names}
        arguments["waiver_problems"] = tuple(arguments.get("waiver_problems", ()))
        return cls(**arguments)
