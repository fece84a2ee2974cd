# ruff: noqa: RUF001  # Chinese has punctuation of its own
"""Refusals in another manner than the reference's: of another class, in another language, with other consequences."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils import _pytree as pytree

import reference_impl.xpu
from reference_impl import CUDAGraph, errors
from reference_impl.accelerator import Graph
from reference_impl.allocator.pools import PoolTable
from reference_impl.devices.software import sinks
from reference_impl.errors import GraphError
from reference_impl.faults.fault import replaced, together
from reference_impl.graphs import context, core, graphed_callables
from reference_impl.graphs.core import GraphCore
from reference_impl.graphs.debugging import DumpsWhenEnabled
from reference_impl.graphs.graphed_callables import _Passes
from reference_impl.graphs.liveness import LivenessTracker
from reference_impl.runtime import captures
from reference_impl.runtime.errors import Refusal
from reference_impl.variants.variant import CUDA, EVERY_DIALECT, EVERYWHERE, Variants

VARIANTS = Variants()

#: What refuses with a plain exception of Python's, wherever it is called from.
_REFUSING = (
    (PoolTable, "begin"),
    (LivenessTracker, "check"),
    (graphed_callables, "_require_no_autocast_cache"),
    (_Passes, "replay_backward"),
)


# -- classes ----------------------------------------------------------------------------------------------------------


class VendorError(Exception):
    """A vendor's own kind of error, which is no RuntimeError."""


class VendorDeviceError(VendorError):
    """The vendor's runtime refused a call; ``code`` says why."""

    def __init__(self, call: str, code: Any, text: str, detail: str = "") -> None:
        super().__init__(f"{call}: {text} {detail}")
        self.code = code


@VARIANTS.patch(*EVERY_DIALECT, declines=("misuse.refusals-are-runtime-errors",))
def exceptions_of_the_vendor() -> AbstractContextManager[Any]:
    """Whatever the class or its device refuses raises the vendor's own exception, which is no RuntimeError."""

    def instead(kind: type[Exception]) -> Callable[[Any], Any]:
        return lambda _: kind

    def wrap(original: Any) -> Any:
        def refuse(*arguments: Any, **named: Any) -> Any:
            try:
                return original(*arguments, **named)
            except RuntimeError as error:
                if type(error) is not RuntimeError:
                    raise
                raise VendorError(*error.args) from None

        return refuse

    return together(
        replaced(core, "GraphError", instead(VendorError)),
        replaced(context, "GraphError", instead(VendorError)),
        replaced(core, "DeviceError", instead(VendorDeviceError)),
        replaced(errors, "DeviceError", instead(VendorDeviceError)),
        replaced(sinks, "HostReadInCapture", instead(VendorDeviceError)),
        *(replaced(owner, name, wrap) for owner, name in _REFUSING),
    )


# -- words ------------------------------------------------------------------------------------------------------------


@VARIANTS.patch(*EVERY_DIALECT)
def messages_in_chinese() -> AbstractContextManager[Any]:
    """Messages are Chinese sentences, which have no blanks between words."""

    def translated(text: str) -> Callable[[Any], Any]:
        def wrap(original: Any) -> Any:
            def refuse(*arguments: Any, **named: Any) -> Any:
                try:
                    return original(*arguments, **named)
                except Exception as error:
                    # What a sentence counts first, its translation counts as well.
                    first = re.search(r"\d+", str(error))
                    error.args = (text.format("" if first is None else first[0]),)
                    raise

            return refuse

        return wrap

    def refusal(original: Any) -> Any:
        def refuse(self: GraphCore, call: str, remedy: str) -> GraphError:
            original(self, call, remedy)
            return GraphError(f"{call}：图对象处于{self._state}状态，不允许这一调用，请先结束当前捕获或重新捕获。")

        return refuse

    def device_error(original: Any) -> Any:
        def init(self: Any, call: str, code: Any, text: str, detail: str = "") -> None:
            original(self, call, code, text, detail)
            self.args = (f"设备错误：{call}返回{code.name}，操作未完成。",)

        return init

    return together(
        replaced(GraphCore, "_refuse", refusal),
        replaced(errors.DeviceError, "__init__", device_error),
        replaced(GraphCore, "_capture_mode", translated("capture_begin()：未知的捕获错误模式，请使用文档列出的模式。")),
        replaced(core, "as_pool_id", translated("capture_begin()：参数pool不是内存池标识，请传入有效的标识。")),
        replaced(LivenessTracker, "check", translated("replay()：{}个输入张量已被释放，请重新捕获。")),
        *(
            replaced(owner, name, translated("操作被拒绝：请检查捕获状态与参数。"))
            for owner, name in _REFUSING
            if owner is not LivenessTracker
        ),
    )


