"""Drawn programs of runtime calls: the software model against the real runtime.

`DRAWN` says how many programs there are (400), and `DRAWN_FROM` with which batch of ten they begin (0): other batches
are other programs.  Without a GPU, the model is compared with itself, and with models that differ on purpose.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reference_impl import runtime as software
from reference_impl.runtime import captures

from .drawn.comparison import Log, difference, shortened, table
from .drawn.drawing import BATCH, draw, drawn
from .drawn.machines import Gpu, Model, why_no_gpu
from .drawn.planted import PLANTED
from .drawn.player import Player
from .drawn.step import Program
from .drawn.steps import steps_captures as c
from .drawn.steps import steps_executables as x
from .drawn.steps import steps_templates as t
from .drawn.worker import Worker
from .recorder import native

FIRST = int(os.environ.get("DRAWN_FROM", "0"))
BATCHES = range(FIRST, FIRST + -(-int(os.environ.get("DRAWN", "400")) // BATCH))
MISSING = why_no_gpu()

#: What a driver that does not have a call answers, or one that tells nothing of a kernel that the driver launched.
UNAVAILABLE = {"cudaErrorCallRequiresNewerDriver", "cudaErrorInvalidDeviceFunction"}
#: Calls that no argument or state makes the model refuse, except for handles that CUDA does not check.
NEVER_REFUSED = {
    "cudaDriverGetVersion",
    "cudaEventCreate",
    "cudaGetDevice",
    "cudaGetDeviceCount",
    "cudaGetErrorName",
    "cudaGetErrorString",
    "cudaRuntimeGetVersion",
    "cudaStreamCreate",
    "cudaStreamGetDevice",
    "cudaStreamGetFlags",
    "cudaStreamGetId",
    "cudaStreamGetPriority",
    "cudaThreadExchangeStreamCaptureMode",
}


def play(program: Program, without: frozenset[str] = frozenset()) -> Log:
    return Player(Model(), without).play(program)


def answers(program: Program) -> Log:
    """What a damaged model answers, which may also break down."""
    try:
        return play(program)
    except Exception as error:
        return [(0, repr(error))]


def compare(program: Program, found: Callable[[Program], str | None]) -> None:
    """Fail with the shortest form of a program that shows a difference."""
    if found(program):
        pytest.fail(str(found(shortened(program, lambda shorter: bool(found(shorter))))), pytrace=False)


# -- with a GPU --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpu() -> Iterator[Worker]:
    worker = Worker(Gpu)
    yield worker
    worker.stop()


@pytest.fixture(scope="module")
def left_out(gpu: Worker) -> frozenset[str]:
    """The calls that this machine does not have."""
    program = (
        c.begin(stream=0, mode="relaxed"),
        c.kernel(stream=0),
        c.end(stream=0, aside=False),
        t.identify(graph=0, node=0),
        t.read_node(graph=0, node=0, kind="kernel"),
        x.instantiate(graph=0, flags=0, way=0),
        x.executable_facts(executable=0),
        c.stream_facts(stream=0),
    )
    texts = [text.split(" ", 2) for _, text in gpu.play(program)]
    found = frozenset(name.rstrip(":") for name, code, *_ in texts if code in UNAVAILABLE)
    print("left out:", ", ".join(sorted(found)) or "nothing")
    return found


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.parametrize("batch", BATCHES)
def test_model_answers_as_cuda_does(batch: int, gpu: Worker, left_out: frozenset[str]) -> None:
    def found(program: Program) -> str | None:
        return difference(program, gpu.play(program, left_out), play(program, left_out))

    draw(batch, lambda program: compare(program, found))


# -- without one -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return list(drawn(BATCHES))


@pytest.fixture(scope="module")
def logs(programs: list[Program]) -> list[Log]:
    return [play(each) for each in programs]


def test_model_answers_as_itself(programs: list[Program], logs: list[Log]) -> None:
    before = software.live_counts()
    for program, log in zip(programs, logs, strict=True):
        found = difference(program, log, play(program))
        assert not found, found
    assert software.live_counts() == before


@pytest.mark.parametrize("name", PLANTED)
def test_planted_difference_is_found(name: str, programs: list[Program], logs: list[Log]) -> None:
    try:
        with PLANTED[name]():
            at = next((at for at, each in enumerate(programs) if answers(each) != logs[at]), None)
    finally:
        for capture in list(captures.live):
            capture.finish()
    assert at is not None, f"none of {len(programs)} programs shows it"
    print(f"shown by program {at}")


def test_calls_succeed_and_are_refused(programs: list[Program], logs: list[Log]) -> None:
    """Every call of the model, both ways; `pytest -rP` shows how often."""
    counts = table(logs)
    names = [
        each for each in software.__all__ if each.startswith("cuda") and hasattr(getattr(software, each), "__code__")
    ]
    rows = [(name, counts.get(name, {})) for name in names]
    print(f"{len(programs)} programs, {sum(map(len, programs))} steps; answers:")
    for name, codes in rows:
        print(f"{name:40}", ", ".join(f"{code.removeprefix('cuda')} {number}" for code, number in codes.items()))
    assert not [name for name, codes in rows if not codes.get("cudaSuccess")], "never succeeded"
    refused = {name for name, codes in rows if set(codes) - {"cudaSuccess"}}
    assert set(names) - refused == NEVER_REFUSED
    answered = sum(sum(codes.values()) for _, codes in rows)
    succeeded = sum(codes.get("cudaSuccess", 0) for _, codes in rows)
    print(f"{succeeded} of {answered} calls succeeded")
    assert succeeded > 0.7 * answered


def test_failure_is_a_short_program() -> None:
    def found(program: Program) -> str | None:
        with PLANTED["launch_runs_twice"]():
            theirs = play(program)
        return difference(program, theirs, play(program))

    with pytest.raises(pytest.fail.Exception) as failure:
        draw(0, lambda program: compare(program, found))
    text = str(failure.value)
    print(text)
    steps = re.findall(r"^ +\d+ (\w+\(.*\)),$", text, re.MULTILINE)
    assert 3 <= len(steps) <= 5, text
    assert re.search(r"CUDA: +memory of step .*\n +model: memory of step", text)
    names = {**vars(c), **vars(t), **vars(x)}
    assert found(tuple(eval(each, names) for each in steps)), "the printed program does not show it"  # noqa: S307


class Tried:
    """The model, where each call is first made on the bindings, which answer that there is no GPU."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            if hasattr(native, name):
                getattr(native, name)(*args)
            return getattr(software, name)(*args)

        return call


