"""Members that are called nearly as what an adapter might have, and where members stand."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Iterator
from typing import Any

from conformance.adapter import Adapter, ModuleAdapter

#: How alike two names must be to be taken for one and the same.
_ALIKE = 0.85


def is_alike(name: str, names: list[str]) -> bool:
    """Whether `name` is one of `names`, but for a slip."""
    return bool(difflib.get_close_matches(name, names, n=1, cutoff=_ALIKE))


# -- names ------------------------------------------------------------------------------------------------------------


def misspelt(adapter: Adapter) -> Iterator[tuple[str, str]]:
    """By member, those that nothing knows, and that are called nearly as what the adapter might define and does not."""
    kinds = [cls for cls in type(adapter).__mro__ if cls is not object and not is_of_the_kit(cls)]
    defined: dict[str, Any] = dict(vars(adapter))
    for cls in reversed(kinds):
        defined |= vars(cls)
    documented = {name: getattr(Adapter, name, None) for name in _documented() if name not in defined}
    for name, value in defined.items():
        if name.startswith("_") or hasattr(ModuleAdapter, name) or name in _documented():
            continue
        alike = [each for each, known in documented.items() if callable(known) == callable(value)]
        matches = difflib.get_close_matches(name, alike, n=1, cutoff=_ALIKE)
        if matches and name != matches[0] + "s":  # several of them are another thing
            yield name, f"no adapter has a member {name!r}; did you mean {matches[0]!r}?{place_of(adapter, name)}"


def _documented() -> set[str]:
    names = {*vars(Adapter), *Adapter.__annotations__}
    return {name for name in names if not name.startswith("_")}


# -- places -----------------------------------------------------------------------------------------------------------


def place_of(adapter: Adapter, member: str) -> str:
    """Where `member` is defined, or else the class of the adapter, or the module that it is made of."""
    cls = type(adapter)
    value = inspect.getattr_static(cls, member, None)
    value = value.fget if isinstance(value, property) else value
    module = vars(adapter).get("module")  # asking for it might derive one
    for thing in (value, cls, getattr(module, member, None), module):
        with contextlib.suppress(OSError, TypeError):
            file = inspect.getsourcefile(thing)  # type: ignore[arg-type]  # what has no source is a TypeError
            if file is None or is_of_the_kit(thing):
                continue
            line = 1 if inspect.ismodule(thing) else inspect.getsourcelines(thing)[1]  # type: ignore[arg-type]
            return f" at {file}, line {line}"
    return ""


def is_of_the_kit(thing: object) -> bool:
    """Whether a class or a function is the kit's own."""
    name = getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
    return str(name).split(".")[0] == __name__.split(".")[0]