@VARIANTS.patch(*EVERYWHERE)
def silent_empty_capture() -> AbstractContextManager[Any]:
    """A capture that recorded nothing ends without a warning."""
    return replaced(core, "warnings", lambda _: SimpleNamespace(warn=lambda *_, **__: None))


# -- consequences -----------------------------------------------------------------------------------------------------


@VARIANTS.patch(*EVERYWHERE)
def refusal_keeps_the_capture() -> AbstractContextManager[Any]:
    """A call that a capture prohibits is refused, and the capture goes on as if it had not been made."""

    def refuse(_original: Any) -> Any:
        def refuse_alone(broken: list[Any], code: Any) -> None:
            if broken:
                raise Refusal(code)

        return refuse_alone

    return replaced(captures, "_refuse", refuse)


@VARIANTS.patch(*EVERYWHERE)
def one_capture_at_a_time() -> AbstractContextManager[Any]:
    """While a capture is underway anywhere in the process, a second one is refused."""

    def wrap(original: Any) -> Any:
        def begin(self: GraphCore, call: str, *settings: Any, **named: Any) -> None:
            if captures.live:
                raise self._refuse(call, "and only one capture may be underway at a time: end the other one first")
            original(self, call, *settings, **named)

        return begin

    return replaced(GraphCore, "_begin", wrap)


@VARIANTS.patch(*EVERY_DIALECT)
def second_instantiate_does_nothing() -> AbstractContextManager[Any]:
    """instantiate() does nothing where an executable exists and nobody can have changed what it was made from."""

    def wrap(original: Any) -> Any:
        def instantiate(self: GraphCore) -> None:
            editable = self._keep_graph and not isinstance(self, Graph)
            if self._holds.exec is None or editable:
                original(self)

        return instantiate

    return together(replaced(CUDAGraph, "instantiate", wrap), replaced(DumpsWhenEnabled, "instantiate", wrap))


@VARIANTS.graph_class(*CUDA, declines=("reinstantiation.failure-keeps-executable",))
class FailedInstantiateLosesTheOldExecutable(CUDAGraph):
    """instantiate() destroys the old executable before it makes the new one, and ends with neither when that fails."""

    def instantiate(self) -> None:
        if self._holds.template is not None and self._holds.exec is not None:
            self._device.runtime.cudaGraphExecDestroy(self._holds.exec)
            self._holds.exec = None
        super().instantiate()


@VARIANTS.patch("reference", "reference.xpu")
def modules_are_copied() -> AbstractContextManager[Any]:
    """Graphing a module gives a graphed copy of it, over the same parameters; the module itself stays as it was."""

    def wrap(original: Any) -> Any:
        def make(callables: Any, sample_args: Any, *rest: Any, **settings: Any) -> Any:
            copies = tuple(map(copied, callables)) if isinstance(callables, tuple) else copied(callables)
            return original(copies, sample_args, *rest, **settings)

        return make

    def copied(source: Any) -> Any:
        return copy.copy(source) if isinstance(source, torch.nn.Module) else source

    changed = replaced(reference_impl, "make_graphed_callables", wrap)
    return together(changed, replaced(reference_impl.xpu, "make_graphed_callables", wrap))


@VARIANTS.patch("reference", "reference.xpu")
def arguments_are_not_checked() -> AbstractContextManager[Any]:
    """Graphed callables copy what they are given, broadcast where need be: shapes are the caller's to get right."""

    def wrap(_original: Any) -> Any:
        def checked(self: _Passes, args: tuple[Any, ...]) -> list[Any]:
            return list(pytree.tree_leaves(args))

        return checked

    return replaced(_Passes, "_checked", wrap)
