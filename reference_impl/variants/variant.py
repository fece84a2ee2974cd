"""What a conforming variant is, and how the modules of this package write theirs down."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, TypeVar

from reference_impl.faults.fault import Apply, kebab_case

_Class = TypeVar("_Class", bound=type)

CUDA = ("reference",)
ACCELERATOR = ("reference.accelerator",)
EVERY_DIALECT = ("reference", "reference.xpu", "reference.accelerator")
EVERYWHERE = (*EVERY_DIALECT, "reference.asynchronous")


@dataclasses.dataclass(frozen=True)
class Variant:
    """A change of the reference that the documents allow.

    Attributes:
        name: lower-case words joined by ``-``.
        about: what differs, and why it may.
        implementations: the faces of the reference that are changed, each in its turn.
        apply: makes a context in which the implementation differs.  What the context gives is the graph class to use;
            or what the vendor's adapter would state otherwise, by attribute; or ``None``, when it would state nothing.
        declines: ids of the advice that it does not follow, and would be told of.
    """

    name: str
    about: str
    implementations: tuple[str, ...]
    apply: Apply
    declines: tuple[str, ...] = ()


class Variants(list[Variant]):
    """The variants of one module."""

    def graph_class(self, *implementations: str, declines: tuple[str, ...] = ()) -> Callable[[_Class], _Class]:
        """Note a graph class; its name and its docstring are the variant's."""

        def note(cls: _Class) -> _Class:
            self._note(cls, implementations, functools.partial(contextlib.nullcontext, cls), declines)
            return cls

        return note

    def patch(self, *implementations: str, declines: tuple[str, ...] = ()) -> Callable[[Apply], Apply]:
        """Note a function that gives a context in which something is replaced; name and docstring are the variant's."""

        def note(apply: Apply) -> Apply:
            self._note(apply, implementations, apply, declines)
            return apply

        return note

    def _note(self, named: Any, implementations: tuple[str, ...], apply: Apply, declines: tuple[str, ...] = ()) -> None:
        about = " ".join(textwrap.dedent(named.__doc__ or "").split())
        self.append(Variant(kebab_case(named.__name__), about, implementations, apply, declines))


@contextlib.contextmanager
def stated(*changes: AbstractContextManager[Any], **attributes: Any) -> Iterator[dict[str, Any]]:
    """All of `changes` at once, with what the vendor's adapter states otherwise: its `attributes`."""
    with contextlib.ExitStack() as stack:
        for change in changes:
            stack.enter_context(change)
        yield attributes


@contextlib.contextmanager
def removed(owner: type, name: str) -> Iterator[None]:
    """Take an attribute away from a class that has it itself."""
    attribute = vars(owner)[name]
    delattr(owner, name)
    try:
        yield
    finally:
        setattr(owner, name, attribute)


class Lacking:
    """A module as it would be without some of its names.

    Args:
        module: that has them.
        names: what is missing.
        others: what stands for some of the names that are left.
    """

    def __init__(self, module: Any, names: Collection[str], others: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._module = module
        self._names = frozenset(names)
        self._others = others

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            raise AttributeError(f"module {self._module.__name__!r} has no attribute {name!r}")
        return self._others[name] if name in self._others else getattr(self._module, name)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._module) if name not in self._names]
