"""What is wrong with an adapter's members before any is called: names, kinds and parameters."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.adapter import Adapter, ModuleAdapter
from conformance.adapters.remedies import remedy
from conformance.errors import one_line

#: How alike two names must be to be taken for one and the same.
_ALIKE = 0.85

#: Attributes that are no methods, what each has to be, and that in words.  Others are looked at before: a class, a
#: name, a dialect, a revision and capabilities are what makes an adapter one.
_VALUES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "needs_side_stream": (lambda value: isinstance(value, bool), "True or False"),
    "visible_devices": (lambda value: value is None or isinstance(value, str), "a name or None"),
    "script_words": (lambda value: isinstance(value, Mapping), "a dictionary"),
    "seed": (lambda value: isinstance(value, int), "an int"),
}


def misshapen(adapter: Adapter) -> dict[str, str]:
    """By member, what is wrong with it, where, and what to do about it."""
    return {**dict(_misspelt(adapter)), **dict(_of_another_kind(adapter)), **dict(_odd_values(adapter))}


def is_alike(name: str, names: list[str]) -> bool:
    """Whether `name` is one of `names`, but for a slip."""
    return bool(difflib.get_close_matches(name, names, n=1, cutoff=_ALIKE))


# -- names ------------------------------------------------------------------------------------------------------------


def _misspelt(adapter: Adapter) -> Iterator[tuple[str, str]]:
    """Members that nothing knows, and that are called nearly as what the adapter might define and does not."""
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


# -- kinds ------------------------------------------------------------------------------------------------------------


def _of_another_kind(adapter: Adapter) -> Iterator[tuple[str, str]]:
    """Methods that cannot be called as the contract's can."""
    for name, documented in vars(Adapter).items():
        if name.startswith("_") or not inspect.isfunction(documented):
            continue
        value = inspect.getattr_static(adapter, name)
        if value is documented:
            continue
        what = _not_callable(value) or _other_parameters(documented, getattr(adapter, name))
        if what is not None:
            yield name, f"{name} {what}{place_of(adapter, name)}{_then(name)}"


def _not_callable(value: object) -> str | None:
    if isinstance(value, property):
        return "is a property, and has to be a method"
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if not callable(function):
        return f"is {_in_words(value)}, and has to be a method"
    if inspect.iscoroutinefunction(function):
        return "is a coroutine function, and nobody awaits it"
    return None


def _other_parameters(documented: Callable[..., Any], method: Callable[..., Any]) -> str | None:
    """How `method` differs in what it must be given; what it takes besides, or does without, is its own business."""
    needed = [each for each in _parameters(documented)[1:] if each.default is each.empty and _is_named(each)]
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # some callables written in C have no signature
        return None
    try:
        signature.bind(*(each.name for each in needed))
    except TypeError as error:
        wanted = ", ".join(each.name for each in needed)
        return f"cannot be called as {documented.__name__}({wanted}): {one_line(str(error))}"
    return None


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _is_named(parameter: inspect.Parameter) -> bool:
    return parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}


def _odd_values(adapter: Adapter) -> Iterator[tuple[str, str]]:
    for name, (fits, kind) in _VALUES.items():
        try:
            value = getattr(adapter, name)
        except Exception as error:
            yield name, f"{name} raised {one_line(error)}{place_of(adapter, name)}"
            continue
        if not fits(value):
            yield name, f"{name} is {_in_words(value)}, and has to be {kind}{place_of(adapter, name)}"


# -- in words ---------------------------------------------------------------------------------------------------------


def _in_words(value: object) -> str:
    return f"{type(value).__name__} {one_line(repr(value), 60)}"


def _then(member: str) -> str:
    text = remedy(member)
    return f"; {text}" if text else ""


def place_of(adapter: Adapter, member: str) -> str:
    """Where `member` is defined, or else the class of the adapter, or the module that it is made of."""
    cls = type(adapter)
    value = inspect.getattr_static(cls, member, None)
    value = value.fget if isinstance(value, property) else value
    module = getattr(adapter, "module", None)
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
