"""Whether an adapter is one, found without calling it: all that is missing, of the wrong kind, or contradictory."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from conformance.adapters.loading import hint
from conformance.errors import ImplementationError, Unsupported, one_line
from conformance.paths import KIT
from conformance.requirements.revisions import documented
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS, is_name
from conformance.text import further_lines
from conformance.tracebacks import last_line_in

if TYPE_CHECKING:
    from conformance.adapter import Adapter

#: Without these no suite can say anything about a class.
GRAPH_METHODS = ("capture_begin", "capture_end", "replay")
#: What makes an adapter one.
ESSENTIAL = frozenset({"name", "revision", "graph_class", "dialect", "capabilities"})


@dataclass(frozen=True)
class _Datum:
    """An attribute that is data.

    Attributes:
        example: of what to write.
        kind: in words; empty where a fault is told in another way.
        fits: whether a value is of that kind.
    """

    example: str
    kind: str = ""
    fits: Callable[[Any], bool] = lambda _: True


def _is_mapping_of_text(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, str) for pair in value.items() for part in pair)


_DATA: Mapping[str, _Datum] = MappingProxyType(
    {
        "name": _Datum(
            'name = "torch.mine"',
            "printable ASCII without brackets, at most 200 characters",
            lambda value: isinstance(value, str) and is_name(value),
        ),
        "revision": _Datum('revision = "2.8", the PyTorch release whose documents are claimed'),
        "graph_class": _Datum("graph_class = MineGraph", "a class", lambda value: isinstance(value, type)),
        "dialect": _Datum('dialect = "cuda"', f"one of {', '.join(DIALECTS)}", lambda value: value in DIALECTS),
        "capabilities": _Datum(
            'capabilities = {"hooks": False}',
            "a mapping of names to booleans",
            lambda value: isinstance(value, Mapping),
        ),
        "needs_side_stream": _Datum("needs_side_stream = False", "a bool", lambda value: isinstance(value, bool)),
        "default_mode": _Datum('default_mode = "relaxed"', "a str", lambda value: isinstance(value, str)),
        "visible_devices": _Datum(
            'visible_devices = "MINE_VISIBLE_DEVICES"',
            "the name of an environment variable, or None",
            lambda value: value is None or (isinstance(value, str) and bool(value)),
        ),
        "script_words": _Datum(
            'script_words = {"read": "tensor.cpu()"}', "a mapping of strings to strings", _is_mapping_of_text
        ),
        "seed": _Datum("seed = 0", "an int", lambda value: isinstance(value, int)),
    }
)


def check(spec: str, adapter: Adapter, *, trial: bool = True) -> None:
    """Refuse an adapter that no suite could work with, with all that is wrong.

    Args:
        spec: that named it.
        adapter: to check.
        trial: make a graph, too.

    Raises:
        ImplementationError: what is missing or wrong.
    """
    faults = [text for _, text in shape_faults(spec, adapter)]
    if not faults and trial:
        faults = _constructor_faults(adapter)
    if faults:
        raise ImplementationError(f"--impl={spec}:{further_lines(faults)}")


def check_members(spec: str, adapter: Adapter, *, suites: bool = False) -> None:
    """Refuse an adapter that is none, or whose members fail when each is called once, with all that is wrong.

    Args:
        spec: that named it.
        adapter: to check.
        suites: whether the kit's own suites are to run, which need what other tests may do without.

    Raises:
        ImplementationError: what is missing or wrong.
    """
    from conformance.adapters.members import faults_in

    by_member = dict(shape_faults(spec, adapter))
    faults = [*by_member.values()]
    # Of what is no adapter at all, no member can be asked.
    if not ESSENTIAL & {*by_member}:
        faults += [*_constructor_faults(adapter), *faults_in(adapter, suites=suites, misshapen=by_member)]
    if faults:
        raise ImplementationError(f"--impl={spec}: the adapter is wrong:{further_lines(faults)}")


def shape_faults(spec: str, adapter: Adapter) -> Iterator[tuple[str, str]]:
    """By member, what is wrong with an adapter before any is called, where, and what to write instead."""
    for name, datum in _DATA.items():
        place = _place(spec, adapter, name)
        if not hasattr(adapter, name):
            yield name, f"the adapter has no {name!r}{place}; write {datum.example}"
        elif not datum.fits(getattr(adapter, name)):
            given = one_line(repr(getattr(adapter, name))[:400], 80)
            yield name, f"the adapter's {name} must be {datum.kind}, not {given}{place}; write {datum.example}"
    if hasattr(adapter, "revision"):
        try:
            documented(adapter.revision)
        except (TypeError, ValueError) as error:
            place = _place(spec, adapter, "revision")
            yield "revision", f"the adapter's revision: {error}{place}; write {_DATA['revision'].example}"
    if isinstance(adapter.capabilities, Mapping):
        place = _place(spec, adapter, "capabilities")
        for number, fault in enumerate(_faults_of_capabilities(adapter.capabilities, adapter.runtime)):
            yield f"capabilities {number}", f"{fault}{place}; write {_DATA['capabilities'].example}"
    if isinstance(getattr(adapter, "graph_class", None), type):
        yield from (("graph_class", fault) for fault in _faults_of_class(adapter.graph_class))
    yield from _faults_of_methods(spec, adapter)


def _faults_of_capabilities(capabilities: Mapping[Any, Any], runtime: object) -> Iterator[str]:
    for name, value in capabilities.items():
        if name not in CAPABILITIES:
            yield f"the adapter declares an unknown capability {name!r}{hint(str(name), CAPABILITIES)}"
        elif not isinstance(value, bool):
            yield f"capability {name!r} must be True or False, not {one_line(repr(value), 80)}"
    if capabilities.get("template_editing") is True and capabilities.get("raw_handles") is False:
        yield "capability 'template_editing' is declared True and 'raw_handles' False: there is no template to edit"
    if capabilities.get("template_editing") is True and runtime is None:
        yield "capability 'template_editing' is declared True, and the adapter has no 'runtime' to edit with"


def _faults_of_class(cls: type) -> Iterator[str]:
    missing = [method for method in GRAPH_METHODS if not callable(getattr(cls, method, None))]
    if missing:
        yield f"graph class {cls.__qualname__} has no {', '.join(missing)}{_line_of(cls, '')}"


def _faults_of_methods(spec: str, adapter: Adapter) -> Iterator[tuple[str, str]]:
    """What stands in the place of a method, and is none, or takes less than suites and kit give."""
    from conformance.adapter import Adapter

    for name, ours in vars(Adapter).items():
        if name.startswith("_") or not inspect.isfunction(ours):
            continue
        example = f"write def {name}{_bare_signature(ours)}"
        if isinstance(inspect.getattr_static(adapter, name), property):
            yield (
                name,
                f"the adapter's {name} is a property, which is no method{_place(spec, adapter, name)}; {example}",
            )
            continue
        theirs = getattr(adapter, name)
        if not callable(theirs):
            given = one_line(repr(theirs), 80)
            yield name, f"the adapter's {name} is {given}, which is no method{_place(spec, adapter, name)}; {example}"
            continue
        refused = _arguments_refused(theirs, ours)
        if refused:
            place = _place(spec, adapter, name)
            yield name, f"the adapter's {name} takes no {', '.join(refused)}{place}; {example}"
            continue
        trouble = _trouble_of_call(theirs, ours)
        if trouble is not None:
            yield name, f"the adapter's {name} cannot be called: {trouble}{_place(spec, adapter, name)}; {example}"


def _bare_signature(function: Callable[..., Any]) -> str:
    """The parameters of a method as one writes them, without their kinds."""
    signature = inspect.signature(function)
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


def _arguments_refused(theirs: Callable[..., Any], ours: Callable[..., Any]) -> list[str]:
    """The parameters of `ours`, without its first, that a call of `theirs` cannot be given."""
    try:
        parameters = list(inspect.signature(theirs).parameters.values())
    except (TypeError, ValueError):  # some callables written in C have no signature
        return []
    kinds = {parameter.kind for parameter in parameters}
    wanted = list(inspect.signature(ours).parameters.values())[1:]
    by_name = {parameter.name for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY}
    positions = sum(
        parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD} for parameter in parameters
    )
    refused = []
    for position, parameter in enumerate(wanted):
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        required = parameter.default is parameter.empty
        fits = position < positions or inspect.Parameter.VAR_POSITIONAL in kinds
        named = parameter.name in by_name or inspect.Parameter.VAR_KEYWORD in kinds
        if not (fits if required else named):
            refused.append(repr(parameter.name))
    return refused


def _trouble_of_call(theirs: Callable[..., Any], ours: Callable[..., Any]) -> str | None:
    """Why `theirs` cannot be called with what `ours` has to be given, and nothing else."""
    wanted = list(inspect.signature(ours).parameters.values())[1:]
    needed = [each.name for each in wanted if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    try:
        inspect.signature(theirs).bind(*needed)
    except TypeError as error:
        return one_line(str(error))
    except ValueError:  # some callables written in C have no signature
        return None
    return None


def _constructor_faults(adapter: Adapter) -> list[str]:
    try:
        adapter.new_graph()
    except (Exception, SystemExit, Unsupported) as error:
        return [f"a {adapter.graph_class.__qualname__} cannot be constructed: {one_line(error)}{last_line_in(error)}"]
    return []


# -- places -----------------------------------------------------------------------------------------------------------


def _place(spec: str, adapter: Adapter, member: str) -> str:
    """Where a member is written, or else the class that should have it, or the file that was named."""
    own = [cls for cls in type(adapter).__mro__ if cls is not object and not _is_of_kit(cls)]
    for cls in own:
        if member in vars(cls):
            return _line_of(cls, member)
    if own:
        return _line_of(own[0], "")
    file = spec.rpartition(":")[0]
    return f" at {Path(file).expanduser()}" if file.endswith(".py") else ""


def _line_of(cls: type, member: str) -> str:
    with contextlib.suppress(OSError, TypeError):  # its source is not at hand
        lines, first = inspect.getsourcelines(cls)
        written = re.compile(rf"\s+(?:(?:async )?def )?{re.escape(member)}\b")
        offset = next((at for at, line in enumerate(lines) if member and written.match(line)), 0)
        return f" at {inspect.getsourcefile(cls)}, line {first + offset}"
    return ""


def _is_of_kit(cls: type) -> bool:
    file = None
    with contextlib.suppress(OSError, TypeError):
        file = inspect.getsourcefile(cls)
    return file is not None and Path(file).is_relative_to(KIT)
