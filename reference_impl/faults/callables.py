"""Graphed callables that are wrong."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

import torch

import reference_impl
from reference_impl.faults.fault import Faults, replaced, together
from reference_impl.graphs import graphed_callables
from reference_impl.graphs.graphed_callables import _Passes

FAULTS = Faults("class")


def _make(changed: Any) -> AbstractContextManager[Any]:
    """Let make_graphed_callables do what `changed` makes of the original."""
    return replaced(reference_impl, "make_graphed_callables", changed)


@FAULTS.patch("graphed-callables.replays-only")
def callables_stay_eager() -> AbstractContextManager[Any]:
    """The callables are handed back as they are: results are right, and nothing is graphed."""

    def wrap(_original: Any) -> Any:
        def make(callables: Any, sample_args: Any, *_: Any, **__: Any) -> Any:
            del sample_args
            return callables

        return make

    return _make(wrap)


@FAULTS.patch("graphed-callables.forward-results", "graphed-callables.argument-order")
def callables_ignore_arguments() -> AbstractContextManager[Any]:
    """Arguments are not copied into the static inputs."""

    def wrap(_original: Any) -> Any:
        def refill(static: torch.Tensor, tensor: torch.Tensor) -> None:
            """Leave the sample's values."""

        return refill

    return replaced(graphed_callables, "_refill", wrap)


@FAULTS.patch("graphed-callables.argument-layouts")
def callables_copy_memory_not_elements() -> AbstractContextManager[Any]:
    """Arguments are copied byte by byte, so that one with other strides than the sample arrives permuted."""

    def wrap(original: Any) -> Any:
        def refill(static: torch.Tensor, tensor: torch.Tensor) -> None:
            if tensor.dim() == 2 and tensor.stride() != static.stride():
                tensor = tensor.t().contiguous().reshape(static.shape)
            original(static, tensor)

        return refill

    return replaced(graphed_callables, "_refill", wrap)


def _wrap_method(name: str, changed: Any) -> AbstractContextManager[Any]:
    return replaced(_Passes, name, changed)


@FAULTS.patch("graphed-callables.input-gradients", "graphed-callables.parameter-gradients")
def backward_without_gradients() -> AbstractContextManager[Any]:
    """The incoming gradients are not copied to where the captured backward pass reads them."""

    def wrap(original: Any) -> Any:
        def replay_backward(self: _Passes, call: int, gradients: Any) -> Any:
            return original(self, call, [g if g is None else torch.ones_like(g) for g in gradients])

        return replay_backward

    return _wrap_method("replay_backward", wrap)


@FAULTS.patch("graphed-callables.parameter-gradients", "graphed-callables.training-loop")
def parameters_get_no_gradient() -> AbstractContextManager[Any]:
    """Only the inputs get gradients; the parameters are taken for constants."""

    def wrap(original: Any) -> Any:
        def replay_backward(self: _Passes, call: int, gradients: Any) -> Any:
            results = original(self, call, gradients)
            return (*results[: len(self._inputs)], *(None for _ in self._parameters))

        return replay_backward

    return _wrap_method("replay_backward", wrap)


@FAULTS.patch("graphed-callables.gradient-accumulation")
def gradients_are_static() -> AbstractContextManager[Any]:
    """Gradients are put where the ones before are instead of being added to them."""

    def wrap(original: Any) -> Any:
        def replay_backward(self: _Passes, call: int, gradients: Any) -> Any:
            for parameter in self._parameters:
                if parameter.grad is not None:
                    parameter.grad.zero_()
            return original(self, call, gradients)

        return replay_backward

    return _wrap_method("replay_backward", wrap)


