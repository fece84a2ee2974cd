"""Defects of the recorder and the replayer: what a captured operator reads, writes and draws when it runs again."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from reference_impl.devices import operators
from reference_impl.devices.software import recorder
from reference_impl.devices.software.device import SoftwareDevice
from reference_impl.devices.software.recorder import _Recording
from reference_impl.devices.software.sinks import SoftwareCapture
from reference_impl.faults.fault import Countdown, Faults, replaced
from reference_impl.runtime import scheduler

FAULTS = Faults("recorder")

Run = Callable[[], Any]


def changed_rerun(changed: Callable[[Any, Any, Any, Any, Any], Run | None]) -> AbstractContextManager[Any]:
    """Let ``changed(original, func, args, kwargs, outputs)`` make what a node runs; ``None`` leaves it as it is."""

    def wrap(original: Any) -> Any:
        def rerun(func: Any, args: Any, kwargs: Any, outputs: Any) -> Run:
            run = changed(original, func, args, kwargs, outputs)
            return original(func, args, kwargs, outputs) if run is None else run

        return rerun

    return replaced(recorder, "rerun", wrap)


def _nothing() -> None:
    """Run no work."""


def tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _named(func: Any, *names: str) -> bool:
    return func.overloadpacket.__name__ in names


# -- addresses and values ---------------------------------------------------------------------------------------------


@FAULTS.patch("replay.reads-current-values", "replay.performs-work")
def values_captured_not_addresses() -> AbstractContextManager[Any]:
    """A node keeps copies of the values that its inputs had in the capture, and computes with those forever."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if not outputs:
            return None
        frozen = torch.utils._pytree.tree_map_only(torch.Tensor, torch.Tensor.clone, (args, kwargs))
        return original(func, *frozen, outputs)  # type: ignore[no-any-return]

    return changed_rerun(changed)


@FAULTS.patch("replay.reads-current-values", "replay.rebound-names")
def inputs_read_at_the_first_replay() -> AbstractContextManager[Any]:
    """The first replay reads the inputs, and later ones go on with what it read."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if not outputs or not tensors_in(args):
            return None
        runs: list[Run] = []

        def run() -> None:
            if not runs:
                frozen = torch.utils._pytree.tree_map_only(torch.Tensor, torch.Tensor.clone, (args, kwargs))
                runs.append(original(func, *frozen, outputs))
            runs[0]()

        return run

    return changed_rerun(changed)


@FAULTS.patch("capture.runs-nothing")
def operators_run_while_captured() -> AbstractContextManager[Any]:
    """Every operator runs once when it is captured, as well as in each replay."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        run: Run = original(func, args, kwargs, outputs)
        with torch._C._DisableTorchDispatch():
            run()
        return run

    return changed_rerun(changed)


