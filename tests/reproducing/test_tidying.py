"""What specialising leaves behind is cleared away, and nothing that is still asked for."""

from __future__ import annotations

import ast

import pytest

from conformance.reproducing.tidying.passes import tidy


def tidied(text: str) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(tidy(ast.parse(text).body), [])))


@pytest.mark.parametrize(
    "rest",
    [
        "use(x)",
        "x += 1",
        "if done():\n    use(x)",
        "if done():\n    x = make()\nuse(x)",
        "for _ in turns():\n    use(x)",
    ],
)
def test_what_is_read_later_stays(rest: str) -> None:
    assert "del x" not in tidied(f"x = make()\nx.go()\nx.go()\ndel x\n{rest}\nend()")


@pytest.mark.parametrize("rest", ["end()", "x = make()\nx.go()\nx.go()"])
def test_what_is_not_is_let_go(rest: str) -> None:
    assert "del x" in tidied(f"x = make()\nx.go()\nx.go()\ndel x\n{rest}\nend()")


def test_a_loop_reads_in_its_next_turn() -> None:
    made_once = "x = make()\nfor y in turns():\n    x.go(y)\n    if y:\n        x = make()\n        del x\nend()"
    assert "del x" not in tidied(made_once)
    in_a_block = (
        "for y in turns():\n    with M.room():\n        x = make()\n        x.go(x)\n    x.go(y)\n    del x\nend()"
    )
    assert "del x" in tidied(in_a_block)
    twice = "for z in turns():\n    for y in turns():\n        x = make()\n        x.go(x)\n        del x\n    end()"
    assert "del x" in tidied(twice)
    made_anew = "for y in turns():\n    x = make()\n    x.go(y)\n    x.go()\n    del x\nend()"
    assert "del x" in tidied(made_anew)


def test_what_a_handler_reads_stays() -> None:
    tried = "x = make()\n    x.go()\n    x.go()\n    del x\n    end()"
    text = f"x = make()\ntry:\n    {tried}\nexcept Error:\n    x.go()\nend()"
    assert "del x" not in tidied(text)


def test_the_current_stream_is_asked_for_where_it_is_waited_for() -> None:
    text = (
        "side = M.Stream()\nbefore = M.current_stream()\nside.wait_stream(before)\nwith M.stream(side):\n    work()\n"
    )
    assert tidied(f"{text}before.wait_stream(side)").splitlines() == [
        "side = M.Stream()",
        "side.wait_stream(M.current_stream())",
        "with M.stream(side):",
        "    work()",
        "M.current_stream().wait_stream(side)",
    ]


@pytest.mark.parametrize(
    "rest", ["use(before)\nbefore.wait_stream(side)", "M.set_stream(side)", "with M.stream(side):\n    before.query()"]
)
def test_unless_it_may_be_another_there(rest: str) -> None:
    text = tidied(
        f"side = M.Stream()\nbefore = M.current_stream()\nside.wait_stream(before)\nside.wait_stream(before)\n{rest}"
    )
    assert "before = M.current_stream()" in text


@pytest.mark.parametrize(
    "end", ["graph.capture_end()", "ending = caught(graph.capture_end)\nassert ending is None, 'no'"]
)
def test_a_capture_that_has_ended_is_not_asked_after(end: str) -> None:
    asking = "if M.is_current_stream_capturing():\n    graph.capture_end()"
    assert "if " not in tidied(f"graph.capture_begin()\n{end}\n{asking}")
    assert "if " in tidied(f"graph.capture_begin()\n{end}\ngraph.capture_begin()\n{asking}")


def test_what_is_only_handed_on_is_called_itself() -> None:
    assert tidied("def call(name, *rest):\n    return ask(name, *rest)\nx = call('a', 1)\nuse(x, x)") == (
        "x = ask('a', 1)\nuse(x, x)"
    )
    other = "def call(name, *rest):\n    return ask(*rest, name)\nuse(call('a', 1))"
    assert "def call" in tidied(other)
    named = "def call(name):\n    return ask(name)\nuse(call(name='a'))"
    assert "def call" in tidied(named)


def test_one_of_two_values_is_a_line() -> None:
    text = "if some():\n    x = one()\nelse:\n    x = two()\nuse(x, x)"
    assert tidied(text) == "x = one() if some() else two()\nuse(x, x)"


def test_what_an_assertion_says_is_written_in_it() -> None:
    text = "how = f'{type(error).__name__}'\nassert error is None, f'seen: {how}'"
    assert tidied(text) == "assert error is None, f\"seen: {f'{type(error).__name__}'}\""
    asked = "how = graph.pool()\nassert error is None, f'seen: {how}'"
    assert tidied(asked).startswith("how = ")


@pytest.mark.parametrize(
    "made", ["[int(n) for n in y]", "runtime.cudaMemsetParams()", "torch.full((3,), 1.0)", "{1: len(y)}"]
)
def test_what_holds_nothing_is_not_let_go(made: str) -> None:
    assert "del x" not in tidied(f"x = {made}\nx.go(x)\nx.go(x)\ndel x\nend()")


@pytest.mark.parametrize("made", ["[]", "[graph for n in y]", "M.full((3,), 1.0)", "torch.full((3,), 1.0, device='M')"])
def test_what_may_hold_something_is(made: str) -> None:
    assert "del x" in tidied(f"x = {made}\nx.go(x)\nx.go(x)\ndel x\nend()")


def test_blocks_are_entered_in_one_line() -> None:
    assert tidied("with one():\n    with two() as x, three(x):\n        use(x)") == (
        "with one(), two() as x, three(x):\n    use(x)"
    )
    assert tidied("with one():\n    use()\n    with two():\n        use()").count("with") == 2


def test_what_an_operator_gave_is_there() -> None:
    assert "assert" not in tidied("x = y * 2\nassert x is not None, 'no'\nuse(x, x)")
    assert "assert" in tidied("x = y.get()\nassert x is not None, 'no'\nuse(x, x)")


def test_a_patch_leaves_the_stream_as_it_is() -> None:
    text = "{}\nbefore = M.current_stream()\nside.wait_stream(before)\nbefore.wait_stream(side)"
    assert "before" not in tidied(text.format("stack.enter_context(mock.patch.object(M, 'f', g))"))
    assert "before" in tidied(text.format("stack.enter_context(M.stream(side))"))


def test_what_is_only_raised_again_is_not_caught() -> None:
    assert tidied("try:\n    go()\nexcept Some:\n    raise\nend()") == "go()\nend()"
    assert "handle" in tidied("try:\n    go()\nexcept Some:\n    handle()\n    raise\nend()")
    other = "try:\n    go()\nexcept Some:\n    raise\nexcept Exception:\n    handle()\nend()"
    assert "raise" in tidied(other)
    assert "finally" in tidied("try:\n    go()\nexcept Some:\n    raise\nfinally:\n    handle()\nend()")


def test_the_device_is_waited_for_once() -> None:
    assert tidied("M.synchronize()\nM.synchronize()\nend()") == "M.synchronize()\nend()"
    assert tidied("M.synchronize()\nN.synchronize()\nend()").count("synchronize") == 2
    assert tidied("M.synchronize()\ngo()\nM.synchronize()").count("synchronize") == 2
