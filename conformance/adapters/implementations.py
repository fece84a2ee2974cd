"""From what ``--impl`` names to an adapter that is fit to be tested.

A name is one of `KNOWN`, one that an installed package adds (`installed`), ``package.module:attribute`` or
``path/to/file.py:attribute``.  The attribute is an adapter, a function that returns one, or a graph class.  A graph
class that derives from one of a known implementation needs no adapter: that implementation's own is used, with the
class in place of the original.  Any other graph class is tried with what torch's generic API and the class itself say.
What is not the kit's own is judged on the software device as on one that is asynchronous.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from conformance.adapters.checking import GRAPH_METHODS, check, check_members
from conformance.adapters.installed import installed
from conformance.adapters.known import KNOWN
from conformance.adapters.loading import hint, import_failed, target_of
from conformance.adapters.names import name_in_file, tell_apart
from conformance.errors import ConformanceError, ImplementationError, Unsupported, UsageError, one_line
from conformance.requirements.revisions import documented
from conformance.tracebacks import last_line_in

if TYPE_CHECKING:
    from conformance.adapter import Adapter

__all__ = ["KNOWN", "check", "check_name", "is_software", "named", "resolve", "resolve_all"]


def resolve(spec: str, *, device: str | None = None, revision: str | None = None) -> Adapter:
    """The adapter that `spec` names, checked.

    Args:
        spec: a known name, ``package.module:attribute`` or ``path/to/file.py:attribute``.
        device: passed to a factory that takes one.
        revision: replaces the release that the adapter claims.

    Raises:
        ImplementationError: `spec` names nothing, or something that cannot be tested; one line that says what.
        UsageError: `revision` is no release.
    """
    adapter = named(spec, device, revision)
    check(spec, adapter)
    return adapter


def named(spec: str, device: str | None, revision: str | None) -> Adapter:
    """The adapter that `spec` names, as `resolve` gives it, not checked."""
    if ":" in spec:
        adapter = _own_adapter_of(spec, target_of(spec), device)
    elif spec in KNOWN:
        adapter = _known_adapter(spec, spec, device)
    else:
        check_name(spec)
        adapter = _own_adapter_of(spec, target_of(installed()[spec].value), device)
    if revision is not None:
        adapter.revision = _checked_revision(revision)
    return adapter


def resolve_all(
    specs: Sequence[str],
    *,
    device: str | None = None,
    revision: str | None = None,
    trial: bool = True,
    suites: bool = False,
    around_trial: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
) -> dict[str, Adapter]:
    """The adapters that `specs` name, by their names in reports, each tried where tests are to run.

    Args:
        specs: as for `resolve`.
        device: likewise.
        revision: likewise.
        trial: make a graph and call what every test needs; not in a process that must come as far as its tests.
        suites: whether the kit's own suites are to run, which need what other tests may do without.
        around_trial: what surrounds those first calls of an implementation that has been imported.

    Raises:
        UsageError: as `resolve`; or two implementations have one name.
    """
    pairs: list[tuple[str, Adapter]] = []
    for spec in specs:
        adapter = named(spec, device, revision)
        if trial:
            with around_trial():
                check_members(spec, adapter, suites=suites)
        else:
            check(spec, adapter, trial=False)
        pairs.append((spec, adapter))
    tell_apart(pairs)
    return {adapter.name: adapter for _, adapter in pairs}


def check_name(spec: str) -> None:
    """Refuse a name that nothing has, without importing anything.

    Raises:
        ImplementationError: `spec` is neither a known name nor of the form ``place:attribute``.
    """
    if ":" in spec or spec in KNOWN:
        return
    names = [*KNOWN, *(others := installed())]
    if spec not in others:
        raise ImplementationError(
            f"--impl={spec}: no implementation has that name{hint(spec, names)} (known: {', '.join(names)}; "
            "or give package.module:attribute or path/to/file.py:attribute)"
        )


def is_software(spec: str, device: str | None) -> bool:
    """Whether `spec` on `device` is known to run on the host alone."""
    return spec in KNOWN and KNOWN[spec].software and device in {None, "cpu"}


def _known_adapter(spec: str, name: str, device: str | None) -> Adapter:
    check_name(spec)
    module, _, attribute = KNOWN[name].factory.partition(":")
    try:
        factory: Callable[..., object] = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise import_failed(spec, module, error) from None
    return _call_factory(spec, factory, device)


def _own_adapter_of(spec: str, target: object, device: str | None) -> Adapter:
    """The adapter of somebody's own class or adapter, on the software device one as asynchronous as a GPU.

    Where work is done at once nothing comes too early, so that a replay on a stream of its own would pass.
    """
    adapter = _adapter_of(spec, target, device)
    # Whoever has such an adapter has imported its module; for the others it, and torch with it, is not needed.
    reference = sys.modules.get("conformance.adapters.reference")
    if reference is not None and isinstance(adapter, reference.OnHost):
        adapter.asynchronous = True
    return adapter


def _adapter_of(spec: str, target: object, device: str | None) -> Adapter:
    from conformance.adapter import Adapter

    if isinstance(target, Adapter):
        if device is not None:
            raise ImplementationError(
                f"--impl={spec}: --device={device} does not apply, since the adapter is already made"
            )
        return target
    if isinstance(target, type) and not issubclass(target, Adapter):
        return _graph_class_adapter(spec, target, device)
    if callable(target):
        return _call_factory(spec, target, device)
    raise ImplementationError(
        f"--impl={spec}: {type(target).__name__} {one_line(repr(target), 60)} is neither an adapter "
        "(conformance.adapter.Adapter), nor a function that returns one, nor a graph class"
    )


def _graph_class_adapter(spec: str, cls: type, device: str | None) -> Adapter:
    base = next(
        (name for parent in cls.__mro__ for name, implementation in KNOWN.items() if implementation.defines(parent)),
        None,
    )
    if base is None:
        looks = all(callable(getattr(cls, method, None)) for method in GRAPH_METHODS)
        if not looks:
            missing = ", ".join(method for method in GRAPH_METHODS if not hasattr(cls, method))
            raise ImplementationError(
                f"--impl={spec}: class {cls.__qualname__} is no graph class that the kit knows (it has no {missing}): "
                "write an adapter for it, a subclass of conformance.adapter.Adapter"
            )
        return _call_factory(spec, _deriving(name_in_file(spec), cls), device)
    adapter = _known_adapter(spec, base, device)
    adapter.graph_class = cls
    adapter.name = name_in_file(spec)
    return adapter


def _deriving(name: str, cls: type) -> Callable[..., object]:
    def adapter(device: str | None = None) -> Adapter:
        from conformance.adapters.derived import DerivedAdapter

        return DerivedAdapter(name, cls, device)

    return adapter


def _call_factory(spec: str, factory: Callable[..., object], device: str | None) -> Adapter:
    from conformance.adapter import Adapter

    settings: dict[str, str] = {}
    if device is not None:
        if not _takes_device(factory):
            raise ImplementationError(f"--impl={spec}: --device={device} does not apply, since it takes no device")
        settings["device"] = device
    try:
        adapter = factory(**settings)
    except ConformanceError as error:
        raise ImplementationError(f"--impl={spec}: {error}") from None
    except (Exception, SystemExit, Unsupported) as error:
        where = last_line_in(error, _file_of(factory))
        raise ImplementationError(f"--impl={spec}: making the adapter failed{where}: {one_line(error)}") from None
    if not isinstance(adapter, Adapter):
        raise ImplementationError(
            f"--impl={spec}: the function returned a {type(adapter).__name__}, not a conformance.adapter.Adapter"
        )
    return adapter


def _file_of(factory: Callable[..., object]) -> str:
    with contextlib.suppress(TypeError):  # an object that can be called
        return inspect.getsourcefile(inspect.unwrap(factory)) or ""
    return ""


def _takes_device(factory: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # some callables written in C have no signature
        return False
    return any(parameter.name == "device" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _checked_revision(text: str) -> str:
    try:
        return documented(text)
    except ValueError as error:
        raise UsageError(f"--revision={text}: {error}") from None
