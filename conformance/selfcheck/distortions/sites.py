"""Where an implementation can be distorted: its documented members, as far as it has them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from conformance.adapter import Adapter
from conformance.requirements.loading import load_documents
from conformance.requirements.revisions import Revision
from conformance.requirements.statements import Document

#: What makes a class of the module, or the graph class, a context manager.
_BLOCK = ("__enter__", "__exit__")


class Place(Enum):
    """Where a call is looked up."""

    #: On the graph class.
    GRAPH = "graph"
    #: On the device module.
    MODULE = "module"
    #: On a class of the device module.
    CLASS = "class"


class Through(Enum):
    """What of a call's answer is called in turn."""

    #: A method of the answer.
    METHOD = "method"
    #: The answer, or each of its entries.
    CALL = "call"


@dataclass(frozen=True)
class Part:
    """A part of an answer.

    Attributes:
        path: keys from the answer to it; ``*`` stands for each entry of a list.
        kind: the name of its type.
    """

    path: tuple[str, ...]
    kind: str

    @property
    def many(self) -> bool:
        """Whether there is one for each entry of a list."""
        return "*" in self.path

    @property
    def name(self) -> str:
        """Its place in words."""
        return " ".join(key for key in self.path if key != "*")


@dataclass(frozen=True)
class Site:
    """A call that users make.

    Attributes:
        member: the documented name that it belongs to.
        place: where that name is looked up.
        attribute: the method of the graph class or of the module's class; of a function its own name.
        signature: of the call, a method's with its object.
        answer: the kind of what it answers: a type's name, ``None``, or ``Any`` where nobody says.
        parts: of an answer that was looked at, itself among them.
        through: when the call is one of an earlier call's answer: what of it is called.
        called: with `through`, the method's name.
    """

    member: str
    place: Place
    attribute: str
    signature: inspect.Signature
    answer: str
    parts: tuple[Part, ...] = ()
    through: Through | None = None
    called: str = ""

    @property
    def name(self) -> str:
        """What the call is called."""
        words = [self.member] if self.attribute == self.member else [self.member, self.attribute]
        if self.through is not None:
            words.append(self.called or "call")
        return ".".join(word.strip("_") for word in words)

    @property
    def is_method(self) -> bool:
        """Whether the call's first argument is its object."""
        return self.through is Through.METHOD or (self.through is None and self.place is not Place.MODULE)

    @property
    def is_question(self) -> bool:
        """Whether the call only tells something: it takes nothing, and answers with a plain value."""
        return not self.parameters and self.answer in {"bool", "int", "str", "list", "tuple", "dict"}

    @property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """What the call takes by name, the object left out."""
        own = list(self.signature.parameters.values())[1 if self.is_method else 0 :]
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return tuple(each for each in own if each.kind not in variable)


def documents_of(adapter: Adapter) -> list[Document]:
    """What describes the implementation's dialect, up to its revision."""
    mine = Revision(adapter.revision)
    documents = load_documents().values()
    return [each for each in documents if each.dialect == adapter.dialect and not mine < Revision(each.revision)]


def sites_of(adapter: Adapter, seen: Mapping[str, tuple[Part, ...]]) -> list[Site]:
    """Every documented call of the implementation.

    Args:
        adapter: of the implementation.
        seen: by method of the graph class, what its answer was made of when one was looked at.
    """
    members = dict.fromkeys(member for each in documents_of(adapter) for member in each.members)
    return [site for member in members for site in _of_member(adapter, member, seen)]


def _of_member(adapter: Adapter, member: str, seen: Mapping[str, tuple[Part, ...]]) -> Iterator[Site]:
    module = getattr(adapter, "module", None)
    if member == adapter.graph_class.__name__:
        yield from _of_class(adapter.graph_class, member, Place.GRAPH)
    elif callable(getattr(adapter.graph_class, member, None)):
        yield from _of_function(getattr(adapter.graph_class, member), member, Place.GRAPH, seen.get(member, ()))
    elif inspect.isclass(getattr(module, member, None)):
        yield from _of_class(getattr(module, member), member, Place.CLASS)
    elif inspect.isroutine(getattr(module, member, None)):
        yield from _of_function(getattr(module, member), member, Place.MODULE, ())


def _of_class(cls: type, member: str, place: Place) -> Iterator[Site]:
    for attribute in ("__init__", *_BLOCK):
        if attribute == "__init__" or hasattr(cls, attribute):
            function = getattr(cls, attribute)
            yield Site(member, place, attribute, inspect.signature(function), _answer(function))


def _of_function(function: Any, member: str, place: Place, parts: tuple[Part, ...]) -> Iterator[Site]:
    signature, answer = inspect.signature(function), _answer(function)
    yield Site(member, place, member, signature, answer, parts)
    kind = _hints(function).get("return")
    if kind is Any and any(each.default is inspect.Parameter.empty for each in signature.parameters.values()):
        # What is made of the arguments and has no type of its own may be called as they are.
        anything = inspect.signature(lambda *args, **kwargs: None)  # noqa: ARG005
        yield Site(member, place, member, anything, "Any", through=Through.CALL)
    elif inspect.isclass(kind) and kind.__module__ != "builtins":
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                its = inspect.signature(method)
                yield Site(member, place, member, its, _answer(method), through=Through.METHOD, called=name)


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (AttributeError, NameError, TypeError):  # it has names that only type checkers see, or no hints at all
        return {}


def _answer(function: Any) -> str:
    hints = _hints(function)
    if "return" not in hints:
        return "Any"
    kind = hints["return"]
    if kind is type(None):
        return "None"
    kind = typing.get_origin(kind) or kind
    return "Any" if kind is Any else str(getattr(kind, "__name__", "Any"))
