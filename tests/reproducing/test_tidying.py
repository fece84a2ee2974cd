"""What specialising leaves behind is cleared away, and nothing that is still asked for."""

from __future__ import annotations

import ast

import pytest

from conformance.reproducing.tidying import tidy


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
    made_anew = "for y in turns():\n    x = make()\n    x.go(y)\n    x.go()\n    del x\nend()"
    assert "del x" in tidied(made_anew)


def test_what_a_handler_reads_stays() -> None:
    tried = "x = make()\n    x.go()\n    x.go()\n    del x\n    end()"
    text = f"x = make()\ntry:\n    {tried}\nexcept Error:\n    x.go()\nend()"
    assert "del x" not in tidied(text)
