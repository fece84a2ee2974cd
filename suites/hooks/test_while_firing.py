"""Hooks that register and remove hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise
from conformance.markers import requirement
from suites.hooks.programs import EACH_MOMENT, Rounds
from suites.support.hooks import MOMENTS


class _Scene:
    """Three hooks, first, second and third; `act` is what the first does besides being noted."""

    def __init__(self, impl: Adapter, moment: str, act: Callable[[_Scene], None], which: int = 0) -> None:
        self.rounds = Rounds(impl, moment)
        self.lasting = True
        self.ran: list[str] = []
        self.handles: list[Any] = []
        for number, name in enumerate(("first", "second", "third")):
            self.handles.append(self.rounds.register(self._hook(name, act if number == which else None)))

    def _hook(self, name: str, act: Callable[[_Scene], None] | None) -> Callable[[Any], None]:
        def hook(_graph: Any) -> None:
            self.ran.append(name)
            if act is not None:
                act(self)

        return hook

    def register_late(self) -> None:
        """Register one more hook."""
        self.rounds.register(self._hook("late", None))

    def next(self) -> list[str]:
        """Run the hooks once more; the names of those that ran, sorted."""
        self.ran.clear()
        self.lasting = expect_no_raise("hooks may register and remove hooks", self.rounds.next)
        return sorted(self.ran)

    def expect_later(self, expected: list[str], promise: str) -> None:
        """Reject unless a further round runs the hooks that are `expected`, or finds none left at all."""
        later = self.next()
        expect(not self.lasting or later == expected, f"{promise}: {expected} run", f"{later}")


@requirement("hooks.removal-while-firing-now")
@EACH_MOMENT
def test_removal_of_a_later_hook_now(impl: Adapter, moment: str, observe: Callable[[str, Any], None]) -> None:
    """Records whether a hook that an earlier one removed still runs this time."""
    scene = _Scene(impl, moment, lambda scene: scene.handles[1].remove())
    observe("removed hook runs in the same round", "second" in scene.next())


@requirement("hooks.removal-while-firing-later")
@EACH_MOMENT
@pytest.mark.parametrize("position", [1, 2], ids=["next", "last"])
def test_removal_of_a_later_hook(impl: Adapter, moment: str, position: int) -> None:
    """Removed by an earlier hook, a hook runs in no later round; the untouched ones run in all."""
    scene = _Scene(impl, moment, lambda scene: scene.handles[position].remove())
    target = ("first", "second", "third")[position]
    expected = [name for name in ("first", "second", "third") if name != target]
    now = [name for name in scene.next() if name != target]
    expect(now == expected, "the hooks that were not removed run in the same round", f"{now}")
    for _ in range(2):
        scene.expect_later(expected, "later rounds do not run the removed hook")


@requirement("hooks.removal-while-firing-later")
@EACH_MOMENT
def test_removal_of_an_earlier_hook(impl: Adapter, moment: str) -> None:
    """Removed by a later hook, a hook that has run already runs in no later round, and no other is left out."""
    scene = _Scene(impl, moment, lambda scene: scene.handles[0].remove(), which=1)
    now = scene.next()
    expect(now == ["first", "second", "third"], "a removal skips none of the hooks that stay", f"{now}")
    scene.expect_later(["second", "third"], "later rounds do not run the removed hook")


@requirement("hooks.removal-of-itself")
@EACH_MOMENT
@pytest.mark.parametrize("which", [0, 1, 2], ids=["first", "middle", "last"])
def test_removal_of_itself(impl: Adapter, moment: str, which: int) -> None:
    """A hook that removes itself runs once; the others run in every round."""
    names = ["first", "second", "third"]
    scene = _Scene(impl, moment, lambda scene: scene.handles[which].remove(), which=which)
    now = scene.next()
    expect(now == names, "a hook that removes itself keeps no other from running", f"{now}")
    del names[which]
    scene.expect_later(names, "a hook that removed itself does not run again")


@requirement("hooks.registration-while-firing-now")
@EACH_MOMENT
def test_registration_now(impl: Adapter, moment: str, observe: Callable[[str, Any], None]) -> None:
    """Records whether a hook that another one registers runs this time."""
    scene = _Scene(impl, moment, _Scene.register_late)
    observe("registered hook runs in the same round", scene.next().count("late"))


@requirement("hooks.registration-while-firing-later")
@pytest.mark.parametrize("moment", MOMENTS)
def test_registration(impl: Adapter, moment: str) -> None:
    """Registered by a hook, a hook runs in the next rounds."""
    registrations: list[bool] = []

    def once(scene: _Scene) -> None:
        if not registrations:
            registrations.append(True)
            scene.register_late()

    scene = _Scene(impl, moment, once)
    now = [name for name in scene.next() if name != "late"]
    expect(now == ["first", "second", "third"], "a registration keeps no hook from running", f"{now}")
    for _ in range(2):
        scene.expect_later(["first", "late", "second", "third"], "the registered hook runs in later rounds")
