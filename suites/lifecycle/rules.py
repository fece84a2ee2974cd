"""More rules for the state machine: one subject a class."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from conformance.adapter import Adapter
from conformance.property_tests import Examples
from suites.lifecycle.machine import ANY, STREAMS, Machine
from suites.lifecycle.model import Graph, Pool, State
from suites.support.handles import expect_no_handle
from suites.support.outcomes import caught

HOLDING = (State.TEMPLATE, State.KEPT, State.READY)
#: How a graph's raw handles are read.
READINGS = {"template": "impl.raw_graph({})", "executable": "impl.raw_exec({})"}
DISTURBANCES = ("replay", "instantiate", "begin", "end another", "end elsewhere", *READINGS)
MOMENTS = ("capture_end", "post_instantiate")


class Pools(Machine):
    """Captures into pools of their own, of handles and of other graphs; tokens."""

    def __init__(self, impl: Adapter, sample: Examples) -> None:
        self._handles: list[tuple[str, Pool]] = []
        super().__init__(impl, sample)

    def pool_for(self, pick: int, *, shared: bool) -> tuple[Pool, str | None]:
        """None, a handle (new, or one that a graph uses), or another graph's token."""
        if not shared:
            return super().pool_for(pick, shared=shared)
        users = [graph for graph in self.graphs if graph.state in HOLDING and graph.pool is not None]
        # A token is only promised to be good while some graph uses its pool.
        choices = [(name, pool) for name, pool in self._handles if any(graph.pool is pool for graph in users)]
        handles = len(choices)
        choices += [(f"{graph.name}.pool()", graph.pool) for graph in users if graph.pool is not None]
        if pick % 3 == 0 or not choices:
            self._handles.append((self.new_handle(), Pool()))
            token, pool = self._handles[-1]
            return pool, token
        token, pool = choices[pick % len(choices)]
        if pick % len(choices) >= handles:
            call, token = token, self.fresh("token")
            self.call(f"{token} = {call}", "a captured graph names its pool")
        return pool, token

    @invariant()
    def tokens(self) -> None:
        """A graph that holds a capture names a pool."""
        if not self.idle:
            return
        for graph in self.graphs:
            if graph.state is not State.EMPTY:
                promise = "pool() names the pool of a graph that holds a capture"
                self.do(f"expect_no_raise({promise!r}, {graph.name}.pool)")


class Handles(Machine):
    """The raw handles by state."""

    def __init__(self, impl: Adapter, sample: Examples) -> None:
        super().__init__(impl, sample)
        self.script.use(expect_no_handle)

    @invariant()
    def handles(self) -> None:
        """There is a handle for what a capture left, the same at each call, and none for what it did not."""
        if not self.idle:
            return
        for graph in self.graphs:
            if graph.state in HOLDING:
                self._look(graph, "template", present=graph.state.has_template)
                self._look(graph, "executable", present=graph.state.has_executable)

    def _look(self, graph: Graph, which: str, *, present: bool) -> None:
        reading = READINGS[which].format(graph.name)
        if not present:
            self.no_handle(reading, f"there is no handle for the {which} of a graph that {graph.state.value} alone")
            return
        first = f"{which}_of_{graph.name}"
        readable = f"the {which}'s handle of a graph that {graph.state.value} can be read"
        if getattr(graph, which) is None:
            self.do(f"{first} = expect_no_raise({readable!r}, lambda: {reading})")
            setattr(graph, which, self.script[first])
            return
        promise = f"the {which}'s handle stays the same for as long as it lives"
        self.do(f"now = expect_no_raise({readable!r}, lambda: {reading})")
        self.do(f"expect(now == {first}, {promise!r}, f'first {{{first}}}, now {{now}}')")


