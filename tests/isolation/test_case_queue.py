"""In which order tests are given out, and to whom."""

from __future__ import annotations

import pytest

from conformance.isolation.case_queue import CaseQueue, LostTest


@pytest.fixture
def queue() -> CaseQueue:
    """Two ordinary tests and two destructive ones."""
    queue = CaseQueue()
    for nodeid in ("deadly-1", "calm-1", "deadly-2", "calm-2"):
        queue.put(nodeid, destructive=nodeid.startswith("deadly"))
    return queue


def test_ordinary_tests_come_first(queue: CaseQueue) -> None:
    assert len(queue) == 4
    order = [queue.next_test(unharmed=True, alone=True) for _ in range(5)]
    assert order == ["calm-1", "calm-2", "deadly-1", "deadly-2", None]
    assert len(queue) == 0


@pytest.mark.parametrize(("unharmed", "alone"), [(False, True), (True, False)])
def test_a_destructive_test_needs_an_unharmed_worker_that_is_alone(
    queue: CaseQueue, unharmed: bool, alone: bool
) -> None:
    order = [queue.next_test(unharmed=unharmed, alone=alone) for _ in range(3)]
    assert order == ["calm-1", "calm-2", None]
    assert queue.has_test(unharmed=True)
    assert not queue.has_test(unharmed=False)
    assert queue.next_test(unharmed=True, alone=True) == "deadly-1"


def test_a_worker_is_needed_for_ordinary_tests(queue: CaseQueue) -> None:
    assert queue.needs_worker(fresh=5, others=5)


@pytest.mark.parametrize(("fresh", "needed"), [(1, True), (2, False)])
def test_a_fresh_worker_is_needed_for_each_destructive_test(queue: CaseQueue, fresh: int, needed: bool) -> None:
    for _ in range(2):
        queue.next_test(unharmed=True, alone=True)
    assert queue.needs_worker(fresh=fresh, others=3) is needed


@pytest.mark.parametrize(("others", "needed"), [(0, True), (1, False)])
def test_a_script_needs_one_worker(others: int, needed: bool) -> None:
    queue = CaseQueue()
    lost = LostTest("calm-1", "its process was ended by SIGSEGV")
    queue.put_lost(lost, urgent=True)
    assert queue.needs_worker(fresh=0, others=others) is needed
    assert queue.next_lost() == lost
    assert queue.next_lost() is None
    assert not queue.needs_worker(fresh=0, others=0)


def test_what_runs_again_at_once_is_the_next_of_its_kind(queue: CaseQueue) -> None:
    queue.put_first("deadly-3", destructive=True)
    queue.put_first("calm-3", destructive=False)
    order = [queue.next_test(unharmed=True, alone=True) for _ in range(6)]
    assert order == ["calm-3", "calm-1", "calm-2", "deadly-3", "deadly-1", "deadly-2"]


def test_a_script_that_can_wait_is_written_when_all_tests_are_over(queue: CaseQueue) -> None:
    patient, urgent = (LostTest(name, "its process was ended by SIGSEGV") for name in ("calm-3", "calm-4"))
    queue.put_lost(patient, urgent=False)
    queue.put_lost(urgent, urgent=True)
    assert queue.next_lost() == urgent
    assert queue.next_lost() is None
    for _ in range(4):
        queue.next_test(unharmed=True, alone=True)
    assert queue.needs_worker(fresh=0, others=0)
    assert queue.next_lost() == patient


def test_a_script_that_has_waited_can_be_forgotten() -> None:
    queue = CaseQueue()
    queue.put_lost(LostTest("calm-1", "its process was ended by SIGSEGV"), urgent=False)
    queue.drop_patient()
    assert queue.next_lost() is None
    assert not queue.needs_worker(fresh=0, others=0)
