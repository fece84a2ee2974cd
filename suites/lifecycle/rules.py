"""More rules for the state machine: one subject a class."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, fail
from conformance.property_tests import Examples
from suites.lifecycle.machine import ANY, Machine
from suites.lifecycle.model import Graph, Pool, State

HOLDING = (State.TEMPLATE, State.KEPT, State.READY)
HANDLES = ("template", "executable")
DISTURBANCES = ("replay", "instantiate", "begin", "end another", "end elsewhere", *HANDLES)
MOMENTS = ("capture_end", "post_instantiate")


class Pools(Machine):
    """Captures into pools of their own, of handles and of other graphs; tokens."""

    def __init__(self, impl: Adapter, found: Examples) -> None:
        self._handles: list[tuple[str, Any, Pool]] = []
        super().__init__(impl, found)

    def pool_for(self, pick: int, *, shared: bool) -> tuple[Pool, str | None, Any]:
        """None, a handle (new, or one that a graph uses), or another graph's token."""
        if not shared:
            return super().pool_for(pick, shared=shared)
        used = [graph for graph in self.graphs if graph.state in HOLDING and graph.pool is not None]
        # A token is only promised to be good while some graph uses its pool.
        live = [entry for entry in self._handles if any(graph.pool is entry[2] for graph in used)]
        choices: list[tuple[Pool, str, Any]] = [(pool, name, token) for name, token, pool in live]
        for graph in used:
            assert graph.pool is not None
            choices.append((graph.pool, f"{graph.name}.pool()", None))
        if pick % 3 == 0 or not choices:
            name, token = self.new_handle()
            pool = Pool()
            self._handles.append((name, token, pool))
            return pool, name, token
        pool, text, token = choices[pick % len(choices)]
        if token is None:
            owner = next(graph for graph in used if f"{graph.name}.pool()" == text)
            text = self.fresh("token")
            token = self.do(f"{text} = {owner.name}.pool()", owner.native.pool, "a captured graph names its pool")
        return pool, text, token

    @invariant()
    def tokens(self) -> None:
        """A graph that holds a capture names one pool; a private one is nobody else's; others have none to name."""
        if not self.idle:
            return
        for graph in self.graphs:
            if graph.state is State.EMPTY:
                continue
            stable = "pool() names the same pool for as long as the graph holds its capture"
            with self.judged():
                self.steps.line(f"token_of_{graph.name} = {graph.name}.pool()")
                token = expect_no_raise("pool() names the pool of a graph that holds a capture", graph.native.pool)
                if graph.token is None:
                    graph.token = token
                    self.steps.line(f"first_token_of_{graph.name} = token_of_{graph.name}")
                self.steps.line(
                    f"expect(token_of_{graph.name} == first_token_of_{graph.name}, {stable!r}, token_of_{graph.name})"
                )
                expect(token == graph.token, stable, f"first {graph.token!r}, now {token!r}")
        self._private()

    def _private(self) -> None:
        holding = [graph for graph in self.graphs if graph.state is not State.EMPTY]
        handles = {id(pool) for _, _, pool in self._handles}
        for place, graph in enumerate(holding):
            for other in holding[place + 1 :]:
                if graph.pool is other.pool or {id(graph.pool), id(other.pool)} <= handles:
                    continue
                promise = "graphs that were given no common pool have pools of their own"
                self.steps.line(f"expect({graph.name}.pool() != {other.name}.pool(), {promise!r}, {graph.name}.pool())")
                with self.judged():
                    expect(graph.token != other.token, promise, f"both name {graph.token!r}")

    @precondition(lambda self: self.idle and self.in_state(0, State.EMPTY) is not None)
    @rule(pick=ANY)
    def no_pool(self, pick: int) -> None:
        """A graph that holds nothing has no pool to name."""
        graph = self.in_state(pick, State.EMPTY)
        assert graph is not None
        self.refused(
            f"{graph.name}.pool()", graph.native.pool, "pool() of a graph that holds no capture is a RuntimeError"
        )


