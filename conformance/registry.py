"""The requirements: what they are, where they come from, and how a test claims one.

Each area has one file, ``conformance/requirements/AREA.toml``.  The loader refuses whatever it does not understand,
because a requirement that is silently dropped is one that nobody is held to.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest

from conformance.errors import RequirementError, one_line
from conformance.revisions import Revision
from conformance.vocabulary import CAPABILITIES, DIALECTS, LEVELS, Dialect, Level

if sys.version_info >= (3, 11):
    import tomllib

    if TYPE_CHECKING:
        from importlib.resources.abc import Traversable
else:
    import tomli as tomllib

    if TYPE_CHECKING:
        from importlib.abc import Traversable

#: The pytest marker beneath `requirement`.  Long, because markers are one namespace for all of a project's plug-ins.
MARKER = "conformance_requirement"

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FILE_KEYS = {"area", "title", "requirement"}

_Test = TypeVar("_Test", bound=Callable[..., Any])
_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True)
class Requirement:
    """One testable statement of the documents.

    Attributes:
        id: ``area.slug``; never changes its meaning.
        area: the file that it stands in.
        level: ``must`` (documented), ``should`` (advice or safety), ``may`` (left open: recorded, never judged).
        text: the statement.
        documents: where it is documented.
        since: the first revision whose documents say so.
        dialects: the shapes of the class that it holds for.
        capability: the optional feature that it stands behind, or ``None`` when every implementation owes it.
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
        """The inverse of `to_dict`; keys of later versions are passed over."""
        known = {field.name for field in fields(cls)}
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if name in known
        }
        return cls(**given)


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
        found = self.requirements.get(identity)
        if found is not None:
            return found
        area, _, _ = identity.partition(".")
        hint = "no such entry in that area's file" if area in self.areas else f"no area {area!r}"
        raise RequirementError(f"{where} names the unknown requirement {identity!r} ({hint})")


# -- claiming ---------------------------------------------------------------------------------------------------------


def requirement(*identities: str) -> Callable[[_Test], _Test]:
    """State the requirements that a test decides: ``@requirement("pools.shared-token")``.

    Raises:
        TypeError: no id, or something that is not a string; most often a forgotten pair of parentheses.
    """
    if not identities or not all(isinstance(identity, str) for identity in identities):
        raise TypeError('requirement takes ids: @requirement("area.slug")')
    mark: Callable[[_Test], _Test] = getattr(pytest.mark, MARKER)(*identities)
    return mark


class Marked(Protocol):
    """The part of a pytest item that says what it claims."""

    def iter_markers(self, name: str | None = None) -> Iterable[Any]: ...


def claimed_ids(item: Marked) -> tuple[str, ...]:
    """The ids that `item` names, in the order written, each once."""
    marks = reversed(list(item.iter_markers(MARKER)))
    return tuple(dict.fromkeys(identity for mark in marks for identity in mark.args))


def unclaimed(claimed: Iterable[str], registry: Registry | None = None) -> tuple[str, ...]:
    """The ids of testable requirements that are not among the `claimed` ones: holes in the suites."""
    known = (registry or load_registry()).requirements.values()
    taken = set(claimed)
    return tuple(entry.id for entry in known if entry.untestable is None and entry.id not in taken)


# -- loading ----------------------------------------------------------------------------------------------------------


@cache
def load_registry() -> Registry:
    """The kit's own requirements, read once.

    Raises:
        RequirementError: a file is malformed.
    """
    return read_registry(resources.files("conformance.requirements"))


def read_registry(folder: Traversable) -> Registry:
    """The requirements in the ``*.toml`` files of `folder`.

    Raises:
        RequirementError: a file is malformed; the message names the file and the entry.
    """
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda file: file.name)
    return Registry(_read_area(file) for file in files)


