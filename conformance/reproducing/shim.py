"""What a script needs instead of the kit.  It is read as text, and only the parts that a script uses are copied.

``backend``, ``Graph``, ``DIALECT``, ``DEVICE`` and ``make_tensor``, ``make_pinned``, ``read_tensor`` come from the
script's beginning; see `conformance.reproducing.preamble`.
"""

# mypy: ignore-errors
from __future__ import annotations

import contextlib
import warnings

import torch

from conformance.reproducing.names import (  # never copied: a script defines these itself
    CAPABILITIES,
    DEVICE,
    DIALECT,
    REVISION,
    RUNTIME,
    Graph,
    backend,
    make_pinned,
    make_tensor,
    read_tensor,
)


class NotConforming(AssertionError):
    pass


class HarnessError(Exception):
    pass


def fail(promise, seen):
    raise NotConforming(f"\npromised: {promise}\nseen: {seen}")


def expect(condition, promise, seen):
    if not condition:
        fail(promise, seen)


def expect_equal(impl, tensor, expected, promise):
    seen = impl.read(tensor)
    wanted = torch.as_tensor(expected, dtype=seen.dtype).detach()
    if wanted.dim() == 0:
        wanted = wanted.expand_as(seen)
    expect(seen.shape == wanted.shape, promise, f"shape {tuple(seen.shape)} instead of {tuple(wanted.shape)}")
    if torch.equal(seen, wanted):
        return
    same = (seen == wanted) | ((seen != seen) & (wanted != wanted))
    expect(bool(same.all()), promise, f"{seen}\ninstead of\n{wanted}")


def expect_raises(promise, call, kinds=RuntimeError):
    try:
        result = call()
    except kinds as error:
        return error
    except Exception as error:
        return fail(promise, f"{type(error).__name__} instead: {error}")
    return fail(promise, f"no error; the call returned {result!r}")


def expect_no_raise(promise, call):
    try:
        return call()
    except Exception as error:
        fail(promise, f"{type(error).__name__}: {error}")


def as_promised(steps):
    try:
        steps()
    except NotConforming:
        raise
    except Exception as error:
        fail("ordinary calls raise nothing", f"{type(error).__name__}: {error}")


def expect_warning(promise, call, text=""):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    messages = [str(entry.message) for entry in caught]
    expect(any(text.lower() in message.lower() for message in messages), promise, f"warnings: {messages!r}")
    return result


class Implementation:
    dialect = DIALECT
    revision = REVISION
    capabilities = CAPABILITIES
    needs_side_stream = True
    graph_class = Graph
    device = torch.device(DEVICE)
    module = backend
    runtime = RUNTIME

    def new_graph(self, keep_graph=None, *, pool=None, mode=None):
        settings = {"keep_graph": keep_graph, "pool": pool, "capture_error_mode": mode}
        return Graph(**{name: value for name, value in settings.items() if value is not None})

    def capture_begin(self, graph, *, pool=None, mode=None, liveness=None):
        graph.capture_begin(**self.settings(graph, pool, mode, liveness))

    def settings(self, graph, pool, mode, liveness):
        if DIALECT == "accelerator":
            if pool is not None:
                graph.graph_pool = pool
            if mode is not None:
                graph.capture_error_mode = mode
            return {}
        settings = {"pool": pool, "capture_error_mode": mode, "check_input_liveness": liveness}
        return {name: value for name, value in settings.items() if value is not None}

    @contextlib.contextmanager
    def on_current(self, graph, stream):
        with self.stream(stream or self.new_stream()), graph:
            yield

    def capture(self, graph, *, pool=None, stream=None, mode=None, liveness=None):
        settings = self.settings(graph, pool, mode, liveness)
        if DIALECT == "accelerator":
            return self.on_current(graph, stream)
        if stream is not None:
            settings["stream"] = stream
        return backend.graph(graph, **settings)

    def graph_pool_handle(self):
        return backend.graph_pool_handle()

    def new_mem_pool(self):
        return backend.MemPool()

    def make_graphed_callables(self, callables, sample_args, **settings):
        return backend.make_graphed_callables(callables, sample_args, **settings)

    def is_current_stream_capturing(self):
        return bool(backend.is_current_stream_capturing())

    def raw_graph(self, graph):
        return int(getattr(graph, "raw_xpu_graph" if DIALECT == "xpu" else "raw_cuda_graph")())

    def raw_exec(self, graph):
        return int(getattr(graph, "raw_xpu_graph_exec" if DIALECT == "xpu" else "raw_cuda_graph_exec")())

    def debug_dump(self, graph, path, *, verbose=None):
        settings = {"path" if DIALECT == "accelerator" else "debug_path": path}
        if verbose is not None:
            settings["verbose"] = verbose
        graph.debug_dump(**settings)

    def new_stream(self):
        return backend.Stream()

    def new_event(self):
        return backend.Event()

    def current_stream(self):
        return backend.current_stream()

    def default_stream(self):
        return backend.default_stream()

    def stream(self, stream):
        return backend.stream(stream)

    def synchronize(self):
        backend.synchronize()

    def tensor(self, data, dtype=None):
        return make_tensor(data, dtype)

    def full(self, shape, value, dtype=None):
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        return make_tensor(torch.full(size, value, dtype=dtype or torch.float32), None)

    def pinned(self, data, dtype=None):
        return make_pinned(data, dtype)

    def read(self, tensor):
        backend.synchronize()
        return read_tensor(tensor)

    def empty_cache(self):
        backend.empty_cache()

    def memory_allocated(self):
        return int(backend.memory_allocated())

    def memory_reserved(self):
        return int(backend.memory_reserved())

    def memory_snapshot(self):
        return list(backend.memory_snapshot())

    def manual_seed(self, seed):
        backend.manual_seed(seed)

    def unsafe_call(self):
        error, _ = self.runtime.cudaMalloc(1 << 16)
        if int(error) != 0:
            raise RuntimeError(f"cudaMalloc: {error!r}")

    def device_count(self):
        return 1

    def abort_capture(self, graph):
        for call in (graph.capture_end, graph.reset):
            with contextlib.suppress(Exception):
                call()


impl = Implementation()


def refused(promise, call):
    expect_raises(promise, call)


def expect_capturing(capturing):
    seen = impl.is_current_stream_capturing()
    expect(seen == capturing, "a stream captures from capture_begin to capture_end, and at no other time", seen)


def ends(graph):
    try:
        graph.capture_end()
    except Exception:
        return False
    return True
