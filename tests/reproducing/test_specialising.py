"""A specialised program does what the test does, and says no more than what is left to the script's run."""

from __future__ import annotations

import ast
import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch

from conformance.adapter import Dialect, ModuleAdapter
from conformance.adapter.device_module import HostStream
from conformance.checks import expect, expect_no_raise, expect_raises
from conformance.errors import Unsupported
from conformance.reproducing.values import Known
from conformance.reproducing.writing import specialised


class Graph:
    """Notes how it is called."""

    def __init__(self, **settings: Any) -> None:
        self.calls: list[Any] = [settings]

    def capture_begin(self, **settings: Any) -> None:
        self.calls.append(settings)

    def replay(self) -> None:
        self.calls.append("replay")


def backend() -> types.ModuleType:
    """A device module that notes what it is asked."""
    module = types.ModuleType("pretended")
    exec(  # noqa: S102  # functions of that module, which scripts call by their names
        """
log = []
def Stream(): return "a new one"
def current_stream(): return "the current one"
def synchronize(): log.append("synchronize")
def note(what): log.append(what)
""",
        vars(module),
    )
    return module


class Worded(ModuleAdapter):
    script_words = {"tensor": "torch.as_tensor(data, dtype=dtype) + backend.offset"}  # noqa: RUF012


def adapter(dialect: Dialect = "cuda", kind: type[ModuleAdapter] = ModuleAdapter) -> ModuleAdapter:
    return kind("pretended", backend(), Graph, device="cpu", dialect=dialect, revision="2.14", runtime=sys)


def text_of(program: Callable[..., None], own: ModuleAdapter, **arguments: Any) -> str:
    """What a script says for a test, apart from its imports."""
    values = {"impl": Known(own), **{name: Known(value) for name, value in arguments.items()}}
    done = specialised(own, lambda specialiser: specialiser.of_function(program, dict(values)))
    return "\n".join((*done.imports, *done.before, done.body)).replace("import pretended\n", "")


def run(program: Callable[..., None], own: ModuleAdapter | None = None, **arguments: Any) -> tuple[str, list[Any]]:
    """The text, and what the device module was asked when it ran."""
    own = own or adapter()
    text = text_of(program, own, **arguments)
    names = {"pretended": own.module, "Graph": Graph, "torch": torch}
    exec(text + "\nreproduce()", names)  # noqa: S102  # the text is what is tested
    return text, own.module.log


@pytest.mark.parametrize("dialect", ["cuda", "xpu", "accelerator"])
def test_settings_go_where_the_dialect_has_them(dialect: Dialect) -> None:
    def program(impl: Any) -> None:
        graph, rest = impl.graph_for(True, pool=7)
        impl.capture_begin(graph, **rest)
        impl.module.note(graph.calls)

    own = adapter(dialect)
    graph, rest = own.graph_for(True, pool=7)
    own.capture_begin(graph, **rest)
    text, log = run(program, own)
    assert log == [graph.calls]
    assert "if " not in text
    assert "def " not in text.replace("def reproduce", "")


def helper(impl: Any, graph: Any, times: int = 1) -> None:
    if impl.dialect == "cuda":
        for _ in range(times):
            expect_no_raise("a graph replays", graph.replay)
    else:
        raise NotImplementedError
    impl.synchronize()


def test_helpers_are_written_where_they_are_called() -> None:
    def program(impl: Any) -> None:
        graph = impl.new_graph()
        helper(impl, graph, 2)

    text, log = run(program)
    assert text.splitlines()[-5:] == [
        "def reproduce():",
        "    graph = Graph()",
        "    for _ in range(2):",
        "        graph.replay()",
        "    pretended.synchronize()",
    ]
    assert log == ["synchronize"]


def test_branches_that_are_closed_are_left_out() -> None:
    def program(impl: Any, *, keep: bool) -> None:
        if keep and not impl.owes("nothing") if False else keep:
            impl.module.note("kept")
        else:
            impl.module.note("not kept")

    text, log = run(program, keep=False)
    assert log == ["not kept"]
    assert "'kept'" not in text


@contextlib.contextmanager
def around(impl: Any, word: str) -> Iterator[str]:
    impl.module.note(f"before {word}")
    try:
        yield word.upper()
    finally:
        impl.module.note(f"after {word}")


def test_context_managers_are_written_around_their_blocks() -> None:
    def program(impl: Any) -> None:
        with around(impl, "one") as name, around(impl, "two"):
            impl.module.note(name)

    text, log = run(program)
    assert log == ["before one", "before two", "ONE", "after two", "after one"]
    assert "with " not in text


