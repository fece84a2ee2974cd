"""Operators on the call itself: whether, when, how often and for whom its work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from conformance.adapter import in_thread
from conformance.selfcheck.distortions.call import Act, Call, Owners, PerOwner
from conformance.selfcheck.distortions.operator import Means, Operator
from conformance.selfcheck.distortions.sites import Place, Site


def on_calls(site: Site) -> Iterator[Operator]:
    """Every operator that fits a call of `site`."""
    if site.attribute == "__init__":
        if site.place is Place.GRAPH:
            yield Operator("unchanged", "does what it does: the control, which has to pass", _unchanged)
        return
    if site.answer == "None":
        yield Operator("swallowed", "does nothing", _done_when(lambda _: False))
        yield Operator("once", "does its work at an object's first call only", _done_when(lambda count: count == 1))
        yield Operator("not first", "does nothing at an object's first call", _done_when(lambda count: count > 1))
        yield Operator("every other", "does its work at every second call only", _done_when(lambda n: n % 2 == 1))
        yield Operator("late", "does its work at the object's next call of it", _late)
        if site.is_method:
            yield Operator("for another", "does its work for another object", _for_another)
    if not site.is_question:
        yield Operator("twice", "does its work twice", _twice)
        yield Operator("in a thread", "does its work in another thread", _in_a_thread)
        yield Operator("on a side stream", "does its work with another stream current", _on_a_side_stream)
        yield Operator("after waiting", "waits for the device first", _after_waiting)
    yield Operator("errors swallowed", "returns None where it would have raised", _errors_swallowed)
    yield Operator("errors reworded", "raises errors that say nothing", _errors_reworded)
    yield Operator("raises after", "does its work, and raises", _raises_after)


def _unchanged(_means: Means) -> Act:
    return Call.do


def _done_when(due: Callable[[int], bool]) -> Callable[[Means], Act]:
    """Work done at the calls of an object whose numbers are `due`, counted from 1."""

    def make(means: Means) -> Act:
        counts: PerOwner[int] = PerOwner()

        def act(call: Call) -> Any:
            count = counts.get(call.owner, 0) + 1
            counts.put(call.owner, count)
            if due(count):
                return call.do()
            means.mark.set()
            return None

        return act

    return make


def _late(means: Means) -> Act:
    waiting: PerOwner[tuple[tuple[Any, ...], Any] | None] = PerOwner()

    def act(call: Call) -> Any:
        earlier = waiting.get(call.owner, None)
        own = call.args[1:] if call.is_method else call.args
        waiting.put(call.owner, (own, call.kwargs))
        means.mark.set()
        if earlier is None:
            return None
        args, kwargs = earlier
        return call.work(*((call.owner, *args) if call.is_method else args), **kwargs)

    return act


def _for_another(means: Means) -> Act:
    owners = Owners()

    def act(call: Call) -> Any:
        for other in owners.others_than(call.owner):
            try:
                answer = call.on(other)
            except Exception:  # noqa: S112  # whatever it refuses with, there may be a further one
                continue
            means.mark.set()
            return answer
        return call.do()

    return act


def _twice(means: Means) -> Act:
    def act(call: Call) -> Any:
        call.do()
        means.mark.set()
        return call.do()

    return act


def _in_a_thread(means: Means) -> Act:
    def act(call: Call) -> Any:
        means.mark.set()
        return in_thread(call.do)

    return act


def _on_a_side_stream(means: Means) -> Act:
    def act(call: Call) -> Any:
        means.mark.set()
        with means.adapter.stream(means.adapter.new_stream()):
            return call.do()

    return act


def _after_waiting(means: Means) -> Act:
    def act(call: Call) -> Any:
        means.mark.set()
        means.adapter.synchronize()
        return call.do()

    return act


def _errors_swallowed(means: Means) -> Act:
    def act(call: Call) -> Any:
        try:
            return call.do()
        except Exception:  # that is the point
            means.mark.set()
            return None

    return act


def _errors_reworded(means: Means) -> Act:
    def act(call: Call) -> Any:
        try:
            return call.do()
        except Exception as error:
            means.mark.set()
            raise type(error)("") from None

    return act


def _raises_after(means: Means) -> Act:
    def act(call: Call) -> Any:
        call.do()
        means.mark.set()
        raise RuntimeError("the call failed after its work was done")

    return act
