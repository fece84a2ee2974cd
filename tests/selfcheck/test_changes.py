"""What a change may say of the adapter, as the vendor of such a class would."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Collection, Mapping
from typing import Any

import pytest

import reference_impl.accelerator
from conformance.adapters.implementations import resolve
from conformance.errors import ImplementationError, KitError
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement
from conformance.requirements.vocabulary import CAPABILITIES
from conformance.selfcheck.catalogue import Change
from conformance.selfcheck.children import _applied, _inapplicable
from conformance.session.cases import Case
from reference_impl.accelerator import Graph
from reference_impl.graphs.core import GraphCore
from reference_impl.variants import Variant, absences
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


@pytest.mark.parametrize("variant", absences.VARIANTS, ids=lambda variant: variant.name)
def test_what_is_declared_absent_is_really_absent(variant: Variant) -> None:
    (name,) = variant.implementations
    adapter = resolve(name)
    own, members = adapter.graph_class, set(dir(adapter.graph_class))
    with _applied(variant.apply, adapter):
        absent = [capability for capability, declared in adapter.capabilities.items() if not declared]
        assert absent
        for capability in map(CAPABILITIES.__getitem__, absent):
            assert not members_of(adapter, capability.names)
            assert not arguments_of(adapter, capability.arguments)
    assert set(dir(own)) == members


def members_of(adapter: Any, names: Collection[str]) -> list[str]:
    """Those of `names` that the class or the device module has."""
    # A device that cannot be forked has events, and one whose generator cannot be captured has a seed.
    names = set(names) - {"new_event", "manual_seed"}
    return [name for name in names if hasattr(adapter.graph_class, name) or hasattr(adapter.module, name)]


def arguments_of(adapter: Any, names: Collection[str]) -> list[str]:
    """Those of `names` that the constructor, capture_begin or a function of the device module takes."""
    module = adapter.module
    functions = [adapter.graph_class.__init__, adapter.graph_class.capture_begin, getattr(module, "graph", None)]
    functions.append(getattr(module, "make_graphed_callables", None))
    taken = {name for function in functions if function is not None for name in inspect.signature(function).parameters}
    return sorted(taken.intersection(names))


def test_a_call_without_an_argument_says_so_as_python_does() -> None:
    variant = next(variant for variant in absences.VARIANTS if variant.name == "no-keep-graph")
    with variant.apply() as change, pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument"):
        change["graph_class"](keep_graph=True)


def test_a_test_of_another_revision_is_left_out() -> None:
    """A variant may claim an earlier release than its tests were collected for."""
    requirement = Requirement("a.b", "a", "must", "It is so.", ("a page",), since="2.8")
    adapter = resolve("reference")
    adapter.revision = "2.7"
    result = _inapplicable(Case("t", "t", "reference", (requirement,)), adapter)
    assert (result.verdict, result.message) == (Verdict.UNSUPPORTED, "it is not about cuda 2.7")
