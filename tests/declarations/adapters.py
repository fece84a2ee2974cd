"""Adapters of the software reference whose classes lack, break or have a capability, and what each declares."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import reference_impl
from conformance.adapter import Adapter
from conformance.adapters import reference
from conformance.requirements.vocabulary import CAPABILITIES

_FACES: dict[str, Callable[[], Adapter]] = {
    "cuda": reference.adapter,
    "xpu": reference.xpu,
    "accelerator": reference.accelerator,
}
Graph = reference_impl.CUDAGraph


def _named(make: Callable[[], Adapter]) -> Callable[[], Adapter]:
    """Give the adapter the function's name, so that one session can have many."""

    @functools.wraps(make)
    def adapter() -> Adapter:
        result = make()
        result.name = make.__name__
        return result

    return adapter


def _declaring(face: str, *absent: str, revision: str | None = None, present: tuple[str, ...] = ()) -> Adapter:
    adapter = _FACES[face]()
    adapter.capabilities = {**dict.fromkeys(absent, False), **dict.fromkeys(present, True)}
    adapter.revision = revision or adapter.revision
    return adapter


def _of(graph_class: type, absent: str) -> Adapter:
    adapter = _declaring("cuda", absent)
    adapter.graph_class = graph_class
    return adapter


# -- everything is there -----------------------------------------------------------------------------------------------


@_named
def all_absent() -> Adapter:
    return _declaring("cuda", *CAPABILITIES)


@_named
def all_absent_xpu() -> Adapter:
    return _declaring("xpu", *CAPABILITIES)


@_named
def all_absent_accelerator() -> Adapter:
    return _declaring("accelerator", *CAPABILITIES)


@_named
def all_absent_of_old() -> Adapter:
    """As of PyTorch 1.10, which documents next to nothing of it."""
    return _declaring("cuda", *CAPABILITIES, revision="1.10")


@_named
def all_present() -> Adapter:
    return _declaring("cuda", present=tuple(CAPABILITIES))


@_named
def all_unstated() -> Adapter:
    return _declaring("cuda")


def _one_absent(capability: str) -> Callable[[], Adapter]:
    def adapter() -> Adapter:
        return _declaring("cuda", capability)

    adapter.__name__ = capability
    return _named(adapter)


#: ``adapters.py:ONE.pools`` and so on.
ONE = type("One", (), {name: staticmethod(_one_absent(name)) for name in CAPABILITIES})


# -- what a class may lack, or have and get wrong ----------------------------------------------------------------------


class _NoKeepGraph(Graph):
    def __init__(self) -> None:
        super().__init__()


class _IgnoresKeepGraph(Graph):
    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__()

    def instantiate(self) -> None:
        """Nothing: capture_end has done it."""


class _RefusesPools(Graph):
    def capture_begin(self, pool: Any = None, *settings: Any, **named: Any) -> None:
        if pool is not None:
            raise RuntimeError("this class has one pool for each graph")
        super().capture_begin(pool, *settings, **named)


class _NoModes(Graph):
    def capture_begin(self, pool: Any = None) -> None:  # type: ignore[override]
        super().capture_begin(pool)


class _IgnoresModes(Graph):
    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **named: Any) -> None:
        super().capture_begin(pool, "relaxed", **named)


class _IgnoresLiveness(Graph):
    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **_: Any) -> None:
        super().capture_begin(pool, capture_error_mode)


class _Without:
    """A member that is not there."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"no attribute {self._name!r}")


class _NoHooks(Graph):
    register_capture_end_hook = _Without()  # type: ignore[assignment]
    register_post_instantiate_hook = _Without()  # type: ignore[assignment]


class _Handle:
    def remove(self) -> None:
        """Nothing."""


class _DeafHooks(Graph):
    def register_capture_end_hook(self, hook: Any) -> Any:
        return _Handle()

    register_post_instantiate_hook = register_capture_end_hook


class _NoPhases(Graph):
    capture_end_pre = _Without()  # type: ignore[assignment]
    capture_end_post = _Without()  # type: ignore[assignment]


class _MadeUpHandles(Graph):
    def raw_cuda_graph(self) -> int:
        return 1

    def raw_cuda_graph_exec(self) -> int:
        return 1


class NotBuilt(Exception):
    """A vendor's own."""


class _RefusesDumps(Graph):
    def debug_dump(self, *arguments: Any, **named: Any) -> None:
        raise NotBuilt("this build has no dumps")


class _EmptyDumps(Graph):
    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        with open(debug_path, "w", encoding="utf-8"):  # noqa: PTH123
            pass


class _NodesWithoutIds(Graph):
    """As with a driver before CUDA 13.1."""

    def get_graph_data(self) -> dict[str, Any]:
        data = super().get_graph_data()
        for node in data["nodes"]:
            node["tools_id"] = 0
        return data