class Hooks(Machine):
    """Hooks at the end of captures and after instantiations."""

    def __init__(self, impl: Adapter, sample: Examples) -> None:
        super().__init__(impl, sample)
        self.expected: list[str] = []
        self.registered: dict[str, tuple[Graph, str]] = {}
        self.do("log = []")

    def _fire(self, graph: Graph, moment: str) -> None:
        for name, entry in self.registered.items():
            if entry[0] is graph and entry[1] == moment:
                self.expected.append(f"{name} saw its graph and its handle: True")

    def ended(self, graph: Graph) -> None:
        """The hooks of the capture's end ran, and those of the instantiation if there was one."""
        self._fire(graph, "capture_end")
        if graph.state.has_executable:
            self._fire(graph, "post_instantiate")

    def instantiated(self, graph: Graph) -> None:
        """The hooks of the instantiation ran."""
        self._fire(graph, "post_instantiate")

    def constructed(self, graph: Graph) -> None:
        """Every graph has a hook from the beginning: of one moment or of the other."""
        self._register(graph, MOMENTS[self.names % 2])

    @precondition(lambda self: self.idle and self.graphs and len(self.registered) < 8)
    @rule(pick=ANY, moment=st.sampled_from(MOMENTS))
    def register(self, pick: int, moment: str) -> None:
        """Register a hook that notes whether it was given its graph, with the handle that it is promised."""
        self._register(self.graphs[pick % len(self.graphs)], moment)

    def _register(self, graph: Graph, moment: str) -> None:
        name = self.fresh("hook")
        reading = "raw_cuda_graph" if moment == "capture_end" else "raw_cuda_graph_exec"
        fine = f"given is {graph.name}" + (
            f" and given.{reading}() is not None" if self.impl.owes("raw_handles") else ""
        )
        entry = f"f'{name} saw its graph and its handle: {{{fine}}}'"
        self.call(
            f"{name} = {graph.name}.register_{moment}_hook(lambda given: log.append({entry}))",
            "hooks can be registered at any time between captures",
        )
        self.registered[name] = (graph, moment)

    @precondition(lambda self: self.idle and self.registered)
    @rule(pick=ANY)
    def remove(self, pick: int) -> None:
        """Take a hook back, also one of a graph that is gone."""
        names = [*self.registered]
        self._remove(names[pick % len(names)])

    def _remove(self, name: str) -> None:
        del self.registered[name]
        self.call(f"{name}.remove()", "the handle of a hook removes it")

    def _reset(self, graph: Graph) -> None:
        # Whether hooks outlive a reset() is left open, so none is on the graph.
        for name in [name for name, (owner, _) in self.registered.items() if owner is graph]:
            self._remove(name)
        super()._reset(graph)

    @invariant()
    def fired(self) -> None:
        """Exactly the hooks that are due have run, in the order of their registration."""
        promise = "hooks run once at the end of each capture, or after each instantiation, in the order of registration"
        self.do(f"expect(log == {self.expected!r}, {promise!r}, repr(log))")


class Refusals(Machine):
    """Calls that the state does not allow: refused, without effect on what the other checks see."""

    def __init__(self, impl: Adapter, sample: Examples) -> None:
        super().__init__(impl, sample)
        self.script.use(expect_no_handle)

    @precondition(lambda self: self.idle and self.in_state(0, State.EMPTY) is not None)
    @rule(pick=ANY)
    def replay_nothing(self, pick: int) -> None:
        """There is nothing to replay before a capture and after a reset."""
        graph = self.in_state(pick, State.EMPTY)
        assert graph is not None
        self.refused(f"{graph.name}.replay()", "replay of a graph that holds no capture is refused")

    @precondition(lambda self: self.idle and self.in_state(0, State.EMPTY) is not None)
    @rule(pick=ANY)
    def instantiate_nothing(self, pick: int) -> None:
        """There is nothing to instantiate without a capture."""
        if not self.impl.owes("keep_graph"):
            return
        graph = self.in_state(pick, State.EMPTY)
        assert graph is not None
        self.refused(f"{graph.name}.instantiate()", "instantiate() of a graph that holds no capture is refused")

    @precondition(lambda self: self.idle and self.in_state(0, State.EMPTY) is not None)
    @rule(pick=ANY, which=st.sampled_from([*READINGS]))
    def read_nothing(self, pick: int, which: str) -> None:
        """There is nothing to have a handle of without a capture."""
        if not self.impl.owes("raw_handles"):
            return
        graph = self.in_state(pick, State.EMPTY)
        assert graph is not None
        promise = f"there is no handle for the {which} of a graph that holds no capture"
        self.no_handle(READINGS[which].format(graph.name), promise)

    @precondition(lambda self: self.idle and self.graphs)
    @rule(pick=ANY, stream=ANY)
    def end_nothing(self, pick: int, stream: int) -> None:
        """There is no capture to end."""
        graph = self.graphs[pick % len(self.graphs)]
        number = stream % STREAMS
        promise = f"capture_end of a graph that {graph.state.value} is refused"
        self.enter(f"impl.stream(stream_{number})")
        self.refused(f"{graph.name}.capture_end()", promise)
        self.leave()


