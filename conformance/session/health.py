"""Whether the process is fit for the next test, asked after each one."""

from __future__ import annotations

import gc
import weakref
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import one_line
from conformance.session.judging import recover
from conformance.session.process_state import ProcessState

if TYPE_CHECKING:
    from conformance.adapter import Adapter

#: Bytes of device memory that may stay allocated after a test: libraries keep workspaces for each stream they meet.
MEMORY_SLACK = 64 << 20

_REMEMBERED_GRAPHS = 64


@dataclass(frozen=True)
class Before:
    """What a test began with."""

    process: ProcessState
    allocated: int | None


@dataclass(frozen=True)
class Finding:
    """What a test left behind.

    Attributes:
        changes: in words.
        unfit: why the process cannot run another test, or ``None`` when all could be put right.
    """

    changes: tuple[str, ...]
    unfit: str | None


class Health:
    """Looks after one implementation in one process."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._graphs: deque[weakref.ref[Any]] = deque(maxlen=_REMEMBERED_GRAPHS)
        self._remember_graphs()
        self.on_host = _is_on_host(adapter)
        # What waits for a collection must not meet another test.  In a process of the user's that costs too much for
        # what cannot harm the host; in a worker, which has frozen all that was loaded, it costs little.
        self.collects = not self.on_host

    def before(self) -> Before:
        """Note what a test begins with."""
        return Before(ProcessState.now(), self._allocated())

    def after(self, before: Before) -> Finding | None:
        """Put right what can be, and say what was wrong; ``None`` when nothing was."""
        changes = before.process.put_back()
        unfit = next((change for change in changes if change.startswith("the thread")), None)
        if self.collects:
            gc.collect()
        trouble = self._trouble(before)
        if trouble is not None:
            changes.append(trouble)
            self._abort_captures()
            # What is wrong a second time stays wrong.
            still = self._trouble(before)
            unfit = unfit or still
        return Finding(tuple(changes), unfit) if changes else None

    def _trouble(self, before: Before) -> str | None:
        return recover(self.adapter) or self._wrong_result() or self._pending_error() or self._leak(before)

    def _wrong_result(self) -> str | None:
        """A computation small enough to be free, checked."""
        try:
            x = self.adapter.full(7, 3.0)
            x.add_(1.0)
            seen = self.adapter.read(x).tolist()
        except NotImplementedError:  # an adapter without tensors
            return None
        except Exception as error:
            return f"a small computation raised {one_line(error)}"
        return None if seen == [4.0] * 7 else f"a small computation gave {one_line(str(seen), 80)} for seven times 4"

    def _pending_error(self) -> str | None:
        last_error = getattr(self.adapter.runtime, "cudaGetLastError", None)
        if last_error is None:
            return None
        # Reading clears an error that a refused call left, which is in order; one that comes back is the device's.
        last_error()
        (error,) = last_error()
        return f"the device has the error {error!r} pending" if int(error) != 0 else None

    def _leak(self, before: Before) -> str | None:
        now = self._allocated()
        if before.allocated is None or now is None or now - before.allocated <= MEMORY_SLACK:
            return None
        gc.collect()
        self.adapter.release_library_memory()
        now = self._allocated()
        if now is None or now - before.allocated <= MEMORY_SLACK:
            return None
        return f"{(now - before.allocated) >> 20} MiB of device memory stayed allocated"

    def _allocated(self) -> int | None:
        if self.adapter.capabilities.get("memory_stats") is False:
            return None
        try:
            return self.adapter.memory_allocated()
        except Exception:  # what the call does is a matter for the suites; without it there is no baseline
            return None

    # -- captures that a test left open -------------------------------------------------------------------------------

    def _remember_graphs(self) -> None:
        make = self.adapter.new_graph

        def new_graph(*arguments: Any, **settings: Any) -> Any:
            graph = make(*arguments, **settings)
            try:
                self._graphs.append(weakref.ref(graph))
            except TypeError:  # a class without weak references cannot be looked after
                return graph
            return graph

        self.adapter.new_graph = new_graph  # type: ignore[method-assign]

    def _abort_captures(self) -> None:
        for reference in list(self._graphs):
            graph = reference()
            if graph is not None:
                self.adapter.abort_capture(graph)
        self._graphs.clear()


def _is_on_host(adapter: Adapter) -> bool:
    try:
        return adapter.device.type == "cpu"
    except NotImplementedError:  # an adapter without tensors
        return False
