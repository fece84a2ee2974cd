"""Scenarios: machines that take one graph through a whole scenario again and again, amid the other rules.

What a scenario does beyond the machine's own calls is a function, a step, so that a script can have it as it stands.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from suites.lifecycle.calls import perform
from suites.lifecycle.machine import ANY, CELLS, MOST_GRAPHS, NUMBERS, STREAMS, Machine
from suites.lifecycle.model import Graph, Pool, State, Values, Work, rows

#: Scenarios are dense: a few examples of a few rules are enough.
EXAMPLES = 4
STEPS = 8


@dataclass(frozen=True)
class Name:
    """Something by its name in the script."""

    name: str


class Scenarios(Machine):
    """A machine whose every example begins with a scenario, and goes on with any calls and further scenarios."""

    # -- for subclasses -----------------------------------------------------------------------------------------------

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Take a graph through the scenario; `pick`, `number` and `flag` are for what may vary in it."""
        raise NotImplementedError

    # -- rules --------------------------------------------------------------------------------------------------------

    @initialize(pick=ANY, number=NUMBERS, flag=st.booleans())
    def first_scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A scenario at the beginning."""
        self.scenario(pick, number, flag=flag)

    @precondition(lambda self: self.idle)
    @rule(pick=ANY, number=NUMBERS, flag=st.booleans())
    def another_scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A scenario in between."""
        self.scenario(pick, number, flag=flag)

    # -- what scenarios consist of ------------------------------------------------------------------------------------

    def step(self, function: Callable[..., Any], *arguments: Any, **settings: Any) -> None:
        """Perform a step; graphs and other things with names go by them."""
        self.script.use(perform, function)
        written = [function.__name__, "impl", *map(_text, arguments)]
        written += [f"{name}={_text(value)}" for name, value in settings.items()]
        self.looked_at = False
        with self._no_collection():
            self.do(f"perform({', '.join(written)})")

    @contextlib.contextmanager
    def _no_collection(self) -> Iterator[None]:
        # What collected graphs do to a capture is another requirement.
        if self.impl.device.type != "cpu":
            gc.collect()
        gc.disable()
        try:
            yield
        finally:
            gc.enable()

    def vacant(self, keep: bool | None = None, *, pool: str | None = None) -> Graph:
        """A new graph, for captures into `pool`; when there are too many, the oldest one goes."""
        if len(self.graphs) >= MOST_GRAPHS:
            self._drop(0)
        self._construct(keep, pool)
        return self.graphs[-1]

    def cell(self, pick: int) -> Name:
        """One of the tensors that are always there."""
        return Name(f"cell_{pick % CELLS}")

    def stream(self, pick: int) -> Name:
        """One of the side streams."""
        return Name(f"stream_{pick % STREAMS}")

    def handle(self) -> tuple[Name, Pool]:
        """A fresh pool handle, and the model's pool for it."""
        return Name(self.new_handle()), Pool()

    def holds(self, graph: Graph, work: list[Work], pool: Pool | None = None) -> None:
        """A step has made `graph` hold a capture of `work`."""
        graph.pool, graph.work = Pool() if pool is None else pool, work
        graph.place = graph.pool.captures
        graph.pool.captures += 1
        graph.captured()

    def did(self, work: list[Work], times: int = 1) -> None:
        """A step has done `work` that often."""
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
        self.call(f"{graph.name}.instantiate()", "a kept template can be instantiated")
        graph.instantiated()

    def replay_it(self, graph: Graph, times: int = 1) -> None:
        """Replay `graph` on the current stream."""
        for _ in range(times):
            self.call(f"{graph.name}.replay()", "a graph that holds a capture can be replayed")
            self._replayed(graph)
        if graph.state is State.TEMPLATE:
            graph.instantiated()

    def reset_it(self, graph: Graph) -> None:
        """Reset `graph`."""
        self._reset(graph)

    def known(self, cell: Name) -> list[list[int]]:
        """What `cell` holds, in rows; it becomes known if it is not."""
        return rows(self.known_values(cell))

    def known_values(self, cell: Name) -> Values:
        """What `cell` holds; it becomes known if it is not."""
        if self.values[cell.name] is None:
            self.fill(cell.name, 7)
        values = self.values[cell.name]
        assert values is not None
        return values


#: Operators in place on one tensor, which every device captures as at least a node each.
KINDS_IN_ORDER = ("add_", "mul_")


def added(cell: Name, number: int) -> list[Work]:
    """The work of a step that captures ``cell.add_(number)``."""
    return [Work("add_", cell.name, cell.name, number)]


def _text(argument: Any) -> str:
    return argument.name if isinstance(argument, Graph | Name) else repr(argument)
