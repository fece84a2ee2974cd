"""One program, eagerly and through captures, compared bit for bit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect_equal
from conformance.property_tests import Examples, examples
from conformance.reproducing.steps import Steps, constant
from suites.random_programs.drawing import programs
from suites.random_programs.operators import register_blend
from suites.random_programs.program import Call, Fork, Free, Instruction, Program, Tensors, run_body

CPU = torch.device("cpu")
PROMISE = "after each round of replays every tensor holds, bit for bit, what running the program eagerly gives"
#: No operator's result on the contents that inputs have.
POISON = 77


def hold(impl: Adapter, count: int, **shape: Any) -> None:
    """Reject unless programs of that shape give the same bits eagerly and replayed."""
    found = Examples()

    @examples(count)
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        found.begin()
        program = data.draw(programs(**shape))
        steps = Steps()
        run = _Run(impl, program, steps)
        try:
            run.compare()
        except Exception as error:
            found.rejected(error, steps)
            raise
        finally:
            run.leave()

    found.run(holds)


class _Run:
    def __init__(self, impl: Adapter, program: Program, steps: Steps) -> None:
        self.impl, self.program, self.steps = impl, program, steps
        self.tensors: Tensors = {}
        self.graphs: list[Any] = []
        self.underway: Any = None
        self.side = impl.new_stream()
        self.forks = [impl.new_stream() for _ in range(2)]
        self.event = impl.new_event()

    def compare(self) -> None:
        """Capture, then replay round after round."""
        self.steps.line(f"{self.steps.word(register_blend)}()")
        for number in range(2):
            self.steps.line(f"fork_{number} = backend.Stream()")
        self.steps.line("event = backend.Event()")
        self.steps.line("side = backend.Stream()")
        expected = self._expected()
        for entry in self.program.inputs:
            self.steps.line(f"{entry.name} = {entry.text(entry.seed)}")
            self.tensors[entry.name] = entry.make(entry.seed, self.impl.tensor)
        handles: dict[int, Any] = {}
        for number, capture in enumerate(self.program.captures):
            self._capture(number, capture.body, capture.pool, handles)
        poisonable = self._poisonable()
        for refills, values_then in zip(self.program.rounds, expected, strict=True):
            for name, seed in refills:
                entry = self.program.input(name)
                self.steps.line(f"{name}.copy_({entry.text(seed)})")
                self.tensors[name].copy_(entry.make(seed, self.impl.tensor))
            for name in poisonable:
                self.steps.line(f"{name}.fill_({POISON})")
                self.tensors[name].fill_(POISON)
            for number, graph in enumerate(self.graphs):
                self.steps.line(f"graph_{number}.replay()")
                graph.replay()
            for name, value in values_then.items():
                promise = f"{PROMISE} ({name})"
                self.steps.line(f"expect_equal({name}, {constant(value)}, {promise!r})")
                expect_equal(self.impl, self.tensors[name], value, promise)

    def leave(self) -> None:
        """Leave nothing for the next program."""
        if self.underway is not None:
            with self.impl.stream(self.side):
                self.impl.abort_capture(self.underway)
        with contextlib.suppress(Exception):
            self.impl.synchronize()
        self.graphs.clear()
        self.tensors.clear()

    def _expected(self) -> list[Tensors]:
        """What each round leaves: computed on the host, or by the device itself where its arithmetic is its own."""
        if self.impl.device.type == "cpu":
            # In a thread of its own: in this one the implementation may have a hand in what the host computes.
            rounds: list[Tensors] = in_thread(
                lambda: self._eager(CPU, lambda values, dtype: torch.tensor(values, dtype=dtype), torch.clone)
            )
            return rounds
        with self._on_side():
            return self._eager(self.impl.device, self.impl.tensor, self.impl.read)

    def _eager(
        self,
        device: torch.device,
        make: Callable[[Any, torch.dtype], torch.Tensor],
        read: Callable[[torch.Tensor], torch.Tensor],
    ) -> list[Tensors]:
        tensors = {entry.name: entry.make(entry.seed, make) for entry in self.program.inputs}
        rounds: list[Tensors] = []
        for refills in self.program.rounds:
            for name, seed in refills:
                tensors[name].copy_(self.program.input(name).make(seed, make))
            for capture in self.program.captures:
                run_body(capture.body, tensors, device)
            rounds.append({name: read(value) for name, value in tensors.items()})
        return rounds

    @contextlib.contextmanager
    def _on_side(self) -> Iterator[None]:
        # The stream of the captures, so that libraries have made their handles for it.
        before = self.impl.current_stream()
        self.side.wait_stream(before)
        with self.impl.stream(self.side):
            yield
        before.wait_stream(self.side)

    def _capture(self, number: int, body: tuple[Instruction, ...], pool: int | None, handles: dict[int, Any]) -> None:
        graph = self.impl.new_graph()
        self.steps.line(f"graph_{number} = Graph()")
        if pool is not None and pool not in handles:
            self.steps.line(f"pool_{pool} = backend.graph_pool_handle()")
            handles[pool] = self.impl.graph_pool_handle()
        self.steps.line("side.wait_stream(backend.current_stream())")
        given = ""
        if pool is not None and self.impl.dialect == "accelerator":
            self.steps.line(f"graph_{number}.graph_pool = pool_{pool}")
        elif pool is not None:
            given = f"pool=pool_{pool}"
        with self._on_side(), self.steps.block("with backend.stream(side):"):
            self.steps.line(f"graph_{number}.capture_begin({given})")
            handle = None if pool is None else handles[pool]
            self.impl.capture_begin(graph, pool=handle)
            self.underway = graph
            self._write(body)
            run_body(body, self.tensors, self.impl.device, self._branch)
            self.steps.line(f"graph_{number}.capture_end()")
            graph.capture_end()
            self.underway = None
        self.steps.line("backend.current_stream().wait_stream(side)")
        self.graphs.append(graph)

    @contextlib.contextmanager
    def _branch(self, number: int, by_event: bool) -> Iterator[Callable[[], None]]:
        fork = self.forks[number]
        self._order(self.side, fork, by_event=by_event)
        with self.impl.stream(fork):
            yield lambda: self._order(fork, self.side, by_event=by_event)

    def _order(self, first: Any, then: Any, *, by_event: bool) -> None:
        if by_event:
            self.event.record(first)
            then.wait_event(self.event)
        else:
            then.wait_stream(first)

    def _write(self, body: tuple[Instruction, ...]) -> None:
        for item in body:
            if isinstance(item, Call):
                self._write_call(item)
            elif isinstance(item, Free):
                self.steps.line(f"del {item.name}")
            else:
                self._write_fork(item)

    def _write_fork(self, fork: Fork) -> None:
        used = [number for number, branch in enumerate(fork.branches) if branch]
        for number in range(len(fork.branches)):
            self._write_order("side", f"fork_{number}", fork)
            if number in used:
                with self.steps.block(f"with backend.stream(fork_{number}):"):
                    for call in fork.branches[number]:
                        self._write_call(call)
        for number in reversed(range(len(fork.branches))):
            self._write_order(f"fork_{number}", "side", fork)

    def _write_order(self, first: str, then: str, fork: Fork) -> None:
        if fork.by_event:
            self.steps.line(f"event.record({first})")
            self.steps.line(f"{then}.wait_event(event)")
        else:
            self.steps.line(f"{then}.wait_stream({first})")

    def _write_call(self, call: Call) -> None:
        for line in call.text().split("\n"):
            self.steps.line(line)

    def _poisonable(self) -> list[str]:
        """What captures made in memory of their own, and every replay writes whole."""
        inputs = {entry.name for entry in self.program.inputs}
        kept = {self.tensors[name].untyped_storage().data_ptr() for name in inputs}
        return [
            name
            for name, tensor in self.tensors.items()
            if tensor.untyped_storage().data_ptr() not in kept and 0 not in tensor.stride()
        ]
