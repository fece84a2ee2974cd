"""Replays among eager work on several streams, ordered in every way there is."""

from __future__ import annotations

from conformance.adapter import Adapter, in_thread
from conformance.markers import property_test, requirement
from suites.random_programs.scripts import DrawnScript, hold
from suites.support.captures import captured

ORDERED = "a replay runs on the current stream, after what the stream waited for and before what waits for it"
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
