"""What a script says for the kit's checks and for what an adapter does: the same, without what only the kit needs.

Each function stands for the one of the same name.  None is called: scripts are written from their text.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from conformance.adapter.settings import given

# -- checks -----------------------------------------------------------------------------------------------------------


def expect_equal(impl: Any, tensor: torch.Tensor, expected: Any, promise: str) -> None:
    seen = impl.read(tensor)
    expected = torch.as_tensor(expected, dtype=seen.dtype).detach()
    torch.testing.assert_close(
        seen,
        expected if expected.dim() else expected.expand_as(seen),
        rtol=0,
        atol=0,
        equal_nan=True,
        msg=lambda text: f"expected: {promise}\nseen: {text}",
    )


def expect_number(impl: Any, tensor: torch.Tensor, expected: float, promise: str) -> None:
    """What `expect_equal` is of a number that is known."""
    torch.testing.assert_close(
        impl.read(tensor),
        torch.full_like(tensor, expected, device="cpu"),
        rtol=0,
        atol=0,
        equal_nan=True,
        msg=lambda text: f"expected: {promise}\nseen: {text}",
    )


def expect_raises(promise: str, call: Callable[[], Any], kinds: Any = Exception) -> Any:
    try:
        call()
    except kinds as error:
        assert is_refusal(error), f"expected: {promise}\nseen: {error!r}"  # noqa: PT017  # no test: a script's words
        return error
    raise AssertionError(f"expected: {promise}\nseen: no error")


def expect_no_raise(promise: str, call: Callable[[], Any]) -> Any:  # noqa: ARG001
    return call()


def is_refusal(error: BaseException | None) -> bool:
    return (
        isinstance(error, Exception)
        and not isinstance(error, (AttributeError, NameError, UnicodeError))
        and not str(error).startswith("expected: ")
    )


def missing_method(error: BaseException) -> None:  # noqa: ARG001
    return None


def is_out_of_memory(error: BaseException) -> bool:  # noqa: ARG001
    return False


def caught(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error.with_traceback(None)
    return None


@contextlib.contextmanager
def without_reset(impl: Any) -> Iterator[None]:  # noqa: ARG001
    yield


def _in_words(error: BaseException) -> str:
    causes = (error, error.__cause__, error.__context__)
    missing = any(isinstance(cause, (AttributeError, NotImplementedError, TypeError)) for cause in causes)
    return f"not there: {error!r}" if missing else f"there, but: {error!r}"


def nodes_and_edges(text: str) -> tuple[set[str], list[tuple[str, str]]]:
    name = r'("(?:[^"\\]|\\.)*"|[\w.]+)(?::\w+)*'
    inside = re.fullmatch(r"\s*(?:strict\s+)?digraph\b[^{]*\{(.*)\}\s*", text, re.DOTALL)
    assert inside is not None, "expected: the dump is in the Graphviz DOT format\nseen: no digraph"
    nodes: set[str] = set()
    edges: list[tuple[str, str]] = []
    for line in re.split(r"[;\n{}]", re.sub(r'\[(?:"(?:[^"\\]|\\.)*"|[^]"])*\]', "", inside[1])):
        if re.match(r'\s*(?:subgraph|graph|node|edge)\b|[^"]*=', line) is None:
            sound = re.fullmatch(rf"\s*(?:{name}\s*(?:->\s*{name}\s*)*)?", line) is not None
            assert sound, f"expected: the dump is in the Graphviz DOT format\nseen: {line!r}"
            ends = [end.strip('"') for end in re.findall(name, line)]
            nodes.update(ends)
            edges += itertools.pairwise(ends)
    return nodes, edges


def expect_counting(impl: Any, runtime: Any) -> None:  # noqa: ARG001
    return None


def is_left_open(impl: Any, *, unless_told: bool) -> Any:  # noqa: ARG001
    return impl.is_current_stream_capturing()


def in_thread(call: Callable[[], Any]) -> Any:
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        return threads.submit(call).result()


def run_eagerly(impl: Any, what: str, program: Callable[[], Any], times: int = 2) -> None:  # noqa: ARG001
    before, side = impl.current_stream(), impl.new_stream()
    side.wait_stream(before)
    with impl.stream(side):
        for _ in range(times):
            program()
    before.wait_stream(side)
    impl.synchronize()


def runtime_call(impl: Any, name: str, *arguments: Any) -> Any:
    error, *results = getattr(impl.runtime, name)(*arguments)
    assert int(error) == 0, f"{name} returned {error!r}"
    return results


# -- the adapter ------------------------------------------------------------------------------------------------------


def full(self: Any, shape: Any, value: float, dtype: torch.dtype | None = None) -> Any:
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    if dtype is None and isinstance(value, float):
        return self.tensor(torch.full(size, value))
    return self.tensor(torch.full(size, value, dtype=torch.float32 if dtype is None else dtype))


def graph_for(self: Any, keep_graph: Any = None, *, pool: Any = None, mode: Any = None, liveness: Any = None) -> Any:
    if self.dialect == "accelerator":
        return self.new_graph(keep_graph, pool=pool, mode=mode), given()
    return self.new_graph(keep_graph), given(pool=pool, mode=mode, liveness=liveness)


def new_stream(self: Any) -> Any:
    return self.module.Stream()


def is_current_stream_capturing(self: Any) -> Any:
    return self.module.is_current_stream_capturing()


def memory_allocated(self: Any) -> Any:
    return self.module.memory_allocated()


def memory_reserved(self: Any) -> Any:
    return self.module.memory_reserved()


def memory_snapshot(self: Any) -> Any:
    return self.module.memory_snapshot()


#: Nothing frees what is in here: only a graph that uses its pool keeps a token good.
token_owners: list[Any] = []


def _token_of_a_graph(self: Any) -> Any:
    graph, scrap, side, before = self.new_graph(), self.full(1, 0.0), self.new_stream(), self.current_stream()
    side.wait_stream(before)
    with self.stream(side):
        graph.capture_begin()
        scrap.add_(1)
        graph.capture_end()
    before.wait_stream(side)
    token_owners.append(graph)
    return graph.pool()


def abort_capture(self: Any, graph: Any) -> None:  # noqa: ARG001
    with contextlib.suppress(Exception):
        graph.capture_end()


def unsafe_call(self: Any) -> None:
    error, _ = self.runtime.cudaMalloc(1 << 16)
    if int(error) != 0:
        raise RuntimeError(f"cudaMalloc: {error!r}")


def raw_graph(self: Any, graph: Any) -> Any:
    return getattr(graph, "raw_xpu_graph" if self.dialect == "xpu" else "raw_cuda_graph")()


def raw_exec(self: Any, graph: Any) -> Any:
    return getattr(graph, "raw_xpu_graph_exec" if self.dialect == "xpu" else "raw_cuda_graph_exec")()


CHECKS = {
    entry.__name__: entry
    for entry in (
        expect_equal,
        expect_raises,
        expect_no_raise,
        is_refusal,
        missing_method,
        is_out_of_memory,
        caught,
        without_reset,
        _in_words,
        nodes_and_edges,
        expect_counting,
        is_left_open,
        in_thread,
        run_eagerly,
        runtime_call,
    )
}
MEMBERS = {
    entry.__name__: entry
    for entry in (
        full,
        graph_for,
        new_stream,
        is_current_stream_capturing,
        memory_allocated,
        memory_reserved,
        memory_snapshot,
        _token_of_a_graph,
        unsafe_call,
        abort_capture,
        raw_graph,
        raw_exec,
    )
}
