"""What a worker and its controller say to each other arrives as it was sent."""

from __future__ import annotations

from dataclasses import replace

import execnet
import pytest

from conformance.isolation.messages import (
    Begin,
    CaseValues,
    Devices,
    Done,
    ForkReady,
    InternalError,
    Message,
    Ready,
    Refused,
    Script,
    Started,
    StartUp,
    WriteScript,
    digest_of,
    from_event,
    is_own,
)
from conformance.records.subject import Subject
from conformance.requirements.loading import load_registry

SUBJECT = Subject("mine", "mine.py:Mine", "cuda", "2.13", {"pools": True}, {"python": "3.11"})
CASE = CaseValues("test_a.py::test_it[mine]", "test_a.py::test_it", "mine", ("reset.deletes-work",), 2.5, True)
READY = Ready(
    (SUBJECT,), (CASE.nodeid, "test_b.py::test_it"), (CASE,), {"mine": ["x"]}, True, Devices("VISIBLE", 2), ("gpu 0",)
)
FORK_READY = ForkReady((SUBJECT,), digest_of(READY.nodeids), ("gpu 0",))

MESSAGES = [
    Started(7),
    Refused("no such implementation", 4),
    READY,
    replace(READY, devices=None),
    FORK_READY,
    Done(3, exit_hooks=True),
    Script(3, "import torch"),
    Script(3, None),
    InternalError("it broke", ["pytest.fail was replaced"]),
    WriteScript(3, "its process was ended by SIGSEGV"),
    Begin(trial=True, reads=False),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name)
def test_a_message_crosses_the_gateway(message: Message) -> None:
    event = execnet.loads(execnet.dumps(message.to_event()))
    assert is_own(event[0])
    assert from_event(event) == message


def test_what_a_worker_starts_with_crosses_the_gateway() -> None:
    start_up = StartUp("/somewhere", False, {"VISIBLE": "1"}, "/tmp/folder", None, trial=True)  # noqa: S108 - nothing is there
    assert StartUp.from_dict(execnet.loads(execnet.dumps(start_up.to_dict()))) == start_up


def test_an_event_of_pytest_xdist_is_not_the_kits_own() -> None:
    assert not is_own("internal_error")


def test_a_case_crosses_by_its_requirements_ids() -> None:
    case = CASE.case(load_registry())
    assert [entry.id for entry in case.requirements] == list(CASE.requirements)
    assert CaseValues.of(case) == CASE


DIFFERENCES: dict[str, tuple[Ready | ForkReady, str | None]] = {
    "none": (READY, None),
    "devices": (replace(READY, devices=None), None),
    "revision": (
        replace(READY, subjects=(replace(SUBJECT, revision="2.14"),)),
        "differs from the first in its revision: '2.14' instead of '2.13'",
    ),
    "implementations": (replace(READY, subjects=()), "tests other implementations than the first"),
    "tests": (
        replace(READY, nodeids=(CASE.nodeid,)),
        "collected other tests than the first, such as test_b.py::test_it",
    ),
    "order": (replace(READY, nodeids=READY.nodeids[::-1]), "collected in another order"),
    "fork": (FORK_READY, None),
    "revision-of-fork": (
        replace(FORK_READY, subjects=(replace(SUBJECT, revision="2.14"),)),
        "differs from the first in its revision: '2.14' instead of '2.13'",
    ),
    "tests-of-fork": (
        replace(FORK_READY, digest=digest_of(READY.nodeids[::-1])),
        "collected other tests than the first",
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_workers_that_differ_are_told_apart(name: str) -> None:
    other, words = DIFFERENCES[name]
    assert READY.difference(other) == words


@pytest.mark.parametrize(
    ("visible", "devices"),
    [(None, ["0", "1", "0"]), ("4,6", ["4", "6", "4"]), ("GPU-a,GPU-b,GPU-c", ["GPU-a", "GPU-b", "GPU-a"])],
)
def test_each_place_has_a_device(monkeypatch: pytest.MonkeyPatch, visible: str | None, devices: list[str]) -> None:
    monkeypatch.delenv("VISIBLE", raising=False)
    if visible is not None:
        monkeypatch.setenv("VISIBLE", visible)
    assert [Devices("VISIBLE", 2).variables(slot) for slot in range(3)] == [{"VISIBLE": name} for name in devices]


def test_one_device_is_for_all() -> None:
    assert Devices("VISIBLE", 1).variables(0) == {}
