"""One program, eagerly and through captures, compared bit for bit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from conformance.adapter import Adapter, in_thread
from conformance.errors import Unsupported
from conformance.reproducing.steps import constant
from suites.random_programs import scripts
from suites.random_programs.drawing import programs
from suites.random_programs.operators import BLEND, register_blend
from suites.random_programs.program import Call, Capture, Fork, Free, Instruction, Program, Tensors, run_body
from suites.random_programs.scripts import DrawnScript

CPU = torch.device("cpu")
PROMISE = "after each round of replays every tensor holds, bit for bit, what running the program eagerly gives"
#: No operator's result on the contents that inputs have.
POISON = 77


def hold(impl: Adapter, count: int, **shape: Any) -> None:
    """Reject unless programs of that shape give the same bits eagerly and replayed.

    Raises:
        Unsupported: the device runs none of them eagerly.
    """
    outcomes: list[bool] = []
    scripts.hold(impl, count, lambda script: outcomes.append(_Comparison(script, script.draw(programs(**shape))).run()))
    if not any(outcomes):
        raise Unsupported("the device runs none of the drawn programs eagerly")


class _Comparison:
    """A program, captured and replayed by a script.

    Attributes:
        script: knows the tensors, graphs and streams by name.
        program: what is captured.
    """

    def __init__(self, script: DrawnScript, program: Program) -> None:
        self.script, self.program = script, program
        self._impl = script.impl
        self._names = [entry.name for entry in program.inputs]
        self._pools: set[int] = set()

    def run(self) -> bool:
        """Capture, then replay round after round, a program that the device runs eagerly; whether it does."""
        if any(call.function == BLEND for call in self.program.calls):
            self.script.use(register_blend)
            self.script.do("register_blend()")
        self.script.do("fork_0, fork_1, side = impl.new_stream(), impl.new_stream(), impl.new_stream()")
        self.script.do("event = impl.new_event()")
        expected = self._expected()
        if expected is None:
            return False
        for entry in self.program.inputs:
            self.script.do(f"{entry.name} = {entry.text(entry.seed)}")
        for number, capture in enumerate(self.program.captures):
            self._capture(f"graph_{number}", capture)
        poisonable = self._poisonable()
        for refills, values in zip(self.program.rounds, expected, strict=True):
            self.script.do(*(f"{name}.copy_({self.program.input(name).text(seed)})" for name, seed in refills))
            self.script.do(*(f"{name}.fill_({POISON})" for name in poisonable))
            self.script.do(*(f"graph_{number}.replay()" for number in range(len(self.program.captures))))
            for name, value in values.items():
                self.script.do(f"expect_equal(impl, {name}, {constant(value)}, {f'{PROMISE} ({name})'!r})")
        return True

    # -- eagerly ------------------------------------------------------------------------------------------------------

    def _expected(self) -> list[Tensors] | None:
        """What each round leaves: computed on the host, or by the device itself where its arithmetic is its own.

        ``None`` where the device refuses the program, for want of a dtype or an operator.
        """
        if self._impl.device.type == "cpu":
            # In a thread of its own: in this one the implementation may have a hand in what the host computes.
            rounds: list[Tensors] = in_thread(
                lambda: self._eager(CPU, lambda values, dtype: torch.tensor(values, dtype=dtype), torch.clone)
            )
            return rounds
        with self._on_side():
            try:
                return self._eager(self._impl.device, self._impl.tensor, self._impl.read)
            except (RuntimeError, TypeError, NotImplementedError):
                return None

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
        before, side = self._impl.current_stream(), self.script["side"]
        side.wait_stream(before)
        with self._impl.stream(side):
            yield
        before.wait_stream(side)

    # -- through captures ---------------------------------------------------------------------------------------------

    def _capture(self, graph: str, capture: Capture) -> None:
        if capture.pool is None:
            setting = ""
            self.script.do(f"{graph} = impl.new_graph()")
        else:
            setting = ", **settings"
            self.script.do(
                *self._new_pool(capture.pool), f"{graph}, settings = impl.graph_for(pool=pool_{capture.pool})"
            )
        self.script.do("side.wait_stream(impl.current_stream())")
        self.script.enter("impl.stream(side)")
        self.script.do(f"impl.capture_begin({graph}{setting})")
        try:
            for item in capture.body:
                self._make(item)
            self.script.do(f"{graph}.capture_end()")
        except BaseException:
            self._impl.abort_capture(self.script[graph])
            raise
        self.script.leave()
        self.script.do("impl.current_stream().wait_stream(side)")

    def _new_pool(self, pool: int) -> list[str]:
        if pool in self._pools:
            return []
        self._pools.add(pool)
        return [f"pool_{pool} = impl.graph_pool_handle()"]

    def _make(self, item: Instruction) -> None:
        if isinstance(item, Call):
            self.script.do(item.text())
            self._names += item.targets
        elif isinstance(item, Free):
            self.script.do(f"del {item.name}")
            self._names.remove(item.name)
        else:
            self._fork(item)

    def _fork(self, fork: Fork) -> None:
        for number, branch in enumerate(fork.branches):
            self._order("side", f"fork_{number}", by_event=fork.by_event)
            if branch:
                self.script.enter(f"impl.stream(fork_{number})")
                for call in branch:
                    self._make(call)
                self.script.leave()
        for number in reversed(range(len(fork.branches))):
            self._order(f"fork_{number}", "side", by_event=fork.by_event)

    def _order(self, first: str, then: str, *, by_event: bool) -> None:
        if by_event:
            self.script.do(f"event.record({first})", f"{then}.wait_event(event)")
        else:
            self.script.do(f"{then}.wait_stream({first})")

    def _poisonable(self) -> list[str]:
        """What captures made in memory of their own, and every replay writes whole."""
        kept = {self._storage(entry.name) for entry in self.program.inputs}
        return [name for name in self._names if self._storage(name) not in kept and 0 not in self.script[name].stride()]

    def _storage(self, name: str) -> int:
        tensor: torch.Tensor = self.script[name]
        return tensor.untyped_storage().data_ptr()