@FAULTS.patch("graphed-callables.current-parameters", "graphed-callables.training-loop")
def parameters_frozen() -> AbstractContextManager[Any]:
    """The captured pass reads copies of the parameters, so that training never shows."""

    def wrap(original: Any) -> Any:
        def capture_forward(self: _Passes, source: Any, settings: Any) -> None:
            if not isinstance(source, torch.nn.Module):
                original(self, source, settings)
                return
            frozen = {name: value.clone() for name, value in source.named_parameters()}
            original(self, functools.partial(torch.func.functional_call, source, frozen), settings)

        def with_varargs(self: _Passes, source: Any, settings: Any) -> None:
            capture_forward(
                self,
                source,
                settings,
            )

        return with_varargs

    def call(original: Any) -> Any:
        def functional_call(module: Any, parameters: Any, *args: Any, **settings: Any) -> Any:
            return original(module, parameters, args, **settings)

        return functional_call

    from reference_impl.faults.fault import together

    return together(_wrap_method("capture_forward", wrap), replaced(torch.func, "functional_call", call))


@FAULTS.patch("graphed-callables.other-mode-runs-source")
def modes_are_ignored() -> AbstractContextManager[Any]:
    """A module replays what was captured in training also in evaluation."""

    def wrap(original: Any) -> Any:
        def patched(module: torch.nn.Module, passes: _Passes) -> torch.nn.Module:
            result: torch.nn.Module = original(module, passes)
            result.forward = passes.call
            return result

        return patched

    return replaced(graphed_callables, "_patched", wrap)


@FAULTS.patch("graphed-callables.hooks-refused", "graphed-callables.trainable-buffers-refused")
def modules_are_not_looked_at() -> AbstractContextManager[Any]:
    """Modules with hooks or trainable buffers are taken, and their hooks never run again."""

    def wrap(_original: Any) -> Any:
        def require_plain(module: torch.nn.Module) -> None:
            """Take any."""

        return require_plain

    return replaced(graphed_callables, "_require_plain", wrap)


@FAULTS.patch("graphed-callables.backward-replays")
def backward_runs_eagerly() -> AbstractContextManager[Any]:
    """Only the forward pass is a graph: backward runs the source again and differentiates that, with right results."""
    sources: dict[int, Any] = {}

    def keeps(original: Any) -> Any:
        def capture_forward(self: _Passes, source: Any, settings: dict[str, Any]) -> None:
            sources[id(self)] = source
            original(self, source, settings)

        return capture_forward

    def runs(_original: Any) -> Any:
        def replay_backward(self: _Passes, _call: int, gradients: Any) -> Any:
            with torch.enable_grad():
                outputs, _ = self._run(sources[id(self)])
            wanted = [gradient for gradient, output in zip(gradients, outputs, strict=True) if output.requires_grad]
            return self._differentiate(outputs, wanted)

        return replay_backward

    return together(_wrap_method("capture_forward", keeps), _wrap_method("replay_backward", runs))


@FAULTS.patch("graphed-callables.single-autograd-node")
def modules_run_behind_a_second_node() -> AbstractContextManager[Any]:
    """A graphed module's outputs pass through one more operator, outside its node."""

    def wrap(original: Any) -> Any:
        def patched(module: torch.nn.Module, passes: _Passes) -> torch.nn.Module:
            result: torch.nn.Module = original(module, passes)
            inner = result.forward
            result.forward = lambda *args, **kwargs: inner(*args, **kwargs).clone()
            return result

        return patched

    return replaced(graphed_callables, "_patched", wrap)


@FAULTS.patch("graphed-callables.tuple-in-one-pool")
def backward_passes_have_pools_of_their_own() -> AbstractContextManager[Any]:
    """Forward passes share a pool, and each backward pass has another one."""

    def wrap(original: Any) -> Any:
        def capture_backward(self: _Passes, settings: dict[str, Any]) -> None:
            original(self, {**settings, "pool": reference_impl.graph_pool_handle()})

        return capture_backward

    return _wrap_method("capture_backward", wrap)


