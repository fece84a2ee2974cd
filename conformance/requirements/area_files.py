"""Reads the areas' files.

Each area has one file, ``areas/AREA.toml``.  The reader refuses what it does not understand, because a requirement
that is silently dropped is never tested.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from conformance.errors import RequirementError
from conformance.requirements import reader
from conformance.requirements.registry import Area, Registry, Requirement
from conformance.requirements.revisions import Revision
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS, LEVELS, Dialect

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

_FILE_KEYS = {"area", "title", "composite", "requirement"}
#: What is not written with a requirement, but comes from its file or from the documents.
_DERIVED = {"area", "composite", "statements", "advised"}


def read_registry(folder: Traversable) -> Registry:
    """The requirements in the ``*.toml`` files of `folder`.

    Raises:
        RequirementError: a file is malformed; the message names the file and the entry.
    """
    return Registry(_read_area(file) for file in reader.files_of(folder))


def _read_area(file: Traversable) -> Area:
    content = reader.content_of(file)
    reader.refuse_unknown_keys(file.name, content, _FILE_KEYS)
    area = reader.name_of(file, content, "area")
    composite = reader.switch_of(file.name, content, "composite")
    by_id: dict[str, Requirement] = {}
    for number, entry in enumerate(reader.entries_of(file, content, "requirement"), 1):
        requirement = replace(_read_requirement(file.name, area, number, entry), composite=composite)
        if requirement.id in by_id:
            raise RequirementError(f"{file.name}: {requirement.id} stands there twice")
        by_id[requirement.id] = requirement
    return Area(area, reader.text_of(file.name, content, "title"), tuple(by_id.values()))


def _read_requirement(file: str, area: str, number: int, entry: Mapping[str, Any]) -> Requirement:
    identity = reader.text_of(f"{file}, entry {number}", entry, "id")
    where = f"{file}, {identity}"
    reader.refuse_unknown_keys(where, entry, {field.name for field in fields(Requirement)} - _DERIVED)
    prefix, dot, slug = identity.partition(".")
    if prefix != area or not dot:
        raise RequirementError(f"{where}: the id must start with the file's area, '{area}.'")
    if not reader.SLUG.fullmatch(slug):
        raise RequirementError(f"{where}: the part after the dot is not lower-case words joined by '-'")
    since = reader.revision_of(where, entry, "since")
    until = reader.revision_of(where, entry, "until") if "until" in entry else None
    if until is not None and Revision(until) <= Revision(since):
        raise RequirementError(f"{where}: 'until' is {until}, which is not after 'since', {since}")
    capability = reader.word_of(where, entry, "capability", tuple(CAPABILITIES)) if "capability" in entry else None
    level = reader.word_of(where, entry, "level", LEVELS)
    probes = reader.word_of(where, entry, "probes", tuple(CAPABILITIES)) if "probes" in entry else None
    if probes is not None and (level != "may" or capability is not None):
        raise RequirementError(f"{where}: what probes a declaration must be a 'may', and behind no capability")
    return Requirement(
        id=identity,
        area=area,
        level=level,
        text=reader.text_of(where, entry, "text"),
        documents=reader.texts_of(where, entry, "documents"),
        since=since,
        until=until,
        dialects=_dialects(where, entry),
        capability=capability,
        untestable=reader.text_of(where, entry, "untestable") if "untestable" in entry else None,
        destructive=reader.switch_of(where, entry, "destructive"),
        probes=probes,
        needs=_needs(where, entry, capability),
    )


def _needs(where: str, entry: Mapping[str, Any], capability: str | None) -> tuple[str, ...]:
    """The further capabilities that a requirement needs, each once and in the vocabulary's order."""
    if "needs" not in entry:
        return ()
    names = reader.texts_of(where, entry, "needs")
    for name in names:
        if name not in CAPABILITIES:
            raise RequirementError(f"{where}: unknown capability {name!r}; known: {', '.join(CAPABILITIES)}")
    if capability in names or len(set(names)) < len(names):
        raise RequirementError(f"{where}: 'needs' names what is needed besides 'capability', each once")
    return tuple(name for name in CAPABILITIES if name in names)


def _dialects(where: str, entry: Mapping[str, Any]) -> tuple[Dialect, ...]:
    if "dialects" not in entry:
        return DIALECTS
    names = reader.texts_of(where, entry, "dialects")
    for dialect in names:
        if dialect not in DIALECTS:
            raise RequirementError(f"{where}: unknown dialect {dialect!r}; known: {', '.join(DIALECTS)}")
    return tuple(dialect for dialect in DIALECTS if dialect in names)
