"""The state machine: calls in any order, each judged by the model."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from conformance.adapter import Adapter
from conformance.checks import NotConforming, expect, expect_equal, expect_no_raise, expect_raises
from conformance.property_tests import Examples, examples
from conformance.reproducing.steps import Steps
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

    Subclasses add rules.  Every call is written into `steps` before it is made.
    """

    def __init__(self, impl: Adapter, found: Examples) -> None:
        super().__init__()
        self.impl = impl
        self.found = found
        self.looked_at = False
        self.steps = Steps()
        self.graphs: list[Graph] = []
        self.outputs: dict[str, Output] = {}
        self.tensors: dict[str, torch.Tensor] = {}
        self.values: dict[str, Values | None] = {}
        self.streams: list[Any] = []
        self.capturing: Graph | None = None
        self.open = contextlib.ExitStack()
        self.names = 0
        self._way = self._stream_name = ""
        self._restored = True
        self._captured_outputs: list[str] = []
        for number in range(CELLS):
            self._make_cell(f"cell_{number}", [100 * number + place for place in range(COUNT)])
        for number in range(STREAMS):
            self.steps.line(f"stream_{number} = backend.Stream()")
            self.streams.append(impl.new_stream())

    def _make_cell(self, name: str, start: Values) -> None:
        self.steps.line(f"{name} = tensor({rows(start)}, dtype=torch.int64)")
        self.tensors[name], self.values[name] = self.impl.tensor(rows(start), torch.int64), start

    # -- moves --------------------------------------------------------------------------------------------------------

    def fresh(self, kind: str) -> str:
        """A name that nothing has yet."""
        self.names += 1
        return f"{kind}_{self.names}"

    def do(self, text: str, call: Callable[[], Any], promise: str) -> Any:
        """Make a call that must succeed; `text` is the call, or an assignment of what it returns."""
        name, assigned, value = text.partition(" = ")
        called = f"expect_no_raise({promise!r}, lambda: {value if assigned else text})"
        self.steps.line(f"{name} = {called}" if assigned else called)
        self.looked_at = False
        with self.judged():
            return expect_no_raise(promise, call)

    def refused(self, text: str, call: Callable[[], Any], promise: str) -> None:
        """Make a call that must raise a RuntimeError; what it may not change the invariants look at."""
        self.steps.line(f"refused({promise!r}, lambda: {text})")
        self.looked_at = False
        with self.judged():
            expect_raises(promise, call)
        # What a refused call leaves pending in the runtime must not be blamed on the next call.
        last_error = getattr(self.impl.runtime, "cudaGetLastError", None)
        if last_error is not None:
            last_error()

    @contextlib.contextmanager
    def judged(self) -> Iterator[None]:
        """Note what a check rejects, with the steps that lead there."""
        try:
            yield
        except NotConforming as error:
            self.found.rejected(error, self.steps)
            raise

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

    def _construct(self, keep: bool | None) -> None:
        if not self.impl.owes("keep_graph"):
            keep = None
        name = self.fresh("graph")
        argument = "" if keep is None else f"keep_graph={keep}"
        native = self.do(f"{name} = Graph({argument})", lambda: self.impl.new_graph(keep), "a graph can be made")
        self.graphs.append(Graph(name, native, keep))
        self.made(self.graphs[-1])

    def made(self, graph: Graph) -> None:
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
        chosen, text, native_pool = self.pool_for(pool, shared=shared)
        # In the accelerator dialect the pool is a setting of the object, which a later capture would inherit.
        if self.impl.dialect == "accelerator" and text is None and self.impl.owes("pools"):
            text, native_pool = self.new_handle()
        side, side_name = self.streams[stream % STREAMS], f"stream_{stream % STREAMS}"
        before = self.impl.current_stream()
        self.steps.line("before = backend.current_stream()")
        self.steps.line(f"{side_name}.wait_stream(before)")
        side.wait_stream(before)
        self._hold_garbage()
        self._way = way
        # A context manager that leaves its stream current is rejected, and must not spoil the next example.
        self.open.enter_context(self.impl.stream(before))
        self._restored = True
        promise = "a graph that holds nothing begins a capture"
        if self.impl.dialect == "accelerator" and text is not None:
            self.steps.line(f"{graph.name}.graph_pool = {text}")
        if way == "block":
            self.steps.enter(self._block_text(graph.name, text, side_name))
            block = self.impl.capture(graph.native, pool=native_pool, stream=side)
            # Outermost: the streams are in order again when the capture is over.
            self.open.callback(before.wait_stream, side)
            self.open.callback(lambda: setattr(self, "_restored", self.impl.current_stream() == before))
            with self.judged():
                expect_no_raise(promise, lambda: self.open.enter_context(block))
        else:
            self.open.callback(before.wait_stream, side)
            self.steps.enter(f"with backend.stream({side_name}):")
            self.open.enter_context(self.impl.stream(side))
            self.do(
                self._begin_text(graph.name, text),
                lambda: self.impl.capture_begin(graph.native, pool=native_pool),
                promise,
            )
        graph.state, graph.pool, graph.place, graph.work = State.CAPTURING, chosen, chosen.captures, []
        chosen.captures += 1
        self.capturing, self._captured_outputs = graph, []
        self._stream_name = side_name

    def _hold_garbage(self) -> None:
        """Collect now, and not again while the capture lasts: what collected graphs do to it is another requirement."""
        if self.impl.device.type != "cpu":
            gc.collect()
        gc.disable()
        self.open.callback(gc.enable)

    def _begin_text(self, graph: str, pool: str | None) -> str:
        given = pool is not None and self.impl.dialect != "accelerator"
        return f"{graph}.capture_begin(pool={pool})" if given else f"{graph}.capture_begin()"

    def _block_text(self, graph: str, pool: str | None, stream: str) -> str:
        if self.impl.dialect == "accelerator":
            return f"with backend.stream({stream}), {graph}:"
        given = "" if pool is None else f"pool={pool}, "
        return f"with backend.graph({graph}, {given}stream={stream}):"

    def new_handle(self) -> tuple[str, Any]:
        """A fresh pool handle, and its name in a script."""
        name = self.fresh("handle")
        return name, self.do(
            f"{name} = backend.graph_pool_handle()", self.impl.graph_pool_handle, "pool handles can be made"
        )

    def pool_for(self, pick: int, *, shared: bool) -> tuple[Pool, str | None, Any]:
        """The pool of the next capture: the model's, its name in a script and the token; only private ones here."""
        del pick, shared
        return Pool(), None, None

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
        if forked and kind != "affine" and self.impl.owes("fork_join"):
            self._forked(item)
        else:
            self.do(item.text(), lambda: item.run(self.tensors), "ordinary operators can be captured")
        if read in self.outputs:
            self.outputs[read].pinned = True
        if kind == "affine":
            self._captured_outputs.append(written)
        self.capturing.work.append(item)

    def _forked(self, item: Work) -> None:
        here = self.impl.current_stream()
        fork = self.impl.new_stream()
        self.steps.line("fork = backend.Stream()")
        self.steps.line("fork.wait_stream(backend.current_stream())")
        fork.wait_stream(here)
        with self.steps.block("with backend.stream(fork):"), self.impl.stream(fork):
            self.do(item.text(), lambda: item.run(self.tensors), "work on a forked stream can be captured")
        self.steps.line("backend.current_stream().wait_stream(fork)")
        here.wait_stream(fork)

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
        promise = "capture_end ends a capture"
        if self._way == "calls":
            self.do(f"{graph.name}.capture_end()", graph.native.capture_end, promise)
        self.steps.leave()
        self.capturing = None
        opened, self.open = self.open, contextlib.ExitStack()
        with self.judged():
            expect_no_raise(promise, opened.close)
            self.steps.line(f"expect(backend.current_stream() == before, {RESTORED!r}, backend.current_stream())")
            expect(self._restored, RESTORED, "another one is")
        self.steps.line(f"backend.current_stream().wait_stream({self._stream_name})")
        self._ended_well(graph)

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
        self.do(f"{graph.name}.instantiate()", graph.native.instantiate, "a kept template can be instantiated")
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
        promise = "a graph that holds a capture can be replayed"
        if stream < STREAMS:
            side, before = self.streams[stream], self.impl.current_stream()
            self.steps.line(f"stream_{stream}.wait_stream(backend.current_stream())")
            side.wait_stream(before)
            with self.steps.block(f"with backend.stream(stream_{stream}):"), self.impl.stream(side):
                for _ in range(times):
                    self.do(f"{graph.name}.replay()", graph.native.replay, promise)
            self.steps.line(f"backend.current_stream().wait_stream(stream_{stream})")
            before.wait_stream(side)
        else:
            for _ in range(times):
                self.do(f"{graph.name}.replay()", graph.native.replay, promise)
        for _ in range(times):
            self._replayed(graph)
        if graph.state is State.TEMPLATE:
            graph.instantiated()
            self.instantiated(graph)

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
        names = [*self.tensors]
        name = names[which % len(names)]
        now = [place * number - 7 for place in range(COUNT)]
        self.steps.line(f"{name}.copy_(tensor({rows(now)}, dtype=torch.int64))")
        self.tensors[name].copy_(self.impl.tensor(rows(now), torch.int64))
        self.values[name] = now

    def fill(self, name: str, number: int) -> None:
        """Overwrite every element of a tensor."""
        self.steps.line(f"{name}.fill_({number})")
        self.tensors[name].fill_(number)
        self.values[name] = [number] * COUNT

    @precondition(lambda self: self.idle and self.graphs)
    @rule(pick=ANY, times=st.sampled_from([1, 2]))
    def reset(self, pick: int, times: int) -> None:
        """Delete what a graph holds, if anything."""
        graph = self.graphs[pick % len(self.graphs)]
        for _ in range(times):
            self.do(f"{graph.name}.reset()", graph.native.reset, "reset() works whatever the graph holds")
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
        self.steps.line(f"del {graph.name}")
        self.graphs.remove(graph)
        graph.native = None

    @precondition(lambda self: self.idle and any(not output.pinned for output in self.outputs.values()))
    @rule(pick=ANY)
    def drop_output(self, pick: int) -> None:
        """Let go of a tensor that a capture made and that no other graph reads."""
        fit = [name for name, output in self.outputs.items() if not output.pinned]
        name = fit[pick % len(fit)]
        self.steps.line(f"del {name}")
        del self.outputs[name], self.tensors[name], self.values[name]

    # -- invariants ---------------------------------------------------------------------------------------------------

    @invariant()
    def captures_when_told(self) -> None:
        """The current stream captures between begin and end, and at no other time."""
        capturing = not self.idle
        self.steps.line(f"expect_capturing({capturing})")
        seen = self.impl.is_current_stream_capturing()
        with self.judged():
            expect(
                seen is capturing,
                "a stream captures from capture_begin to capture_end, and at no other time",
                f"is_current_stream_capturing() is {seen}",
            )

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
                self.steps.line(f"expect_equal({name}, {rows(value)}, {promise!r})")
                with self.judged():
                    expect_equal(self.impl, self.tensors[name], rows(value), promise)

    def teardown(self) -> None:
        """Leave nothing for the next example."""
        if self.capturing is not None and self._way == "calls":
            self.impl.abort_capture(self.capturing.native)
        # A block ends its own capture, and would find another stream's state than its own if that were done before.
        with contextlib.suppress(Exception):
            self.open.close()
        with contextlib.suppress(Exception):
            self.impl.synchronize()
        for graph in self.graphs:
            graph.native = None
        self.tensors.clear()


def run(impl: Adapter, kind: type[Machine], count: int = 10, steps: int = 25) -> None:
    """Run a machine; what it rejects carries the shortest sequence of calls that was found."""
    found = Examples()

    def machine() -> Machine:
        found.begin()
        return kind(impl, found)

    # The annotation, where hypothesis has one, says class; a function is documented as well.
    settings = examples(count, steps=steps)
    found.run(lambda: run_state_machine_as_test(machine, settings=settings))  # type: ignore[arg-type,no-untyped-call,unused-ignore]
