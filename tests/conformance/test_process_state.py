"""What a test or a trial has set in the process is said, and put back."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

import pytest

from conformance.session.process_state import ProcessState, put_back


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


CHANGES: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "the environment variable OF_NOBODY": (
        lambda: os.environ.__setitem__("OF_NOBODY", "1"),
        lambda: os.environ.get("OF_NOBODY"),
    ),
    "the permissions of new files": (lambda: os.umask(0o077), _umask),
    "what logging leaves out": (lambda: logging.disable(3), lambda: logging.root.manager.disable),
    "the handler of uncaught exceptions": (lambda: setattr(sys, "excepthook", print), lambda: sys.excepthook),
    "how long one thread runs before another": (lambda: sys.setswitchinterval(0.011), sys.getswitchinterval),
}


@pytest.mark.parametrize("what", CHANGES)
def test_changes_are_named_and_undone(what: str) -> None:
    change, read = CHANGES[what]
    before, state = read(), ProcessState.now()
    change()
    named = state.restore()
    assert [one for one in named if one.startswith(what)], named
    assert read() == before
    assert state.restore() == [], "nothing is left to undo"


@pytest.mark.parametrize("what", CHANGES)
def test_a_trial_leaves_nothing(what: str) -> None:
    change, read = CHANGES[what]
    before = read()
    with put_back():
        change()
    assert read() == before


def _set_and_raise() -> None:
    os.environ["OF_NOBODY"] = "1"
    raise LookupError


def test_a_trial_that_raises_leaves_nothing() -> None:
    with pytest.raises(LookupError), put_back():
        _set_and_raise()
    assert "OF_NOBODY" not in os.environ
