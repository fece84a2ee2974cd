"""Raw handles, and the runtime's functions that take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, is_refusal
from conformance.errors import Unsupported

#: cudaErrorNotSupported.
NOT_SUPPORTED = 801


def template_handle(impl: Adapter, graph: Any) -> Any:
    """What the documented method for the template returns, as it is returned."""
    return graph.raw_xpu_graph() if impl.dialect == "xpu" else graph.raw_cuda_graph()


def exec_handle(impl: Adapter, graph: Any) -> Any:
    """What the documented method for the executable returns, as it is returned."""
    return graph.raw_xpu_graph_exec() if impl.dialect == "xpu" else graph.raw_cuda_graph_exec()


def expect_no_handle(promise: str, read: Callable[[], Any]) -> None:
    """Reject if `read` gives a handle; to raise says that there is none, and so does a handle that is null."""
    try:
        handle = read()
    except Exception as error:
        expect(is_refusal(error), promise, f"{type(error).__name__}: {error}")
    else:
        expect(handle == 0, promise, f"the handle {handle!r}")


def runtime_of(impl: Adapter) -> Any:
    """The runtime module for raw handles.

    Raises:
        Unsupported: the adapter names none.
    """
    if impl.runtime is None:
        raise Unsupported("the adapter names no runtime module whose functions take raw handles (Adapter.runtime)")
    return impl.runtime


def runtime_call(impl: Adapter, name: str, *arguments: Any) -> list[Any]:
    """Call a runtime function; reject unless it succeeds; return what follows the error code.

    Raises:
        Unsupported: the runtime has no such function, or says that it does not support it.
    """
    function = getattr(runtime_of(impl), name, None)
    if function is None:
        raise Unsupported(f"the runtime has no {name}")
    results: list[Any]
    error, *results = function(*arguments)
    if int(error) == NOT_SUPPORTED:
        raise Unsupported(f"the runtime does not support {name}")
    expect(int(error) == 0, f"the raw handle of a live graph can be used with {name}", f"{name} returned {error!r}")
    return results


def launch(impl: Adapter, executable: int) -> None:
    """Launch an executable by its raw handle on the device's default stream, and wait for it."""
    impl.synchronize()
    runtime_call(impl, "cudaGraphLaunch", runtime_of(impl).cudaGraphExec_t(init_value=executable), 0)
    impl.synchronize()


def executable_of(impl: Adapter, graph: Any) -> Any:
    """The graph's executable, wrapped for the runtime."""
    return runtime_of(impl).cudaGraphExec_t(init_value=impl.raw_exec(graph))
