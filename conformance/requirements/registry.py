"""The requirements: what they are and where they come from.

Each area has one file, ``areas/AREA.toml``.  The loader refuses what it does not understand, because a requirement
that is silently dropped is never tested.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from conformance.errors import RequirementError
from conformance.requirements import reader
from conformance.requirements.revisions import Revision
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS, LEVELS, Dialect, Level

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

#: Lower-case words joined by ``-``.
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FILE_KEYS = {"area", "title", "requirement"}


@dataclass(frozen=True)
class Requirement:
    """One testable statement of the documents.

    Attributes:
        id: ``area.slug``; never changes its meaning.
        area: the file that it is in.
        level: ``must`` (documented), ``should`` (advice or safety), ``may`` (left open: recorded, never judged).
        text: the statement.
        documents: where it is documented.
        since: the first revision whose documents say so.
        dialects: the shapes of the class that it holds for.
        capability: the optional feature that it is part of, or ``None`` when every implementation owes it.
        untestable: why no test can decide it, or ``None``.
        destructive: whether deciding it may leave the process unusable.
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

    @property
    def headline(self) -> str:
        """Its id, standing and text, as failures and scripts quote it."""
        return f"{self.id} ({self.level}, since {self.since}): {self.text}"

    @property
    def scored(self) -> bool:
        """Whether an implementation is judged by it."""
        return self.level != "may" and self.untestable is None

    def holds_for(self, dialect: str, revision: str) -> bool:
        """Whether the documents of `revision` ask this of a class of that `dialect`."""
        return dialect in self.dialects and Revision(self.since) <= Revision(revision)

    def to_dict(self) -> dict[str, Any]:
        """The requirement as JSON values."""
        values = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Requirement:
        """The inverse of `to_dict`; keys of later versions are ignored."""
        names = {field.name for field in fields(cls)}
        arguments: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if name in names
        }
        return cls(**arguments)


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


def unclaimed(claimed_ids: Iterable[str], registry: Registry | None = None) -> tuple[str, ...]:
    """The ids of testable requirements that are not among the `claimed_ids`: holes in the suites."""
    requirements = (registry or load_registry()).requirements.values()
    ids = set(claimed_ids)
    return tuple(entry.id for entry in requirements if entry.untestable is None and entry.id not in ids)


# -- loading ----------------------------------------------------------------------------------------------------------


@cache
def load_registry() -> Registry:
    """The kit's own requirements, read once.

    Raises:
        RequirementError: a file is malformed.
    """
    return read_registry(resources.files("conformance.requirements") / "areas")


def read_registry(folder: Traversable) -> Registry:
    """The requirements in the ``*.toml`` files of `folder`.

    Raises:
        RequirementError: a file is malformed; the message names the file and the entry.
    """
    return Registry(_read_area(file) for file in reader.files_of(folder))


def _read_area(file: Traversable) -> Area:
    content = reader.content_of(file)
    name = file.name.removesuffix(".toml")
    reader.refuse_unknown_keys(file.name, content, _FILE_KEYS)
    area = reader.text_of(file.name, content, "area")
    if area != name:
        raise RequirementError(f"{file.name}: area is {area!r}; it must be the file's name, {name!r}")
    if not SLUG.fullmatch(area):
        raise RequirementError(f"{file.name}: area {area!r} is not lower-case words joined by '-'")
    by_id: dict[str, Requirement] = {}
    for number, entry in enumerate(reader.entries_of(file, content, "requirement"), 1):
        requirement = _read_requirement(file.name, area, number, entry)
        if requirement.id in by_id:
            raise RequirementError(f"{file.name}: {requirement.id} stands there twice")
        by_id[requirement.id] = requirement
    return Area(area, reader.text_of(file.name, content, "title"), tuple(by_id.values()))


def _read_requirement(file: str, area: str, number: int, entry: Mapping[str, Any]) -> Requirement:
    identity = reader.text_of(f"{file}, entry {number}", entry, "id")
    where = f"{file}, {identity}"
    reader.refuse_unknown_keys(where, entry, {field.name for field in fields(Requirement)} - {"area"})
    prefix, dot, slug = identity.partition(".")
    if prefix != area or not dot:
        raise RequirementError(f"{where}: the id must start with the file's area, '{area}.'")
    if not SLUG.fullmatch(slug):
        raise RequirementError(f"{where}: the part after the dot is not lower-case words joined by '-'")
    capability = reader.word_of(where, entry, "capability", tuple(CAPABILITIES)) if "capability" in entry else None
    return Requirement(
        id=identity,
        area=area,
        level=reader.word_of(where, entry, "level", LEVELS),
        text=reader.text_of(where, entry, "text"),
        documents=reader.texts_of(where, entry, "documents"),
        since=reader.revision_of(where, entry, "since"),
        dialects=_dialects(where, entry),
        capability=capability,
        untestable=reader.text_of(where, entry, "untestable") if "untestable" in entry else None,
        destructive=reader.switch_of(where, entry, "destructive"),
    )


def _dialects(where: str, entry: Mapping[str, Any]) -> tuple[Dialect, ...]:
    if "dialects" not in entry:
        return DIALECTS
    names = reader.texts_of(where, entry, "dialects")
    for dialect in names:
        if dialect not in DIALECTS:
            raise RequirementError(f"{where}: unknown dialect {dialect!r}; known: {', '.join(DIALECTS)}")
    return tuple(dialect for dialect in DIALECTS if dialect in names)