def test_what_is_caught_is_put_right_all_the_same() -> None:
    def program(impl: Any) -> None:
        def block() -> None:
            with around(impl, "one"):
                raise ValueError("no")

        impl.module.note(str(expect_raises("it is refused", block)))

    _, log = run(program)
    assert log == ["before one", "after one", "no"]


def noted(impl: Any, word: str) -> str:
    impl.module.note(word)
    return word


def test_everything_is_done_in_its_order() -> None:
    def program(impl: Any) -> None:
        pair = (impl.module.note("first"), noted(impl, "second"), impl.module.note("third"))
        expect(len(pair) == 3, "there are three", "others")

    assert run(program)[1] == ["first", "second", "third"]


def test_variables_that_functions_change_are_the_scripts() -> None:
    def program(impl: Any) -> None:
        count, calls = 0, []

        def hook() -> None:
            nonlocal count
            count += 1

        calls.append(hook)
        for call in calls * 3:
            call()
        impl.module.note(f"{count} calls")

    text, log = run(program)
    assert log == ["3 calls"]
    assert "nonlocal count" in text


@dataclass
class Move:
    word: str
    make: Callable[[Any, str], None]


MOVES = {
    "shout": Move("a", lambda impl, word: impl.module.note(word * 3)),
    "speak": Move("b", lambda impl, word: impl.module.note(word)),
}


def test_tables_of_functions_are_looked_up_now() -> None:
    def program(impl: Any) -> None:
        for name in ("shout", "speak"):
            MOVES[name].make(impl, MOVES[name].word)

    text, log = run(program)
    assert log == ["aaa", "b"]
    assert "for " not in text


class Counted:
    """An object whose attributes become variables."""

    def __init__(self, impl: Any, start: int) -> None:
        self._impl = impl
        self.count = start
        self.stream = impl.current_stream()

    def step(self) -> None:
        self.count += 1

    def tell(self) -> None:
        self._impl.module.note(f"{self.stream}: {self.count}")


def test_objects_are_variables() -> None:
    def program(impl: Any) -> None:
        one, other = Counted(impl, 1), Counted(impl, 10)
        for _ in [impl.current_stream(), impl.current_stream()]:
            one.step()
        one.tell()
        other.tell()

    text, log = run(program)
    assert log == ["the current one: 3", "the current one: 10"]
    assert "class " not in text


def early(impl: Any, value: Any) -> str:
    if value.startswith("the"):
        return "early"
    impl.synchronize()
    return "late"


def test_early_returns() -> None:
    def program(impl: Any) -> None:
        impl.module.note(early(impl, impl.current_stream()))
        impl.module.note(early(impl, impl.new_stream()))

    assert run(program)[1] == ["early", "synchronize", "late"]


def test_what_a_helper_made_goes_when_it_ends() -> None:
    def program(impl: Any) -> None:
        holding(impl)
        impl.synchronize()

    text, _ = run(program)
    tree = ast.parse(text)
    deleted = [node for node in ast.walk(tree) if isinstance(node, ast.Delete)]
    assert [ast.unparse(node) for node in deleted] == ["del graph"]


@contextlib.contextmanager
def fresh(impl: Any) -> Iterator[Any]:
    yield impl.new_graph()


def test_what_a_block_was_handed_outlives_it() -> None:
    def program(impl: Any) -> None:
        with fresh(impl) as graph:
            graph.replay()
        graph.replay()
        impl.module.note(graph.calls)

    text, log = run(program)
    assert log == [[{}, "replay", "replay"]]
    assert "del " not in text


def holding(impl: Any) -> None:
    graph = impl.new_graph()
    graph.replay()
    graph.replay()


def test_attributes_are_constants() -> None:
    def program(impl: Any) -> None:
        impl.module.note(f"{impl.dialect} {impl.device} {impl.revision}")

    text, log = run(program, adapter("xpu"))
    assert log == ["xpu cpu 2.14"]
    assert "xpu" in text


def test_an_adapter_says_how_its_tensors_are_made() -> None:
    def program(impl: Any) -> None:
        impl.module.note(impl.full(3, 2.0).tolist())

    own = adapter(kind=Worded)
    own.module.offset = 5
    assert run(program, own)[1] == [[7.0, 7.0, 7.0]]


def test_a_test_that_cannot_go_on_ends_its_script_in_plain_words() -> None:
    def program(impl: Any) -> None:
        try:
            impl.module.note("tried")
        except Exception as error:
            raise Unsupported(f"there is none of that: {error}") from error

    text = text_of(program, adapter())
    assert "raise SystemExit(f'there is none of that: {error}') from error" in text


