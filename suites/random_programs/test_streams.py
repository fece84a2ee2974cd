"""Replays among eager work on several streams, ordered in every way there is; work apart from a capture."""

from __future__ import annotations

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect
from conformance.markers import property_test, requirement
from suites.random_programs.scripts import DrawnScript, hold
from suites.support.captures import capture_between, captured

ORDERED = "a replay runs on the current stream, after what the stream waited for and before what waits for it"
APART = "work on a stream that takes no part in a capture runs at once, and in no replay"
#: How later work of one stream is put behind another's.
ORDERS = (
    ("places[{then}].wait_stream(places[{first}])",),
    ("places[{then}].wait_event(places[{first}].record_event())",),
    ("event{lane}.record(places[{first}])", "places[{then}].wait_event(event{lane})"),
)


@property_test
@requirement("random-programs.streams")
def test_streams(impl: Adapter) -> None:
    """Two chains of work that nothing orders, each over four streams and with graphs of its own."""
    hold(impl, 12, lambda script: _play(script, ("eager", "replay", "replay")))


@property_test
@requirement("random-programs.graphs-gone")
def test_graphs_gone(impl: Adapter) -> None:
    """The same, with graphs that are reset or deleted right after their replay."""
    hold(impl, 6, lambda script: _play(script, ("eager", "replay", "replay then reset()", "replay then del")))


@property_test
@requirement("random-programs.threads")
def test_threads(impl: Adapter) -> None:
    """The same, with replays of other threads."""
    hold(impl, 6, lambda script: _play(script, ("eager", "replay", "replay elsewhere")))


def _play(script: DrawnScript, moves: tuple[str, ...]) -> None:
    script.use(captured, in_thread)
    script.do("places = [impl.default_stream(), impl.new_stream(), impl.new_stream(), impl.new_stream()]")
    # By chain: its tensor is `factor * (0, 1, …) + offset` by now; its latest stream; its graphs with what they do.
    value, at = [(1, 0), (1, 0)], [0, 0]
    graphs: list[list[tuple[str, int, int]]] = [[], []]
    for lane in (0, 1):
        script.do(f"x{lane} = impl.tensor([float(place) for place in range(37)])", f"event{lane} = impl.new_event()")
        for name in (f"graph{lane}_0", f"graph{lane}_1"):
            graphs[lane].append((name, script.one_of(2, -1, 3), script.number(1, 9)))
            _capture(script, lane, *graphs[lane][-1])
    script.do("impl.synchronize()")
    for _ in range(script.number(5, 9)):
        lane, then = script.number(0, 1), script.number(0, 3)
        if then != at[lane]:
            for line in script.one_of(*ORDERS):
                script.do(line.format(first=at[lane], then=then, lane=lane))
            at[lane] = then
        how = script.one_of(*moves) if graphs[lane] else "eager"
        if how == "eager":
            factor, offset = -1, script.number(1, 9)
            script.do(f"with impl.stream(places[{then}]):", f"    x{lane}.mul_(-1).add_({offset})")
        else:
            chosen = script.one_of(*graphs[lane])
            name, factor, offset = chosen
            _replay(script, name, then, how)
            if "then" in how:
                graphs[lane].remove(chosen)
        value[lane] = (value[lane][0] * factor, value[lane][1] * factor + offset)
    for lane in (0, 1):
        expected = "torch.arange(37.0) * {} + {}".format(*value[lane])
        script.do(f"expect_equal(impl, x{lane}, {expected}, {ORDERED!r})")


def _capture(script: DrawnScript, lane: int, name: str, factor: int, offset: int) -> None:
    script.do(
        f"def work():  # {factor} * x + {offset}, with values between that live in the graph's own memory",
        f"    half = x{lane} * {factor}",
        "    other = half + 1",
        "    half = other - 1",
        f"    x{lane}.copy_(half + {offset})",
        f"{name}, _ = captured(impl, work)",
    )


def _replay(script: DrawnScript, name: str, place: int, how: str) -> None:
    if how == "replay elsewhere":
        script.do("def elsewhere():", f"    with impl.stream(places[{place}]):", f"        {name}.replay()")
        script.do("in_thread(elsewhere)")
        return
    script.do(f"with impl.stream(places[{place}]):", f"    {name}.replay()")
    if "then" in how:
        script.do(f"{name}.reset()" if "reset" in how and script.impl.has_reset else f"del {name}")


@property_test
@requirement("random-programs.streams-apart")
def test_streams_apart(impl: Adapter) -> None:
    """Between the operators of a capture, work on another stream."""
    hold(impl, 6, _work_apart)


def _work_apart(script: DrawnScript) -> None:
    script.use(capture_between, expect)
    script.do("x, z = impl.full(37, 1.0), impl.full(37, 0.0)", "apart = impl.new_stream()")
    # Loads the kernels, so that nothing but a launch happens during the capture.
    script.do("x.mul_(1).add_(0)", "z.mul_(1).add_(0)", "impl.synchronize()")
    lines, once, factor, offset = ["def work():"], 0, 1, 0
    for _ in range(script.number(2, 6)):
        number = script.number(2, 5)
        if script.one_of(True, False):
            lines += [
                "    with impl.stream(apart):",
                "        capturing = impl.is_current_stream_capturing()",
                f"        expect(not capturing, {APART!r}, 'the stream apart is reported as capturing')",
                f"        z.add_({number})",
            ]
            once += number
        else:
            lines.append(f"    x.mul_({number}).add_(1)")
            factor, offset = factor * number, offset * number + 1
    script.do(*lines, "    x.add_(1)", "graph = impl.new_graph()", "capture_between(impl, graph, work)")
    script.do(f"expect_equal(impl, z, {once}, {APART!r})")
    for start in (2, -3, 5):
        script.do(f"x.fill_({start})", "graph.replay()")
        script.do(f"expect_equal(impl, x, {start * factor + offset + 1}, 'a replay does the captured work')")
        script.do(f"expect_equal(impl, z, {once}, {APART!r})")