@FAULTS.patch("graphed-callables.other-outputs")
def dictionaries_lose_their_order() -> AbstractContextManager[Any]:
    """The values of a dictionary come back under each other's keys."""

    def wrap(original: Any) -> Any:
        def call(self: _Passes, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            if isinstance(result, dict):
                return dict(zip(result, reversed(list(result.values())), strict=True))
            return result

        return call

    return _wrap_method("call", wrap)


@FAULTS.patch("graphed-callables.refused-before-running")
def refuses_after_the_warm_up() -> AbstractContextManager[Any]:
    """Callables are looked at once they have run: what is refused has moved statistics and drawn random numbers."""

    def wrap(original: Any) -> Any:
        def require(sources: Any, samples: Any) -> None:
            sources[0](*samples[0])
            original(sources, samples)

        return require

    return replaced(graphed_callables, "_require_callables", wrap)


@FAULTS.patch("graphed-callables.trainable-buffers-refused")
def buffers_of_submodules_are_not_looked_at() -> AbstractContextManager[Any]:
    """Only the module's own buffers are asked whether they require grad."""

    def wrap(original: Any) -> Any:
        def require_plain(module: torch.nn.Module) -> None:
            if all(not buffer.requires_grad for buffer in module.buffers(recurse=False)):
                for inner in module.modules():
                    for buffer in inner.buffers(recurse=False):
                        buffer.requires_grad_(False)
            original(module)

        return require_plain

    return replaced(graphed_callables, "_require_plain", wrap)


@FAULTS.patch("graphed-callables.hooks-refused", "graphed-callables.trainable-buffers-refused")
def only_the_first_module_is_looked_at() -> AbstractContextManager[Any]:
    """Of a tuple the first callable alone is asked for hooks and trainable buffers."""

    def wrap(original: Any) -> Any:
        def require(sources: Any, samples: Any) -> None:
            original(sources[:1], samples[:1])

        return require

    return replaced(graphed_callables, "_require_callables", wrap)


@FAULTS.patch("graphed-callables.tuple-type-counts")
def lists_are_tuples() -> AbstractContextManager[Any]:
    """A callable that is a list is taken for several callables."""

    def wrap(original: Any) -> Any:
        def make(callables: Any, sample_args: Any, *rest: Any, **settings: Any) -> Any:
            if isinstance(callables, list):
                return original(tuple(callables), sample_args, *rest, **settings)
            return original(callables, sample_args, *rest, **settings)

        return make

    return _make(wrap)


@FAULTS.patch("graphed-callables.mode-passed-on")
def callables_ignore_their_mode() -> AbstractContextManager[Any]:
    """make_graphed_callables takes the error mode and captures in the mode relaxed."""

    def wrap(original: Any) -> Any:
        def make(*arguments: Any, capture_error_mode: str = "global", **settings: Any) -> Any:
            del capture_error_mode
            return original(*arguments, capture_error_mode="relaxed", **settings)

        return make

    return _make(wrap)


@FAULTS.patch("graphed-callables.mode-of-other-threads")
def callables_captured_in_global_for_thread_local() -> AbstractContextManager[Any]:
    """make_graphed_callables captures in the mode global where thread_local is asked for."""

    def wrap(original: Any) -> Any:
        def make(*arguments: Any, capture_error_mode: str = "global", **settings: Any) -> Any:
            mode = "global" if capture_error_mode == "thread_local" else capture_error_mode
            return original(*arguments, capture_error_mode=mode, **settings)

        return make

    return _make(wrap)


@FAULTS.patch("graphed-callables.pool-argument-used")
def callables_ignore_their_pool() -> AbstractContextManager[Any]:
    """make_graphed_callables takes a pool, and captures into one of its own."""

    def wrap(original: Any) -> Any:
        def make(*arguments: Any, pool: Any = None, **settings: Any) -> Any:
            del pool
            return original(*arguments, **settings)

        return make

    return _make(wrap)


@FAULTS.patch("signatures.options-by-position")
def options_by_name_only() -> AbstractContextManager[Any]:
    """make_graphed_callables takes what comes after the samples by name only."""

    def wrap(original: Any) -> Any:
        def make(callables: Any, sample_args: Any, **settings: Any) -> Any:
            return original(callables, sample_args, **settings)

        return make

    return _make(wrap)


@FAULTS.patch("graphed-callables.refusals-say-why")
def callables_refused_without_a_word() -> AbstractContextManager[Any]:
    """make_graphed_callables refuses with exceptions that say nothing."""

    def wrap(original: Any) -> Any:
        def make(*arguments: Any, **settings: Any) -> Any:
            try:
                return original(*arguments, **settings)
            except (RuntimeError, TypeError, ValueError) as error:
                raise type(error)("") from None

        return make

    return _make(wrap)


@FAULTS.patch("graphed-callables.autocast-cache-refused")
def autocast_cache_accepted() -> AbstractContextManager[Any]:
    """A cast that autocast cached before the capture is missing from the graph, and nobody is warned."""

    def wrap(_original: Any) -> Any:
        def require_no_autocast_cache() -> None:
            """Take it."""

        return require_no_autocast_cache

    return replaced(graphed_callables, "_require_no_autocast_cache", wrap)


@FAULTS.patch("graphed-callables.unused-input-refused")
def unused_inputs_always_allowed() -> AbstractContextManager[Any]:
    """allow_unused_input is taken and forgotten: unused inputs get no gradient and no error."""

    def wrap(original: Any) -> Any:
        def plan(sources: Any, samples: Any, allow_unused: bool) -> Any:
            del allow_unused
            return original(sources, samples, True)

        return plan

    return replaced(graphed_callables, "_plan", wrap)


@FAULTS.patch("graphed-callables.unused-input-allowed")
def unused_inputs_never_allowed() -> AbstractContextManager[Any]:
    """An unused input is an error although allow_unused_input says otherwise."""

    def wrap(original: Any) -> Any:
        def plan(sources: Any, samples: Any, allow_unused: bool) -> Any:
            del allow_unused
            return original(sources, samples, False)

        return plan

    return replaced(graphed_callables, "_plan", wrap)


@FAULTS.patch("graphed-callables.warmup-iterations")
def warms_up_once() -> AbstractContextManager[Any]:
    """num_warmup_iters is taken and forgotten."""

    def wrap(original: Any) -> Any:
        def make(callables: Any, sample_args: Any, num_warmup_iters: int = 3, *rest: Any, **settings: Any) -> Any:
            del num_warmup_iters
            return original(callables, sample_args, 1, *rest, **settings)

        return make

    return _make(wrap)


@FAULTS.patch("graphed-callables.tuple-in-tuple-out")
def tuples_come_back_as_lists() -> AbstractContextManager[Any]:
    """A tuple of callables comes back as a list."""

    def wrap(original: Any) -> Any:
        def make(callables: Any, *rest: Any, **settings: Any) -> Any:
            result = original(callables, *rest, **settings)
            return list(result) if isinstance(result, tuple) else result

        return make

    return _make(wrap)


@FAULTS.patch("graphed-callables.output-structure")
def outputs_come_back_flat() -> AbstractContextManager[Any]:
    """Nested outputs come back as one flat tuple."""

    def wrap(original: Any) -> Any:
        def call(self: _Passes, *args: Any, **kwargs: Any) -> Any:
            from torch.utils import _pytree as pytree

            leaves = tuple(pytree.tree_leaves(original(self, *args, **kwargs)))
            return leaves[0] if len(leaves) == 1 else leaves

        return call

    return _wrap_method("call", wrap)


@FAULTS.patch("graphed-callables.keyword-arguments-refused")
def keyword_arguments_ignored() -> AbstractContextManager[Any]:
    """Keyword arguments of a call are dropped without a word."""

    def wrap(original: Any) -> Any:
        def call(self: _Passes, *args: Any, **_: Any) -> Any:
            return original(self, *args)

        return call

    return _wrap_method("call", wrap)


@FAULTS.patch("graphed-callables.gradients-untouched")
def warm_up_leaves_gradients() -> AbstractContextManager[Any]:
    """The warm-up runs an ordinary backward pass, whose gradients stay in the parameters."""

    def wrap(original: Any) -> Any:
        def warm_up(self: _Passes, source: Any) -> None:
            original(self, source)
            for parameter in self._parameters:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad + 1

        return warm_up

    return _wrap_method("warm_up", wrap)
