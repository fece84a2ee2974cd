"""What adapters do for classes that differ in what their documents leave open."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.adapter import Dialect, ModuleAdapter
from conformance.errors import HarnessError, Unsupported
from conformance.session.judging import lacking


class Graph:
    """Notes how it is called; neither hashable, comparable nor weakly referenceable, and takes no other attributes."""

    __slots__ = ("calls",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self.calls: list[Any] = [(arguments, settings)]

    def __eq__(self, other: object) -> bool:
        raise TypeError("no equality")

    def capture_begin(self, *arguments: Any, **settings: Any) -> None:
        self.calls.append((arguments, settings))

    def capture_end(self) -> None:
        self.calls.append("end")

    def pool(self) -> Token:
        return Token()


class Token:
    """As opaque as can be."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise TypeError("no equality")


class Stream:
    def wait_stream(self, stream: Any) -> None: ...


@contextlib.contextmanager
def entered(stream: Any) -> Iterator[Any]:
    yield stream


def adapter(dialect: Dialect, **names: Any) -> ModuleAdapter:
    plain = {"Stream": Stream, "stream": entered, "current_stream": Stream, "synchronize": lambda: None}
    module = types.SimpleNamespace(**plain, is_current_stream_capturing=lambda: False, **names)
    return ModuleAdapter("vendor", module, Graph, device="cpu", dialect=dialect, revision="2.14")


def test_settings_of_a_constructor_go_there_alone() -> None:
    own, token = adapter("accelerator"), Token()
    graph, settings = own.graph_for(True, pool=token, mode="relaxed")
    own.capture_begin(graph, **settings)
    ((arguments, given), begun) = graph.calls
    assert (arguments, given.keys()) == ((), {"keep_graph", "pool", "capture_error_mode"})
    assert given["pool"] is token
    assert begun == ((), {})


@pytest.mark.parametrize("dialect", ["cuda", "xpu"])
def test_settings_of_a_capture_go_there_alone(dialect: Dialect) -> None:
    own, token = adapter(dialect), Token()
    graph, settings = own.graph_for(True, pool=token)
    own.capture_begin(graph, **settings)
    own.capture_begin(graph, **settings)
    assert graph.calls[0] == ((), {"keep_graph": True})
    assert [given.keys() for _, given in graph.calls[1:]] == [{"pool"}, {"pool"}]
    assert graph.calls[1][1]["pool"] is token


def test_a_setting_that_comes_where_the_dialect_takes_none_is_the_kits_error() -> None:
    own = adapter("accelerator")
    with pytest.raises(HarnessError, match="constructor"):
        own.capture_begin(own.new_graph(), pool=Token())
    with pytest.raises(HarnessError, match="constructor"):
        own.capture(own.new_graph(), mode="global")
    with pytest.raises(HarnessError, match="capture_begin"):
        adapter("cuda").new_graph(pool=Token())


def test_a_token_comes_from_a_graph_where_nothing_else_gives_any() -> None:
    own = adapter("accelerator")
    assert isinstance(own.graph_pool_handle(), Token)
    (owner,) = own._token_owners
    assert owner.calls == [((), {}), ((), {}), "end"]
    own.recover()
    assert own._token_owners == []


def test_a_function_that_gives_tokens_is_used_where_there_is_one() -> None:
    assert adapter("accelerator", graph_pool_handle=lambda: "handle").graph_pool_handle() == "handle"
    with pytest.raises(AttributeError):
        adapter("cuda").graph_pool_handle()


def test_without_a_runtime_there_is_no_unsafe_call() -> None:
    with pytest.raises(Unsupported, match="runtime"):
        adapter("cuda").unsafe_call()


def test_a_class_without_reset_is_asked_for_none() -> None:
    own, graph = adapter("accelerator"), Graph()
    assert not own.has_reset
    with pytest.raises(Unsupported, match="reset"):
        own.reset(graph)
    own.abort_capture(graph)
    with pytest.raises(AttributeError) as missing:
        graph.reset()  # type: ignore[attr-defined]
    assert "no reset()" in str(lacking(missing.value, own))


def test_what_is_missed_after_a_rejection_excuses_nothing() -> None:
    class Rejection(AssertionError):
        promise, seen = "a promise", "something else"

    own = adapter("accelerator")

    def reject_and(tidy: Callable[[], None]) -> None:
        try:
            raise Rejection
        finally:
            tidy()

    with pytest.raises(AttributeError) as missing:
        reject_and(lambda: Graph().reset())  # type: ignore[attr-defined]
    assert lacking(missing.value, own) is None
    with pytest.raises(Unsupported) as lack:
        reject_and(own.unsafe_call)
    assert lacking(lack.value, own) is None
