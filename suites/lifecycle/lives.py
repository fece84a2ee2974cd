"""Lives: machines that lead one graph through a whole life again and again, in the midst of the other rules.

What a life does is a function of its own, a move, so that a script can have it as it stands.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from conformance.checks import NotConforming, fail
from conformance.errors import HarnessError
from suites.lifecycle.machine import ANY, CELLS, MOST_GRAPHS, NUMBERS, STREAMS, Machine
from suites.lifecycle.model import Graph, Pool, State, Work, rows

#: Lives are dense: a few examples of a few steps are enough.
EXAMPLES = 4
STEPS = 8


class Named(NamedTuple):
    """Something that has a name in the script."""

    name: str
    value: Any


def lived(move: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """Make a move whose calls are all documented to work, unless the move itself expects otherwise."""
    try:
        return move(*arguments, **settings)
    except (NotConforming, HarnessError, NotImplementedError):
        raise
    except Exception as error:
        about = str(move.__doc__ or move.__name__).strip().partition("\n")[0]
        return fail(f"these calls work: {about}", f"{type(error).__name__}: {error}")


class Lives(Machine):
    """A machine whose every example begins with a life, and goes on with any calls and further lives."""

    # -- for subclasses ------------------------------------------------------------------------------------------------

    def live(self, pick: int, number: int, *, flag: bool) -> None:
        """Lead a graph through a life; `pick`, `number` and `flag` are for what may vary in it."""
        raise NotImplementedError

    # -- rules ---------------------------------------------------------------------------------------------------------

    @initialize(pick=ANY, number=NUMBERS, flag=st.booleans())
    def first_life(self, pick: int, number: int, *, flag: bool) -> None:
        """A life at the beginning."""
        self.live(pick, number, flag=flag)

    @precondition(lambda self: self.idle)
    @rule(pick=ANY, number=NUMBERS, flag=st.booleans())
    def another_life(self, pick: int, number: int, *, flag: bool) -> None:
        """A life in between."""
        self.live(pick, number, flag=flag)

    # -- moves ---------------------------------------------------------------------------------------------------------

    def move(self, move: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
        """Make a move, and write its call down; graphs and `Named` things go by their names."""
        written = [_text(argument) for argument in arguments]
        written += [f"{name}={_text(value)}" for name, value in settings.items()]
        self.steps.line(f"{self.steps.word(lived)}({', '.join([self.steps.word(move), 'impl', *written])})")
        self.looked_at = False
        # What collected graphs do to a capture is another requirement.
        if self.impl.device.type != "cpu":
            gc.collect()
        gc.disable()
        try:
            with self.judged():
                return lived(
                    move,
                    self.impl,
                    *[_value(argument) for argument in arguments],
                    **{name: _value(value) for name, value in settings.items()},
                )
        finally:
            gc.enable()

    def vacant(self, keep: bool | None = None) -> Graph:
        """A new graph; when there are too many, the oldest one goes."""
        if len(self.graphs) >= MOST_GRAPHS:
            self._drop(0)
        self._construct(keep)
        return self.graphs[-1]

    def cell(self, pick: int) -> Named:
        """One of the tensors that are always there."""
        name = f"cell_{pick % CELLS}"
        return Named(name, self.tensors[name])

    def stream(self, pick: int) -> Named:
        """One of the side streams."""
        return Named(f"stream_{pick % STREAMS}", self.streams[pick % STREAMS])

    def handle(self) -> tuple[Named, Pool]:
        """A fresh pool handle, and the model's pool for it."""
        return Named(*self.new_handle()), Pool()

    def holds(self, graph: Graph, work: list[Work], pool: Pool | None = None) -> None:
        """A move has made `graph` hold a capture of `work`."""
        graph.pool, graph.work = Pool() if pool is None else pool, work
        graph.place = graph.pool.captures
        graph.pool.captures += 1
        graph.captured()

    def did(self, work: list[Work], times: int = 1) -> None:
        """A move has done `work` that often."""
        for _ in range(times):
            for item in work:
                item.apply(self.values)

    def fill_graph(self, graph: Graph, pick: int, number: int, count: int) -> None:
        """Capture `count` operators into `graph`, one behind the other, on a side stream."""
        empty = [other for other in self.graphs if other.state is State.EMPTY]
        self._begin(empty.index(graph), pick, "calls", 0, shared=False)
        for place in range(count):
            self._work(KINDS_IN_ORDER[place % 2], pick, 0, number + place, forked=False)
        self._end()

    def instantiate_it(self, graph: Graph) -> None:
        """Instantiate `graph`, whose template is kept."""
        self.do(f"{graph.name}.instantiate()", graph.native.instantiate, "a kept template can be instantiated")
        graph.instantiated()

    def replay_it(self, graph: Graph, times: int = 1) -> None:
        """Replay `graph` on the current stream."""
        for _ in range(times):
            self.do(f"{graph.name}.replay()", graph.native.replay, "a graph that holds a capture can be replayed")
            self._replayed(graph)
        if graph.state is State.TEMPLATE:
            graph.instantiated()

    def reset_it(self, graph: Graph) -> None:
        """Reset `graph`."""
        self.do(f"{graph.name}.reset()", graph.native.reset, "reset() works whatever the graph holds")
        graph.emptied()

    def known(self, cell: Named) -> list[list[int]]:
        """What `cell` holds, which becomes known if it is not."""
        if self.values[cell.name] is None:
            self.fill(cell.name, 7)
        values = self.values[cell.name]
        assert values is not None
        return rows(values)

    def write(self, cell: Named, contents: list[list[int]]) -> None:
        """Give `cell` new contents."""
        self.steps.line(f"{cell.name}.copy_(tensor({contents}, dtype=torch.int64))")
        cell.value.copy_(self.impl.tensor(contents, torch.int64))
        self.values[cell.name] = [value for row in contents for value in row]


#: Operators in place on one tensor, which every device captures as at least a node each.
KINDS_IN_ORDER = ("add_", "mul_")


def added(cell: Named, number: int) -> list[Work]:
    """The work of a move that captures ``cell.add_(number)``."""
    return [Work("add_", cell.name, cell.name, number)]


def _text(argument: Any) -> str:
    return argument.name if isinstance(argument, Graph | Named) else repr(argument)


def _value(argument: Any) -> Any:
    if isinstance(argument, Graph):
        return argument.native
    return argument.value if isinstance(argument, Named) else argument
