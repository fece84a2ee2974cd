"""What a conforming variant is, and how the modules of this package write theirs down."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from reference_impl.faults.fault import Apply, kebab_case

_Class = TypeVar("_Class", bound=type)

CUDA = ("reference",)
EVERY_DIALECT = ("reference", "reference.xpu", "reference.accelerator")


@dataclasses.dataclass(frozen=True)
class Variant:
    """A change of the reference that the documents allow.

    Attributes:
        name: lower-case words joined by ``-``.
        about: what differs, and why it may.
        implementations: the faces of the reference that are changed, each in its turn.
        apply: makes a context in which the implementation differs; what the context gives is the graph class to use,
            or ``None`` for the implementation's own.
    """

    name: str
    about: str
    implementations: tuple[str, ...]
    apply: Apply


class Variants(list[Variant]):
    """The variants of one module."""

    def graph_class(self, *implementations: str) -> Callable[[_Class], _Class]:
        """Note a graph class; its name and its docstring are the variant's."""

        def note(cls: _Class) -> _Class:
            self._note(cls, implementations, functools.partial(contextlib.nullcontext, cls))
            return cls

        return note

    def patch(self, *implementations: str) -> Callable[[Apply], Apply]:
        """Note a function that gives a context in which something is replaced; name and docstring are the variant's."""

        def note(apply: Apply) -> Apply:
            self._note(apply, implementations, apply)
            return apply

        return note

    def _note(self, named: Any, implementations: tuple[str, ...], apply: Apply) -> None:
        about = " ".join(textwrap.dedent(named.__doc__ or "").split())
        self.append(Variant(kebab_case(named.__name__), about, implementations, apply))
