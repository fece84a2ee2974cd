"""The adapter of a script does what the kit's own does, for its dialect, and no more than the script needs."""

from __future__ import annotations

import ast
import sys
import types
from typing import Any

import pytest
import torch

from conformance.adapter import Dialect, ModuleAdapter
from conformance.reproducing.implementation import add_implementation
from conformance.reproducing.inlining import Inlined


class Graph:
    """Notes how it is called."""

    def __init__(self, **settings: Any) -> None:
        self.calls: list[Any] = [settings]

    def capture_begin(self, **settings: Any) -> None:
        self.calls.append(settings)


class Stream:
    """One of a pool of two."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.number == self.number

    def __hash__(self) -> int:
        return self.number


def backend() -> types.ModuleType:
    """A device module that hands the streams of its pool out in turn."""
    module = types.ModuleType("pretended")
    handed_out: list[int] = []

    def stream() -> Stream:
        handed_out.append(len(handed_out) % 2)
        return Stream(handed_out[-1])

    module.__dict__.update(Stream=stream, current_stream=lambda: "the current one", synchronize=lambda: None)
    return module


class Worded(ModuleAdapter):
    script_words = {"tensor": "torch.as_tensor(data, dtype=dtype) + backend.offset"}  # noqa: RUF012


def script(adapter: ModuleAdapter, program: str) -> tuple[str, dict[str, Any]]:
    """The text of a script with this program, and the names that it defines when it is run."""
    copied = Inlined()
    copied.write(program)
    add_implementation(copied, adapter)
    nodes = [*copied.constants, *copied.definitions, *copied.program]
    lines = [*copied.imports, *(ast.unparse(ast.fix_missing_locations(node)) for node in nodes)]
    names = {"backend": adapter.module, "Graph": adapter.graph_class, "torch": torch}
    exec("\n".join(lines), names)  # noqa: S102  # the text is what is tested
    return "\n".join(lines), names


def adapter(dialect: Dialect = "cuda", kind: type[ModuleAdapter] = ModuleAdapter) -> ModuleAdapter:
    return kind("pretended", backend(), Graph, device="cpu", dialect=dialect, revision="2.14", runtime=sys)


def test_new_streams_are_none_that_are_in_use() -> None:
    _, names = script(adapter(), "def main():\n    return impl.new_stream()")
    first = names["main"]()
    names["backend"].Stream()  # now it is the first one's turn again
    assert names["main"]() != first


@pytest.mark.parametrize("dialect", ["cuda", "xpu", "accelerator"])
def test_settings_go_where_the_dialect_has_them(dialect: Dialect) -> None:
    program = (
        "def main(impl):\n    graph, settings = impl.graph_for(True, pool=7)\n"
        "    impl.capture_begin(graph, **settings)\n    return graph"
    )
    text, names = script(adapter(dialect), program)
    own, other = adapter(dialect), names["main"](names["impl"])
    graph, settings = own.graph_for(True, pool=7)
    own.capture_begin(graph, **settings)
    assert other.calls == graph.calls
    assert vars(other) == vars(graph)
    assert "dialect" not in text.replace("in this dialect", "")


def test_only_what_is_used_is_there() -> None:
    text, _ = script(adapter(), "def main():\n    return impl.raw_graph(Graph())")
    assert "def raw_graph" in text
    assert text.count("def ") == 2


def test_what_is_only_handed_on_is_called_directly() -> None:
    text, names = script(adapter(), "def main():\n    impl.synchronize()\n    return impl.current_stream()")
    assert names["main"]() == "the current one"
    assert "impl." not in text


def test_what_is_named_by_a_string_stays() -> None:
    _, names = script(adapter(), "def main():\n    return getattr(impl, 'current_stream')()")
    assert names["main"]() == "the current one"


def test_attributes_are_constants() -> None:
    _, names = script(adapter("xpu"), "def main():\n    return impl.dialect, impl.device, impl.runtime, impl.revision")
    assert names["main"]() == ("xpu", torch.device("cpu"), sys, "2.14")


def test_an_adapter_says_how_its_tensors_are_made() -> None:
    own = adapter(kind=Worded)
    own.module.offset = 5
    _, names = script(own, "def main():\n    return impl.full(3, 2.0)")
    assert names["main"]().tolist() == [7.0, 7.0, 7.0]
