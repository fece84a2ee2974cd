"""One call of a member under distortion, and what a distortion remembers between calls."""

from __future__ import annotations

import gc
import inspect
import itertools
import mmap
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

_Value = TypeVar("_Value")


class Mark:
    """Says whether a distortion ever differed from the plain class; a forked process's parent sees it, too."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    def set(self) -> None:
        """It differed."""
        self._shared[0] = 1

    @property
    def is_set(self) -> bool:
        return self._shared[0] != 0


@dataclass(frozen=True)
class Call:
    """A call that a user makes.

    Attributes:
        work: what the plain class does.
        args, kwargs: as they were given, a method's object first.
        signature: of `work`.
        is_method: whether the first argument is the object.
    """

    work: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    signature: inspect.Signature
    is_method: bool

    @property
    def owner(self) -> Any:
        """The object whose method is called, or ``None``."""
        return self.args[0] if self.is_method else None

    def do(self) -> Any:
        """Do the work."""
        return self.work(*self.args, **self.kwargs)

    def on(self, other: Any) -> Any:
        """Do the work on another object."""
        return self.work(other, *self.args[1:], **self.kwargs)

    def argument(self, name: str) -> Any:
        """What the parameter `name` got, its default when nothing was given.

        Raises:
            TypeError: the call does not fit the signature.
        """
        bound = self.signature.bind(*self.args, **self.kwargs)
        bound.apply_defaults()
        return bound.arguments[name]

    def gives(self, name: str) -> bool:
        """Whether the call gives the parameter `name` anything."""
        try:
            return name in self.signature.bind(*self.args, **self.kwargs).arguments
        except TypeError:
            return False

    def with_argument(self, name: str, value: Any) -> Call:
        """The same call with another value for `name`.

        Raises:
            TypeError: the call does not fit the signature.
        """
        bound = self.signature.bind(*self.args, **self.kwargs)
        bound.arguments[name] = value
        bound.apply_defaults()
        return replace(self, args=bound.args, kwargs=bound.kwargs)

    def without_argument(self, name: str) -> Call:
        """The same call with the default for `name`.

        Raises:
            TypeError: the call does not fit the signature.
        """
        return self.with_argument(name, self.signature.parameters[name].default)


Act = Callable[[Call], Any]


class PerOwner(Generic[_Value]):
    """A value for each object whose methods are called, forgotten with it; functions share one."""

    def __init__(self) -> None:
        self._of_objects: weakref.WeakKeyDictionary[Any, _Value] = weakref.WeakKeyDictionary()
        self._of_functions: list[_Value] = []

    def get(self, owner: Any, otherwise: _Value) -> _Value:
        """The value for `owner`, or `otherwise` when it has none."""
        if owner is None:
            return self._of_functions[0] if self._of_functions else otherwise
        return self._of_objects.get(owner, otherwise)

    def put(self, owner: Any, value: _Value) -> None:
        """Give `owner` a value."""
        if owner is None:
            self._of_functions[:] = [value]
        else:
            self._of_objects[owner] = value


class Owners:
    """The objects whose methods were called, as long as they live."""

    def __init__(self) -> None:
        self._seen: list[weakref.ref[Any]] = []

    def others_than(self, owner: Any) -> Iterator[Any]:
        """The other objects of the kind of `owner`, which is noted: the one called last comes first."""
        alive = [(each, ref) for ref in self._seen if (each := ref()) is not None and each is not owner]
        self._seen = [*(ref for _, ref in alive), weakref.ref(owner)]
        called = [each for each, _ in reversed(alive)]
        return itertools.chain(called, _never_called(owner, called))


def _never_called(owner: Any, called: Sequence[Any]) -> Iterator[Any]:
    """The other objects of the kind of `owner` that are not among `called`, the newest first."""
    # Those that were made before the process was forked are not among them, as they are frozen.
    alive = [each for each in gc.get_objects() if type(each) is type(owner) and each is not owner]
    yield from (each for each in reversed(alive) if all(each is not other for other in called))


def differ(one: Any, other: Any) -> bool:
    """Whether two values can be told apart; what cannot be compared can."""
    try:
        return type(one) is not type(other) or bool(one != other)
    except (RuntimeError, TypeError, ValueError):
        return one is not other
