"""What a worker and its controller say to each other, besides pytest-xdist's own messages.

A message crosses as an event of pytest-xdist's: a name and a dictionary of plain values.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.records.subject import Subject
from conformance.session.cases import Case

if TYPE_CHECKING:
    from typing_extensions import Self

    from conformance.requirements.registry import Registry

#: The key of the `StartUp` in the values that pytest-xdist gives a worker.
START_UP = "conformance"
_PREFIX = "conformance_"


@dataclass(frozen=True)
class PlainValues:
    """What crosses as it is, or as a part of a message."""

    def to_dict(self) -> dict[str, Any]:
        """It as plain values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return cls(**values)


@dataclass(frozen=True)
class StartUp(PlainValues):
    """What a worker starts with; the one message of which `bootstrap` reads a part without the kit.

    Attributes:
        directory: to work in; ``None`` for the one that it is in.
        same_python: whether its modules are those of the controller's interpreter.
        variables: of the environment, to set.
        folder: for the files that it leaves behind.
        parent: the id of the process whose end must be its own; ``None`` for a worker behind a gateway.
        trial: whether to try the class before the first test: make, capture and replay a graph.
        reads: whether to read the graphs of tests that failed, which may end the process.
        spare: whether to wait, once everything is imported and collected, and open no device before it is needed.
    """

    directory: str | None
    same_python: bool
    variables: Mapping[str, str]
    folder: str
    parent: int | None
    trial: bool
    spare: bool = False
    reads: bool = False


@dataclass(frozen=True)
class Message(PlainValues):
    """What is sent while a worker runs.

    Attributes:
        name: of the event that it crosses as.
    """

    name: ClassVar[str]

    def to_event(self) -> tuple[str, dict[str, Any]]:
        """The message as an event."""
        return _PREFIX + self.name, self.to_dict()


# -- from a worker ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Started(Message):
    """The worker's process is there.

    Attributes:
        pid: its id on its machine.
    """

    name = "started"
    pid: int


@dataclass(frozen=True)
class Refused(Message):
    """The worker says no to what the user asked for.

    Attributes:
        text: why.
        exit_status: for the session.
    """

    name = "refused"
    text: str
    exit_status: int


@dataclass(frozen=True)
class CaseValues(PlainValues):
    """A test of an implementation, by its requirements' ids: the controller looks them up in its own registry.

    Attributes:
        nodeid, test, implementation, seconds, draws: as in a `Case`.
        requirements: their ids.
    """

    nodeid: str
    test: str
    implementation: str
    requirements: tuple[str, ...]
    seconds: float
    draws: bool

    @classmethod
    def of(cls, case: Case) -> CaseValues:
        """The values of `case`."""
        return cls(case.nodeid, case.test, case.implementation, case.ids, case.seconds, case.draws)

    def case(self, registry: Registry) -> Case:
        """The case that they are of."""
        entries = tuple(registry.get(identity, self.nodeid) for identity in self.requirements)
        return Case(self.nodeid, self.test, self.implementation, entries, self.seconds, self.draws)


@dataclass(frozen=True)
class Devices(PlainValues):
    """Several devices of which a worker can be given one.

    Attributes:
        variable: the environment variable that says which ones a process sees.
        count: how many there are.
    """

    variable: str
    count: int

    def variables(self, slot: int) -> dict[str, str]:
        """The environment that gives the worker in `slot` a device of its own."""
        if self.count < 2:
            return {}
        number = slot % self.count
        visible = [name for name in os.environ.get(self.variable, "").split(",") if name]
        return {self.variable: visible[number] if number < len(visible) else str(number)}