@FAULTS.patch("replay.static-outputs", "replay.overwrites-outputs", "replay.performs-work")
def outputs_written_elsewhere() -> AbstractContextManager[Any]:
    """From the second replay on, results go to new memory and not to the tensors that the capture gave."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if not outputs:
            return None
        run: Run = original(func, args, kwargs, outputs)
        calls: list[int] = []

        def once() -> None:
            if not calls:
                run()
            calls.append(1)

        return once

    return changed_rerun(changed)


# -- kinds of operators -----------------------------------------------------------------------------------------------


@FAULTS.patch("replay.performs-work")
def in_place_operators_lost() -> AbstractContextManager[Any]:
    """Operators that only write to their arguments are not recorded."""
    return changed_rerun(lambda _, __, ___, ____, outputs: None if outputs else _nothing)


@FAULTS.patch("replay.performs-work")
def out_arguments_lost() -> AbstractContextManager[Any]:
    """Operators with an out= argument write to memory of their own."""

    def changed(_: Any, func: Any, __: Any, ___: Any, ____: Any) -> Run | None:
        return _nothing if any(argument.is_out for argument in func._schema.arguments) else None

    return changed_rerun(changed)


@FAULTS.patch("capture.views", "replay.layouts")
def view_offsets_lost() -> AbstractContextManager[Any]:
    """A view that does not begin at its base's first element is read and written there all the same."""

    def wrap(original: Any) -> Any:
        def alias(self: _Recording, tensor: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = original(self, tensor)
            offset = tensor.storage_offset()
            if offset:
                result = result.as_strided(result.size(), result.stride(), result.storage_offset() - offset)
            return result

        return alias

    return replaced(_Recording, "_alias", wrap)


@FAULTS.patch("replay.performs-work")
def resized_tensors_lose_their_elements() -> AbstractContextManager[Any]:
    """A tensor that grows inside a capture gets new memory, and what it held is not taken along."""

    def wrap(original: Any) -> Any:
        def resize(sink: Any, tensor: torch.Tensor, *shape: Any) -> torch.Tensor:
            with replaced(recorder, "record", lambda _: lambda *_: None):
                result: torch.Tensor = original(sink, tensor, *shape)
            return result

        return resize

    return replaced(recorder, "resize", wrap)


@FAULTS.patch("replay.layouts", "capture.views")
def strides_lost() -> AbstractContextManager[Any]:
    """Tensors that are not contiguous are taken as if they were."""

    def wrap(original: Any) -> Any:
        def alias(self: _Recording, tensor: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = original(self, tensor)
            if tensor.is_contiguous() or 0 in tensor.stride():
                return result
            plain = torch.empty(tensor.size(), device="meta").stride()
            return result.as_strided(result.size(), plain, result.storage_offset())

        return alias

    return replaced(_Recording, "_alias", wrap)


@FAULTS.patch("replay.layouts", "capture.views")
def expanded_tensors_lost() -> AbstractContextManager[Any]:
    """Of an expanded tensor only the first element is read, and the others count as zero."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if not outputs or not any(0 in t.stride() and t.numel() > 1 for t in tensors_in((args, kwargs))):
            return None
        run: Run = original(func, args, kwargs, outputs)

        def partly() -> None:
            run()
            for output in outputs:
                output.view(-1)[1:].zero_() if output.is_contiguous() and output.numel() > 1 else None

        return partly

    return changed_rerun(changed)


@FAULTS.patch("replay.performs-work")
def lists_shortened() -> AbstractContextManager[Any]:
    """Operators over lists of tensors handle all but the last of each list."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if not func.overloadpacket.__name__.startswith("_foreach") or not isinstance(args[0], list | tuple):
            return None
        cut = [arg[:-1] if isinstance(arg, list | tuple) and len(arg) == len(args[0]) else arg for arg in args]
        return original(func, tuple(cut), kwargs, outputs[:-1])  # type: ignore[no-any-return]

    return changed_rerun(changed)


@FAULTS.patch("replay.performs-work")
def second_outputs_lost() -> AbstractContextManager[Any]:
    """Of operators with several results only the first is written."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if len(outputs) < 2 or func.overloadpacket.__name__.startswith("_foreach"):
            return None
        scratch = [outputs[0], *(torch.empty_like(output) for output in outputs[1:])]
        return original(func, args, kwargs, scratch)  # type: ignore[no-any-return]

    return changed_rerun(changed)


@FAULTS.patch("capture.factories")
def factories_run_once() -> AbstractContextManager[Any]:
    """Tensors that are made in the capture (zeros, ones, ranges) are filled by the first replay only."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        factory = not tensors_in((args, kwargs)) or _named(func, "zeros_like", "ones_like", "full_like")
        filled = _named(func, "fill_", "zero_")
        if not (factory or filled):
            return None
        run: Run = original(func, args, kwargs, outputs)
        calls: list[int] = []

        def once() -> None:
            if not calls:
                run()
            calls.append(1)

        return once

    return changed_rerun(changed)


@FAULTS.patch("replay.performs-work")
def products_accumulate() -> AbstractContextManager[Any]:
    """Matrix products are added to what the last replay left: the workspace of the library is not cleared."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if not outputs or not _named(func, "mm", "addmm", "bmm"):
            return None
        run: Run = original(func, args, kwargs, outputs)
        turns: list[torch.Tensor] = []

        def adding() -> None:
            run()
            if turns:
                outputs[0].add_(turns[0])
            else:
                turns.append(outputs[0].clone())

        return adding

    return changed_rerun(changed)


@FAULTS.patch("capture.backward", "capture.gradient-memory")
def gradients_accumulate() -> AbstractContextManager[Any]:
    """The backward pass adds to what the last replay left in a gradient."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if not outputs or torch._C._current_autograd_node() is None:
            return None
        run: Run = original(func, args, kwargs, outputs)
        sums: list[torch.Tensor] = []

        def adding() -> None:
            run()
            if sums and outputs[0].dtype.is_floating_point:
                outputs[0].add_(sums[0])
            sums[:] = [outputs[0].clone()]

        return adding

    return changed_rerun(changed)


@FAULTS.patch("capture.custom-operator")
def custom_operators_run_once() -> AbstractContextManager[Any]:
    """A custom operator runs in the capture, as host code does, and its device work is not recorded."""

    def changed(_: Any, func: Any, __: Any, ___: Any, ____: Any) -> Run | None:
        return None if func.namespace in ("aten", "prims") else _nothing

    def wrap(original: Any) -> Any:
        def python_body(func: Any) -> Any:
            body = original(func)
            if body is None:
                return None

            @functools.wraps(body)
            def eager(*args: Any, **kwargs: Any) -> Any:
                with torch._C._DisableTorchDispatch():
                    return body(*args, **kwargs)

            return eager

        return python_body

    from reference_impl.faults.fault import together

    return together(changed_rerun(changed), replaced(operators, "python_body", wrap))


@FAULTS.patch("replay.performs-work")
def converting_copies_copy_bytes() -> AbstractContextManager[Any]:
    """copy_ from a tensor of another dtype is recorded as a copy of bytes."""

    def changed(_: Any, func: Any, args: Any, ____: Any, _____: Any) -> Run | None:
        if not _named(func, "copy_") or args[0].dtype == args[1].dtype:
            return None

        def bytes_only() -> None:
            source = args[1].contiguous().view(torch.uint8).view(-1)
            target = args[0].view(torch.uint8).view(-1) if args[0].is_contiguous() else None
            if target is not None:
                size = min(source.numel(), target.numel())
                target[:size].copy_(source[:size])

        return bytes_only

    return changed_rerun(changed)


# -- nodes ------------------------------------------------------------------------------------------------------------


@FAULTS.patch("replay.performs-work")
def last_operator_dropped() -> AbstractContextManager[Any]:
    """An operator is recorded when the next one comes, so that the last of a capture is lost."""
    waiting: dict[int, Any] = {}

    def wrap(original: Any) -> Any:
        def launch(self: SoftwareCapture, kernel: Any) -> None:
            before = waiting.pop(id(self), None)
            if before is not None:
                original(self, before)
            waiting[id(self)] = kernel

        return launch

    return replaced(SoftwareCapture, "launch", wrap)


@FAULTS.patch("replay.performs-work")
def neighbours_exchanged() -> AbstractContextManager[Any]:
    """Every second operator is recorded in front of the one before it."""
    delayed_kernels: dict[int, Any] = {}

    def wrap(original: Any) -> Any:
        def launch(self: SoftwareCapture, kernel: Any) -> None:
            turn = self.__dict__["_launches"] = self.__dict__.get("_launches", 0) + 1
            if turn % 4 == 3:
                delayed_kernels[id(self)] = kernel
                return
            original(self, kernel)
            before = delayed_kernels.pop(id(self), None)
            if before is not None:
                original(self, before)

        return launch

    return replaced(SoftwareCapture, "launch", wrap)


@FAULTS.patch("capture.many-operators")
def equal_operators_merged() -> AbstractContextManager[Any]:
    """An operator that repeats the one before it, addresses and all, is taken for a duplicate and left out."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        key = (func, [(t.data_ptr(), t.numel()) for t in tensors_in((args, kwargs))], bool(outputs))
        if latest and latest[0] == key and not outputs:
            return _nothing
        latest[:] = [key]
        return original(func, args, kwargs, outputs)  # type: ignore[no-any-return]

    latest: list[Any] = []
    return changed_rerun(changed)


def _sometimes(every: int) -> AbstractContextManager[Any]:
    countdown = Countdown(every)

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        run: Run = original(func, args, kwargs, outputs)

        def mostly() -> None:
            if not countdown.due():
                run()

        return mostly

    return changed_rerun(changed)


@FAULTS.patch("replay.performs-work", "replay.reads-current-values")
def one_node_in_nine_is_skipped() -> AbstractContextManager[Any]:
    """One run of a node in nine, over all graphs, does nothing."""
    return _sometimes(9)


@FAULTS.patch("replay.interleaved-graphs", "replay.performs-work")
def second_capture_is_empty() -> AbstractContextManager[Any]:
    """The second capture of a process records nothing that runs: recording was switched off with the first."""
    captures: list[int] = []

    def wrap(original: Any) -> Any:
        def launch(self: SoftwareCapture, kernel: Any) -> None:
            import dataclasses

            if id(self) not in captures:
                captures.append(id(self))
            second = captures.index(id(self)) % 2 == 1
            original(self, dataclasses.replace(kernel, run=_nothing) if second else kernel)

        return launch

    return replaced(SoftwareCapture, "launch", wrap)


# -- who sees operators, and when -------------------------------------------------------------------------------------


@FAULTS.patch("capture.other-threads")
def work_of_other_threads_is_not_captured() -> AbstractContextManager[Any]:
    """Operators are recorded in the main thread only: those of another one run at once, whatever its stream."""

    def wrap(original: Any) -> Any:
        def sink(self: SoftwareDevice) -> Any:
            return original(self) if threading.current_thread() is threading.main_thread() else self._session

        return sink

    return replaced(SoftwareDevice, "_sink", wrap)


@FAULTS.patch("capture.host-work-once", implementation="reference.asynchronous")
def replays_call_operators() -> AbstractContextManager[Any]:
    """A node calls its operator as a program does, through every mode that the program has put on meanwhile."""
    return replaced(scheduler.policy, "surround", lambda _: contextlib.nullcontext)


# -- the user's memory ------------------------------------------------------------------------------------------------


@FAULTS.patch("replay.touches-nothing-else")
def replay_scribbles() -> AbstractContextManager[Any]:
    """Each node with a large enough output writes one element too many in front of it, in its own pool."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        inputs = [tensor for tensor in tensors_in((args, kwargs)) if tensor.numel() and tensor.is_floating_point()]
        if not outputs or not inputs:
            return None
        run: Run = original(func, args, kwargs, outputs)

        def scribbling() -> None:
            run()
            if inputs[0].is_contiguous():
                inputs[0].view(-1)[-1:].add_(1)

        return scribbling

    return changed_rerun(changed)