class Handles(Machine):
    """The raw handles by state."""

    def text(self, graph: Graph, which: str) -> str:
        """The call that reads a handle, as the dialect documents it."""
        api = "xpu" if self.impl.dialect == "xpu" else "cuda"
        return f"{graph.name}.raw_{api}_graph{'_exec' if which == 'executable' else ''}()"

    @invariant()
    def handles(self) -> None:
        """There is a handle for what there is, the same at each call, and a RuntimeError for what there is not."""
        if not self.idle:
            return
        for graph in self.graphs:
            self._look(graph, "template", self.impl.raw_graph, present=graph.state.has_template)
            self._look(graph, "executable", self.impl.raw_exec, present=graph.state.has_executable)
        self._distinct("template")
        self._distinct("executable")

    def _look(self, graph: Graph, which: str, read: Any, *, present: bool) -> None:
        text = self.text(graph, which)
        if not present:
            promise = f"the {which}'s handle of a graph that {graph.state.value} is a RuntimeError"
            self.refused(text, lambda: read(graph.native), promise)
            return
        name, first = f"{which}_of_{graph.name}", getattr(graph, which)
        readable = f"the {which}'s handle of a graph that {graph.state.value} can be read"
        with self.judged():
            if first is None:
                self.steps.line(f"{name} = {text}")
                first = expect_no_raise(readable, lambda: read(graph.native))
                setattr(graph, which, first)
                self.steps.line(f"expect({name}, 'a handle is not zero', {name})")
                expect(first != 0, "a handle is not zero", repr(first))
                return
            stable = f"the {which}'s handle stays the same for as long as it lives"
            self.steps.line(f"expect({text} == {name}, {stable!r}, {text})")
            now = expect_no_raise(readable, lambda: read(graph.native))
            expect(now == first, stable, f"first {first}, now {now}")

    def _distinct(self, which: str) -> None:
        seen: dict[int, Graph] = {}
        for graph in self.graphs:
            handle = getattr(graph, which)
            if handle is None:
                continue
            other = seen.setdefault(handle, graph)
            if other is not graph:
                promise = f"graphs that are alive together have {which}s of their own"
                self.steps.line(f"expect({which}_of_{other.name} != {which}_of_{graph.name}, {promise!r}, {handle})")
                with self.judged():
                    expect(other is graph, promise, f"both have {handle}")


class Hooks(Machine):
    """Hooks at the end of captures and after instantiations."""

    def __init__(self, impl: Adapter, found: Examples) -> None:
        super().__init__(impl, found)
        self.log: list[str] = []
        self.expected: list[str] = []
        self.registered: dict[str, tuple[Graph, str, Any]] = {}
        self.steps.line("log = []")

    def _fire(self, graph: Graph, moment: str) -> None:
        for name, (owner, registered_for, _) in self.registered.items():
            if owner is graph and registered_for == moment:
                self.expected.append(f"{name} saw its graph and its handle: True")

    def ended(self, graph: Graph) -> None:
        """The hooks of the capture's end ran, and those of the instantiation if there was one."""
        self._fire(graph, "capture_end")
        if graph.state.has_executable:
            self._fire(graph, "post_instantiate")

    def instantiated(self, graph: Graph) -> None:
        """The hooks of the instantiation ran."""
        self._fire(graph, "post_instantiate")

    def made(self, graph: Graph) -> None:
        """Every graph has a hook from the beginning: of one moment or of the other."""
        self._register(graph, MOMENTS[self.names % 2])

    @precondition(lambda self: self.idle and self.graphs and len(self.registered) < 8)
    @rule(pick=ANY, moment=st.sampled_from(MOMENTS))
    def register(self, pick: int, moment: str) -> None:
        """Register a hook that notes whether it was given its graph, with the handle that it is promised."""
        self._register(self.graphs[pick % len(self.graphs)], moment)

    def _register(self, graph: Graph, moment: str) -> None:
        name = self.fresh("hook")
        log, native, handles = self.log, graph.native, self.impl.owes("raw_handles")
        method = f"register_{moment}_hook"
        read = "raw_cuda_graph" if moment == "capture_end" else "raw_cuda_graph_exec"
        identity = id(native)
        del native

        def hook(given: Any) -> None:
            fine = id(given) == identity and (not handles or getattr(given, read)() != 0)
            log.append(f"{name} saw its graph and its handle: {fine}")

        fine = f"given is {graph.name}" + (f" and given.{read}() != 0" if handles else "")
        said = f"f'{name} saw its graph and its handle: {{{fine}}}'"
        handle = self.do(
            f"{name} = {graph.name}.{method}(lambda given: log.append({said}))",
            lambda: getattr(graph.native, method)(hook),
            "hooks can be registered at any time between captures",
        )
        self.registered[name] = (graph, moment, handle)

    @precondition(lambda self: self.idle and self.registered)
    @rule(pick=ANY)
    def remove(self, pick: int) -> None:
        """Take a hook back, also one of a graph that is gone."""
        names = [*self.registered]
        name = names[pick % len(names)]
        _, _, handle = self.registered.pop(name)
        self.do(f"{name}.remove()", handle.remove, "the handle of a hook removes it")

    @invariant()
    def fired(self) -> None:
        """Exactly the hooks that are due have run, in the order of their registration."""
        promise = "hooks run once at the end of each capture, or after each instantiation, in the order of registration"
        self.steps.line(f"expect(log == {self.expected!r}, {promise!r}, log)")
        with self.judged():
            expect(self.log == self.expected, promise, f"{self.log} instead of {self.expected}")


