"""What a fault is, and how the modules of this package write theirs down."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar
from unittest import mock

Apply = Callable[[], AbstractContextManager[Any]]

_Class = TypeVar("_Class", bound=type)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A small defect of a graph implementation.

    Attributes:
        name: lower-case words joined by ``-``.
        layer: where the defect lies: ``class``, ``runtime``, ``allocator`` or ``recorder``.
        about: what is wrong, and which kind of mistake leads there.
        rejected_by: ids of the requirements that are broken by it; a suite has to reject it by one of them.
        implementation: the face of the reference that is broken: ``reference``, ``reference.asynchronous``,
            ``reference.xpu`` or ``reference.accelerator``.
        apply: makes a context in which the implementation is broken; what the context gives is the graph class to
            use, or ``None`` for the implementation's own.
    """

    name: str
    layer: str
    about: str
    rejected_by: tuple[str, ...]
    implementation: str
    apply: Apply


class Faults(list[Fault]):
    """The faults of one module.

    Args:
        layer: of all of them.
        implementation: that they break, unless they say otherwise.
    """

    def __init__(self, layer: str, implementation: str = "reference") -> None:
        super().__init__()
        self._layer = layer
        self._implementation = implementation

    def graph_class(self, *rejected_by: str, implementation: str | None = None) -> Callable[[_Class], _Class]:
        """Note a graph class that is broken; its name and its docstring are the fault's."""

        def note(cls: _Class) -> _Class:
            self._note(cls, rejected_by, implementation, functools.partial(contextlib.nullcontext, cls))
            return cls

        return note

    def patch(self, *rejected_by: str, implementation: str | None = None) -> Callable[[Apply], Apply]:
        """Note a function that gives a context in which something is replaced; name and docstring are the fault's."""

        def note(apply: Apply) -> Apply:
            self._note(apply, rejected_by, implementation, apply)
            return apply

        return note

    def _note(self, named: Any, rejected_by: tuple[str, ...], implementation: str | None, apply: Apply) -> None:
        about = " ".join(textwrap.dedent(named.__doc__ or "").split())
        self.append(
            Fault(
                kebab_case(named.__name__),
                self._layer,
                about,
                rejected_by,
                implementation or self._implementation,
                apply,
            )
        )


def kebab_case(name: str) -> str:
    """``RunsAtCaptureEnd`` and ``runs_at_capture_end`` as ``runs-at-capture-end``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", "-", name).lower()


@contextlib.contextmanager
def replaced(owner: Any, name: str, wrap: Callable[[Any], Any]) -> Iterator[None]:
    """Put ``wrap(original)`` in the place of the attribute `name` of `owner`.

    Args:
        owner: a module, a class or an object.
        name: of the attribute.
        wrap: gets what stood there: for a class the plain function or property.
    """
    original = vars(owner).get(name, getattr(owner, name)) if isinstance(owner, type) else getattr(owner, name)
    with mock.patch.object(owner, name, wrap(original)):
        yield


@contextlib.contextmanager
def together(*contexts: AbstractContextManager[Any]) -> Iterator[None]:
    """All of `contexts` at once."""
    with contextlib.ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        yield


class Countdown:
    """Says once in `every` calls that it is time: how an intermittent defect keeps its beat."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._calls = 0

    def due(self) -> bool:
        self._calls += 1
        return self._calls % self._every == 0
