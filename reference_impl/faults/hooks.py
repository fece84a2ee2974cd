"""Graph classes whose hooks are wrong: when they are called, how often, with what, and what their errors do."""

from __future__ import annotations

import contextlib
import itertools
from collections import OrderedDict
from contextlib import AbstractContextManager
from typing import Any

from torch.utils.hooks import RemovableHandle

from reference_impl import CUDAGraph
from reference_impl.errors import DeviceError
from reference_impl.faults.fault import Faults, replaced
from reference_impl.graphs.hooks import Hook, Hooks

FAULTS = Faults("class")


@FAULTS.graph_class("hooks.capture-end-template-live")
class HooksAfterTheTemplateIsGone(CUDAGraph):
    """Capture-end hooks are called last, when a graph that does not keep its template has none any more."""

    def _captured(self) -> None:
        """Not yet."""

    def capture_end(self) -> None:
        super().capture_end()
        super()._captured()


@FAULTS.graph_class("signatures.hook-argument")
class LosesHooksByName(CUDAGraph):
    """A hook that is given by its name is taken, and never called."""

    def register_capture_end_hook(self, *given: Hook, hook: Hook | None = None) -> RemovableHandle:
        return super().register_capture_end_hook(given[0] if hook is None else lambda _: None)


@FAULTS.graph_class("hooks.capture-end-once")
class HooksWaitForTheNextCapture(CUDAGraph):
    """A capture-end hook that is registered while a capture is underway runs from the next capture on."""

    def register_capture_end_hook(self, hook: Hook) -> RemovableHandle:
        if self._state != "capturing" or not callable(hook):
            return super().register_capture_end_hook(hook)
        ends = itertools.count(1)
        return super().register_capture_end_hook(lambda graph: hook(graph) if next(ends) > 1 else None)


@FAULTS.graph_class("hooks.capture-end-after-capture")
class HooksDuringTheCapture(CUDAGraph):
    """Capture-end hooks are called before the capture is ended."""

    def capture_end(self) -> None:
        if self._holds.capture is not None:
            self._capture_end_hooks.fire(self)
        super().capture_end()

    def _captured(self) -> None:
        """Called already."""


@FAULTS.graph_class("hooks.capture-end-once")
class HooksTwice(CUDAGraph):
    """Capture-end hooks are called twice."""

    def _captured(self) -> None:
        super()._captured()
        self._capture_end_hooks.fire(self)


@FAULTS.graph_class("hooks.capture-end-argument")
class HooksGetTheHandle(CUDAGraph):
    """Capture-end hooks get the template's handle instead of the graph."""

    def _captured(self) -> None:
        self._capture_end_hooks.fire(self._holds.template)


@FAULTS.graph_class("hooks.post-instantiate-argument")
class PostInstantiateHooksGetTheHandle(CUDAGraph):
    """Post-instantiate hooks get the executable's handle instead of the graph."""

    def _instantiated(self) -> None:
        self._post_instantiate_hooks.fire(self._holds.exec)


@FAULTS.patch("hooks.capture-end-order", "hooks.post-instantiate-order")
def hooks_newest_first() -> AbstractContextManager[Any]:
    """The hook that was registered last is called first."""

    def wrap(original: Any) -> Any:
        def fire(self: Hooks, argument: Any) -> None:
            for hook in reversed(list(self.values())):
                hook(argument)

        return fire

    return replaced(Hooks, "fire", wrap)


@FAULTS.graph_class("hooks.post-instantiate-lazy")
class NoHooksForLazyInstantiation(CUDAGraph):
    """Post-instantiate hooks are not called when a replay makes the executable."""

    _lazy = False

    def replay(self) -> None:
        self._lazy = True
        try:
            super().replay()
        finally:
            self._lazy = False

    def _instantiated(self) -> None:
        if not self._lazy:
            super()._instantiated()


@FAULTS.graph_class("hooks.post-instantiate-each-time")
class PostInstantiateHooksOnce(CUDAGraph):
    """Post-instantiate hooks are called for the first executable only."""

    _called = False

    def _instantiated(self) -> None:
        if not self._called:
            self._called = True
            super()._instantiated()


@FAULTS.graph_class("hooks.post-instantiate-at-capture-end")
class NoPostInstantiateHooksAtCaptureEnd(CUDAGraph):
    """Post-instantiate hooks are called by instantiate() only, not where capture_end makes the executable."""

    def _instantiated(self) -> None:
        if self._keep_graph:
            super()._instantiated()


@FAULTS.graph_class("hooks.post-instantiate-executable")
class PostInstantiateHooksTooEarly(CUDAGraph):
    """Post-instantiate hooks are called before the executable is in place."""

    def _instantiated(self) -> None:
        executable, self._holds.exec = self._holds.exec, None
        try:
            super()._instantiated()
        finally:
            self._holds.exec = executable


