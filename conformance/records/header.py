"""The first line of a record: what a run set out to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from conformance.requirements.registry import Requirement

#: Of the record's format.
SCHEMA = 3


@dataclass(frozen=True)
class Header:
    """What a run set out to do, written before its first test.

    Attributes:
        implementation: its name, as ``--impl`` gave it.
        dialect: of the implementation.
        revision: the release whose documents are claimed.
        capabilities: what the adapter declares; what it leaves out is unstated.
        environment: names and versions that a reader needs to repeat the run.
        options: the options of the run that change what it decides.
        planned: how many tests are to run; the lines of the plan name them.
        not_applicable: how many are left out because their requirements hold for other dialects or later revisions.
        narrowed: whether the operator asked for a part of the suites only.
        requirements: all requirements that the kit knew, with the levels that they have for the dialect.
        kit_version: of the kit.
        suite_digest: SHA-256 over the suites' and the requirements' files.
        started_at: UTC, ISO 8601.
        waivers: those whose scope the run has, as `conformance.waivers.waiver.Waiver.to_dict` gives them.
        schema: version of the record's format.
    """

    implementation: str
    dialect: str
    revision: str
    capabilities: Mapping[str, bool]
    environment: Mapping[str, str]
    options: Mapping[str, Any]
    planned: int
    not_applicable: int
    narrowed: bool
    requirements: tuple[Requirement, ...]
    kit_version: str
    suite_digest: str
    started_at: str
    waivers: tuple[Mapping[str, str], ...] = ()
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The header as JSON values."""
        return {
            **{entry.name: getattr(self, entry.name) for entry in fields(self)},
            "requirements": [entry.to_dict() for entry in self.requirements],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Header:
        """The inverse of `to_dict`; keys of later versions are ignored."""
        names = {entry.name for entry in fields(cls)}
        arguments = {name: value for name, value in values.items() if name in names}
        arguments["waivers"] = tuple(arguments.get("waivers", ()))
        arguments["requirements"] = tuple(Requirement.from_dict(entry) for entry in arguments["requirements"])
        return cls(**arguments)
