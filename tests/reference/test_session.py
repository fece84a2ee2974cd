"""The asynchronous session of the software device: what is not ordered shows, what is ordered does not."""

from __future__ import annotations

import pytest
import torch

import reference_impl as ref

from .programs import PROGRAMS
from .test_real_programs import SEEDS, assert_same, eager, snapshot

SESSIONS = range(12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_eagers_bits(name: str) -> None:
    """Eager steps, then replays, with host reads between them and nothing else that waits."""
    expected, _ = eager(PROGRAMS[name])
    for seed in SESSIONS[:3]:
        torch.manual_seed(0)
        program = PROGRAMS[name]()
        torch.manual_seed(1)
        graph = ref.CUDAGraph()
        with ref.graph(graph):
            outputs = program.step()
        actual = []
        with ref.session(seed):
            for refill in SEEDS:
                program.refill(refill)
                graph.replay()
                actual.append([ref.read(tensor) for tensor in (*outputs, *program.state)])
        assert_same(actual, expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_eager_work_in_a_session_gives_eagers_bits(name: str) -> None:
    expected, _ = eager(PROGRAMS[name])
    for seed in SESSIONS[:3]:
        torch.manual_seed(0)
        program = PROGRAMS[name]()
        torch.manual_seed(1)
        actual = []
        with ref.session(seed):
            for refill in SEEDS:
                program.refill(refill)
                outputs = program.step()
                actual.append([ref.read(tensor) for tensor in (*outputs, *program.state)])
        assert_same(actual, expected)


def unordered_read(seed: int) -> float:
    """A replay on a side stream, read on another one without waiting."""
    x = ref.tensor([1.0] * 5)
    graph, side = ref.CUDAGraph(), ref.Stream()
    with ref.graph(graph):
        y = x + 1
    with ref.session(seed):
        side.wait_stream(ref.current_stream())
        with ref.stream(side):
            graph.replay()
        return float(ref.read(y)[0])


def test_a_read_that_waits_for_nothing_shows() -> None:
    values = [unordered_read(seed) for seed in SESSIONS]
    assert any(value != 2.0 for value in values)


def test_a_read_behind_a_wait_is_right() -> None:
    for seed in SESSIONS:
        x = ref.tensor([1.0] * 5)
        graph, side = ref.CUDAGraph(), ref.Stream()
        with ref.graph(graph):
            y = x + 1
        with ref.session(seed):
            side.wait_stream(ref.current_stream())
            with ref.stream(side):
                graph.replay()
            ref.current_stream().wait_stream(side)
            assert ref.read(y).tolist() == [2.0] * 5


def test_memory_freed_under_another_streams_work_shows() -> None:
    """The side stream still reads a tensor whose memory the main stream has freed and used again."""
    totals = set()
    for seed in SESSIONS:
        x = ref.tensor([1.0] * 200)
        side = ref.Stream()
        with ref.session(seed):
            y = x + 1
            side.wait_stream(ref.current_stream())
            with ref.stream(side):
                total = y * 1.0
            del y
            other = x + 40
            with ref.stream(side):
                totals.add(float(ref.read(total)[0]))
            assert float(ref.read(other)[0]) == 41.0
    assert len(totals) > 1
    assert 2.0 in totals


def test_an_event_means_its_latest_record() -> None:
    for seed in SESSIONS:
        x = ref.tensor([0.0] * 5)
        side, event = ref.Stream(), ref.Event()
        with ref.session(seed):
            event.record()
            x.add_(1)
            event.record()
            event.wait(side)
            with ref.stream(side):
                assert ref.read(x).tolist() == [1.0] * 5


def test_a_host_read_waits_for_its_stream() -> None:
    for seed in SESSIONS:
        x = ref.tensor([3.0, 0.0, 5.0])
        with ref.session(seed):
            y = x * 2
            assert y[2].item() == 10.0
            assert torch.nonzero(y).flatten().tolist() == [0, 2]


def test_dropping_a_graph_right_after_replay_is_safe() -> None:
    for seed in SESSIONS:
        x = ref.tensor([1.0] * 5)
        graph = ref.CUDAGraph()
        with ref.graph(graph):
            y = (x + 1) * 3
        with ref.session(seed):
            graph.replay()
            del graph
            assert ref.read(y).tolist() == [6.0] * 5


def test_everything_has_run_when_the_session_is_left() -> None:
    x = ref.tensor([1.0] * 5)
    with ref.session(3):
        y = x + 1
    assert y.tolist() == [2.0] * 5
    assert snapshot([y])[0].tolist() == [2.0] * 5


def test_sessions_do_not_nest() -> None:
    with ref.session(0), pytest.raises(RuntimeError, match="one is open"), ref.session(1):
        pass