@FAULTS.graph_class("hooks.post-instantiate-executable-fresh")
class PostInstantiateHooksSeeTheOldExecutable(CUDAGraph):
    """While post-instantiate hooks run, the graph still shows the executable from before."""

    _before: int | None = None

    def _make_executable(self, call: str) -> None:
        self._before = self._holds.exec
        super()._make_executable(call)

    def raw_cuda_graph_exec(self) -> int:
        handle = super().raw_cuda_graph_exec()
        return self._before if self._in_post_instantiate and self._before is not None else handle


@FAULTS.graph_class("hooks.capture-end-before-post-instantiate")
class PostInstantiateHooksFirst(CUDAGraph):
    """With both kinds of hooks, those of the instantiation are called before those of the capture's end."""

    def capture_end(self) -> None:
        if not self._keep_graph and self._state == "capturing":
            self._post_instantiate_hooks.fire(self)
        super().capture_end()


@FAULTS.graph_class("hooks.per-graph")
class HooksOfAllGraphs(CUDAGraph):
    """A hook that is registered on one graph is called for every other: the list belongs to the class."""

    shared = Hooks("capture_end")
    shared_instantiate = Hooks("post_instantiate")

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        self._capture_end_hooks = self.shared
        self._post_instantiate_hooks = self.shared_instantiate


@FAULTS.graph_class("hooks.exception-reaches-caller")
class HooksFailSilently(CUDAGraph):
    """What a hook raises is swallowed."""

    def _captured(self) -> None:
        with contextlib.suppress(Exception):
            super()._captured()

    def _instantiated(self) -> None:
        with contextlib.suppress(Exception):
            super()._instantiated()


@FAULTS.patch("hooks.handle-removes")
def handle_removes_nothing() -> AbstractContextManager[Any]:
    """remove() of the handle leaves the hook registered."""

    def wrap(original: Any) -> Any:
        def register(self: Hooks, hook: Hook) -> RemovableHandle:
            original(self, hook)
            return RemovableHandle(OrderedDict())

        return register

    return replaced(Hooks, "register", wrap)


@FAULTS.patch("hooks.handle-type", "hooks.handle-removes")
def registration_gives_nothing() -> AbstractContextManager[Any]:
    """Registering a hook returns nothing to remove it by."""

    def wrap(original: Any) -> Any:
        def register(self: Hooks, hook: Hook) -> None:
            original(self, hook)

        return register

    return replaced(Hooks, "register", wrap)


@FAULTS.patch("hooks.same-hook-twice")
def handles_remove_by_function() -> AbstractContextManager[Any]:
    """A handle takes back the first registration of its function, not its own."""

    def wrap(original: Any) -> Any:
        def register(self: Hooks, hook: Hook) -> RemovableHandle:
            handle: RemovableHandle = original(self, hook)
            hooks, own = self, handle.id

            class ByFunction(RemovableHandle):
                def remove(self) -> None:
                    if own in hooks:
                        place = next(place for place, other in hooks.items() if other == hook)
                        hooks[own] = hooks[place]
                        del hooks[place]

            handle.__class__ = ByFunction
            return handle

        return register

    return replaced(Hooks, "register", wrap)


@FAULTS.patch("hooks.same-hook-twice", "hooks.any-callable")
def hooks_kept_as_a_set() -> AbstractContextManager[Any]:
    """A function that is registered twice is called once."""

    def wrap(original: Any) -> Any:
        def register(self: Hooks, hook: Hook) -> RemovableHandle:
            if any(other == hook for other in self.values()):
                return RemovableHandle(OrderedDict())
            handle: RemovableHandle = original(self, hook)
            return handle

        return register

    return replaced(Hooks, "register", wrap)


@FAULTS.graph_class("hooks.not-on-failed-capture")
class HooksOnAFailedCapture(CUDAGraph):
    """Capture-end hooks are called although the capture failed."""

    def capture_end(self) -> None:
        capturing = self._state == "capturing"
        try:
            super().capture_end()
        except DeviceError:
            if capturing:
                self._capture_end_hooks.fire(self)
            raise


@FAULTS.graph_class("hooks.capture-end-edits-count")
class HookEditsLost(CUDAGraph):
    """The executable is made of a copy from before the capture-end hooks, so that what they edit is lost."""

    def _captured(self) -> None:
        runtime = self._device.runtime
        copy = int(runtime.cudaGraphClone(self._holds.template)[1])
        super()._captured()
        if self._holds.template is not None:
            runtime.cudaGraphDestroy(self._holds.template)
            self._holds.template = copy
