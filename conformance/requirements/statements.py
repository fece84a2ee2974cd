"""What the documents say, statement by statement, and which requirements decide each.

Each document has one file, ``documents/DOCUMENT.toml`` next to this module.  As with the requirements, the loader
refuses what it does not understand, so that nothing a document says is lost in silence.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from conformance.errors import RequirementError
from conformance.requirements import reader
from conformance.requirements.registry import Registry
from conformance.requirements.vocabulary import DIALECTS, Dialect

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

Kind = Literal[
    "member",  # something has this name
    "parameter",  # it takes this
    "default",  # what that is when left out
    "keyword-only",  # it is taken by name only
    "return",  # what comes back
    "sentence",  # what the text says
    "note",
    "warning",
    "example",
    "assertion",  # of published source code
    "behaviour",  # what published source code does
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_MEMBER = re.compile(r"[A-Za-z_]\w*")
_FILE_KEYS = {"document", "title", "revision", "dialect", "statement"}


@dataclass(frozen=True)
class Statement:
    """One thing that a document says.

    Attributes:
        id: ``DOCUMENT.member.slug``; never changes its meaning.
        member: what it is about.
        kind: see `Kind`.
        text: what it says, in the kit's own words.
        requirements: the ids of those that decide it; empty when it is untestable.
        untestable: why no test can decide it, or ``None``.
    """

    id: str
    member: str
    kind: Kind
    text: str
    requirements: tuple[str, ...] = ()
    untestable: str | None = None

    @property
    def promises(self) -> bool:
        """Whether an author of another implementation is bound by it: code that happens to do so binds nobody."""
        return self.kind not in {"assertion", "behaviour"}

    def to_dict(self) -> dict[str, Any]:
        """The statement as JSON values."""
        return {**asdict(self), "requirements": list(self.requirements)}


@dataclass(frozen=True)
class Document:
    """One document.

    Attributes:
        key: the name of its file, and the first part of its statements' ids.
        title: what it is.
        revision: the PyTorch release that it describes.
        dialect: of the class that it describes.
        statements: all of them, in the document's order.
    """

    key: str
    title: str
    revision: str
    dialect: Dialect
    statements: tuple[Statement, ...]

    @property
    def members(self) -> tuple[str, ...]:
        """What it has statements about, in its order."""
        return tuple(dict.fromkeys(statement.member for statement in self.statements))


def read_documents(folder: Traversable, registry: Registry) -> tuple[Document, ...]:
    """The documents in the ``*.toml`` files of `folder`, whose statements name requirements of `registry`.

    Raises:
        RequirementError: a file is malformed; the message names the file and the entry.
    """
    return tuple(_read_document(file, registry) for file in reader.files_of(folder))


def _read_document(file: Traversable, registry: Registry) -> Document:
    content = reader.content_of(file)
    reader.refuse_unknown_keys(file.name, content, _FILE_KEYS)
    key = reader.name_of(file, content, "document")
    head = Document(
        key=key,
        title=reader.text_of(file.name, content, "title"),
        revision=reader.revision_of(file.name, content, "revision"),
        dialect=reader.word_of(file.name, content, "dialect", DIALECTS),
        statements=(),
    )
    by_id: dict[str, Statement] = {}
    for number, entry in enumerate(reader.entries_of(file, content, "statement"), 1):
        statement = _read_statement(file.name, head, number, entry, registry)
        if statement.id in by_id:
            raise RequirementError(f"{file.name}: {statement.id} stands there twice")
        by_id[statement.id] = statement
    return Document(key, head.title, head.revision, head.dialect, tuple(by_id.values()))


def _read_statement(
    file: str, document: Document, number: int, entry: Mapping[str, Any], registry: Registry
) -> Statement:
    identity = reader.text_of(f"{file}, entry {number}", entry, "id")
    where = f"{file}, {identity}"
    reader.refuse_unknown_keys(where, entry, {field.name for field in fields(Statement)} - {"member"})
    parts = identity.split(".")
    if (
        len(parts) != 3
        or parts[0] != document.key
        or not _MEMBER.fullmatch(parts[1])
        or not reader.SLUG.fullmatch(parts[2])
    ):
        raise RequirementError(f"{where}: the id must be '{document.key}.MEMBER.lower-case-words'")
    if ("requirements" in entry) == ("untestable" in entry):
        raise RequirementError(f"{where}: give either the requirements that decide it or why it is untestable")
    requirements = reader.texts_of(where, entry, "requirements") if "requirements" in entry else ()
    for name in requirements:
        _check_deciding(where, document, registry, name)
    if len(set(requirements)) != len(requirements):
        raise RequirementError(f"{where}: names a requirement twice")
    return Statement(
        id=identity,
        member=parts[1],
        kind=reader.word_of(where, entry, "kind", KINDS),
        text=reader.text_of(where, entry, "text"),
        requirements=requirements,
        untestable=reader.text_of(where, entry, "untestable") if "untestable" in entry else None,
    )


def _check_deciding(where: str, document: Document, registry: Registry, name: str) -> None:
    """Refuse a requirement that no run could decide the statement by."""
    requirement = registry.get(name, where)
    if requirement.untestable is not None:
        raise RequirementError(f"{where} rests on {name}, which is untestable: say here why the statement is")
    if not requirement.holds_for(document.dialect, document.revision):
        end = f" until {requirement.until}" if requirement.until is not None else ""
        holds = f"since {requirement.since}{end} for {', '.join(requirement.dialects)}"
        about = f"{document.revision} for {document.dialect}"
        raise RequirementError(f"{where} rests on {name}, which holds {holds}; the document is about {about}")
