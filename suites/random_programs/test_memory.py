"""Graphs in private and shared pools, among eager work that takes memory and gives it back."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.adapter import Adapter
from conformance.markers import property_test, requirement
from suites.random_programs.scripts import DrawnScript, hold
from suites.support.captures import captured

RESULT = "a replay gives the bits of the captured work, whatever was done to other memory in between"
KEPT = "what a replay gave stays until a replay in the same pool, also when its graph is gone"
EAGER = "memory of eager tensors is no graph's: a replay leaves it alone"
#: Small ones, one that all but fills its block, and one above a megabyte and above 65535 elements.
SIZES = (37, 5, 125, 300_001)
HANDLES = ("handles[0]", "handles[1]")


@property_test
@requirement("random-programs.private-memory")
def test_private_memory(impl: Adapter) -> None:
    """Graphs that share no memory, replayed in any order."""
    hold(impl, 10, lambda script: _Scene(script).play())


@property_test
@requirement("random-programs.shared-memory")
def test_shared_memory(impl: Adapter) -> None:
    """Graphs of two shared pools, each result taken before the next replay in its pool."""
    hold(impl, 12, lambda script: _Scene(script, pools=HANDLES).play())


@property_test
@requirement("random-programs.forked-memory")
def test_forked_memory(impl: Adapter) -> None:
    """Graphs that allocate on a forked stream, and eager work on the same stream."""
    hold(impl, 8, lambda script: _Scene(script, forks=True).play())


@dataclass
class _Graph:
    """A graph, and what its tensors hold: multiples of the input and something more.

    Attributes:
        name: also the end of its tensors' names.
        pool: the expression for its pool; its own when empty.
        out: factor and offset of what it writes to a tensor in ordinary memory.
        results: the same of the tensors that the capture returned.
        start: what the input held at the latest replay, or ``None`` when the results may have been overwritten.
        returned: whether the returned tensors are still there.
        alive: whether it can be replayed.
    """

    name: str
    pool: str
    out: tuple[int, int]
    results: tuple[tuple[int, int], ...]
    start: int | None = None
    returned: bool = True
    alive: bool = True


class _Scene:
    def __init__(self, script: DrawnScript, *, pools: tuple[str, ...] = (), forks: bool = False) -> None:
        self.script, self.pools, self.forks = script, pools, forks
        self.graphs: list[_Graph] = []
        self.eager: list[int] = []
        self.sizes = [script.one_of(*SIZES) for _ in range(2)]

    def play(self) -> None:
        """Draw and make the moves."""
        script = self.script
        script.use(captured)
        script.do("eager, side, fork = [], impl.new_stream(), impl.new_stream()")
        if self.pools:
            script.do("handles = [impl.graph_pool_handle() for _ in range(2)]")
        self.capture()
        self.capture()
        for _ in range(script.number(6, 12)):
            alive = [graph for graph in self.graphs if graph.alive]
            move = script.one_of(*("replay", "churn") * 3, "capture", "drop", "empty", "end", "give up")
            if move == "capture" and len(self.graphs) < 4:
                self.capture()
            elif move == "replay" and alive:
                self.replay(script.one_of(*alive))
            elif move == "churn":
                self.churn()
            elif move == "empty":
                script.do("impl.synchronize()", "impl.empty_cache()")
            elif move == "give up":
                self.eager = []
                script.do("eager.clear()")
            elif move == "drop" and alive:
                graph = script.one_of(*alive)
                if graph.returned:
                    script.do(f"del made_{graph.name}")
                graph.returned = False
            elif move == "end" and len(alive) > 1:
                self.end(script.one_of(*alive))
        for graph in self.graphs:
            if graph.alive:
                self.replay(graph)

    def capture(self) -> None:
        """Capture a chain of work, with values between of which some live on."""
        script, name, size = self.script, f"{len(self.graphs)}", self.script.one_of(*self.sizes)
        pool = script.one_of("", *filter(self.usable, self.pools)) if self.pools else ""
        script.do(f"x_{name}, out_{name} = impl.full({size}, 1.0), impl.full({size}, -1.0)")
        lines, values = ["def work():", f"    t0 = x_{name} + 1"], [(1, 1)]
        length = script.number(2, 5)
        for number in range(1, length):
            other = script.number(0, number - 1)
            (factor, offset), (more, further) = values[-1], values[other]
            lines.append(f"    t{number} = t{number - 1} + t{other}")
            values.append((factor + more, offset + further))
        if self.forks:
            lines += [
                "    fork.wait_stream(impl.current_stream())",
                "    with impl.stream(fork):",
                f"        forked = t{length - 1} + 1",
                "        forked = forked + 1",
                "        forked = forked + 1",
                "    impl.current_stream().wait_stream(fork)",
                f"    t{length} = forked * 2",
            ]
            values.append((values[-1][0] * 2, values[-1][1] * 2 + 6))
        lines.append(f"    out_{name}.copy_(t{len(values) - 1})")
        returned = [place for place in range(len(values)) if script.one_of(True, False)]
        lines.append(f"    return {''.join(f't{place}, ' for place in returned) or '()'}")
        setting = f", pool={pool}" if pool else ""
        script.do(*lines, f"graph_{name}, made_{name} = captured(impl, work, stream=side{setting})")
        self.graphs.append(_Graph(name, pool, values[-1], tuple(values[place] for place in returned)))

    def usable(self, pool: str) -> bool:
        """Whether a pool takes captures: what becomes of one when its last graph goes is left open."""
        users = [graph for graph in self.graphs if graph.pool == pool]
        return not users or any(graph.alive for graph in users)

    def replay(self, graph: _Graph) -> None:
        """Replay on another input, and look at everything."""
        script, start = self.script, self.script.number(-9, 9)
        script.do(f"x_{graph.name}.fill_({start})", f"out_{graph.name}.fill_(-1)", f"graph_{graph.name}.replay()")
        for other in self.graphs:
            if graph.pool and other.pool == graph.pool:
                other.start = None
        graph.start = start
        factor, offset = graph.out
        script.do(f"expect_equal(impl, out_{graph.name}, {start * factor + offset}, {RESULT!r})")
        for other in self.graphs:
            if other.start is not None and other.returned:
                expected = [other.start * factor + offset for factor, offset in other.results]
                promise = RESULT if other is graph else KEPT
                script.do(
                    f"for seen, value in zip(made_{other.name}, {expected}):",
                    f"    expect_equal(impl, seen, value, {promise!r})",
                )
        self.look_at_eager()

    def churn(self) -> None:
        """Make eager tensors of the sizes that graphs use, on the streams that their captures used."""
        for size in self.sizes:
            value = self.script.number(20, 99)
            line = f"eager.append(impl.full({size}, {float(value)}))"
            where = self.script.one_of("impl.current_stream()", "side", *(("fork",) if self.forks else ()))
            self.script.do(f"with impl.stream({where}):", f"    {line}", "    eager.append(eager[-1] + 1)")
            self.eager += [value, value + 1]
        self.script.do("impl.synchronize()")

    def look_at_eager(self) -> None:
        """Every eager tensor holds what it was given."""
        if self.eager:
            self.script.do(
                f"for seen, value in zip(eager, {self.eager}):", f"    expect_equal(impl, seen, value, {EAGER!r})"
            )

    def end(self, graph: _Graph) -> None:
        """Reset or delete a graph; what it returned stays."""
        resets = [f"graph_{graph.name}.reset()"] if self.script.impl.has_reset else []
        endings = [*resets, f"del graph_{graph.name}"]
        self.script.do(self.script.one_of(*endings))
        graph.alive = False
        if self.script.one_of(True, False):
            self.script.do("impl.synchronize()", "impl.empty_cache()")
            self.churn()
