"""What a change may say of the adapter, as the vendor of such a class would."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import pytest

import reference_impl.accelerator
from conformance.adapters.implementations import resolve
from conformance.errors import ImplementationError, KitError
from conformance.selfcheck.catalogue import Change
from conformance.selfcheck.children import _applied
from reference_impl.accelerator import Graph
from reference_impl.graphs.core import GraphCore
from reference_impl.variants.variant import Lacking, removed, stated


class OwnGraph(Graph):
    """A class in the place of the reference's."""


def adapter_of(change: Change) -> Any:
    """The adapter of the reference, changed."""
    adapter = resolve("reference.accelerator")
    with _applied(lambda: contextlib.nullcontext(change), adapter):
        return adapter


@pytest.mark.parametrize("change", [OwnGraph, {"graph_class": OwnGraph}])
def test_a_class_takes_the_place_of_the_own_one(change: Change) -> None:
    assert adapter_of(change).graph_class is OwnGraph


def test_without_a_statement_the_adapter_stays() -> None:
    assert adapter_of(None).graph_class is Graph


def test_attributes_are_the_adapters() -> None:
    adapter = adapter_of({"runtime": None, "needs_side_stream": False})
    assert (adapter.runtime, adapter.needs_side_stream) == (None, False)


def test_capabilities_come_to_those_declared() -> None:
    adapter = resolve("reference")
    adapter.capabilities = {"rng": False}
    with _applied(lambda: stated(capabilities={"template_editing": False}), adapter):
        assert adapter.capabilities == {"rng": False, "template_editing": False}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"runtim": None}, KitError),
        ({"capabilities": {"telepathy": True}}, ImplementationError),
        ({"graph_class": int}, ImplementationError),
    ],
)
def test_what_no_adapter_states_is_refused(change: Mapping[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        adapter_of(change)


def test_a_module_lacks_what_it_is_said_to_lack() -> None:
    module = Lacking(reference_impl.accelerator, ["graph_pool_handle"])
    assert module.Graph is Graph
    assert not hasattr(module, "graph_pool_handle")
    assert "graph_pool_handle" not in dir(module)
    assert "Graph" in dir(module)


def test_what_is_removed_comes_back() -> None:
    own = GraphCore.reset
    with removed(GraphCore, "reset"):
        assert not hasattr(Graph, "reset")
    assert Graph.reset is own
