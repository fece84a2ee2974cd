"""The requirements: what they are, and for whom each holds at which level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from conformance.errors import RequirementError
from conformance.requirements.revisions import Revision
from conformance.requirements.vocabulary import DIALECTS, Dialect, Level


@dataclass(frozen=True)
class Requirement:
    """One testable statement of the documents.

    Attributes:
        id: ``area.slug``; never changes its meaning.
        area: the file that it is in.
        level: ``must`` (a statement says so), ``should`` (it follows from one, or is safety that any engineer expects),
            ``may`` (left open: recorded, never judged); see `level_for`.
        text: what is demanded.
        documents: where one reads about it.
        since: the first revision whose documents ask it.
        dialects: the shapes of the class that it holds for.
        capability: the optional feature that it is part of, or ``None`` when every implementation owes it.
        untestable: why no test can decide it, or ``None``.
        destructive: whether deciding it may leave the process unusable.
        until: the first later revision whose documents no longer ask it, or ``None``.
        statements: the ids of the documents' statements that it decides.
        advised: the dialects for which a ``must`` is a ``should``, because no document of theirs says so.
        composite: whether it asks again what others ask, of long programs: judged, and counted apart.
        probes: the optional feature whose declaration it looks into, or ``None``.
        needs: further optional features without which it cannot be asked.
    """

    id: str
    area: str
    level: Level
    text: str
    documents: tuple[str, ...]
    since: str
    dialects: tuple[Dialect, ...] = DIALECTS
    capability: str | None = None
    untestable: str | None = None
    destructive: bool = False
    until: str | None = None
    statements: tuple[str, ...] = ()
    advised: tuple[Dialect, ...] = ()
    composite: bool = False
    probes: str | None = None
    needs: tuple[str, ...] = ()

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Every optional feature that it cannot be asked without."""
        return self.needs if self.capability is None else (self.capability, *self.needs)

    def lacks(self, declared: Mapping[str, bool]) -> str | None:
        """The first of them that is `declared` absent, or ``None``."""
        return next((name for name in self.capabilities if declared.get(name) is False), None)

    @property
    def headline(self) -> str:
        """Its id, standing and text, as failures and scripts quote it."""
        return f"{self.id} ({self.level}, since {self.since}): {self.text}"

    @property
    def origins(self) -> list[str]:
        """Where it comes from, a line each, as failures and scripts quote it; only a must is documented itself."""
        if self.level != "must":
            return [f"follows from {place}" for place in self.documents]
        places = [f"documented in {place}" for place in self.documents]
        return places + ([f"statements: {', '.join(self.statements)}"] if self.statements else [])

    @property
    def scored(self) -> bool:
        """Whether an implementation is judged by it."""
        return self.level != "may" and self.untestable is None

    def holds_for(self, dialect: str, revision: str) -> bool:
        """Whether the documents of `revision` ask this of a class of that `dialect`."""
        # A run that could not start has no dialect, and no revision that could be read.
        if dialect not in self.dialects or Revision(revision) < Revision(self.since):
            return False
        return self.until is None or Revision(revision) < Revision(self.until)

    def level_for(self, dialect: str) -> Level:
        """What it is to a class of that `dialect`: what no document of the dialect says is advice to it."""
        return "should" if self.level == "must" and dialect in self.advised else self.level

    def seen_by(self, dialect: str) -> Requirement:
        """The requirement with the level that it has for a class of that `dialect`."""
        level = self.level_for(dialect)
        return self if level == self.level else replace(self, level=level)

    def to_dict(self) -> dict[str, Any]:
        """The requirement as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Requirement:
        """The inverse of `to_dict`; keys of later versions are ignored."""
        arguments: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
            if name in _FIELDS
        }
        return cls(**arguments)


#: Looked up once: a reader of many records makes many requirements.
_FIELDS = frozenset(field.name for field in fields(Requirement))


@dataclass(frozen=True)
class Area:
    """One requirement file."""

    name: str
    title: str
    requirements: tuple[Requirement, ...]


class Registry:
    """All areas, and their requirements by id."""

    def __init__(self, areas: Iterable[Area]) -> None:
        self.areas: Mapping[str, Area] = {area.name: area for area in areas}
        self.requirements: Mapping[str, Requirement] = {
            entry.id: entry for area in self.areas.values() for entry in area.requirements
        }

    def seen_by(self, dialect: str) -> Registry:
        """The requirements with the levels that they have for a class of that `dialect`."""
        return Registry(
            replace(area, requirements=tuple(entry.seen_by(dialect) for entry in area.requirements))
            for area in self.areas.values()
        )

    def get(self, identity: str, where: str) -> Requirement:
        """The requirement `identity`.

        Raises:
            RequirementError: there is none; `where` says who asked.
        """
        requirement = self.requirements.get(identity)
        if requirement is not None:
            return requirement
        area, _, _ = identity.partition(".")
        hint = "no such entry in that area's file" if area in self.areas else f"no area {area!r}"
        raise RequirementError(f"{where} names the unknown requirement {identity!r} ({hint})")


def unclaimed(claimed_ids: Iterable[str], registry: Registry) -> tuple[str, ...]:
    """The ids of testable requirements that are not among the `claimed_ids`: holes in the suites."""
    requirements = registry.requirements.values()
    ids = set(claimed_ids)
    return tuple(entry.id for entry in requirements if entry.untestable is None and entry.id not in ids)