def test_a_class_in_a_test_is_copied() -> None:
    def program(impl: Any, *, loud: bool) -> None:
        class Voice:
            """What speaks."""

            word = "a"

            def speak(self) -> None:
                impl.module.note(self.word * 3 if loud else self.word)

        class Second(Voice):
            word = "b"

        Voice().speak()
        Second().speak()

    text, log = run(program, loud=True)
    assert log == ["aaa", "bbb"]
    assert "loud" not in text


def test_a_function_may_name_itself() -> None:
    def program(impl: Any) -> None:
        left = [3, 2, 1]

        def again() -> None:
            impl.module.note(left.pop())
            if left:
                again()

        again()

    assert run(program)[1] == [1, 2, 3]


def speaking(impl: Any, number: int) -> Callable[[], None]:
    return lambda: impl.module.note(number)


def test_each_turn_of_a_comprehension_makes_its_own_function() -> None:
    def program(impl: Any) -> None:
        calls = [speaking(impl, number) for number in range(3)]
        for call in reversed(calls):
            call()

    assert run(program)[1] == [2, 1, 0]


def settle(impl: Any, *words: Any, **settings: Any) -> None:
    impl.module.note((words, settings))


def test_starred_arguments_and_settings_are_handed_on() -> None:
    def program(impl: Any) -> None:
        def inner(**settings: Any) -> None:
            settle(impl, *[None] * 2, **settings)

        inner(stream=impl.current_stream())

    assert run(program)[1] == [((None, None), {"stream": "the current one"})]


NOTES: list[str] = []


def test_what_a_module_fills_is_asked_when_the_script_runs() -> None:
    def program(impl: Any) -> None:
        NOTES.append(impl.current_stream())
        impl.module.note(len(NOTES))

    assert run(program)[1] == [1]


def test_what_may_be_none_is_given_or_left_out() -> None:
    def program(impl: Any) -> None:
        for pool in (None, 7):
            graph, rest = impl.graph_for(pool=pool)
            impl.capture_begin(graph, **rest)
            impl.module.note(graph.calls[1])

    assert run(program)[1] == [{}, {"pool": 7}]


def test_what_a_count_was_stays() -> None:
    def program(impl: Any) -> None:
        counted = Counted(impl, 1)
        stream = impl.current_stream()

        def step() -> None:
            counted.count += len(stream)

        step()
        before = counted.count
        step()
        impl.module.note(counted.count - before)

    assert run(program)[1] == [len("the current one")]


def test_values_of_a_row_are_computed_before_any_is_assigned() -> None:
    def program(impl: Any) -> None:
        one, other = impl.current_stream(), impl.new_stream()
        for _ in range(3):
            one, other = other, one + other
        impl.module.note(one)

    assert run(program)[1] == ["a new one" + "the current one" + "a new one"]


def _noting(ran: list[str], name: str) -> Callable[[], None]:
    return lambda: ran.append(name)


def test_a_function_is_one_object_wherever_it_is_used() -> None:
    def program(impl: Any) -> None:
        ran: list[str] = []
        same, other = _noting(ran, "same"), _noting(ran, "other")
        for hook in (same, other, same):
            impl.module.note(hook)

    _, (first, second, third) = run(program)
    assert first is third
    assert first is not second


def test_several_results_are_computed_once() -> None:
    def program(impl: Any) -> None:
        def results() -> tuple[Any, ...]:
            return (*torch.aminmax(x.add_(1.0)), x)

        x = impl.full(2, 0.0)
        first = results()
        for value in first:
            impl.module.note(value.tolist())
        impl.module.note(len(first))
        results()

    text, log = run(program)
    assert log == [1.0, 1.0, [1.0, 1.0], 3]
    assert text.count("aminmax") == 2


def test_a_function_around_the_one_before_calls_that_one() -> None:
    def program(impl: Any) -> None:
        def call() -> str:
            impl.module.note("inside")
            return "done"

        for _ in range(2):
            call = partial(_around, impl, call)
        impl.module.note(call())

    _, log = run(program)
    assert log == ["before", "before", "inside", "done"]


def _around(impl: Any, call: Callable[[], str]) -> str:
    impl.module.note("before")
    return call()


def test_an_object_of_the_kit_that_holds_nothing_is_one_of_the_script() -> None:
    def program(impl: Any, stream: Any) -> None:
        impl.module.note(stream)
        stream.wait_stream(stream)
        impl.module.note(stream.query())

    text, (noted, answer) = run(program, stream=HostStream())
    assert type(noted).__name__ == "HostStream"
    assert type(noted) is not HostStream
    assert answer is True
    assert "conformance" not in text