class Refusals(Machine):
    """Calls that the state does not allow: refused, without effect on what the other checks see."""

    @precondition(lambda self: self.idle and self.in_state(0, State.EMPTY) is not None)
    @rule(pick=ANY)
    def replay_nothing(self, pick: int) -> None:
        """There is nothing to replay before a capture and after a reset."""
        graph = self.in_state(pick, State.EMPTY)
        assert graph is not None
        promise = "replay of a graph that holds no capture is a RuntimeError"
        self.refused(f"{graph.name}.replay()", graph.native.replay, promise)

    @precondition(lambda self: self.idle and self.in_state(0, State.EMPTY, State.READY) is not None)
    @rule(pick=ANY)
    def instantiate_nothing(self, pick: int) -> None:
        """There is nothing to instantiate without a template."""
        if not self.impl.owes("keep_graph"):
            return
        graph = self.in_state(pick, State.EMPTY, State.READY)
        assert graph is not None
        promise = f"instantiate() of a graph that {graph.state.value} and no template is a RuntimeError"
        self.refused(f"{graph.name}.instantiate()", graph.native.instantiate, promise)

    @precondition(lambda self: self.idle and self.graphs)
    @rule(pick=ANY, stream=ANY)
    def end_nothing(self, pick: int, stream: int) -> None:
        """There is no capture to end."""
        graph = self.graphs[pick % len(self.graphs)]
        number = stream % len(self.streams)
        promise = f"capture_end of a graph that {graph.state.value} is a RuntimeError"
        with self.steps.block(f"with backend.stream(stream_{number}):"), self.impl.stream(self.streams[number]):
            self.refused(f"{graph.name}.capture_end()", graph.native.capture_end, promise)


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
        elsewhere = self.impl.new_stream()
        self.steps.line(f"{name} = backend.Stream()")
        promise = "capture_end with another stream current than the capturing one is a RuntimeError"
        with self.steps.block(f"with backend.stream({name}):"), self.impl.stream(elsewhere):
            self.refused(f"{graph.name}.capture_end()", graph.native.capture_end, promise)

    def _disturb(self, call: str, pick: int) -> None:
        graph = self.capturing
        assert graph is not None
        if call in HANDLES:
            if self.impl.owes("raw_handles"):
                handles = Handles.text, {"template": self.impl.raw_graph, "executable": self.impl.raw_exec}
                promise = f"the {call}'s handle of a graph that is capturing is a RuntimeError"
                text = handles[0](self, graph, call)  # type: ignore[arg-type]  # it needs the dialect only
                self.refused(text, lambda: handles[1][call](graph.native), promise)
            return
        if call == "end elsewhere":
            if self._way == "calls":
                self._end_elsewhere(graph)
            return
        if call == "instantiate" and not self.impl.owes("keep_graph"):
            call = "replay"
        if call in ("replay", "instantiate"):
            promise = f"{call} of a graph that is capturing is a RuntimeError"
            self.refused(f"{graph.name}.{call}()", getattr(graph.native, call), promise)
            return
        if call == "end another":
            idle = [other for other in self.graphs if other.state is State.EMPTY]
            if idle:
                other = idle[pick % len(idle)]
                promise = "a graph that began no capture cannot end another's"
                self.refused(f"{other.name}.capture_end()", other.native.capture_end, promise)
            return
        promise = "a graph that is capturing begins no second capture"
        self.refused(f"{graph.name}.capture_begin()", lambda: self.impl.capture_begin(graph.native), promise)


class Deletions(Machine):
    """Graph objects that go while another one captures."""

    @precondition(lambda self: not self.idle and len(self.graphs) > 1)
    @rule(pick=ANY)
    def drop_in_capture(self, pick: int) -> None:
        """Let go of a graph that is not the capturing one."""
        self._drop(pick)

    def between(self, pick: int) -> None:
        """The same inside a capture that is made in one go."""
        if len(self.graphs) > 1:
            self._drop(pick)


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
        self.steps.line("with contextlib.suppress(Exception):")
        self.steps.line("    backend.current_stream().synchronize()")
        with contextlib.suppress(Exception):
            self.impl.current_stream().synchronize()
        self.steps.line(f"ended_{graph.name} = ends({graph.name})")
        ended = _ends(graph.native)
        if ended and self.impl.dialect == "cuda":
            promise = "capture_end raises after a call that invalidated the capture"
            self.steps.line(f"expect(not ended_{graph.name}, {promise!r}, 'no error')")
            with self.judged():
                fail(promise, "no error")
        self.steps.leave()
        self.capturing = None
        opened, self.open = self.open, contextlib.ExitStack()
        opened.close()
        self.steps.line(f"backend.current_stream().wait_stream({self._stream_name})")
        if ended:
            self._ended_well(graph)
            return
        for name in self._captured_outputs:
            self.steps.line(f"del {name}")
            del self.tensors[name]
        graph.emptied()
        promise = "replay of a graph whose capture failed is a RuntimeError"
        self.refused(f"{graph.name}.replay()", graph.native.replay, promise)
        self.do(f"{graph.name}.reset()", graph.native.reset, "a graph whose capture failed can be reset")


def _ends(graph: Any) -> bool:
    try:
        graph.capture_end()
    except Exception:
        return False
    return True
