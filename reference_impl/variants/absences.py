"""Classes and devices that lack one optional feature, or several, and whose adapters say so."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import reference_impl
import reference_impl.accelerator
import reference_impl.xpu
from reference_impl import runtime
from reference_impl.accelerator import Graph
from reference_impl.devices.software.sinks import SoftwareCapture
from reference_impl.errors import GraphError
from reference_impl.faults.fault import replaced
from reference_impl.graphs.context import CaptureContext
from reference_impl.graphs.core import GraphCore
from reference_impl.runtime import captures
from reference_impl.runtime.bindings import cudaError_t
from reference_impl.variants.variant import Lacking, Variant, Variants, removed, stated
from reference_impl.xpu import XPUGraph

VARIANTS = Variants()

_CLASSES: Mapping[str, type[GraphCore]] = MappingProxyType(
    {"reference": reference_impl.CUDAGraph, "reference.xpu": XPUGraph, "reference.accelerator": Graph}
)
_MODULES: Mapping[str, Any] = MappingProxyType(
    {
        "reference": reference_impl,
        "reference.xpu": reference_impl.xpu,
        "reference.accelerator": reference_impl.accelerator,
    }
)
_EVERY_DIALECT = tuple(_CLASSES)
_ONLY_CUDA = ("reference",)

_HOOKS = (
    *("register_capture_start_hook", "register_capture_end_hook", "register_post_instantiate_hook"),
    *("register_replay_start_hook", "register_replay_end_hook", "register_destroy_callback", "retain_object"),
)


@dataclass(frozen=True)
class _Lack:
    """What is not there when a feature is not.

    Attributes:
        about: the variant's text.
        members: methods of the class.
        arguments: of the constructor, of capture_begin and of the device module's functions.
        names: of the device module.
        functions: of the runtime, by what their names contain.
        runtime: whether there is any.
        patch: what else the device does not do.
        also: further features that are not there without it.
        implementations: those that have it.
    """

    about: str
    members: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    runtime: bool = True
    patch: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext
    also: tuple[str, ...] = ()
    implementations: tuple[str, ...] = _ONLY_CUDA


# -- what a device may be unable to do --------------------------------------------------------------------------------


def _without_draws() -> AbstractContextManager[Any]:
    """An operator that draws from a generator is refused in a capture."""

    def wrap(original: Any) -> Any:
        def launch(self: SoftwareCapture, kernel: Any) -> None:
            if kernel.serial is not None:
                raise GraphError(f"{kernel.name}: the device's generator cannot be captured")
            original(self, kernel)

        return launch

    return replaced(SoftwareCapture, "launch", wrap)


def _without_forks() -> AbstractContextManager[Any]:
    """A stream that would enter a capture by waiting for its work spoils it."""

    def wrap(original: Any) -> Any:
        def join(self: captures.Capture, stream: Any, nodes: Any) -> None:
            if self.streams and stream not in self.streams:
                captures._refuse([self], cudaError_t.cudaErrorStreamCaptureUnsupported)
            original(self, stream, nodes)

        return join

    return replaced(captures.Capture, "join", wrap)


def _without_threads() -> AbstractContextManager[Any]:
    """Captures are begun in the thread that came first."""

    def wrap(original: Any) -> Any:
        def begin(self: GraphCore, *arguments: Any, **named: Any) -> None:
            if threading.current_thread() is not threading.main_thread():
                raise GraphError("captures are for the main thread")
            original(self, *arguments, **named)

        return begin

    return replaced(GraphCore, "_begin", wrap)


# -- what may be lacking ----------------------------------------------------------------------------------------------

_LACKS: Mapping[str, _Lack] = MappingProxyType(
    {
        "keep_graph": _Lack(
            "The constructor takes no argument, and there is no instantiate(): a capture is ready when it ends.",
            members=("instantiate",),
            arguments=("keep_graph",),
            implementations=_EVERY_DIALECT,
        ),
        "pools": _Lack(
            "Each graph has memory of its own, and nothing names it.",
            members=("pool", "pools"),
            arguments=("pool",),
            names=("graph_pool_handle", "MemPool"),
            implementations=_EVERY_DIALECT,
        ),
        "capture_modes": _Lack(
            "There is one mode, which has no name.",
            arguments=("capture_error_mode",),
            implementations=("reference", "reference.accelerator"),
        ),
        "liveness": _Lack("Nothing checks the inputs.", arguments=("check_input_liveness",)),
        "hooks": _Lack("There are no hooks at all.", members=_HOOKS, names=("export_dot", "export_graph_data")),
        "capture_phases": _Lack("A capture ends in one step.", members=("capture_end_pre", "capture_end_post")),
        "raw_handles": _Lack(
            "No handle is handed out.",
            members=("raw_cuda_graph", "raw_cuda_graph_exec", "raw_xpu_graph", "raw_xpu_graph_exec"),
            also=("template_editing",),
            implementations=("reference", "reference.xpu"),
        ),
        "template_editing": _Lack(
            "The runtime has no function that changes a template.",
            functions=("cudaGraphAdd", "cudaGraphDestroyNode", "cudaGraphRemove", "NodeSetParams", "cudaGraphClone"),
        ),
        "raw_allocation": _Lack("The runtime allocates nothing.", functions=("cudaMalloc",)),
        "debug_dump": _Lack(
            "Nothing is dumped at all.", members=("enable_debug_mode", "debug_dump"), implementations=_EVERY_DIALECT
        ),
        "graph_data": _Lack("A graph gives no data of its nodes.", members=("get_graph_data",)),
        "rng": _Lack("Random operators are refused in captures.", patch=_without_draws, implementations=_EVERY_DIALECT),
        "graphed_callables": _Lack(
            "The device module graphs no callables.",
            names=("make_graphed_callables",),
            implementations=("reference", "reference.xpu"),
        ),
        "fork_join": _Lack("A capture has one stream.", patch=_without_forks, implementations=_EVERY_DIALECT),
        "threads": _Lack(
            "Captures are begun in the main thread only.", patch=_without_threads, implementations=_EVERY_DIALECT
        ),
        "memory_stats": _Lack(
            "The allocator has no statistics.",
            names=("memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats"),
            implementations=_EVERY_DIALECT,
        ),
    }
)


# -- taking it away ---------------------------------------------------------------------------------------------------


def _without(names: Iterable[str], implementation: str, **others: Any) -> AbstractContextManager[dict[str, Any]]:
    """The implementation without these features, and with `others` stated.

    Args:
        names: of the features.
        implementation: the face of the reference.
        others: further attributes of the adapter.
    """
    lacks = [_LACKS[name] for name in names]
    members = {member for lack in lacks for member in lack.members}
    arguments = {argument for lack in lacks for argument in lack.arguments}
    owners = [cls for cls in _CLASSES[implementation].__mro__ if cls is not object]
    changes: list[AbstractContextManager[Any]] = [
        removed(owner, member) for owner in owners for member in sorted(members & vars(owner).keys())
    ]
    changes += [lack.patch() for lack in lacks]
    attributes: dict[str, Any] = {
        "graph_class": _class_without(_CLASSES[implementation], arguments),
        "module": _module_without(_MODULES[implementation], {name for lack in lacks for name in lack.names}, arguments),
        "capabilities": dict.fromkeys([*names, *(name for lack in lacks for name in lack.also)], False),
    }
    parts = tuple(part for lack in lacks for part in lack.functions)
    if parts:
        attributes["runtime"] = Lacking(runtime, [name for name in dir(runtime) if any(part in name for part in parts)])
    return stated(*changes, **{**attributes, **others})


def _class_without(cls: type, arguments: set[str]) -> type:
    """A class whose methods do not take these `arguments`."""
    methods = {name: _function_without(getattr(cls, name), arguments) for name in ("__init__", "capture_begin")}
    return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, **methods})


def _module_without(module: Any, names: set[str], arguments: set[str]) -> Any:
    """A device module without these `names`, whose functions do not take these `arguments`."""
    others: dict[str, Any] = {}
    if hasattr(module, "graph"):
        others["graph"] = _context_without(module.graph, arguments)
    if hasattr(module, "make_graphed_callables"):
        others["make_graphed_callables"] = _function_without(module.make_graphed_callables, arguments)
    return Lacking(module, names, {name: other for name, other in others.items() if name not in names})


def _context_without(cls: type[CaptureContext], arguments: set[str]) -> type:
    """A context manager that does not take these `arguments`, and gives none of them to the graph."""
    enter = cls.__enter__

    def __enter__(self: Any) -> Any:  # noqa: N807
        self._settings = {name: value for name, value in self._settings.items() if name not in arguments}
        return enter(self)

    methods = {"__init__": _function_without(cls.__init__, arguments), "__enter__": __enter__}
    return type(cls.__name__, (cls,), methods)


def _function_without(function: Callable[..., Any], arguments: set[str]) -> Callable[..., Any]:
    """`function` as it would be without these `arguments`, which have their defaults."""
    whole = inspect.signature(function)
    signature = whole.replace(
        parameters=[parameter for name, parameter in whole.parameters.items() if name not in arguments]
    )

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{function.__qualname__}() {error}") from None
        return function(**bound.arguments)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _note(name: str, about: str, lacking: tuple[str, ...], implementation: str, **others: Any) -> None:
    VARIANTS.append(
        Variant(name, about, (implementation,), functools.partial(_without, lacking, implementation, **others))
    )


for _capability, _lack in _LACKS.items():
    for _implementation in _lack.implementations:
        _dialect = _implementation.partition(".")[2]
        _words = ["no", *_capability.split("_"), *([_dialect] if _dialect else [])]
        _note("-".join(_words), _lack.about, (_capability,), _implementation)

_OLD = ("keep_graph", "liveness", "hooks", "capture_phases", "raw_handles", "graph_data")
_ABOUT = "The class of PyTorch 2.7, as vendors copied it: no keep_graph, handles, hooks, phases, liveness or graph data"
_note("shape-of-2-7", f"{_ABOUT}, with the documents of 2.14 claimed.", _OLD, "reference")
_note("shape-of-2-7-claimed", f"{_ABOUT}, and claimed.", _OLD, "reference", revision="2.7")
_note(
    "no-runtime-and-no-handles",
    "Nothing behind the class has CUDA's functions, and it hands no handle out.",
    ("raw_handles", "template_editing", "raw_allocation"),
    "reference",
    runtime=None,
)
