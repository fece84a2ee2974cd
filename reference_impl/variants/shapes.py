"""Classes that are built otherwise: slots, no signatures, further members, another policy where one is open."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch

import reference_impl.accelerator
from reference_impl import CUDAGraph
from reference_impl.accelerator import Graph
from reference_impl.faults.fault import replaced
from reference_impl.graphs.core import GraphCore
from reference_impl.graphs.debugging import DumpsWhenEnabled
from reference_impl.graphs.hooks import Hooks
from reference_impl.variants.variant import (
    ACCELERATOR,
    CUDA,
    EVERY_DIALECT,
    EVERYWHERE,
    Lacking,
    Variants,
    removed,
    stated,
)
from reference_impl.xpu import XPUGraph

VARIANTS = Variants()

_METHODS = (
    *("capture_begin", "capture_end", "capture_end_pre", "capture_end_post", "instantiate", "replay", "reset"),
    *("pool", "pools", "raw_cuda_graph", "raw_cuda_graph_exec", "enable_debug_mode", "debug_dump", "get_graph_data"),
    *("register_destroy_callback", "retain_object"),
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


@VARIANTS.patch(*EVERY_DIALECT)
def final_class() -> AbstractContextManager[Any]:
    """Nothing can derive from the class, as from many that are compiled."""

    def wrap(_original: Any) -> Any:
        def refuse(cls: type, /, **_: Any) -> None:
            raise TypeError(f"type {cls.__mro__[1].__name__!r} is not an acceptable base type")

        return classmethod(refuse)

    return replaced(GraphCore, "__init_subclass__", wrap)


@VARIANTS.patch("reference.xpu", "reference.accelerator")
def no_reset() -> AbstractContextManager[Any]:
    """The class has no reset(), which its page does not list; a graph goes when it is deleted."""
    return removed(GraphCore, "reset")


class _ConstructorsSettings(DumpsWhenEnabled):
    """Pool and mode are taken by the constructor and by nothing else: they are no attributes."""

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        super().__init__(keep_graph)
        self._pool = pool
        self._mode = capture_error_mode

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        super().__setattr__(name, value)

    _modes = Graph._modes
    debug_dump = Graph.debug_dump
    __enter__ = Graph.__enter__
    __exit__ = Graph.__exit__

    def capture_begin(self) -> None:
        """Begin a capture on the current stream."""
        self._begin("capture_begin()", self._pool, self._mode, check_input_liveness=False)


@VARIANTS.graph_class(*ACCELERATOR)
class SettingsOfTheConstructor(_ConstructorsSettings):
    """Pool and mode are taken by the constructor and by nothing else: they are no attributes."""


@VARIANTS.patch(*ACCELERATOR)
def accelerator_as_its_page_lists_it() -> AbstractContextManager[Any]:
    """What the page lists and no more: settings of the constructor, no reset(), no module that makes pool tokens."""
    module = Lacking(reference_impl.accelerator, ["graph_pool_handle", "MemPool", "make_graphed_callables"])
    return stated(removed(GraphCore, "reset"), graph_class=_ConstructorsSettings, module=module)


@VARIANTS.patch(*EVERYWHERE)
def replay_is_an_operator() -> AbstractContextManager[Any]:
    """replay() is a call of one registered operator, which compilers and profilers can see."""
    under_way: dict[int, tuple[Callable[[GraphCore], None], GraphCore]] = {}

    def run(graph: int) -> None:
        call, target = under_way[graph]
        call(target)

    # Modes that look at operators look at this one, too, and go on into what it does.
    run.__annotations__ = {"graph": int, "return": None}
    operator = torch.library.custom_op("reference_variants::replay", run, mutates_args=())

    def wrap(original: Any) -> Any:
        def replay(self: GraphCore) -> None:
            under_way[id(self)] = original, self
            try:
                operator(id(self))
            finally:
                del under_way[id(self)]

        return replay

    return replaced(GraphCore, "replay", wrap)


@VARIANTS.graph_class(*CUDA)
class ResetDropsHooks(CUDAGraph):
    """reset() deletes the hooks on the graph with all else that it holds."""

    def reset(self) -> None:
        super().reset()
        self._capture_start_hooks = Hooks("capture_start")
        self._capture_end_hooks = Hooks("capture_end")
        self._post_instantiate_hooks = Hooks("post_instantiate")
        self._replay_start_hooks = Hooks("replay_start")
        self._replay_end_hooks = Hooks("replay_end")


@VARIANTS.graph_class(*CUDA)
class DeletionSpoilsCaptures(CUDAGraph):
    """Destroying an executable is a call that captures prohibit: one underway is spoilt by it, as with PyTorch's."""

    def __del__(self) -> None:
        if self._state in ("captured", "instantiated", "ready"):
            self._device.runtime.cudaDeviceSynchronize()
