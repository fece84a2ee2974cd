"""What there is to run, as the first worker says it: the controller itself collects nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.isolation.messages import Ready

if TYPE_CHECKING:
    from conformance.isolation.case_queue import CaseQueue
    from conformance.requirements.registry import Registry
    from conformance.session.cases import Case, Selection
    from conformance.session.recorder import Recorder


class Plan:
    """The tests of a session.

    Args:
        registry: the requirements.
        recorder: keeps the records.
        cases: by node id; filled from the first worker's message.
        selection: likewise.

    Attributes:
        ready: that message, once it is there.
    """

    def __init__(self, registry: Registry, recorder: Recorder, cases: dict[str, Case], selection: Selection) -> None:
        self.cases = cases
        self.ready: Ready | None = None
        self._registry = registry
        self._recorder = recorder
        self._selection = selection
        self._index: dict[str, int] = {}

    def adopt(self, ready: Ready) -> None:
        """Take over what the first worker says, and open the records.

        Raises:
            UsageError: one cannot be written.
        """
        self.ready = ready
        self._selection.not_applicable = ready.not_applicable
        self._selection.narrowed = ready.narrowed
        registries = {subject.name: self._registry.seen_by(subject.dialect) for subject in ready.subjects}
        self.cases.update({values.nodeid: values.case(registries[values.implementation]) for values in ready.cases})
        self._index = {nodeid: index for index, nodeid in enumerate(ready.nodeids)}
        self._recorder.open(ready.subjects)

    def index(self, nodeid: str) -> int:
        """The place of a test, by which a worker knows it."""
        return self._index[nodeid]

    def begin(self, queue: CaseQueue) -> None:
        """Write the records' headers, and put into `queue` what an earlier part of the run has not finished.

        Raises:
            RecordError: a record to go on with is of another run.
        """
        nodeids = () if self.ready is None else self.ready.nodeids
        planned = [self.cases[nodeid] for nodeid in nodeids if nodeid in self.cases]
        unfinished = {case.nodeid for case in self._recorder.begin(planned)}
        for nodeid in nodeids:
            case = self.cases.get(nodeid)
            if case is None:
                queue.put(nodeid, destructive=False)
            elif nodeid in unfinished:
                queue.put(nodeid, destructive=case.destructive)