@dataclass(frozen=True)
class Ready(Message):
    """The worker knows what there is to run.

    Attributes:
        subjects: the implementations.
        nodeids: of all tests, in their order; a test is run by its place among them.
        cases: the tests of implementations.
        not_applicable, narrowed: as in a `Selection`.
        devices: those that workers can be spread over, if any.
        accelerators: those that this worker is on, by names that hold on its machine.
    """

    name = "ready"
    subjects: tuple[Subject, ...]
    nodeids: tuple[str, ...]
    cases: tuple[CaseValues, ...]
    not_applicable: dict[str, list[str]]
    narrowed: bool
    devices: Devices | None
    accelerators: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The message as plain values, all the way down."""
        return {
            **super().to_dict(),
            "subjects": [subject.to_dict() for subject in self.subjects],
            "cases": [case.to_dict() for case in self.cases],
            "devices": None if self.devices is None else self.devices.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Ready:
        """The inverse of `to_dict`."""
        subjects = tuple(Subject(**subject) for subject in values["subjects"])
        cases = tuple(CaseValues.from_dict(case) for case in values["cases"])
        devices = None if values["devices"] is None else Devices.from_dict(values["devices"])
        return cls(**{**values, "subjects": subjects, "cases": cases, "devices": devices})

    @functools.cached_property
    def digest(self) -> str:
        """The digest of the tests."""
        return digest_of(self.nodeids)

    def difference(self, other: Ready | ForkReady) -> str | None:
        """How `other` differs from this one in what a run rests on; ``None`` when it does not."""
        if self.subjects != other.subjects:
            return self._other_subjects(other)
        if isinstance(other, ForkReady):
            return None if self.digest == other.digest else "collected other tests than the first"
        if self.nodeids == other.nodeids:
            return None
        odd = sorted({*self.nodeids} ^ {*other.nodeids})
        return f"collected other tests than the first, such as {odd[0]}" if odd else "collected in another order"

    def _other_subjects(self, other: Ready | ForkReady) -> str:
        for own, theirs in zip(self.subjects, other.subjects, strict=False):
            for name, value in own.to_dict().items():
                if getattr(theirs, name) != value:
                    return f"differs from the first in its {name}: {getattr(theirs, name)!r} instead of {value!r}"
        return "tests other implementations than the first"


def digest_of(nodeids: Sequence[str]) -> str:
    """A digest of tests in their order."""
    return hashlib.sha256("\n".join(nodeids).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ForkReady(Message):
    """A fork knows what there is to run: what its zygote has collected.  To say it all would take longer than to fork.

    Attributes:
        subjects, accelerators: as in `Ready`.
        digest: of the tests.
    """

    name = "fork_ready"
    subjects: tuple[Subject, ...]
    digest: str
    accelerators: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The message as plain values, all the way down."""
        return {**super().to_dict(), "subjects": [subject.to_dict() for subject in self.subjects]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ForkReady:
        """The inverse of `to_dict`."""
        return cls(**{**values, "subjects": tuple(Subject(**subject) for subject in values["subjects"])})


@dataclass(frozen=True)
class Judged(Message):
    """A test has failed, and now its graphs are read; whatever that does to the worker is not the test's.

    Attributes:
        outcome: of the test so far, as plain values.
    """

    name = "judged"
    outcome: Mapping[str, Any]


@dataclass(frozen=True)
class Done(Message):
    """A test has ended, and the worker is well.

    Attributes:
        index: the test's place.
        exit_hooks: whether the test has put something off to the end of the process.
    """

    name = "done"
    index: int
    exit_hooks: bool


@dataclass(frozen=True)
class Script(Message):
    """The script for a test that another process did not survive.

    Attributes:
        index: the test's place.
        text: of the script; ``None`` when none can be written.
    """

    name = "script"
    index: int
    text: str | None


@dataclass(frozen=True)
class InternalError(Message):
    """In the worker, pytest itself failed.

    Attributes:
        text: what it says.
        changes: of pytest and of the kit by a test, in words.
    """

    name = "internal_error"
    text: str
    changes: Sequence[str]


# -- to a worker ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Begin(Message):
    """Asks a spare worker to be one of those that work.

    Attributes:
        trial, reads: as in a `StartUp`, and as they are now: much may have happened since the worker was started.
    """

    name = "begin"
    trial: bool
    reads: bool


@dataclass(frozen=True)
class WriteScript(Message):
    """Asks for the script for a test that another process did not survive.

    Attributes:
        index: the test's place.
        failure: how that process ended.
    """

    name = "write_script"
    index: int
    failure: str


_MESSAGES: dict[str, type[Message]] = {
    _PREFIX + each.name: each
    for each in (Started, Refused, Ready, ForkReady, Judged, Done, Script, InternalError, Begin, WriteScript)
}


def is_own(event: str) -> bool:
    """Whether an event's name is that of one of these messages."""
    return event in _MESSAGES


def from_event(event: tuple[str, Mapping[str, Any]]) -> Message:
    """The message that crossed as an event; the inverse of `Message.to_event`."""
    name, values = event
    return _MESSAGES[name].from_dict(values)