def _read_area(file: Traversable) -> Area:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RequirementError(f"{file.name}: not TOML: {one_line(str(error))}") from None
    name = file.name.removesuffix(".toml")
    _refuse_unknown_keys(file.name, content, _FILE_KEYS)
    area = _string(file.name, content, "area")
    if area != name:
        raise RequirementError(f"{file.name}: area is {area!r}; it must be the file's name, {name!r}")
    if not _SLUG.fullmatch(area):
        raise RequirementError(f"{file.name}: area {area!r} is not lower-case words joined by '-'")
    entries = content.get("requirement")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise RequirementError(f"{file.name}: no [[requirement]] entries")
    seen: dict[str, Requirement] = {}
    for number, entry in enumerate(entries, 1):
        one = _read_requirement(file.name, area, number, entry)
        if one.id in seen:
            raise RequirementError(f"{file.name}: {one.id} stands there twice")
        seen[one.id] = one
    return Area(area, _string(file.name, content, "title"), tuple(seen.values()))


def _read_requirement(file: str, area: str, number: int, entry: Mapping[str, Any]) -> Requirement:
    identity = _string(f"{file}, entry {number}", entry, "id")
    where = f"{file}, {identity}"
    _refuse_unknown_keys(where, entry, {field.name for field in fields(Requirement)} - {"area"})
    prefix, dot, slug = identity.partition(".")
    if prefix != area or not dot:
        raise RequirementError(f"{where}: the id must start with the file's area, '{area}.'")
    if not _SLUG.fullmatch(slug):
        raise RequirementError(f"{where}: the part after the dot is not lower-case words joined by '-'")
    return Requirement(
        id=identity,
        area=area,
        level=_one_of(where, entry, "level", LEVELS),
        text=_string(where, entry, "text"),
        documents=_strings(where, entry, "documents"),
        since=_revision(where, entry),
        dialects=_dialects(where, entry),
        capability=_one_of(where, entry, "capability", tuple(CAPABILITIES)) if "capability" in entry else None,
        untestable=_string(where, entry, "untestable") if "untestable" in entry else None,
        destructive=_boolean(where, entry, "destructive"),
    )


def _refuse_unknown_keys(where: str, entry: Mapping[str, Any], known: set[str]) -> None:
    for key in entry:
        if key not in known:
            raise RequirementError(f"{where}: unknown key {key!r}; known: {', '.join(sorted(known))}")


def _value(where: str, entry: Mapping[str, Any], key: str) -> Any:
    if key not in entry:
        raise RequirementError(f"{where}: {key!r} is missing")
    return entry[key]


def _string(where: str, entry: Mapping[str, Any], key: str) -> str:
    value = _value(where, entry, key)
    if not isinstance(value, str) or not value.strip():
        raise RequirementError(f"{where}: {key!r} must be a text, not {value!r}")
    return value


def _strings(where: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = _value(where, entry, key)
    if not isinstance(value, list) or not value or not all(isinstance(part, str) and part.strip() for part in value):
        raise RequirementError(f"{where}: {key!r} must be a list of at least one text, not {value!r}")
    return tuple(value)


def _one_of(where: str, entry: Mapping[str, Any], key: str, known: tuple[_Word, ...]) -> _Word:
    value = _string(where, entry, key)
    for word in known:
        if word == value:
            return word
    raise RequirementError(f"{where}: unknown {key} {value!r}; known: {', '.join(known)}")


def _dialects(where: str, entry: Mapping[str, Any]) -> tuple[Dialect, ...]:
    if "dialects" not in entry:
        return DIALECTS
    named = _strings(where, entry, "dialects")
    for dialect in named:
        if dialect not in DIALECTS:
            raise RequirementError(f"{where}: unknown dialect {dialect!r}; known: {', '.join(DIALECTS)}")
    return tuple(dialect for dialect in DIALECTS if dialect in named)


def _revision(where: str, entry: Mapping[str, Any]) -> str:
    text = _string(where, entry, "since")
    try:
        return str(Revision(text))
    except ValueError as error:
        raise RequirementError(f"{where}: 'since': {error}") from None


def _boolean(where: str, entry: Mapping[str, Any], key: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise RequirementError(f"{where}: {key!r} must be true or false, not {value!r}")
    return value
