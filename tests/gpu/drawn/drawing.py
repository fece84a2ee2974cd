"""Draws programs: phrases that get somewhere (a capture, a template, an executable), with any step in between."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from .player import MODES
from .step import PARAMETERS, Program, Step
from .steps import steps_captures as c
from .steps import steps_executables as x
from .steps import steps_memory as m
from .steps import steps_templates as t

# From its eleventh example on, hypothesis mostly repeats parts of earlier ones.
BATCH = 10

Strategy = st.SearchStrategy[Any]
Phrases = st.SearchStrategy[list[Step]]

_NUMBERS = st.sampled_from([0, 1, 2, 5])
_GRAPHS = st.sampled_from([*[0] * 10, 1, 1, 1, 2, 2, 3, 3, 4, 5, 8, 8, -1])
_PAIRS = st.tuples(st.integers(0, 3), st.integers(0, 3))
_NODES = st.sampled_from([*[0, 1, 2, 3, 4] * 3, -1])

_ARGUMENTS: Mapping[str, Strategy] = {
    "aside": st.sampled_from([False, False, False, True]),
    "clear": st.booleans(),
    "device": st.sampled_from([0, 99]),
    "edges": st.lists(_PAIRS, min_size=1, max_size=2).map(tuple),
    "event": st.sampled_from([*[0, 1, 2] * 3, 3, 3, -1]),
    "executable": st.sampled_from([0, 0, 0, 0, 0, 0, 1, 1, 2, 2, -1]),
    "flags": st.sampled_from([0, 1]),
    "function": st.sampled_from([*[True] * 8, False]),
    "graph": _GRAPHS,
    "inner": _GRAPHS,
    "kind": st.sampled_from([*["own"] * 15, *t.KINDS]),
    "later": st.sampled_from([2]),
    "like": _GRAPHS,
    "mode": st.sampled_from(sorted(MODES)),
    "move": st.booleans(),
    "node": _NODES,
    "number": _NUMBERS,
    "on": st.booleans(),
    "other": _GRAPHS,
    "owned": st.sampled_from([1, 2, 2, 3, 3, 0]),
    "pitch": st.sampled_from([32, 32, 32, 32, 16, 4]),
    "priority": st.sampled_from([0, 0, 0, -1, -9, 1]),
    "record": st.booleans(),
    "shape": st.sampled_from([*[0, 1, 2] * 5, 3, 4]),
    "size": st.sampled_from([*[8, 12, 16] * 3, 0]),
    "start": st.sampled_from([0, 1, 2, 3, 0, 1, 2, 3, -1]),
    "stream": st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5]),
    "value": st.integers(1, 9),
    "waits": st.sampled_from([(), (), (), (0,), (1,), (2,), (3,), (0, 1), (1, 2), (0, 0)]),
    "way": st.integers(0, 2),
    "writable": st.booleans(),
}

# Where a step's argument has values of its own.
_SPECIAL: Mapping[tuple[str, str], Strategy] = {
    ("begin_to", "graph"): st.sampled_from([*[0] * 6, 1, 4, -1]),
    ("create", "flags"): st.sampled_from([*[0] * 12, 1]),
    ("elapsed", "event"): st.sampled_from([2, 2, 2, 3, 0, -1]),
    ("elapsed", "later"): st.sampled_from([2, 2, 2, 3, 0, -1]),
    ("create_event", "flags"): st.sampled_from([0, 1, 2, 6, 4, 64]),
    ("create_stream", "flags"): st.sampled_from([0, 1, 2]),
    ("depend", "flags"): st.sampled_from([0, 0, 1, 1, 7]),
    ("depend", "graph"): st.sampled_from([4, 4, 4, 0]),
    ("disconnect", "edges"): st.lists(st.integers(0, 3), min_size=1, max_size=2).map(tuple),
    ("find_in_clone", "graph"): st.integers(0, 3),
    ("instantiate", "flags"): st.sampled_from([*[0] * 10, 1, 1, 1024]),
    ("malloc", "size"): st.sampled_from([16, 0, 1 << 50]),
    ("malloc_async", "size"): st.sampled_from([16, 0, 1 << 50]),
    ("read_node", "node"): st.integers(0, 3),
    ("record_with_flags", "flags"): st.sampled_from([0, 1, 1, 8]),
    ("set_node", "size"): st.sampled_from([8, 12, 16, 0]),
    ("take_object", "number"): st.sampled_from([1, 1, 2, 0]),
    ("wait_with_flags", "flags"): st.sampled_from([0, 1, 1, 8]),
}


# Kept, since making a strategy takes longer than drawing from it.
@functools.cache
def _step(name: str, **fixed: Any) -> st.SearchStrategy[Step]:
    """A step with arguments drawn, except for those that are given."""
    drawn = [
        st.just(fixed[each]) if each in fixed else _SPECIAL.get((name, each), _ARGUMENTS[each])
        for each in PARAMETERS[name]
    ]
    return st.tuples(*drawn).map(lambda values: Step(name, tuple(zip(PARAMETERS[name], values, strict=True))))


@functools.cache
def _steps(most: int, *names: str, **fixed: Any) -> Phrases:
    """Some steps; a name that stands twice comes twice as often."""
    each = {name: _step(name, **{k: v for k, v in fixed.items() if k in PARAMETERS[name]}) for name in set(names)}
    return st.lists(st.sampled_from(names).flatmap(each.__getitem__), min_size=1, max_size=most)


_WORK = ("kernel", "kernel", "fill", "fill", "fill_rows", "copy", "host_call")
_IN_CAPTURE = (*_WORK, *_WORK, "record", "record_with_flags", "wait_with_flags", "depend", "capture_info", "add_empty")
_SPOILING = (
    "malloc", "free", "query_stream", "synchronize_stream", "query_event", "synchronize_event", "synchronize_device",
    "launch", "upload", "begin", "fill_now", "copy_now", "instantiate", "destroy_executable", "register_host",
    "unregister_host", "destroy_stream", "wait", "elapsed", "end", "exchange",
    "capture_info", "is_capturing", "last_error",
)  # fmt: skip
_ADDING = ("add_empty", "add_fill", "add_fill", "add_copy", "add_box", "add_host", "add_child", "add_event")
_EDITING = ("connect", "connect", "disconnect", "disconnect", "destroy_node", "set_node", "set_node", *_ADDING)
_ASKING = ("inspect", "inspect_node", "identify", "read_node", "read_node", "print_dot", "find_in_clone")
_USING = (
    "launch", "launch", "launch", "update", "set_in_executable", "set_in_executable", "set_in_executable", "enable",
    "enable", "upload", "executable_facts",
)  # fmt: skip
_OBJECTS = (
    "retain_object",
    "release_object",
    "release_object",
    "give_object",
    "give_object",
    "take_object",
    "take_object",
    "clone",
)
_MEMORY = ("malloc", "malloc", "malloc_async", "malloc_async", "free", "free", "free_async", "fill_now", "copy_now")
_HOST_MEMORY = ("register_host", "register_host", "unregister_host", "unregister_host", "copy_now")
_EVENTS = ("create_event", "create_event", "destroy_event", "record", "record", "elapsed", "query_event", "wait")
_STREAMS = ("create_stream", "create_stream", "destroy_stream", "stream_facts", "kernel", "begin", "query_stream")
_ERRORS = ("last_error", "last_error", "last_error", "set_device", "create", "fill_rows_now", "device_facts")


def _edge(event: int, start: int, end: int) -> list[Step]:
    """What makes one stream wait for another."""
    return [c.record(event=event, stream=start), c.wait(stream=end, event=event)]


@st.composite
def _captures(draw: st.DrawFn) -> list[Step]:
    """A capture, with branches on other streams, and sometimes what a capture does not allow."""
    main, *others = draw(st.permutations([0, 1, 2]))
    inside = _steps(3, *_IN_CAPTURE, stream=main, graph=4 + main)
    begins = draw(st.sampled_from([*["begin"] * 4, "begin_to"]))
    steps = [] if begins == "begin" else [draw(_step("create")), *draw(_steps(2, *_ADDING, graph=0))]
    steps += [draw(_step(begins, stream=main)), *draw(inside)]
    fate = draw(st.sampled_from([*["joined"] * 5, *["plain"] * 3, "unjoined", "abandoned", "spoilt", "spoilt"]))
    branches = others[: draw(st.integers(1, 2))] if fate in {"joined", "unjoined", "abandoned"} else []
    for event, side in enumerate(branches):
        steps += [*_edge(event, main, side), *draw(_steps(2, *_WORK, stream=side)), *draw(inside)]
    if main == 2:
        # The default stream, which a blocking one would have to wait for.
        steps += draw(_steps(2, "is_capturing", "capture_info", "capture_info", "fill", "record", stream=3))
    if fate == "joined":
        for event, side in enumerate(branches):
            steps += [*_edge(event, side, main), *draw(inside)]
    if fate == "abandoned":
        # Only a stream behind the others, whose numbers must not change before the end.
        steps.append(c.destroy_stream(stream=2))
    if fate == "spoilt":
        steps += draw(_steps(2, *_SPOILING))
    if draw(st.integers(0, 3)) == 0:
        steps.append(draw(_ANY))
    steps.append(c.end(stream=main, aside=draw(st.integers(0, 9)) == 9))
    return steps


@st.composite
def _long_captures(draw: st.DrawFn) -> list[Step]:
    """A capture of more nodes than a small table holds, launched."""
    work = draw(st.lists(st.sampled_from(_WORK).flatmap(lambda name: _step(name, stream=0)), min_size=21, max_size=25))
    steps = [c.begin(stream=0, mode="relaxed"), *work, c.end(stream=0, aside=False)]
    return [*steps, draw(_step("instantiate", graph=0, flags=0)), draw(_step("launch", executable=0))]


@st.composite
def _templates(draw: st.DrawFn) -> list[Step]:
    """A template, made by hand or cloned."""
    begin = draw(st.sampled_from(["create", "create", "create", "clone"]))
    return [draw(_step(begin)), *draw(_steps(5, *_ADDING, graph=0))]


@st.composite
def _executables(draw: st.DrawFn) -> list[Step]:
    """An executable of the latest template, used."""
    steps = [draw(_step("instantiate", graph=0)), *draw(_steps(4, *_USING, executable=0))]
    if draw(st.booleans()):
        steps += [*draw(_steps(2, *_EDITING, graph=0)), *draw(_steps(3, *_USING, executable=0))]
    return [*steps, draw(_step("launch", executable=0))]


@st.composite
def _objects(draw: st.DrawFn) -> list[Step]:
    """User objects, kept by templates and executables, until these go in one order or another."""
    steps = [t.create(flags=0), *draw(_steps(2, "create_object")), draw(_step("give_object", graph=0))]
    steps += [*draw(_steps(3, *_OBJECTS, graph=0)), draw(_step("instantiate", graph=0))]
    last = [m.release_object(number=5), t.destroy(graph=0), x.destroy_executable(executable=0)]
    for each in draw(st.permutations([*last, draw(_step("update"))])):
        steps += [each, m.count_destroyed()]
    return steps


@st.composite
def _clones(draw: st.DrawFn) -> list[Step]:
    """A clone, next to what it was made from."""
    names = ("find_in_clone", "find_in_clone", "inspect", "inspect_node", "update", "instantiate", *_EDITING)
    return [draw(_step("clone", graph=0)), *draw(_steps(4, *names, executable=0))]


@st.composite
def _two_captures(draw: st.DrawFn) -> list[Step]:
    """Two captures at once, which may or may not mind each other, and what else happens."""
    one, two, _ = draw(st.permutations([0, 1, 2]))
    steps = [draw(_step(each, stream=number)) for number in (one, two) for each in ("begin", "kernel")]
    steps += draw(st.sampled_from([_edge(0, one, two), _edge(0, two, one), [], []]))
    return [*steps, *draw(_steps(3, *_SPOILING, *_WORK)), *(draw(_step("end", stream=each)) for each in (one, two))]


@st.composite
def _kernels(draw: st.DrawFn) -> list[Step]:
    """Kernel nodes made from those of a capture."""
    steps = [c.begin(stream=0, mode="relaxed"), c.kernel(stream=0), c.kernel(stream=0), c.end(stream=0, aside=False)]
    steps += draw(_steps(2, "add_kernel", graph=0, like=0))
    steps += draw(_steps(2, "set_node", "read_node", graph=0, kind="kernel"))
    steps.append(draw(_step("instantiate", graph=0, flags=0)))
    return steps + draw(_steps(3, "set_in_executable", "launch", kind="kernel", executable=0, graph=0))


@st.composite
def _parameters(draw: st.DrawFn) -> list[Step]:
    """Parameters of nodes, read and changed in a template and in its executable."""
    steps = [t.create(flags=0), *draw(_steps(6, *_ADDING, graph=0, inner=1)), draw(_step("instantiate", graph=0))]
    names = ("read_node", "set_node", "set_node", "set_in_executable", "set_in_executable", "launch")
    return [*steps, *draw(_steps(8, *names, graph=0, executable=0))]


@st.composite
def _children(draw: st.DrawFn) -> list[Step]:
    """A template inside of another, its executable changed by templates that have its shape, or another one."""
    steps = [t.create(flags=0), *draw(_steps(2, *_ADDING, graph=0, inner=1)), t.create(flags=0)]
    steps += [draw(_step("add_child", graph=0, inner=1)), *draw(_steps(1, "add_empty", "add_fill", graph=0))]
    steps.append(draw(_step("instantiate", graph=0, flags=0)))
    steps += draw(_steps(2, "read_node", "set_node", "inspect", "add_empty", "disconnect", "destroy", graph=8))
    for inner in draw(st.lists(st.sampled_from([0, 1, 1, 8]), min_size=1, max_size=3)):
        steps.append(draw(_step("set_in_executable", executable=0, node=0, kind="child", graph=inner)))
    return [*steps, draw(_step("read_node", graph=0, node=0)), c.launch(executable=0, stream=0, aside=False)]


@st.composite
def _resources(draw: st.DrawFn) -> list[Step]:
    """Memory, events and streams, made and given back, with a capture around them or not."""
    names = draw(st.sampled_from([_MEMORY, _HOST_MEMORY, _EVENTS, _STREAMS, _ERRORS]))
    steps = draw(_steps(6, *names, event=2) if names is _EVENTS else _steps(6, *names))
    if draw(st.integers(0, 2)):
        return steps
    return [draw(_step("begin", stream=0)), *steps, draw(_step("end", stream=0))]


# Not between the steps of other phrases as often as elsewhere: the program rarely gets further after these.
_RARE = {"destroy_stream", "exchange", "begin", "end", "synchronize_device"}
_ANY = st.sampled_from(sorted(set(PARAMETERS) - _RARE) * 2 + sorted(_RARE)).flatmap(_step)


def _weighted(*phrases: tuple[int, Phrases]) -> Phrases:
    """One of these, as often as the numbers say.  `one_of` would count equal ones once."""
    listed = [phrase for times, phrase in phrases for _ in range(times)]
    return st.sampled_from(listed).flatmap(lambda phrase: phrase)


_BEGINNINGS = _weighted((2, _captures()), (2, _templates()), (1, _kernels()))
_PHRASES = _weighted(
    (2, _captures()),
    (1, _long_captures()),
    (1, _two_captures()),
    (1, _templates()),
    (1, _clones()),
    (1, _children()),
    (1, _kernels()),
    (2, _executables()),
    (2, _parameters()),
    (2, _objects()),
    (3, _resources()),
    (2, _steps(4, *_EDITING)),
    (1, _steps(4, *_ASKING)),
    (3, st.lists(_ANY, min_size=4, max_size=9)),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs of some 50 steps."""
    phrases = [draw(_BEGINNINGS), *draw(st.lists(_PHRASES, min_size=2, max_size=10))]
    return tuple(each for phrase in phrases for each in phrase)


def draw(number: int, test: Callable[[Program], None]) -> None:
    """Give `test` the programs of a batch, which are the same each time, up to the first that fails."""
    drawn = settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # a program loses steps better than what drew it loses choices
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(drawn(given(programs())(test)))()


def drawn(batches: range) -> Iterator[Program]:
    """The programs of batches, each once."""
    found: dict[Program, None] = {}

    def keep(program: Program) -> None:
        found[program] = None

    for number in batches:
        draw(number, keep)
    return iter(found)
