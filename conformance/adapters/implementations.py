"""From what ``--impl`` names to an adapter that is fit to be tested.

A name is one of `KNOWN`, ``package.module:attribute`` or ``path/to/file.py:attribute``.  The attribute is an adapter, a
function that returns one, or a graph class.  A graph class that derives from one of a known implementation needs no
adapter: that implementation's own is used, with the class in place of the original.  What is not the kit's own is
judged on the software device as on one that is asynchronous.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from conformance.errors import ConformanceError, ImplementationError, UsageError, one_line
from conformance.requirements.revisions import documented
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS, is_name
from conformance.text import further_lines, published
from conformance.tracebacks import last_line_in

if TYPE_CHECKING:
    from conformance.adapter import Adapter

#: Without these no suite can say anything about a class.
GRAPH_METHODS = ("capture_begin", "capture_end", "replay")
#: What suites cannot do without where the page of the class lists it; those of XPUGraph and of the accelerator's Graph
#: list no reset.
LISTED_METHODS: Mapping[str, tuple[str, ...]] = MappingProxyType({"cuda": ("reset",), "xpu": (), "accelerator": ()})


@dataclass(frozen=True)
class Known:
    """An implementation that the kit has an adapter for.

    Attributes:
        factory: ``module:function`` that returns the adapter; imported only when asked for.
        about: what it is, in a few words.
        package: where its graph class is defined, in this module or below it.
        graph_class: that class's name.
        software: whether it runs on the host unless it is given a device, so that it cannot take the process down.
    """

    factory: str
    about: str
    package: str
    graph_class: str
    software: bool = False

    def defines(self, cls: type) -> bool:
        """Whether `cls` is the graph class, judged by its qualified name, so that nothing needs importing."""
        inside = cls.__module__ == self.package or cls.__module__.startswith(self.package + ".")
        return inside and cls.__qualname__ == self.graph_class


KNOWN: Mapping[str, Known] = MappingProxyType(
    {
        "reference": Known(
            "conformance.adapters.reference:adapter",
            "the kit's own, in software or on a GPU",
            "reference_impl",
            "CUDAGraph",
            software=True,
        ),
        "reference.asynchronous": Known(
            "conformance.adapters.reference:asynchronous",
            "the kit's own in software, as asynchronous as a GPU",
            "reference_impl",
            "CUDAGraph",
            software=True,
        ),
        "reference.xpu": Known(
            "conformance.adapters.reference:xpu",
            "the kit's own, as torch.xpu documents it",
            "reference_impl",
            "XPUGraph",
            software=True,
        ),
        "reference.accelerator": Known(
            "conformance.adapters.reference:accelerator",
            "the kit's own, as torch.accelerator documents it",
            "reference_impl",
            "Graph",
            software=True,
        ),
        "torch.cuda": Known(
            "conformance.adapters.torch_cuda:adapter",
            "torch.cuda.CUDAGraph of the installed torch",
            "torch.cuda",
            "CUDAGraph",
        ),
    }
)


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
    adapter = _known_adapter(spec, spec, device) if ":" not in spec else _from_attribute(spec, device)
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
) -> dict[str, Adapter]:
    """The adapters that `specs` name, by their names in reports, each tried where tests are to run.

    Args:
        specs: as for `resolve`.
        device: likewise.
        revision: likewise.
        trial: make a graph and call what every test needs; not in a process that must come as far as its tests.
        suites: whether the kit's own suites are to run, which need what other tests may do without.

    Raises:
        UsageError: as `resolve`; or two implementations have one name.
    """
    pairs: list[tuple[str, Adapter]] = []
    for spec in specs:
        adapter = named(spec, device, revision)
        check(spec, adapter, trial=trial)
        if trial:
            _check_members(spec, adapter, suites=suites)
        pairs.append((spec, adapter))
    _tell_apart(pairs)
    return {adapter.name: adapter for _, adapter in pairs}


def _tell_apart(pairs: Sequence[tuple[str, Adapter]]) -> None:
    """Give classes of one name in files of one name as much of their folders' names as tells them apart.

    Raises:
        UsageError: two implementations have one name all the same.
    """
    by_name: dict[str, list[tuple[str, Adapter]]] = {}
    for spec, adapter in pairs:
        by_name.setdefault(adapter.name, []).append((spec, adapter))
    for name, group in by_name.items():
        if len(group) == 1:
            continue
        names = _longer_names([spec for spec, _ in group]) if name == _name_in_file(group[0][0]) else None
        if names is None:
            raise UsageError(f"--impl names {name!r} twice; tell them apart by the 'name' of an adapter for each")
        for (_, adapter), longer in zip(group, names, strict=True):
            adapter.name = longer


def _longer_names(specs: Sequence[str]) -> list[str] | None:
    """Names of classes in files that differ, with no more folders than that takes; ``None`` if there are none."""
    # Records are published, and homes are private.
    paths = [[part for part in re.split(r"[/\\]", published(spec)) if part != "."] for spec in specs]
    for length in range(2, max(map(len, paths)) + 1):
        names = ["/".join(parts[-length:]).encode("ascii", "replace").decode() for parts in paths]
        if len({*names}) == len(names) and all(map(is_name, names)):
            return names
    return None


def check_name(spec: str) -> None:
    """Refuse a name that nothing has, without importing anything.

    Raises:
        ImplementationError: `spec` is neither a known name nor of the form ``place:attribute``.
    """
    if ":" not in spec and spec not in KNOWN:
        raise ImplementationError(
            f"--impl={spec}: no implementation has that name{_hint(spec, KNOWN)} (known: {', '.join(KNOWN)}; "
            "or give package.module:attribute or path/to/file.py:attribute)"
        )


def is_software(spec: str, device: str | None) -> bool:
    """Whether `spec` on `device` is known to run on the host alone."""
    return spec in KNOWN and KNOWN[spec].software and device in {None, "cpu"}


def check(spec: str, adapter: Adapter, *, trial: bool = True) -> None:
    """Refuse an adapter that no suite could work with.

    Args:
        spec: that named it.
        adapter: to check.
        trial: make a graph, too.

    Raises:
        ImplementationError: what is missing or wrong.
    """
    for attribute in ("name", "dialect", "revision", "graph_class", "capabilities"):
        if not hasattr(adapter, attribute):
            raise ImplementationError(f"--impl={spec}: the adapter has no {attribute!r}")
    if not isinstance(adapter.name, str) or not is_name(adapter.name):
        raise ImplementationError(
            f"--impl={spec}: the adapter's name must be printable ASCII without brackets, at most 200 characters, "
            f"not {one_line(repr(adapter.name)[:400], 80)}"
        )
    if adapter.dialect not in DIALECTS:
        raise ImplementationError(
            f"--impl={spec}: the adapter's dialect is {adapter.dialect!r}; known: {', '.join(DIALECTS)}"
        )
    try:
        documented(adapter.revision)
    except (TypeError, ValueError) as error:
        raise ImplementationError(f"--impl={spec}: the adapter's revision: {error}") from None
    _check_capabilities(spec, adapter)
    _check_graph_class(spec, adapter)
    if trial:
        _check_constructor(spec, adapter)


def _check_capabilities(spec: str, adapter: Adapter) -> None:
    if not isinstance(adapter.capabilities, Mapping):
        raise ImplementationError(f"--impl={spec}: the adapter's capabilities must be a mapping of names to booleans")
    for name, value in adapter.capabilities.items():
        if name not in CAPABILITIES:
            raise ImplementationError(
                f"--impl={spec}: the adapter declares an unknown capability {name!r}{_hint(str(name), CAPABILITIES)}"
            )
        if not isinstance(value, bool):
            raise ImplementationError(f"--impl={spec}: capability {name!r} must be True or False, not {value!r}")


def _check_graph_class(spec: str, adapter: Adapter) -> None:
    cls = adapter.graph_class
    if not isinstance(cls, type):
        raise ImplementationError(f"--impl={spec}: the adapter's graph_class is {cls!r}, which is no class")
    methods = (*GRAPH_METHODS, *LISTED_METHODS[adapter.dialect])
    missing = [method for method in methods if not callable(getattr(cls, method, None))]
    if missing:
        raise ImplementationError(f"--impl={spec}: graph class {cls.__qualname__} has no {', '.join(missing)}")


def _check_constructor(spec: str, adapter: Adapter) -> None:
    try:
        adapter.new_graph()
    except Exception as error:
        name = adapter.graph_class.__qualname__
        where = last_line_in(error)
        faults = [f"a {name} cannot be constructed: {one_line(error)}{where}", *_member_faults(adapter)]
        raise ImplementationError(f"--impl={spec}:{further_lines(faults)}") from None


def _check_members(spec: str, adapter: Adapter, *, suites: bool) -> None:
    faults = _member_faults(adapter, suites=suites)
    if faults:
        raise ImplementationError(f"--impl={spec}: the adapter is wrong:{further_lines(faults)}")


def _member_faults(adapter: Adapter, *, suites: bool = False) -> list[str]:
    from conformance.adapters.members import faults_in

    return faults_in(adapter, suites=suites)


# -- by name ----------------------------------------------------------------------------------------------------------


def _known_adapter(spec: str, name: str, device: str | None) -> Adapter:
    check_name(spec)
    module, _, attribute = KNOWN[name].factory.partition(":")
    try:
        factory: Callable[..., object] = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise _import_failed(spec, module, error) from None
    return _call_factory(spec, factory, device)


def _hint(word: str, names: Mapping[str, object]) -> str:
    matches = difflib.get_close_matches(word, list(names), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


# -- by attribute -----------------------------------------------------------------------------------------------------


def _from_attribute(spec: str, device: str | None) -> Adapter:
    place, _, path = spec.rpartition(":")
    if not place or not path:
        raise ImplementationError(f"--impl={spec}: write package.module:attribute or path/to/file.py:attribute")
    module = _load_file(spec, Path(place).expanduser()) if place.endswith(".py") else _load_module(spec, place)
    target: Any = module
    for part in path.split("."):
        try:
            target = getattr(target, part)
        except AttributeError:
            public = {name: None for name in vars(module) if not name.startswith("_")}
            raise ImplementationError(
                f"--impl={spec}: {place} has no attribute {path!r}{_hint(path, public)}"
            ) from None
    return _own_adapter_of(spec, target, device)


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
        what = "derives from no graph class that the kit knows" if looks else "is no graph class that the kit knows"
        missing = "" if looks else f" (it has no {', '.join(m for m in GRAPH_METHODS if not hasattr(cls, m))})"
        raise ImplementationError(
            f"--impl={spec}: class {cls.__qualname__} {what}{missing}: write an adapter for it, a subclass of "
            "conformance.adapter.Adapter or a call of conformance.adapter.ModuleAdapter"
        )
    adapter = _known_adapter(spec, base, device)
    adapter.graph_class = cls
    adapter.name = _name_in_file(spec)
    return adapter


def _name_in_file(spec: str) -> str:
    """The name of a class that `spec` finds; the folders of a file are no part of it, as long as it has no namesake."""
    return re.sub(r"^.*[/\\](?=[^/\\]*\.py:)", "", spec).encode("ascii", "replace").decode()


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
    except Exception as error:
        where = last_line_in(error, inspect.getsourcefile(inspect.unwrap(factory)) or "")
        raise ImplementationError(f"--impl={spec}: making the adapter failed{where}: {one_line(error)}") from None
    if not isinstance(adapter, Adapter):
        raise ImplementationError(
            f"--impl={spec}: the function returned a {type(adapter).__name__}, not a conformance.adapter.Adapter"
        )
    return adapter


def _takes_device(factory: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # some callables written in C have no signature
        return False
    return any(parameter.name == "device" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


# -- importing --------------------------------------------------------------------------------------------------------


def _load_module(spec: str, name: str) -> ModuleType:
    # The pytest command, unlike python -m pytest, leaves the current folder off the path.
    _make_importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A parent package or the module itself is missing; anything else is missing inside the module.
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise ImplementationError(f"--impl={spec}: no module named {error.name!r}") from None
        raise _import_failed(spec, name, error) from None
    except (Exception, SystemExit) as error:
        raise _import_failed(spec, name, error) from None


def _load_file(spec: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise ImplementationError(f"--impl={spec}: no file {path}")
    path = path.resolve()
    _make_importable(path.parent)
    # A name of its own for each file, so that two files called adapter.py do not replace each other.
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    module_spec = importlib.util.spec_from_file_location(name, path)
    if module_spec is None or module_spec.loader is None:
        raise ImplementationError(f"--impl={spec}: {path} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    try:
        module_spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _import_failed(spec, str(path), error) from None
    return module


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _import_failed(spec: str, name: str, error: BaseException) -> ImplementationError:
    where = last_line_in(error)
    return ImplementationError(f"--impl={spec}: importing {name} failed{where}: {one_line(error)}")


def _checked_revision(text: str) -> str:
    try:
        return documented(text)
    except ValueError as error:
        raise UsageError(f"--revision={text}: {error}") from None
