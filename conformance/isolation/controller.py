"""The hooks of pytest and pytest-xdist in the process that the user started, which outlives whatever its workers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import ConformanceError
from conformance.isolation import bootstrap
from conformance.isolation.distributor import Distributor
from conformance.isolation.events import EventHandlers
from conformance.isolation.plan import Plan
from conformance.isolation.publisher import Publisher
from conformance.isolation.supervisor import Supervisor
from conformance.records.subject import Subject
from conformance.session.ending import refuse

if TYPE_CHECKING:
    from conformance.requirements.registry import Registry
    from conformance.session.cases import Case, Selection
    from conformance.session.options import Options
    from conformance.session.recorder import Recorder


class Controller:
    """Runs a session's tests in workers.

    Args:
        config: of the session.
        options: what the command line says.
        registry: the requirements.
        recorder: keeps the records.
        cases: by node id; filled from the first worker's message.
        selection: likewise.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        registry: Registry,
        recorder: Recorder,
        cases: dict[str, Case],
        selection: Selection,
    ) -> None:
        self._config = config
        self._options = options
        self._recorder = recorder
        # The kit gives out the tests itself.
        config.option.dist = "no"
        self._plan = Plan(registry, recorder, cases, selection)
        self._supervisor = Supervisor(config, options, recorder)
        self._publisher = Publisher(config)
        self._distributor = Distributor(config, options, recorder, self._plan, self._supervisor, self._publisher)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_getremotemodule(self) -> Any:
        """What the gateways run, instead of pytest-xdist's own."""
        return bootstrap

    @pytest.hookimpl
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Ask the first worker what there is to run; nothing is collected here."""
        self._publisher.prepare()
        events = self._event_handlers(session)
        self._supervisor.start(0)
        while self._plan.ready is None and self._recorder.stopped is None and not session.shouldfail:
            self._turn(events)
        self._begin(session)
        return True

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests."""
        if self._plan.ready is None or self._config.option.collectonly:
            return True
        events = self._event_handlers(session)
        for slot in range(1, min(self._supervisor.places, len(self._distributor.queue))):
            self._supervisor.start(slot)
        for worker in list(self._supervisor.workers.values()):
            if worker.ready:
                self._distributor.go_on(worker)
        while self._supervisor.is_busy and self._recorder.stopped is None:
            self._turn(events)
            if session.shouldfail:
                self._write_scripts(events)
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
        return True

    def _write_scripts(self, events: EventHandlers) -> None:
        """Have the scripts of lost tests written, though no other test is to run."""
        self._distributor.run_no_more()
        while self._distributor.owes_scripts() and self._supervisor.is_busy and self._recorder.stopped is None:
            self._turn(events)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End whatever still runs."""
        self._supervisor.end()

    def _event_handlers(self, session: pytest.Session) -> EventHandlers:
        return EventHandlers(session, self._recorder, self._plan, self._supervisor, self._distributor)

    def _turn(self, events: EventHandlers) -> None:
        """Wait for one event, or for the time to look after a worker."""
        event = self._supervisor.next_event()
        if event is not None:
            events.handle(*event)
        if event is None or self._supervisor.is_overdue():
            self._distributor.look_around()

    def _begin(self, session: pytest.Session) -> None:
        ready = self._plan.ready
        try:
            if ready is None:
                self._begin_without_workers()
                return
            if not self._config.option.collectonly:
                self._plan.begin(self._distributor.queue)
        except ConformanceError as error:
            refuse(error)
        session.testscollected = len(ready.nodeids)
        if self._config.option.collectonly:
            print(*ready.nodeids, sep="\n")

    def _begin_without_workers(self) -> None:
        """Leave a record that says why there was no run."""
        if self._recorder.stopped is None or self._options.resume is not None or self._config.option.collectonly:
            return
        self._recorder.open(Subject.unknown(spec) for spec in self._options.implementations)
        self._recorder.begin([])
