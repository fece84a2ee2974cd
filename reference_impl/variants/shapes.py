"""Classes that are built otherwise: slots, no signatures, further members, another policy where one is open."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

from reference_impl import CUDAGraph
from reference_impl.accelerator import Graph
from reference_impl.variants.variant import CUDA, Variants
from reference_impl.xpu import XPUGraph

VARIANTS = Variants()

_METHODS = (
    *("capture_begin", "capture_end", "capture_end_pre", "capture_end_post", "instantiate", "replay", "reset"),
    *("pool", "pools", "raw_cuda_graph", "raw_cuda_graph_exec", "enable_debug_mode", "debug_dump", "get_graph_data"),
    *("register_destroy_callback", "retain_object", "export_dot", "export_graph_data"),
)
_REGISTER = (
    *("register_capture_start_hook", "register_capture_end_hook", "register_post_instantiate_hook"),
    *("register_replay_start_hook", "register_replay_end_hook"),
)


class _Method:
    """A method that tells nothing of itself, as one that is compiled does not."""

    __slots__ = ("__name__", "_call")

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.__name__ = name
        self._call = call

    @property
    def __signature__(self) -> Any:
        raise ValueError(f"no signature found for builtin {self.__name__}")

    def __get__(self, graph: Any, owner: Any = None) -> Any:
        if graph is None:
            return self
        return _Method(self.__name__, lambda *arguments, **named: self._call(graph, *arguments, **named))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._call(*arguments, **named)


def _forwarding(name: str) -> Callable[..., Any]:
    def call(graph: Any, *arguments: Any, **named: Any) -> Any:
        return getattr(graph._inner, name)(*arguments, **named)

    return call


def _registering(name: str) -> Callable[..., Any]:
    def call(graph: Any, hook: Any) -> Any:
        if not callable(hook):
            return getattr(graph._inner, name)(hook)
        outside = weakref.ref(graph)
        return getattr(graph._inner, name)(lambda _: hook(outside()))

    return call


def _construct(graph: Any, keep_graph: bool = False) -> None:
    object.__setattr__(graph, "_inner", CUDAGraph(keep_graph))


#: A class with slots, whose methods have no signatures, as an extension module makes it.
Compiled = type(
    "Compiled",
    (),
    {
        "__doc__": """Nothing can be asked for its signature and no attribute can be added, as in a compiled class.""",
        "__slots__": ("__weakref__", "_inner"),
        "__init__": _construct,
        **{name: _Method(name, _forwarding(name)) for name in _METHODS},
        **{name: _Method(name, _registering(name)) for name in _REGISTER},
    },
)
VARIANTS.graph_class(*CUDA)(Compiled)


@VARIANTS.graph_class(*CUDA)
class MoreMembers(CUDAGraph):
    """Further methods and properties, and a further argument of capture_begin with a default."""

    version = 7

    @property
    def nodes(self) -> int:
        """How many nodes there would be."""
        return 0

    def update(self) -> None:
        """Do what another vendor's class does."""

    def capture_begin(
        self,
        pool: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
        *,
        dry_run: bool = False,
    ) -> None:
        del dry_run
        super().capture_begin(pool, capture_error_mode, check_input_liveness)


@VARIANTS.graph_class(*CUDA)
class Slower(CUDAGraph):
    """Every step takes its time."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        time.sleep(0.001)
        super().capture_begin(pool, capture_error_mode, check_input_liveness)

    def _make_executable(self, call: str) -> None:
        time.sleep(0.001)
        super()._make_executable(call)

    def replay(self) -> None:
        time.sleep(0.0005)
        super().replay()


@VARIANTS.graph_class("reference.asynchronous")
class WaitsForEachReplay(CUDAGraph):
    """A replay is over when the call returns: nothing promises that it is not."""

    def _launch(self, call: str) -> None:
        super()._launch(call)
        stream = self._device.current_stream()
        if not stream.is_capturing():
            stream.synchronize()


class _Replaces:
    """A capture into a graph that holds one replaces it, where the reference refuses."""

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        if self._state in ("captured", "instantiated", "ready"):  # type: ignore[attr-defined]
            self.reset()  # type: ignore[attr-defined]
        super()._begin(call, pool, mode, check_input_liveness)  # type: ignore[misc]


@VARIANTS.graph_class(*CUDA)
class ReplacesOnRecapture(_Replaces, CUDAGraph):
    """A capture into a graph that holds one replaces it, where the reference refuses."""


@VARIANTS.graph_class("reference.xpu")
class XpuReplacesOnRecapture(_Replaces, XPUGraph):
    """A capture into a graph that holds one replaces it, where the reference refuses."""


@VARIANTS.graph_class("reference.accelerator")
class AcceleratorReplacesOnRecapture(_Replaces, Graph):
    """A capture into a graph that holds one replaces it, where the reference refuses."""


@VARIANTS.graph_class(*CUDA)
class KeepsItsToken(CUDAGraph):
    """A graph that captures again without a pool uses the token that it had before reset(), if no other graph does."""

    _own: Any = None
    _all: ClassVar[weakref.WeakSet[KeepsItsToken]] = weakref.WeakSet()

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        self._all.add(self)
        shared = any(self._own in other._holds.pools for other in self._all if other is not self)
        super()._begin(call, self._own if pool is None and not shared else pool, mode, check_input_liveness)
        if pool is None:
            self._own = self._holds.pools[0]


@VARIANTS.graph_class(*CUDA)
class InstantiatesTwice(CUDAGraph):
    """Each executable is made once to look at it and once to use it, so that handles skip values."""

    def _make_executable(self, call: str) -> None:
        runtime = self._device.runtime
        if self._holds.template is not None:
            code, trial = runtime.cudaGraphInstantiate(self._holds.template, 0)
            if int(code) == 0:
                runtime.cudaGraphExecDestroy(trial)
        super()._make_executable(call)
