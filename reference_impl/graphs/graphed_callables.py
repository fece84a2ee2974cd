"""Graphed versions of functions and modules: torch.cuda.make_graphed_callables.

Each callable becomes two graphs, its forward and its backward pass, over static tensors.  A call copies its arguments
into the static inputs and replays the forward graph inside one autograd node, whose backward replays the other graph.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.utils import _pytree as pytree

from reference_impl.devices.chosen import device
from reference_impl.graphs.context import graph
from reference_impl.graphs.cuda_graph import CUDAGraph

Tensors = tuple[torch.Tensor, ...]
Gradients = tuple[torch.Tensor | None, ...]


def make_graphed_callables(
    callables: Any,
    sample_args: tuple[Any, ...],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,  # positional in the documented signature
    pool: Any = None,
    capture_error_mode: str = "global",
) -> Any:
    """Graphed versions of functions and modules.  Implements torch.cuda.make_graphed_callables.

    A module is changed in place: called in the mode, training or evaluation, that it is in now, it replays; called in
    the other one it runs as before.  Outputs, and gradients that reach the user other than by accumulation, are
    static: the next call writes them again.  Each call must be differentiated, if at all, once and before the next
    call.  Warming up runs the callables for real, so it draws random numbers and changes buffers.

    Args:
        callables: a function or module, or a tuple of them in the order in which they will be called.
        sample_args: the arguments of one call: a tuple of tensors, or of nested containers of tensors; for a tuple
            of callables, a tuple of such tuples.  They become the static inputs, so they say the shape of every later
            argument, the dtype that it is cast to, and whether it can be given a gradient.
        num_warmup_iters: eager forward and backward passes before the capture.
        allow_unused_input: let arguments and parameters that no output depends on have no gradient.
        pool: memory pool token for all captures; a new pool when ``None``.
        capture_error_mode: as for ``capture_begin``.

    Returns:
        A graphed function for a function, the module itself for a module; a tuple of them for a tuple.

    Raises:
        AssertionError: a sample argument is not a tensor; a module has hooks or trainable buffers.
        RuntimeError: autocast would cache casts; an input is unused; whatever capturing raises.
        TypeError, ValueError: `callables` and `sample_args` are not of the documented form.
    """
    _require_no_autocast_cache()
    single = not isinstance(callables, tuple)
    sources = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    _require_callables(sources, samples)

    passes = _plan(sources, samples, allow_unused_input)
    with _side_stream():
        for source, each in zip(sources, passes, strict=True):
            for _ in range(num_warmup_iters):
                each.warm_up(source)

    # One pool serves all captures, and memory that a pass frees is reused by the next one captured: the order here is
    # the order in which the passes will run.
    settings = {
        "pool": device().graph_pool_handle() if pool is None else pool,
        "capture_error_mode": capture_error_mode,
    }
    for source, each in zip(sources, passes, strict=True):
        each.capture_forward(source, settings)
    for each in reversed(passes):
        each.capture_backward(settings)

    graphed = tuple(map(_graphed, sources, passes))
    return graphed[0] if single else graphed


# -- what is refused --------------------------------------------------------------------------------------------------


def _require_no_autocast_cache() -> None:
    if torch.is_autocast_enabled(device().torch_device.type) and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables: autocast is on and caches casts, and a cast that was cached before a capture is "
            "missing from the graph: use torch.autocast(..., cache_enabled=False)"
        )


def _require_callables(sources: tuple[Any, ...], samples: tuple[Any, ...]) -> None:
    if not isinstance(samples, tuple) or not all(isinstance(args, tuple) for args in samples):
        raise TypeError(
            "make_graphed_callables: sample_args is a tuple of arguments, or for a tuple of callables a tuple of such "
            "tuples"
        )
    if len(sources) != len(samples):
        raise ValueError(f"make_graphed_callables: {len(sources)} callables, but sample_args for {len(samples)}")
    for source, args in zip(sources, samples, strict=True):
        if not callable(source):
            raise TypeError(f"make_graphed_callables: {source!r} is neither a function nor a module")
        if isinstance(source, torch.nn.Module):
            _require_plain(source)
        for leaf in pytree.tree_leaves(args):
            if not isinstance(leaf, torch.Tensor):
                raise AssertionError(  # noqa: TRY004  # the documented kind
                    f"make_graphed_callables: sample_args holds {leaf!r}; only tensors can be replayed"
                )


def _require_plain(module: torch.nn.Module) -> None:
    name = type(module).__name__
    kinds = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    if any(getattr(module, kind) for kind in kinds):
        raise AssertionError(
            f"make_graphed_callables: {name} has hooks, which the capture would swallow: register them afterwards"
        )
    trainable = [key for key, buffer in module.named_buffers() if buffer.requires_grad]
    if trainable:
        raise AssertionError(
            f"make_graphed_callables: {name} has buffers that require grad ({', '.join(trainable)}): only parameters "
            "may be trained"
        )


# -- the two passes of a callable -------------------------------------------------------------------------------------


class _Passes:
    """The forward and the backward pass of one callable over static tensors: first run, then captured, then replayed.

    The callable itself is not held: a module holds its passes, and the two would keep each other alive.

    Args:
        inputs: the static inputs, flattened.
        layout: how the arguments nest.
        parameters: of the module.
        allow_unused: whether an input may be without influence on the outputs.
    """

    def __init__(self, inputs: Tensors, layout: pytree.TreeSpec, parameters: Tensors, *, allow_unused: bool) -> None:
        self._inputs = inputs
        self._layout = layout
        self._parameters = parameters
        self._allow_unused = allow_unused
        self._forward = CUDAGraph()
        self._backward: CUDAGraph | None = None
        self._attached: Tensors = ()
        self._outputs: Tensors = ()
        self._output_layout: pytree.TreeSpec | None = None
        self._output_gradients: Gradients = ()
        self._input_gradients: Gradients = ()
        self._calls = 0
        self._saved_for: int | None = None

    # -- making ---------------------------------------------------------------------------------------------------

    def warm_up(self, source: Callable[..., Any]) -> None:
        """One forward and backward pass, so that whatever is made at first use is made outside the capture."""
        outputs, _ = self._run(source)
        self._differentiate(outputs, [torch.zeros_like(output) for output in outputs if output.requires_grad])

    def capture_forward(self, source: Callable[..., Any], settings: dict[str, Any]) -> None:
        """Capture the forward pass."""
        with graph(self._forward, **settings):
            self._attached, self._output_layout = self._run(source)
        self._outputs = tuple(output.detach() for output in self._attached)

    def capture_backward(self, settings: dict[str, Any]) -> None:
        """Capture the backward pass, where there is one."""
        # Nothing of the forward pass but its outputs and what backward reads is needed once backward is captured.
        outputs, self._attached = self._attached, ()
        self._output_gradients = tuple(torch.empty_like(o) if o.requires_grad else None for o in outputs)
        if not self._differentiable(outputs):
            self._input_gradients = (None,) * len(self._surface)
            return
        self._backward = CUDAGraph()
        with graph(self._backward, **settings):
            self._input_gradients = self._differentiate(outputs, [g for g in self._output_gradients if g is not None])

    @property
    def _surface(self) -> Tensors:
        """Every tensor that a gradient may be wanted for."""
        return self._inputs + self._parameters

    def _run(self, source: Callable[..., Any]) -> tuple[Tensors, pytree.TreeSpec]:
        outputs, layout = pytree.tree_flatten(source(*pytree.tree_unflatten(self._inputs, self._layout)))
        for output in outputs:
            if not isinstance(output, torch.Tensor):
                raise TypeError(
                    f"make_graphed_callables: the callable returned {output!r}; only tensors can be replayed"
                )
        return tuple(outputs), layout

    def _differentiable(self, outputs: Tensors) -> bool:
        return any(o.requires_grad for o in outputs) and any(t.requires_grad for t in self._surface)

    def _differentiate(self, outputs: Tensors, gradients: Sequence[torch.Tensor]) -> Gradients:
        """The gradient of each tensor of the surface; ``None`` where there is none."""
        if not self._differentiable(outputs):
            return (None,) * len(self._surface)
        gradients_in_turn = iter(
            torch.autograd.grad(
                [output for output in outputs if output.requires_grad],
                [tensor for tensor in self._surface if tensor.requires_grad],
                gradients,
                allow_unused=self._allow_unused,
            )
        )
        return tuple(next(gradients_in_turn) if tensor.requires_grad else None for tensor in self._surface)

    # -- calling --------------------------------------------------------------------------------------------------

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graphed callable."""
        if kwargs:
            raise TypeError(f"a graphed callable takes no keyword arguments, and was given {', '.join(kwargs)}")
        outputs = _Node.apply(self, *self._checked(args), *self._parameters)  # type: ignore[no-untyped-call]
        return pytree.tree_unflatten(outputs, self._output_layout)  # type: ignore[arg-type]  # set by the capture

    def _checked(self, args: tuple[Any, ...]) -> list[Any]:
        given, layout = pytree.tree_flatten(args)
        if layout != self._layout:
            raise TypeError(
                f"a graphed callable was given arguments nested as {layout}; its samples were nested as {self._layout}"
            )
        for place, (tensor, static) in enumerate(zip(given, self._inputs, strict=True)):
            where = f"argument {place} of a graphed callable"
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"{where} is {tensor!r}, not a tensor")
            for fact in ("shape", "device"):
                here, sample = getattr(tensor, fact), getattr(static, fact)
                if here != sample:
                    raise ValueError(f"{where} has {fact} {here}; its sample had {sample}")
            if not torch.can_cast(tensor.dtype, static.dtype):
                raise ValueError(f"{where} has dtype {tensor.dtype}, which is not cast to its sample's {static.dtype}")
        return given

    def unannounced(self, wanted: Sequence[bool]) -> list[int]:
        """The arguments that a gradient is wanted for, although none was captured: their samples required none.

        Args:
            wanted: for each tensor of the surface, whether a gradient is wanted.
        """
        places = enumerate(zip(wanted, self._inputs, strict=False))
        return [place for place, (want, static) in places if want and not static.requires_grad]

    def replay_forward(self, given: Tensors) -> tuple[int, Tensors, Tensors]:
        """Run the forward pass on the arguments `given`.

        Returns:
            The call's number, the outputs, and those among them that have no gradient.
        """
        for static, tensor in zip(self._inputs, given, strict=False):  # the parameters follow, and are in place
            _refill(static, tensor)
        self._calls += 1
        self._saved_for = self._calls
        self._forward.replay()
        outputs = tuple(output.detach() for output in self._outputs)
        constant = tuple(o for o, gradient in zip(outputs, self._output_gradients, strict=True) if gradient is None)
        return self._calls, outputs, constant

    def replay_backward(self, call: int, gradients: Sequence[torch.Tensor]) -> Gradients:
        """Run the backward pass of the call with number `call`.

        Raises:
            RuntimeError: what that call saved for its backward pass is gone.
        """
        if self._saved_for != call:
            raise RuntimeError(
                "backward() through a graphed callable: what the forward pass saved is gone, since the callable was "
                "called or differentiated again; differentiate each call once, before the next call"
            )
        self._saved_for = None
        for static, gradient in zip(self._output_gradients, gradients, strict=True):
            if static is not None:
                _refill(static, gradient)
        if self._backward is not None:
            self._backward.replay()
        # These very tensors, not aliases of them: autograd may keep a gradient that nobody else holds as the leaf's
        # own, and the next replay would then write into a sum that is still being accumulated.
        return self._input_gradients