class Untouched(Model):
    """A machine whose calls are also made on the bindings."""

    runtime: Any = Tried()


@pytest.mark.skipif(MISSING is None, reason="there is a GPU, which would be given the model's handles")
def test_bindings_take_the_arguments(programs: list[Program], logs: list[Log]) -> None:
    for program, log in zip(programs[:60], logs, strict=False):
        assert Player(Untouched()).play(program) == log


class Killed(Model):
    """A machine that does not survive a kernel."""

    def increment(self, cell: int, stream: object) -> object:
        os.kill(os.getpid(), signal.SIGKILL)
        return None


class Stuck(Model):
    """A machine whose kernels do not come to an end."""

    def increment(self, cell: int, stream: object) -> object:
        time.sleep(60)
        return None


def test_worker_answers_as_the_model_does(programs: list[Program], logs: list[Log]) -> None:
    worker = Worker(Model)
    try:
        assert [worker.play(each) for each in programs[:20]] == logs[:20]
    finally:
        worker.stop()


@pytest.mark.parametrize(("machine", "said"), [(Killed, "status -9"), (Stuck, "no answer within 1 s")])
def test_worker_outlives_its_machine(machine: type[Model], said: str) -> None:
    worker = Worker(machine, patience=1, method="fork")
    deadly, harmless = (c.kernel(stream=0),), (c.fill(stream=0, value=1, aside=False),)
    try:
        assert said in str(difference(deadly, worker.play(deadly), play(deadly)))
        assert worker.play(harmless) == play(harmless)
    finally:
        worker.stop()


@pytest.mark.soak
def test_model_answers_as_itself_for_long() -> None:
    for batch in range(1000, 1500):
        for program in drawn(range(batch, batch + 1)):
            found = difference(program, play(program), play(program))
            assert not found, found
