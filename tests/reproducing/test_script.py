"""A script runs as it is written, and its text alone does the same again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import NotConforming, expect
from conformance.reproducing.script import Script

#: What the blocks and functions below have been through.
LOG: list[str] = []


@contextlib.contextmanager
def room(name: str) -> Iterator[None]:
    LOG.append(f"into {name}")
    try:
        yield
    finally:
        LOG.append(f"out of {name}")


def note(what: str) -> None:
    LOG.append(what)


class Silent(Adapter):
    """Nothing to wait for."""

    def synchronize(self) -> None:
        LOG.append("synchronized")


@pytest.fixture
def script() -> Script:
    LOG.clear()
    script = Script(Silent())
    script.use(room, note, expect)
    return script


def run(text: str) -> list[str]:
    """What the text alone does."""
    LOG.clear()
    exec(text, {"impl": Silent()})  # noqa: S102  # the text is what is tested
    return [*LOG]


def test_lines_run_at_once_and_leave_names(script: Script) -> None:
    script.do("x = 2")
    script.do("def double():", "    return 2 * x")
    script.do("y = double()")
    assert script["y"] == 4
    script.do("del y")
    with pytest.raises(KeyError):
        script["y"]


def test_blocks_stay_open_until_they_are_left(script: Script) -> None:
    script.enter("room('hall')")
    script.do("note('a')")
    script.enter("room('kitchen')")
    script.do("for word in ('b', 'c'):", "    note(word)")
    script.leave()
    script.do("note('d')")
    script.leave()
    script.do("note('e')")
    events = [*LOG]
    assert events == ["into hall", "a", "into kitchen", "b", "c", "out of kitchen", "d", "out of hall", "e"]
    assert run(script.text()) == events


def test_the_line_that_fails_is_the_last(script: Script) -> None:
    script.do("x = 2")
    with pytest.raises(NotConforming):
        script.do("expect(x == 3, 'x is three', repr(x))")
    with pytest.raises(NotConforming, match="x is three"):
        run(script.text())


@pytest.mark.parametrize("expression", ["room('hall')", "room(1 / 0)"])
def test_a_block_without_a_body_is_whole(script: Script, expression: str) -> None:
    with contextlib.suppress(ZeroDivisionError):
        script.enter(expression)
    assert script.text().endswith(f"with {expression}:\n    pass")


def test_closing_leaves_what_is_open_and_lets_go(script: Script) -> None:
    script.enter("room('hall')")
    script.do("import contextlib", "stack = contextlib.ExitStack()", "stack.callback(lambda: 1 / 0)")
    script.enter("stack")
    script.close()
    assert LOG == ["into hall", "out of hall", "synchronized"]
    with pytest.raises(KeyError):
        script["stack"]


def test_words_are_imported_where_they_stand(script: Script) -> None:
    names: dict[str, Any] = {}
    exec(script.text(), names)  # noqa: S102  # the text is what is tested
    assert (names["note"], names["expect"]) == (note, expect)
