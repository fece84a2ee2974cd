"""What is not there at all is named, with the declaration that would say so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.adapter import Adapter, ModuleAdapter
from conformance.checks import expect_raises
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.vocabulary import CAPABILITIES, capability_of, capability_taking
from conformance.session.judging import judge, lacking
from conformance.session.missing import missing_in


class _Graph:
    """A class as vendors copied it."""

    def capture_begin(self, pool: Any = None) -> None:
        """Begin."""


def _adapter(**declared: bool) -> Adapter:
    return ModuleAdapter("vendor", SimpleNamespace(), _Graph, device="cpu", revision="2.14", capabilities=declared)


def _raised(call: Any) -> BaseException:
    with pytest.raises(BaseException) as caught:
        call()
    return caught.value


_CALLS = {
    "constructor": (lambda adapter: adapter.new_graph(True), "keep_graph", "keep_graph", "the constructor takes no"),
    "member": (lambda adapter: adapter.new_graph().instantiate(), "instantiate", "keep_graph", "the class has no"),
    "argument": (
        lambda adapter: adapter.capture_begin(_Graph(), mode="global"),
        "capture_error_mode",
        "capture_modes",
        "capture_begin takes no",
    ),
    "module": (
        lambda adapter: adapter.memory_allocated(),
        "memory_allocated",
        "memory_stats",
        "the device module has no",
    ),
    "of-no-capability": (lambda adapter: adapter.new_graph().replay(), "replay", None, "the class has no"),
}
EACH_CALL = pytest.mark.parametrize("call", _CALLS)


@EACH_CALL
def test_what_is_missing_is_a_cause(call: str) -> None:
    make, name, capability, words = _CALLS[call]
    adapter = _adapter()
    result = judge(TestResult("t", ("a.b",), Verdict.PASS), "call", _raised(lambda: make(adapter)), adapter)
    assert result.verdict is Verdict.FAIL
    assert result.cause == {"kind": "missing", "name": name, "declare": capability}
    sentence = result.message.splitlines()[0]
    assert sentence.startswith(f"missing: {words} {name}")
    assert sentence.endswith(f'declare capabilities={{"{capability}": False}}') is (capability is not None)


@EACH_CALL
def test_what_is_missing_as_declared_is_unsupported(call: str) -> None:
    make, _, capability, words = _CALLS[call]
    adapter = _adapter(**dict.fromkeys(CAPABILITIES, False))
    error = _raised(lambda: make(adapter))
    if capability is None:
        assert lacking(error, adapter) is None
    else:
        why = str(lacking(error, adapter))
        assert why.startswith(f"the adapter 'vendor' declares the capability {capability!r} absent, and {words}")


def test_what_pybind_refuses_is_missing() -> None:
    text = (
        "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
        "    1. Graph()\n\nInvoked with: kwargs: keep_graph=True"
    )
    found = missing_in(TypeError(text), _adapter())
    assert found is not None
    assert found.what == "the constructor takes no keep_graph"
    taken = text.replace("Graph()", "Graph(keep_graph: bool = False)")
    assert missing_in(TypeError(taken), _adapter()) is None


def test_a_method_that_the_adapter_lacks_is_the_adapters() -> None:
    class Bare(Adapter):
        name, revision, graph_class = "bare", "2.14", _Graph

    adapter = Bare()
    result = judge(TestResult("t", ("a.b",), Verdict.PASS), "call", _raised(adapter.memory_reserved), adapter)
    assert result.verdict is Verdict.ERROR
    assert result.cause == {"kind": "adapter", "name": "memory_reserved", "declare": "memory_stats"}
    assert "does not implement memory_reserved()" in result.message


def test_a_rejection_that_comes_of_it_has_the_cause_and_keeps_its_words() -> None:
    adapter = _adapter()
    error = _raised(lambda: expect_raises("what has no template is refused", lambda: _Graph().instantiate()))  # type: ignore[attr-defined]
    result = judge(TestResult("t", ("a.b",), Verdict.PASS), "call", error, adapter)
    assert result.expected == "what has no template is refused"
    assert result.cause == {"kind": "missing", "name": "instantiate", "declare": "keep_graph"}


def test_what_is_missed_in_a_clean_up_is_no_cause() -> None:
    def reject_then_clean_up() -> None:
        try:
            expect_raises("a call is refused", lambda: None)
        finally:
            _Graph().reset()  # type: ignore[attr-defined]

    assert missing_in(_raised(reject_then_clean_up), _adapter()) is None


def test_an_attribute_of_something_else_is_no_cause() -> None:
    assert missing_in(_raised(lambda: object().instantiate), _adapter()) is None  # type: ignore[attr-defined]
    assert missing_in(TypeError("f() got an unexpected keyword argument 'colour'"), _adapter()) is None
    assert missing_in(ValueError("no"), _adapter()) is None


def test_no_name_is_of_two_capabilities() -> None:
    names = [name for entry in CAPABILITIES.values() for name in (*entry.names, *entry.arguments)]
    assert all(
        capability_of(name) == entry.name and entry.name not in {None, ""}
        for entry in CAPABILITIES.values()
        for name in entry.names
    )
    assert all(capability_taking(name) == entry.name for entry in CAPABILITIES.values() for name in entry.arguments)
    assert len(set(names)) >= len(names) - 1  # pool() the method, and pool the argument


def test_a_class_without_templates_does_what_false_asks() -> None:
    assert isinstance(_adapter(keep_graph=False).new_graph(False), _Graph)
    with pytest.raises(TypeError):
        _adapter().new_graph(False)
