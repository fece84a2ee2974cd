"""What is gathered of a test while it runs, for the case that it fails."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from conformance.evidence.graphs import read, readable
from conformance.evidence.tracing import Tracer

if TYPE_CHECKING:
    from conformance.adapter import Adapter
    from conformance.evidence.calls import CallRing
    from conformance.evidence.names import KnownGraph

    Graphs = list[tuple[KnownGraph, Any]]


class Evidence:
    """Notes the calls of one test after the other.

    Args:
        adapters: of the implementations, by name.
        ring: where calls are noted.
    """

    def __init__(self, adapters: Mapping[str, Adapter], ring: CallRing) -> None:
        self._adapters = adapters
        self._ring = ring
        changes: list[Callable[[], None]] = []
        self._tracers = {name: Tracer(adapter, ring, changes) for name, adapter in adapters.items()}

    def clear(self) -> None:
        """Forget the test before."""
        self._ring.clear()

    @contextlib.contextmanager
    def of_test(self, implementation: str) -> Iterator[None]:
        """Note the calls of the block."""
        tracer = self._tracers[implementation]
        tracer.begin()
        tracer.on = True
        try:
            yield
        finally:
            tracer.on = False

    def calls(self) -> tuple[str, ...]:
        """The last calls of the test, oldest first."""
        return tuple(self._ring.calls())

    def readable(self, implementation: str) -> Graphs:
        """The graphs of the test that can be asked what they consist of."""
        return readable(self._adapters[implementation], self._tracers[implementation].names)

    def read(self, implementation: str, graphs: Graphs) -> tuple[dict[str, Any], ...]:
        """What they say; a broken one may end the process."""
        with warnings.catch_warnings():  # nobody asked for what the class has to say now
            warnings.simplefilter("ignore")
            return tuple(read(self._adapters[implementation], self._tracers[implementation].names, graphs))

    def release(self) -> None:
        """Leave the adapters and the classes as they were."""
        for tracer in self._tracers.values():
            tracer.release()
