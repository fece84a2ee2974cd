"""Operators on what a call is given, and on what it says that it takes."""

from __future__ import annotations

import inspect
import itertools
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conformance.selfcheck.distortions.call import Act, Call, PerOwner, differ
from conformance.selfcheck.distortions.operator import Means, Operator
from conformance.selfcheck.distortions.sites import Place, Site
from conformance.selfcheck.distortions.values import changes_of

_EMPTY = inspect.Parameter.empty

#: The values that the documents list, where an annotation only says ``str``.
_LITERALS = {"capture_error_mode": ("global", "thread_local", "relaxed")}


def on_arguments(site: Site) -> Iterator[Operator]:
    """Every operator that fits a parameter of `site`."""
    if site.called or site.attribute == "__exit__":  # Python's own protocol
        return
    for parameter in site.parameters:
        yield from _on_values(parameter)
        if site.is_method and site.attribute != "__init__":
            yield Operator(
                f"{parameter.name} kept",
                f"uses the {parameter.name} of the object's first call",
                _kept(parameter.name),
            )
        yield from _on_signature(parameter, constructs=site.place is Place.GRAPH and site.attribute == "__init__")
    by_position = [each for each in site.parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    for former, latter in itertools.pairwise(by_position):
        # Python has no signature in which what may be left out comes before what may not.
        if (former.default is _EMPTY) == (latter.default is _EMPTY):
            one, other = former.name, latter.name
            yield Operator(
                f"{one} and {other} in turn",
                f"takes {one} and {other} in the other order",
                _in_turn(one, other),
                _reordered(one, other),
            )


def _on_values(parameter: inspect.Parameter) -> Iterator[Operator]:
    name, annotation = parameter.name, str(parameter.annotation)
    if parameter.default is not _EMPTY:
        yield Operator(f"{name} dropped", f"ignores {name}", _dropped(name))
        if parameter.default is not None:
            yield Operator(f"{name} as none", f"takes None for {name}", _replaced(name, lambda _: None))
    yield Operator(f"{name} of before", f"uses the {name} of the call before", _of_before(name))
    yield Operator(f"{name} of first", f"uses the first {name} ever", _of_first(name))
    literals = _LITERALS.get(name, ())
    for literal in literals:
        yield Operator(f"{name} always {literal}", f"uses {literal!r} for any {name}", _constant(name, literal))
    for one, other in itertools.combinations(literals, 2):
        yield Operator(
            f"{name} {one} as {other}",
            f"takes {one} for {other} as {name} and the other way round",
            _replaced(name, _exchanging(one, other)),
        )
    if "bool" in annotation:
        yield Operator(f"{name} always", f"acts as if {name} were true", _constant(name, True))
        yield Operator(f"{name} never", f"acts as if {name} were false", _constant(name, False))
    if "Path" in annotation:
        yield from _on_file(name)
    if "Hook" in annotation or "Callable" in annotation:
        yield from _on_callable(name)
    for kind in ("bool", "int", "tuple", "list"):
        if kind in annotation.partition("[")[0]:
            for how, about, change in changes_of(kind):
                yield Operator(f"{name} {how}", f"uses {name} with {about}", _replaced(name, change))


# -- values -----------------------------------------------------------------------------------------------------------


def _replaced(name: str, change: Callable[[Any], Any]) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            try:
                value = call.argument(name)
            except TypeError:  # which the plain class is to say
                return call.do()
            changed = change(value)
            if not differ(changed, value):
                return call.do()
            means.mark.set()
            return call.with_argument(name, changed).do()

        return act

    return make


def _exchanging(one: str, other: str) -> Callable[[Any], Any]:
    """Takes each of two texts for the other one."""

    def change(value: Any) -> Any:
        return {one: other, other: one}.get(value, value) if isinstance(value, str) else value

    return change


def _constant(name: str, value: Any) -> Callable[[Means], Act]:
    return _replaced(name, lambda _: value)


def _dropped(name: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            if not call.gives(name):
                return call.do()
            means.mark.set()
            return call.without_argument(name).do()

        return act

    return make


def _of_before(name: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        values: list[Any] = []

        def change(value: Any) -> Any:
            before = values.pop() if values else value
            values.append(value)
            return before

        return _replaced(name, change)(means)

    return make


def _of_first(name: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        values: list[Any] = []

        def change(value: Any) -> Any:
            if not values:
                values.append(value)
            return values[0]

        return _replaced(name, change)(means)

    return make


def _kept(name: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        values: PerOwner[Any] = PerOwner()

        def act(call: Call) -> Any:
            try:
                value = call.argument(name)
            except TypeError:
                return call.do()
            first = values.get(call.owner, value)
            values.put(call.owner, first)
            if not differ(first, value):
                return call.do()
            means.mark.set()
            return call.with_argument(name, first).do()

        return act

    return make


# -- functions that are given -----------------------------------------------------------------------------------------


def _on_callable(name: str) -> Iterator[Operator]:
    ways: tuple[tuple[str, str, Callable[[Callable[..., Any]], Callable[..., Any]]], ...] = (
        ("never", "never calls", lambda _: lambda *_args: None),
        ("twice", "calls twice what it should call once, the given", _called_twice),
        ("first", "calls once and never again", _called_once),
        ("late", "calls a time later, with the arguments of the time before,", _called_late),
        ("bare", "calls with a stand-in for its argument", lambda given: lambda *args: given(*map(_StandIn, args))),
        ("muffled", "swallows what is raised by", _muffled),
    )
    for way, about, wrap in ways:
        yield Operator(f"{name} {way}", f"{about} {name}", _wrapped(name, wrap))


class _StandIn:
    """Behaves as another object does, and is not it."""

    def __init__(self, of: Any) -> None:
        self._of = weakref.ref(of) if not isinstance(of, set) else lambda: of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of(), name)


def _wrapped(name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            try:
                given = call.argument(name)
            except TypeError:
                return call.do()
            if not callable(given):
                return call.do()
            means.mark.set()
            return call.with_argument(name, wrap(given)).do()

        return act

    return make


def _called_twice(given: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any) -> Any:
        given(*args)
        return given(*args)

    return called


def _called_once(given: Callable[..., Any]) -> Callable[..., Any]:
    due = [given]

    def called(*args: Any) -> Any:
        return due.pop()(*args) if due else None

    return called


def _called_late(given: Callable[..., Any]) -> Callable[..., Any]:
    waiting: list[tuple[Any, ...]] = []

    def called(*args: Any) -> Any:
        earlier = waiting.pop() if waiting else None
        waiting.append(args)
        return None if earlier is None else given(*earlier)

    return called


def _muffled(given: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any) -> Any:
        try:
            return given(*args)
        except Exception:  # that is the point
            return None

    return called


# -- files that are written -------------------------------------------------------------------------------------------


def _on_file(name: str) -> Iterator[Operator]:
    ways: tuple[tuple[str, str, Callable[[list[str]], list[str]]], ...] = (
        ("emptied", "nothing", lambda _: []),
        ("reversed", "its lines in reverse order", lambda lines: lines[::-1]),
        ("cut", "all but its last line", lambda lines: lines[:-1]),
        ("halved", "the first half of its lines", lambda lines: lines[: len(lines) // 2]),
        ("repeated", "all of it twice", lambda lines: [*lines, *lines]),
        ("thinned", "every other line", lambda lines: lines[::2]),
        ("constant", "the same line always", lambda _: ["graph\n"]),
        ("swapped", "its middle two lines swapped", _middle_swapped),
    )
    for way, about, change in ways:
        yield Operator(f"{name} {way}", f"writes {about} to {name}", _rewritten(name, change))
    yield Operator(f"{name} stale", f"writes to {name} what it wrote the time before", _stale(name))
    yield Operator(f"{name} elsewhere", f"writes beside {name}", _elsewhere(name))
    yield Operator(f"{name} appended", f"adds to what {name} held", _appended(name))


def _middle_swapped(lines: list[str]) -> list[str]:
    middle = len(lines) // 2
    return [*lines[: middle - 1], *lines[middle - 1 : middle + 1][::-1], *lines[middle + 1 :]]


def _rewritten(name: str, change: Callable[[list[str]], list[str]]) -> Callable[[Means], Act]:
    return _after_writing(name, lambda text, _before: "".join(change(text.splitlines(keepends=True))))


def _appended(name: str) -> Callable[[Means], Act]:
    return _after_writing(name, lambda text, before: before + text)


def _stale(name: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        texts: list[str] = []

        def change(text: str, _before: str) -> str:
            earlier = texts.pop() if texts else text
            texts.append(text)
            return earlier

        return _after_writing(name, change)(means)

    return make


def _after_writing(name: str, change: Callable[[str, str], str]) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            try:
                path = Path(os.fspath(call.argument(name)))
            except TypeError:
                return call.do()
            before = path.read_text(encoding="utf-8") if path.is_file() else ""
            answer = call.do()
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                changed = change(text, before)
                if changed != text:
                    means.mark.set()
                    path.write_text(changed, encoding="utf-8")
            return answer

        return act

    return make


def _elsewhere(name: str) -> Callable[[Means], Act]:
    def beside(path: Any) -> Any:
        try:
            given = Path(os.fspath(path))
        except TypeError:
            return path
        return str(given.with_name(f"other-{given.name}"))

    return _replaced(name, beside)


# -- what is taken ----------------------------------------------------------------------------------------------------


def _on_signature(parameter: inspect.Parameter, *, constructs: bool) -> Iterator[Operator]:
    name = parameter.name
    if parameter.default is _EMPTY:
        yield Operator(f"{name} optional", f"does without {name}", _optional(name), _with(name, default=None))
    elif not constructs:  # no test is begun with a class that cannot be constructed
        yield Operator(f"{name} required", f"insists on {name}", _required(name), _with(name, default=_EMPTY))
    yield Operator(f"{name} renamed", f"calls {name} otherwise", _renamed(name), _with(name, name=f"{name}_"))
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
        yield Operator(
            f"{name} by position",
            f"takes {name} by position, too",
            _positional(name),
            _with(name, kind=inspect.Parameter.POSITIONAL_OR_KEYWORD),
        )
    else:
        yield Operator(
            f"{name} by name",
            f"takes {name} by name only",
            _by_name(name),
            _with(name, kind=inspect.Parameter.KEYWORD_ONLY),
        )
    yield Operator(f"{name} unknown", f"does not take {name}", _unknown(name), _lacking(name))
    default = parameter.default
    other = _LITERALS[name][-1] if name in _LITERALS else not default if isinstance(default, bool) else None
    if other is not None and other != default:
        yield Operator(
            f"{name} other default",
            f"uses {other!r} where {name} is not given",
            _other_default(name, other),
            _with(name, default=other),
        )


def _with(which: str, **changes: Any) -> Callable[[inspect.Signature], inspect.Signature]:
    def changed(signature: inspect.Signature) -> inspect.Signature:
        own = [each.replace(**changes) if each.name == which else each for each in signature.parameters.values()]
        return _ordered(signature, own)

    return changed


def _lacking(name: str) -> Callable[[inspect.Signature], inspect.Signature]:
    def changed(signature: inspect.Signature) -> inspect.Signature:
        return _ordered(signature, [each for each in signature.parameters.values() if each.name != name])

    return changed


def _reordered(one: str, other: str) -> Callable[[inspect.Signature], inspect.Signature]:
    def changed(signature: inspect.Signature) -> inspect.Signature:
        both = signature.parameters[one], signature.parameters[other]
        turned = {one: both[1], other: both[0]}
        return _ordered(signature, [turned.get(each.name, each) for each in signature.parameters.values()])

    return changed


def _ordered(signature: inspect.Signature, parameters: list[inspect.Parameter]) -> inspect.Signature:
    """A signature of these, those without a default and those by name only where Python wants them."""

    def rank(each: inspect.Parameter) -> tuple[int, bool]:
        optional = each.default is not _EMPTY and each.kind is not inspect.Parameter.KEYWORD_ONLY
        return int(each.kind), optional

    return signature.replace(parameters=sorted(parameters, key=rank))


def _optional(name: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            if call.gives(name):
                return call.do()
            means.mark.set()
            return None

        return act

    return make


def _refusing(name: str, refuses: Callable[[Call], bool], what: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            if refuses(call):
                means.mark.set()
                raise TypeError(f"{what} {name!r}")
            return call.do()

        return act

    return make


def _required(name: str) -> Callable[[Means], Act]:
    return _refusing(name, lambda call: not call.gives(name), "missing argument")


def _unknown(name: str) -> Callable[[Means], Act]:
    return _refusing(name, lambda call: call.gives(name), "unexpected argument")


def _by_name(name: str) -> Callable[[Means], Act]:
    return _refusing(name, lambda call: call.gives(name) and name not in call.kwargs, "positional argument")


def _renamed(name: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            means.mark.set()
            if name in call.kwargs:
                raise TypeError(f"unexpected argument {name!r}")
            kwargs = {name if key == f"{name}_" else key: value for key, value in call.kwargs.items()}
            return Call(call.work, call.args, kwargs, call.signature, call.is_method).do()

        return act

    return make


def _positional(name: str) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            positions = [each.name for each in call.signature.parameters.values() if each.kind is not each.KEYWORD_ONLY]
            if len(call.args) != len(positions) + 1 or name in call.kwargs:
                return call.do()
            means.mark.set()
            *args, value = call.args
            kwargs = {**call.kwargs, name: value}
            return Call(call.work, tuple(args), kwargs, call.signature, call.is_method).do()

        return act

    return make


def _in_turn(one: str, other: str) -> Callable[[Means], Act]:
    reordered = _reordered(one, other)

    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            try:
                own = call.signature.bind(*call.args, **call.kwargs)
                turned = reordered(call.signature).bind(*call.args, **call.kwargs)
            except TypeError:
                return call.do()
            if own.arguments != turned.arguments:
                means.mark.set()
            for name, value in turned.arguments.items():
                call = call.with_argument(name, value)
            return call.do()

        return act

    return make


def _other_default(name: str, value: Any) -> Callable[[Means], Act]:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            if call.gives(name):
                return call.do()
            try:
                changed = call.with_argument(name, value)
            except TypeError:
                return call.do()
            means.mark.set()
            return changed.do()

        return act

    return make
