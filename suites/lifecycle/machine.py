"""The state machine: calls in any order, each judged by the model."""

from __future__ import annotations

import contextlib
import gc

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.property_tests import Examples, examples
from conformance.reproducing.script import Script
from suites.lifecycle.calls import expect_capturing, refused
from suites.lifecycle.model import COUNT, Graph, Output, Pool, State, Values, Work, rows

CELLS = 3
STREAMS = 2
MOST_GRAPHS = 3
MOST_OUTPUTS = 3

#: Any number stands for one of what there is, counted around, so that an example stays valid while it shrinks.
ANY = st.integers(0, 5)
KEEP = st.sampled_from([None, True, False])
KINDS = st.sampled_from(["add_", "affine", "mul_", "copy_"])
NUMBERS = st.sampled_from([2, 3, -1, 5])
RESTORED = "the stream from before a capture is current again after it"


class Machine(RuleBasedStateMachine):
    """Graphs, streams, pools and tensors under any sequence of documented calls.

    Subclasses add rules.  Every call is a line of a script, which is run as it is written; the graphs, streams and
    tensors themselves are known to the script alone, and here by their names.
    """

    def __init__(self, impl: Adapter, sample: Examples) -> None:
        super().__init__()
        self.impl = impl
        self.script = Script(impl)
        self.script.use(expect, expect_capturing, expect_equal, expect_no_raise, refused)
        self.looked_at = False
        self.graphs: list[Graph] = []
        self.outputs: dict[str, Output] = {}
        self.values: dict[str, Values | None] = {}
        self.capturing: Graph | None = None
        self.names = 0
        self._sample = sample
        self._way = self._stream = ""
        self._guards = contextlib.ExitStack()
        self._captured_outputs: list[str] = []
        for number in range(CELLS):
            self._make_cell(f"cell_{number}", [100 * number + place for place in range(COUNT)])
        for number in range(STREAMS):
            self.do(f"stream_{number} = impl.new_stream()")

    def _make_cell(self, name: str, start: Values) -> None:
        self.do(f"{name} = impl.tensor({rows(start)}, torch.int64)")
        self.values[name] = start

    # -- lines of the script ------------------------------------------------------------------------------------------

    def fresh(self, kind: str) -> str:
        """A name that nothing has yet."""
        self.names += 1
        return f"{kind}_{self.names}"

    def do(self, *lines: str) -> None:
        """Write lines and run them; what they raise is noted, with the lines that lead there."""
        with self._sample.judged(self.script):
            self.script.do(*lines)

    def enter(self, expression: str) -> None:
        """Write and enter a block; the lines that follow are inside."""
        with self._sample.judged(self.script):
            self.script.enter(expression)

    def leave(self) -> None:
        """Leave the innermost block."""
        with self._sample.judged(self.script):
            self.script.leave()

    def call(self, text: str, promise: str) -> None:
        """Make a call that must succeed; `text` is the call, or an assignment of what it returns."""
        name, assigned, value = text.partition(" = ")
        call = f"expect_no_raise({promise!r}, lambda: {value if assigned else text})"
        self.looked_at = False
        self.do(f"{name} = {call}" if assigned else call)

    def refused(self, text: str, promise: str) -> None:
        """Make a call that must be refused; what it may not change the invariants look at."""
        self.looked_at = False
        self.do(f"refused(impl, {promise!r}, lambda: {text})")

    def no_handle(self, reading: str, promise: str) -> None:
        """Read a handle that there is not."""
        self.looked_at = False
        self.do(f"expect_no_handle({promise!r}, lambda: {reading})")

    def in_state(self, pick: int, *states: State) -> Graph | None:
        """One of the graphs in one of `states`."""
        fit = [graph for graph in self.graphs if graph.state in states]
        return fit[pick % len(fit)] if fit else None

    @property
    def idle(self) -> bool:
        """Whether no capture is underway."""
        return self.capturing is None

    # -- rules: graphs ------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.idle and len(self.graphs) < MOST_GRAPHS)
    @rule(keep=KEEP)
    def construct(self, keep: bool | None) -> None:
        """Make a graph in one of the three ways."""
        self._construct(keep)

    def _construct(self, keep: bool | None, pool: str | None = None) -> None:
        if not self.impl.owes("keep_graph"):
            keep = None
        graph = Graph(self.fresh("graph"), keep)
        self._make(graph, pool)
        self.graphs.append(graph)
        self.constructed(graph)

    def _make(self, graph: Graph, pool: str | None) -> None:
        """Make the object that goes by the graph's name, for captures into `pool`."""
        graph.made_with_pool = pool is not None and self.impl.dialect == "accelerator"
        arguments = [] if graph.keep is None else [repr(graph.keep)]
        arguments += [f"pool={pool}"] if graph.made_with_pool else []
        self.call(f"{graph.name} = impl.new_graph({', '.join(arguments)})", "a graph can be made")

    def constructed(self, graph: Graph) -> None:
        """Do more to a new graph."""

    @precondition(lambda self: self.in_state(0, State.EMPTY) is not None)
    @precondition(lambda self: self.idle)
    @rule(pick=ANY, stream=ANY, way=st.sampled_from(["calls", "block"]), pool=ANY, shared=st.booleans())
    def begin(self, pick: int, stream: int, way: str, pool: int, *, shared: bool) -> None:
        """Begin a capture with the call or with the context manager, in a pool of its own or in a shared one."""
        self._begin(pick, stream, way, pool, shared=shared)

    def _begin(self, pick: int, stream: int, way: str, pool: int, *, shared: bool) -> None:
        graph = self.in_state(pick, State.EMPTY)
        assert graph is not None
        chosen, token = self.pool_for(pool, shared=shared)
        pool_setting = "" if token is None else f", pool={token}"
        if self.impl.dialect == "accelerator":
            pool_setting = ""
            # The pool is a setting of the object: another pool takes another object.
            if token is not None or graph.made_with_pool:
                self._make(graph, token)
        self._way, self._stream = way, f"stream_{stream % STREAMS}"
        self.do("before = impl.current_stream()", f"{self._stream}.wait_stream(before)")
        self._guard()
        if way == "block":
            self.enter(f"impl.capture({graph.name}, stream={self._stream}{pool_setting})")
        else:
            self.enter(f"impl.stream({self._stream})")
            self.call(f"impl.capture_begin({graph.name}{pool_setting})", "a graph that holds nothing begins a capture")
        graph.state, graph.pool, graph.place, graph.work = State.CAPTURING, chosen, chosen.captures, []
        chosen.captures += 1
        self.capturing, self._captured_outputs = graph, []

    def _guard(self) -> None:
        """Keep apart from a capture what is no concern of this requirement."""
        # A context manager that leaves its stream current is rejected, and must not spoil the next example.
        self._guards.enter_context(self.impl.stream(self.script["before"]))
        # What collected graphs do to a capture is another requirement: collect now, and not while the capture lasts.
        if self.impl.device.type != "cpu":
            gc.collect()
        gc.disable()
        self._guards.callback(gc.enable)

    def new_handle(self) -> str:
        """A fresh pool handle."""
        name = self.fresh("handle")
        self.call(f"{name} = impl.graph_pool_handle()", "pool handles can be made")
        return name

    def pool_for(self, pick: int, *, shared: bool) -> tuple[Pool, str | None]:
        """The pool of the next capture: the model's, and the token's name; only private ones here."""
        del pick, shared
        return Pool(), None

    @precondition(lambda self: self.idle and (self.in_state(0, State.EMPTY) or len(self.graphs) < MOST_GRAPHS))
    @rule(
        keep=KEEP,
        pick=ANY,
        stream=ANY,
        way=st.sampled_from(["calls", "block"]),
        pool=ANY,
        shared=st.booleans(),
        works=st.lists(st.tuples(KINDS, ANY, ANY, NUMBERS, st.booleans()), min_size=1, max_size=3),
    )
    def capture(
        self,
        keep: bool | None,
        pick: int,
        stream: int,
        way: str,
        pool: int,
        works: list[tuple[str, int, int, int, bool]],
        *,
        shared: bool,
    ) -> None:
        """Capture without anything in between, into a graph that holds nothing or into a new one."""
        if self.in_state(pick, State.EMPTY) is None:
            self._construct(keep)
        self._begin(pick, stream, way, pool, shared=shared)
        for kind, writes, reads, number, forked in works:
            self._work(kind, writes, reads, number, forked=forked)
            self.between(reads)
        self._end()

    def between(self, pick: int) -> None:
        """Do more inside a capture that is made in one go."""

    @precondition(lambda self: not self.idle)
    @rule(
        kind=KINDS,
        writes=ANY,
        reads=ANY,
        number=NUMBERS,
        forked=st.booleans(),
        last=st.booleans(),
    )
    def work(self, kind: str, writes: int, reads: int, number: int, *, forked: bool, last: bool) -> None:
        """Capture an operator, on the capturing stream or on one that forks from it and joins it."""
        self._work(kind, writes, reads, number, forked=forked)
        # Each example goes without some of the rules; captures must end all the same.
        if last:
            self._end()

    def _work(self, kind: str, writes: int, reads: int, number: int, *, forked: bool) -> None:
        assert self.capturing is not None
        if kind == "affine" and len(self.outputs) + len(self._captured_outputs) >= MOST_OUTPUTS:
            kind = "add_"
        written = self.fresh("out") if kind == "affine" else f"cell_{writes % CELLS}"
        readable = [f"cell_{number}" for number in range(CELLS)]
        if kind in ("affine", "copy_"):
            # Reading what an earlier capture made hands results on from graph to graph.
            readable += [*self._captured_outputs, *(self.outputs if kind == "copy_" else ())]
        read = readable[reads % len(readable)] if kind in ("affine", "copy_") else written
        if read == written and kind == "copy_":
            kind = "add_"
        item = Work(kind, written, read, number)
        # The documents of the other classes do not say that streams fork.
        if forked and kind != "affine" and self.impl.dialect == "cuda" and self.impl.owes("fork_join"):
            self._forked(item)
        else:
            self.call(item.text(), "ordinary operators can be captured")
        if read in self.outputs:
            self.outputs[read].pinned = True
        if kind == "affine":
            self._captured_outputs.append(written)
        self.capturing.work.append(item)

    def _forked(self, item: Work) -> None:
        self.do("fork = impl.new_stream()", "fork.wait_stream(impl.current_stream())")
        self.enter("impl.stream(fork)")
        self.call(item.text(), "work on a forked stream can be captured")
        self.leave()
        self.do("impl.current_stream().wait_stream(fork)")

    # Not of an empty capture, which a backend may warn of.
    @precondition(lambda self: self.capturing is not None and self.capturing.work)
    @rule()
    def end(self) -> None:
        """End the capture underway."""
        self._end()

    def _end(self) -> None:
        graph = self.capturing
        assert graph is not None
        assert graph.pool is not None
        if self._way == "calls":
            self.call(f"{graph.name}.capture_end()", "capture_end ends a capture")
        self._leave_capture()
        self.do(f"expect(impl.current_stream() == before, {RESTORED!r}, repr(impl.current_stream()))")
        self._order()
        self._ended_well(graph)

    def _leave_capture(self) -> None:
        """Leave the block of a capture that has ended, or ends by it."""
        self.capturing = None
        self.leave()

    def _order(self) -> None:
        """Put what follows behind the stream of the capture that was left."""
        self._unguard()
        self.do(f"impl.current_stream().wait_stream({self._stream})")

    def _unguard(self) -> None:
        guards, self._guards = self._guards, contextlib.ExitStack()
        guards.close()

    def _ended_well(self, graph: Graph) -> None:
        assert graph.pool is not None
        graph.captured()
        for name in self._captured_outputs:
            self.outputs[name] = Output(graph.pool, graph.place)
            self.values[name] = None
        self.ended(graph)

    def ended(self, graph: Graph) -> None:
        """Do more after a capture."""

    @precondition(lambda self: self.idle and self.in_state(0, State.TEMPLATE, State.KEPT) is not None)
    @rule(pick=ANY)
    def instantiate(self, pick: int) -> None:
        """Make an executable of a kept template."""
        graph = self.in_state(pick, State.TEMPLATE, State.KEPT)
        assert graph is not None
        self.call(f"{graph.name}.instantiate()", "a kept template can be instantiated")
        graph.instantiated()
        self.instantiated(graph)

    def instantiated(self, graph: Graph) -> None:
        """Do more after an executable was made."""

    @precondition(lambda self: self.idle and self.in_state(0, State.TEMPLATE, State.KEPT, State.READY) is not None)
    @rule(pick=ANY, stream=st.integers(0, STREAMS), times=st.sampled_from([1, 2, 3]), poison=st.booleans())
    def replay(self, pick: int, stream: int, times: int, *, poison: bool) -> None:
        """Replay on the current stream or on a side stream."""
        graph = self.in_state(pick, State.TEMPLATE, State.KEPT, State.READY)
        assert graph is not None
        if poison:
            for name in [item.target for item in graph.work if item.kind == "affine" and item.target in self.outputs]:
                self.fill(name, -77)
        if stream < STREAMS:
            self.do(f"stream_{stream}.wait_stream(impl.current_stream())")
            self.enter(f"impl.stream(stream_{stream})")
            self._make_replays(graph, times)
            self.leave()
            self.do(f"impl.current_stream().wait_stream(stream_{stream})")
        else:
            self._make_replays(graph, times)
        for _ in range(times):
            self._replayed(graph)
        if graph.state is State.TEMPLATE:
            graph.instantiated()
            self.instantiated(graph)

    def _make_replays(self, graph: Graph, times: int) -> None:
        for _ in range(times):
            self.call(f"{graph.name}.replay()", "a graph that holds a capture can be replayed")

    def _replayed(self, graph: Graph) -> None:
        known = {name: self.values[name] for name in self.values}
        # A tensor that was dropped is still written, where nobody looks.
        for item in graph.work:
            item.apply(known)
        for name in self.values:
            self.values[name] = known[name]
        for name, output in self.outputs.items():
            if output.pool is graph.pool and output.place > graph.place:
                # What this graph used between its inputs and outputs may be the memory of a later capture.
                self.values[name] = None

    @precondition(lambda self: self.idle)
    @rule(which=ANY, number=NUMBERS)
    def refill(self, which: int, number: int) -> None:
        """Give a tensor new contents between replays."""
        names = [*self.values]
        self.write(names[which % len(names)], [place * number - 7 for place in range(COUNT)])

    def write(self, name: str, values: Values) -> None:
        """Give a tensor new contents."""
        self.do(f"{name}.copy_(impl.tensor({rows(values)}, torch.int64))")
        self.values[name] = values

    def fill(self, name: str, number: int) -> None:
        """Overwrite every element of a tensor."""
        self.do(f"{name}.fill_({number})")
        self.values[name] = [number] * COUNT

    @precondition(lambda self: self.idle and self.graphs)
    @rule(pick=ANY, times=st.sampled_from([1, 2]))
    def reset(self, pick: int, times: int) -> None:
        """Delete what a graph holds, if anything."""
        graph = self.graphs[pick % len(self.graphs)]
        for _ in range(times):
            self._reset(graph)

    def _reset(self, graph: Graph) -> None:
        if self.impl.has_reset:
            self.call(f"{graph.name}.reset()", "reset() works whatever the graph holds")
        else:
            self._make(graph, None)
        graph.emptied()

    @precondition(lambda self: self.idle and self.graphs)
    @rule(pick=ANY)
    def drop(self, pick: int) -> None:
        """Let go of a graph."""
        self._drop(pick)

    def _drop(self, pick: int) -> None:
        fit = [graph for graph in self.graphs if graph is not self.capturing]
        graph = fit[pick % len(fit)]
        self.looked_at = False
        self.do(f"del {graph.name}")
        self.graphs.remove(graph)

    @precondition(lambda self: self.idle and any(not output.pinned for output in self.outputs.values()))
    @rule(pick=ANY)
    def drop_output(self, pick: int) -> None:
        """Let go of a tensor that a capture made and that no other graph reads."""
        fit = [name for name, output in self.outputs.items() if not output.pinned]
        name = fit[pick % len(fit)]
        self.do(f"del {name}")
        del self.outputs[name], self.values[name]

    # -- invariants ---------------------------------------------------------------------------------------------------

    @invariant()
    def captures_between_begin_and_end(self) -> None:
        """The current stream captures between begin and end, and at no other time."""
        self.do(f"expect_capturing(impl, {not self.idle})")

    @invariant()
    def results(self) -> None:
        """Every tensor holds what the calls so far make of it."""
        if self.looked_at or not self.idle:
            return
        self.looked_at = True
        for name, value in self.values.items():
            if value is not None:
                promise = (
                    f"{name} holds what plain arithmetic gives after these calls: replays do the captured work once, "
                    "and nothing else does it"
                )
                self.do(f"expect_equal(impl, {name}, {rows(value)}, {promise!r})")

    def teardown(self) -> None:
        """Leave nothing for the next example."""
        if self.capturing is not None and self._way == "calls":
            self.impl.abort_capture(self.script[self.capturing.name])
        # A block ends its own capture, and would find another stream's state than its own if that were done before.
        self.script.close()
        with contextlib.suppress(Exception):
            self._unguard()


def run(impl: Adapter, kind: type[Machine], count: int = 10, steps: int = 25) -> None:
    """Run a machine; what it rejects carries the shortest sequence of calls that was found."""
    found = Examples()

    # Hypothesis seeds its examples with this function's source: other words in it are other examples.
    def machine() -> Machine:
        found.begin()
        return kind(impl, found)

    # The annotation, where hypothesis has one, says class; a function is documented as well.
    settings = examples(count, steps=steps)
    found.run(lambda: run_state_machine_as_test(machine, settings=settings))  # type: ignore[arg-type,no-untyped-call,unused-ignore]
