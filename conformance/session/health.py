"""Whether the process is fit for the next test: checked after each one."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.adapters import trial
from conformance.errors import HarnessError, Unsupported, is_out_of_memory, one_line
from conformance.session.device_memory import DeviceMemory
from conformance.session.judging import recover
from conformance.session.process_state import ProcessState, put_back

if TYPE_CHECKING:
    from conformance.adapter import Adapter

#: Bytes of device memory that may stay allocated after a test: libraries keep workspaces for each stream they meet.
MEMORY_SLACK = 64 << 20

_REMEMBERED_GRAPHS = 64


@dataclass(frozen=True)
class Baseline:
    """What a test began with."""

    process: ProcessState
    allocated: int | None


@dataclass(frozen=True)
class Residue:
    """What a test left behind.

    Attributes:
        changes: in words.
        unfit: why the process cannot run another test, or ``None`` when all could be put right.
        unusable: why no test could come to anything in the process, or ``None``.
        want: that the device had no memory to look with, as one line; ``None`` when it had.
    """

    changes: tuple[str, ...]
    unfit: str | None
    unusable: str | None = None
    want: str | None = None


@dataclass(frozen=True)
class _Wrong:
    """What is wrong with a small graph, in words, and whether a call raised it."""

    words: str
    raised: bool


class Health:
    """Looks after one implementation in one process.

    Attributes:
        memory: of the device.
        captures: whether a small graph could be captured and replayed before the first test, so that it must be
            possible after each; ``None`` while nobody has tried.  The suites judge a class that never can.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._graphs: deque[weakref.ref[Any]] = deque(maxlen=_REMEMBERED_GRAPHS)
        self._remember_graphs()
        self.memory = DeviceMemory(adapter)
        self.on_host = _is_on_host(adapter)
        # What waits for a garbage collection must not meet another test.  An implementation on the host cannot do
        # harm, and a collection after each test costs too much in the user's own process.  A worker has frozen all
        # that was loaded, so there it costs little.
        self.collects = not self.on_host
        self.captures: bool | None = None
        #: Whether its calls came through then, whatever the replay gave.
        self._comes_through = False

    def before(self, *, probe: bool = False) -> Baseline:
        """Note what a test begins with; with `probe`, try a class on the host, too."""
        self.memory.begin()
        if self.captures is None and (self.collects or probe):
            with put_back():
                self.try_capture()
        return Baseline(ProcessState.now(), self._allocated())

    def try_capture(self) -> None:
        """Find out whether this class can capture and replay a small graph here."""
        try:
            wrong = self._wrong_replay()
            self.captures = wrong is None
            self._comes_through = wrong is None or not wrong.raised
        except (
            NotImplementedError,
            HarnessError,
        ):  # an adapter without streams or tensors, or without the means to end
            self.captures = False
        except Exception as error:  # for want of memory nobody knows, and the next test asks again
            if not is_out_of_memory(error):
                raise

    def after(self, baseline: Baseline) -> Residue | None:
        """Put right what can be, and say what was wrong; ``None`` when nothing was."""
        changes = baseline.process.restore()
        unfit = next((change for change in changes if change.startswith("the thread")), None)
        if self.collects:
            gc.collect()
        for last in (False, True):
            try:
                found, unusable = self._look()
                leak = None if unusable else self._leak(baseline)
                changes += [*found, *([] if leak is None else [leak])]
                return Residue(tuple(changes), unfit or unusable or leak, unusable) if changes else None
            except HarnessError:  # a method that the adapter lacks says nothing of the class, and the test has said so
                return None
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                want = one_line(error)
                if not last:
                    self.memory.release()
        return Residue(tuple(changes), unfit or want, want=want)

    def _look(self) -> tuple[list[str], str | None]:
        """What is wrong with the device and the class now, and why they stay so; wants of memory are passed on."""
        changes, unfit = [], None
        trouble = self._trouble()
        # Where nothing tells, any test may have left a capture open, and many mean to.
        blind = not self._tells_of_captures()
        if trouble is not None or blind:
            changes += [] if trouble is None else [trouble]
            self._abort_captures()
            # What is wrong a second time stays wrong.
            unfit = self._trouble()
        if unfit is None and (self.captures or (blind and self._comes_through)):
            unfit = self._dead_captures()
            changes += [] if unfit is None else [unfit]
        return changes, unfit

    def _trouble(self) -> str | None:
        return recover(self.adapter) or self._wrong_result() or self._pending_error()

    def _wrong_result(self) -> str | None:
        """A computation small enough to be free, checked."""
        try:
            x = self.adapter.full(7, 3.0)
            x.add_(1.0)
            values = self.adapter.read(x).tolist()
        except NotImplementedError:  # an adapter without tensors
            return None
        except Exception as error:
            if is_out_of_memory(error):
                raise
            return f"a small computation raised {one_line(error)}"
        if values == [4.0] * 7:
            return None
        return f"a small computation gave {one_line(str(values), 80)} for seven times 4"

    def _tells_of_captures(self) -> bool:
        """Whether the adapter can say that a capture is open."""
        try:
            self.adapter.is_current_stream_capturing()
        except Unsupported:
            return False
        except Exception:  # what it raised was told before
            return True
        return True

    def _dead_captures(self) -> str | None:
        """Why no graph can be captured any more; what comes right again is nobody's fault."""
        if self._newly_wrong() is None:
            return None
        self._abort_captures()
        recover(self.adapter)
        wrong = self._newly_wrong()
        if wrong is None:
            return None
        # In a process that goes on all the same, it is charged to one test.
        self.captures = self._comes_through = False
        return wrong.words

    def _newly_wrong(self) -> _Wrong | None:
        """What is wrong with a small graph, and was not before the first test."""
        wrong = self._wrong_replay()
        if wrong is None or self.captures or (wrong.raised and self._comes_through):
            return wrong
        return None

    def _wrong_replay(self) -> _Wrong | None:
        """A graph small enough to be nearly free, captured, replayed and checked; in place, so that its pool is empty.

        Raises:
            NotImplementedError: the adapter has no means to.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wrong = trial.replay(self.adapter).wrong
            except NotImplementedError:
                raise
            except Unsupported:  # the device has no stream left for it
                return None
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                return _Wrong(f"capturing and replaying a small graph raised {one_line(error)}", raised=True)
        if wrong is not None:
            return _Wrong(f"in a small graph, {wrong}", raised=False)
        trouble = recover(self.adapter)  # which takes the stream back, too
        return None if trouble is None else _Wrong(trouble, raised=True)

    def _pending_error(self) -> str | None:
        last_error = getattr(self.adapter.runtime, "cudaGetLastError", None)
        if last_error is None:
            return None
        # Reading clears an error that a refused call left, which is allowed.  One that comes back is the device's.
        last_error()
        (error,) = last_error()
        return f"the device has the error {error!r} pending" if int(error) != 0 else None

    def _leak(self, baseline: Baseline) -> str | None:
        now = self._allocated()
        if baseline.allocated is None or now is None or now - baseline.allocated <= MEMORY_SLACK:
            return None
        gc.collect()
        self.adapter.release_library_memory()
        now = self._allocated()
        if now is None or now - baseline.allocated <= MEMORY_SLACK:
            return None
        return f"{(now - baseline.allocated) >> 20} MiB of device memory stayed allocated"

    def _allocated(self) -> int | None:
        if self.adapter.capabilities.get("memory_stats") is False:
            return None
        try:
            return self.adapter.memory_allocated()
        except Exception:  # the suites judge the call; without it there is no baseline
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