class _Node(torch.autograd.Function):
    """The one autograd node of a graphed callable's call."""

    @staticmethod
    def forward(ctx: Any, passes: _Passes, *surface: torch.Tensor) -> Tensors:
        ctx.passes = passes
        ctx.call, outputs, constant = passes.replay_forward(surface)
        ctx.unannounced = passes.unannounced(ctx.needs_input_grad[1:])
        if not ctx.unannounced:  # otherwise what looked constant may depend on such an argument: backward has to know
            ctx.mark_non_differentiable(*constant)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        if ctx.unannounced:
            raise RuntimeError(
                f"backward() through a graphed callable: argument {ctx.unannounced[0]} requires grad; its sample did "
                "not, so no gradient was captured for it: pass it detached, or graph with a sample that requires grad"
            )
        return (None, *ctx.passes.replay_backward(ctx.call, gradients))


def _refill(static: torch.Tensor, tensor: torch.Tensor) -> None:
    """Copy `tensor` into `static`, unless it is there already."""
    if tensor.data_ptr() == static.data_ptr():
        if (tensor.dtype, tensor.stride()) == (static.dtype, static.stride()):
            return
        tensor = tensor.clone()  # another view of the memory that it is about to be copied to
    static.copy_(tensor)


# -- putting it together ----------------------------------------------------------------------------------------------