class RefusalsInCapture(Refusals):
    """Calls that a capture does not allow: refused, and the capture goes on."""

    @precondition(lambda self: not self.idle)
    @rule(call=st.sampled_from(DISTURBANCES), pick=ANY)
    def disturb(self, call: str, pick: int) -> None:
        """The capturing graph is no graph yet, and captures once at a time."""
        self._disturb(call, pick)

    def between(self, pick: int) -> None:
        """The same inside a capture that is made in one go."""
        self._disturb(DISTURBANCES[(pick + self.names) % len(DISTURBANCES)], pick)

    def _end_elsewhere(self, graph: Graph) -> None:
        name = self.fresh("elsewhere")
        self.do(f"{name} = impl.new_stream()")
        promise = "capture_end with another stream current than the capturing one is refused"
        self.enter(f"impl.stream({name})")
        self.refused(f"{graph.name}.capture_end()", promise)
        self.leave()

    def _disturb(self, call: str, pick: int) -> None:
        graph = self.capturing
        assert graph is not None
        if call in READINGS:
            if self.impl.owes("raw_handles"):
                promise = f"there is no handle for the {call} of a graph that is capturing"
                self.no_handle(READINGS[call].format(graph.name), promise)
            return
        if call == "end elsewhere":
            if self._way == "calls":
                self._end_elsewhere(graph)
            return
        if call == "instantiate" and self.impl.owes("keep_graph"):
            # Refused, or nothing happens: what it may not do to the capture shows in what follows.
            self.script.use(caught)
            self.looked_at = False
            self.do(f"caught({graph.name}.instantiate)")
            return
        if call in ("replay", "instantiate"):
            self.refused(f"{graph.name}.replay()", "replay of a graph that is capturing is refused")
            return
        if call == "end another":
            idle = [other for other in self.graphs if other.state is State.EMPTY]
            if idle:
                other = idle[pick % len(idle)]
                promise = "a graph that began no capture cannot end another's"
                self.refused(f"{other.name}.capture_end()", promise)
            return
        promise = "a graph that is capturing begins no second capture"
        self.refused(f"impl.capture_begin({graph.name})", promise)


class Deletions(Machine):
    """Graph objects that hold nothing and go while another one captures."""

    @precondition(lambda self: not self.idle and self.in_state(0, State.EMPTY) is not None)
    @rule(pick=ANY)
    def drop_in_capture(self, pick: int) -> None:
        """Let go of a graph that is not the capturing one."""
        self._drop_empty(pick)

    def between(self, pick: int) -> None:
        """The same inside a capture that is made in one go."""
        if self.in_state(pick, State.EMPTY) is not None:
            self._drop_empty(pick)

    def _drop_empty(self, pick: int) -> None:
        graph = self.in_state(pick, State.EMPTY)
        assert graph is not None
        others = [other for other in self.graphs if other is not self.capturing]
        self._drop(others.index(graph))


class Failures(Machine):
    """Captures that a forbidden call may spoil."""

    def _end(self) -> None:
        """End a capture that waited for its own stream: it fails, or it is as good as any."""
        graph = self.capturing
        assert graph is not None
        # About every other capture; by the names given so far, so that a shorter example stays as it is.
        if self._way != "calls" or self.names % 2:
            super()._end()
            return
        self.script.use(caught)
        ending = f"ending_of_{graph.name}"
        self.do("caught(impl.current_stream().synchronize)", f"{ending} = caught({graph.name}.capture_end)")
        self._leave_capture()
        self._order()
        if self.script[ending] is None:
            self._ended_well(graph)
            return
        for name in self._captured_outputs:
            self.do(f"del {name}")
        graph.emptied()
        promise = "replay of a graph whose capture failed is refused"
        self.refused(f"{graph.name}.replay()", promise)
        self._reset(graph)
