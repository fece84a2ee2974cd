"""What was found under a name: which class, whose adapter, and what both say of themselves."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from conformance.adapter import Adapter
from conformance.adapters.implementations import KNOWN
from conformance.requirements.loading import load_documents, load_registry


@dataclass(frozen=True)
class Facts:
    """About one implementation, in words.

    Attributes:
        graph_class: its name, its module, and where it is defined.
        adapter: likewise.
        dialect: and how it came about.
        revision: likewise.
        has: of the members that its page lists, those that are there.
        lacks: and those that are not.
        declared: the capabilities.
        derived: what nobody wrote and the kit found out itself.
    """

    graph_class: str
    adapter: str
    dialect: str
    revision: str
    has: tuple[str, ...]
    lacks: tuple[str, ...]
    declared: dict[str, bool]
    derived: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The facts as JSON values."""
        return asdict(self)


def facts_of(spec: str, adapter: Adapter, revision: str | None) -> Facts:
    """What is known of an adapter without calling it.

    Args:
        spec: that names it.
        adapter: that was found.
        revision: that the user asked for.
    """
    cls = adapter.graph_class
    listed = tuple(_listed(adapter))
    return Facts(
        graph_class=_located(cls) + _note(spec, cls),
        adapter=f"{adapter.name!r}, an object of {_located(type(adapter))}",
        dialect=f"{adapter.dialect}, {_origin(adapter, 'dialect', spec)}",
        revision=f"{adapter.revision}, {'as --revision says' if revision else _origin(adapter, 'revision', spec)}",
        has=tuple(name for name in listed if callable(getattr(cls, name, None))),
        lacks=tuple(name for name in listed if not callable(getattr(cls, name, None))),
        declared=dict(adapter.capabilities),
        derived=tuple(adapter.derivation),
    )


def _located(cls: type) -> str:
    text = f"{cls.__module__}.{cls.__qualname__}"
    with contextlib.suppress(OSError, TypeError):  # of what is written in C, or in no file
        return f"{text} ({inspect.getsourcefile(cls)}, line {inspect.getsourcelines(cls)[1]})"
    return text


def _note(spec: str, cls: type) -> str:
    own = next((name for name, known in KNOWN.items() if known.software and known.defines(cls)), None)
    return "" if own is None or spec in KNOWN else f"; note: this is the kit's own class, {own}"


def _origin(adapter: Adapter, name: str, spec: str) -> str:
    """How the dialect or the revision came about."""
    if adapter.derivation:
        return "derived as said below"
    if spec in KNOWN:
        return "as the kit's adapter for it says"
    base = next((known for known, entry in KNOWN.items() if any(map(entry.defines, adapter.graph_class.__mro__))), None)
    if base is not None and type(adapter).__module__.startswith(f"{__name__.partition('.')[0]}.adapters."):
        return f"as for {base}, whose class it derives from"
    if name in vars(adapter) or any(name in vars(cls) for cls in type(adapter).__mro__ if cls is not Adapter):
        return "as the adapter says"
    return "the default, since the adapter names none"


def _listed(adapter: Adapter) -> Iterator[str]:
    """The methods that the page of the class lists, in the release that it claims."""
    requirements = load_registry().requirements
    for document in load_documents().values():
        for statement in document.statements if document.dialect == adapter.dialect else ():
            if statement.kind == "member" and statement.id.endswith(".method") and document.key == adapter.dialect:
                entries = [requirements[identity] for identity in statement.requirements]
                if any(entry.holds_for(adapter.dialect, adapter.revision) for entry in entries):
                    yield statement.member