class _RefusesDraws(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the compiler is imported, for seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise RuntimeError("random operators cannot be captured")
        return func(*args, **(kwargs or {}))


class _NoDraws(Graph):
    _modes: contextlib.ExitStack

    def capture_begin(self, *settings: Any, **named: Any) -> None:
        super().capture_begin(*settings, **named)
        self._modes = contextlib.ExitStack()
        self._modes.enter_context(_RefusesDraws())

    def capture_end(self) -> None:
        self._modes.close()
        super().capture_end()

    def capture_end_pre(self) -> None:
        self._modes.close()
        super().capture_end_pre()


class _OneThread(Graph):
    def capture_begin(self, *settings: Any, **named: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("captures are for the main thread")
        super().capture_begin(*settings, **named)


class _ThrowsAnything(Graph):
    def get_graph_data(self) -> dict[str, Any]:
        raise SystemExit("no graph data")


class _LeavesCapturesOpen(Graph):
    """Not without its hooks: the first call of one leaves the capture as it is, and capture_end never comes to it."""

    def register_capture_end_hook(self, hook: Any) -> Any:
        self.capture_end = self._refuse_to_end  # type: ignore[method-assign]
        return super().register_capture_end_hook(hook)

    def _refuse_to_end(self) -> None:
        del self.capture_end
        raise RuntimeError("captures with hooks do not end")


class _Crashes(Graph):
    def get_graph_data(self) -> dict[str, Any]:
        ctypes.string_at(0)
        return {}


class _Hangs(Graph):
    def get_graph_data(self) -> dict[str, Any]:
        time.sleep(3600)
        return {}


@_named
def no_keep_graph() -> Adapter:
    return _of(_NoKeepGraph, "keep_graph")


@_named
def ignores_keep_graph() -> Adapter:
    return _of(_IgnoresKeepGraph, "keep_graph")


@_named
def refuses_pools() -> Adapter:
    return _of(_RefusesPools, "pools")


@_named
def no_pool_handles() -> Adapter:
    adapter = _declaring("cuda", "pools")
    adapter.graph_pool_handle = _not_there  # type: ignore[method-assign]
    return adapter


def _not_there(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


@_named
def no_modes() -> Adapter:
    return _of(_NoModes, "capture_modes")


@_named
def ignores_modes() -> Adapter:
    return _of(_IgnoresModes, "capture_modes")


@_named
def modes_that_cannot_be_tried() -> Adapter:
    """As on a runtime without an unsafe call."""
    adapter = _declaring("cuda", "capture_modes")
    adapter.unsafe_call = _not_there  # type: ignore[method-assign]
    return adapter


@_named
def ignores_liveness() -> Adapter:
    return _of(_IgnoresLiveness, "liveness")


@_named
def no_hooks() -> Adapter:
    return _of(_NoHooks, "hooks")


@_named
def deaf_hooks() -> Adapter:
    return _of(_DeafHooks, "hooks")


@_named
def no_phases() -> Adapter:
    return _of(_NoPhases, "capture_phases")


@_named
def made_up_handles() -> Adapter:
    return _of(_MadeUpHandles, "raw_handles")


@_named
def no_runtime() -> Adapter:
    adapter = _declaring("cuda", "template_editing")
    adapter.runtime = None
    return adapter


@_named
def refuses_dumps() -> Adapter:
    return _of(_RefusesDumps, "debug_dump")


@_named
def empty_dumps() -> Adapter:
    return _of(_EmptyDumps, "debug_dump")


@_named
def nodes_without_ids() -> Adapter:
    return _of(_NodesWithoutIds, "graph_data")


@_named
def no_draws() -> Adapter:
    return _of(_NoDraws, "rng")


@_named
def no_graphed_callables() -> Adapter:
    adapter = _declaring("cuda", "graphed_callables")
    adapter.make_graphed_callables = _not_there  # type: ignore[method-assign]
    return adapter


@_named
def eager_callables() -> Adapter:
    """The sources themselves: right results, and nothing graphed."""
    adapter = _declaring("cuda", "graphed_callables")
    adapter.make_graphed_callables = lambda callables, _args, **_: callables  # type: ignore[method-assign]
    return adapter


@_named
def no_events() -> Adapter:
    adapter = _declaring("cuda", "fork_join")
    adapter.new_event = _not_there  # type: ignore[method-assign]
    return adapter


@_named
def one_thread() -> Adapter:
    return _of(_OneThread, "threads")


@_named
def wrong_statistics() -> Adapter:
    adapter = _declaring("cuda", "memory_stats")
    adapter.memory_allocated = lambda: 0  # type: ignore[method-assign]
    return adapter


@_named
def throws_anything() -> Adapter:
    return _of(_ThrowsAnything, "graph_data")


@_named
def leaves_captures_open() -> Adapter:
    return _of(_LeavesCapturesOpen, "hooks")


@_named
def crashes() -> Adapter:
    return _of(_Crashes, "graph_data")


@_named
def crashes_undeclared() -> Adapter:
    adapter = crashes()
    adapter.capabilities = {}
    return adapter


@_named
def hangs() -> Adapter:
    return _of(_Hangs, "graph_data")