def _plan(sources: tuple[Any, ...], samples: tuple[Any, ...], allow_unused: bool) -> list[_Passes]:
    taken: set[int] = set()
    passes = []
    for source, args in zip(sources, samples, strict=True):
        leaves, layout = pytree.tree_flatten(args)
        inputs = tuple(_static_input(leaf, taken) for leaf in leaves)
        parameters = tuple(source.parameters()) if isinstance(source, torch.nn.Module) else ()
        passes.append(_Passes(inputs, layout, parameters, allow_unused=allow_unused))
    return passes


def _static_input(sample: torch.Tensor, taken: set[int]) -> torch.Tensor:
    """The sample itself, or a copy when an earlier argument has its memory: later calls may tell the two apart."""
    if sample.data_ptr() in taken:
        return sample.detach().clone().requires_grad_(sample.requires_grad)
    taken.add(sample.data_ptr())
    return sample


@contextlib.contextmanager
def _side_stream() -> Iterator[None]:
    """A stream for warming up, ordered after everything before it and before everything after it."""
    here = device()
    here.synchronize()
    outer = here.current_stream()
    here.set_stream(here.new_stream())
    try:
        yield
    finally:
        here.set_stream(outer)
    here.synchronize()


def _graphed(source: Any, passes: _Passes) -> Any:
    if isinstance(source, torch.nn.Module):
        return _patched(source, passes)

    @functools.wraps(source)
    def graphed(*args: Any, **kwargs: Any) -> Any:
        return passes.call(*args, **kwargs)

    return graphed


def _patched(module: torch.nn.Module, passes: _Passes) -> torch.nn.Module:
    """The module, whose forward replays while the module is in the mode that it is in now."""
    training = module.training
    own = vars(module).get("forward")  # one that was set on the module itself, such as by an earlier graphing
    # Holding the module would make it a cycle, whose graphs and pool live until the collector comes by.
    reference = weakref.ref(module)

    def forward(*args: Any, **kwargs: Any) -> Any:
        target = reference()
        if target is None:
            raise RuntimeError("the graphed module is gone, and its forward cannot be called without it")
        if target.training == training:
            return passes.call(*args, **kwargs)
        return type(target).forward(target, *args, **kwargs) if own is None else own(*args, **kwargs)

    module.forward = forward
    return module
