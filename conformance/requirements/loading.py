"""The kit's own requirements and documents, each read once and tied to the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources

from conformance.errors import RequirementError
from conformance.requirements.area_files import read_registry
from conformance.requirements.registry import Area, Registry, Requirement
from conformance.requirements.statements import Document, read_documents
from conformance.requirements.vocabulary import Dialect

_FOLDER = resources.files("conformance.requirements")


@cache
def load_registry() -> Registry:
    """The kit's requirements.

    Raises:
        RequirementError: a file is malformed.
    """
    return tied(_areas(), load_documents().values())


@cache
def load_documents() -> Mapping[str, Document]:
    """The documents that the kit knows, by key.

    Raises:
        RequirementError: a file is malformed.
    """
    documents = read_documents(_FOLDER / "documents", _areas())
    return {document.key: document for document in documents}


@cache
def _areas() -> Registry:
    """The requirements as their own files have them."""
    return read_registry(_FOLDER / "areas")


def tied(registry: Registry, documents: Iterable[Document]) -> Registry:
    """`registry` with each requirement knowing its statements, and the dialects that have none to bind them.

    Raises:
        RequirementError: no document promises what a ``must`` demands.
    """
    statements: dict[str, list[str]] = {}
    promises: dict[str, set[Dialect]] = {}
    for document in documents:
        for statement in document.statements:
            for identity in statement.requirements:
                statements.setdefault(identity, []).append(statement.id)
                if statement.promises:
                    promises.setdefault(identity, set()).add(document.dialect)

    def known(entry: Requirement) -> Requirement:
        silent = tuple(dialect for dialect in entry.dialects if dialect not in promises.get(entry.id, ()))
        if entry.level == "must" and entry.untestable is None and silent == entry.dialects:
            raise RequirementError(f"{entry.area}.toml, {entry.id}: a must that no statement of a document promises")
        return replace(
            entry,
            statements=tuple(statements.get(entry.id, ())),
            advised=silent if entry.level == "must" else (),
        )

    return Registry(
        Area(area.name, area.title, tuple(known(entry) for entry in area.requirements))
        for area in registry.areas.values()
    )
