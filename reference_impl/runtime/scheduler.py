"""When submitted work runs: at once, or as late and as interleaved as its dependencies allow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Final

from reference_impl.runtime.adversary import adversary
from reference_impl.runtime.errors import LOCK, Refusal, kernel_failed
from reference_impl.runtime.streams import Event, Stamp, Stream, legacy

Action = Callable[[], None]


class Batch:
    """Work submitted together, such as one graph launch: once a part failed the rest is skipped.

    `memory` stays acquired until the last part is done.
    """

    __slots__ = ("failed", "memory")

    def __init__(self, memory: object = None) -> None:
        self.failed = False
        self.memory = memory


class Task:
    """A piece of deferred work.  `waits_for` is what has to be done before; empty when it may run."""

    __slots__ = ("action", "batch", "done", "followers", "waits_for")

    def __init__(self, action: Action | None, batch: Batch, waits_for: Iterable[Task]) -> None:
        self.action = action
        self.batch: Batch | None = batch
        self.done = False
        self.followers: list[Task] = []
        self.waits_for = {each for each in waits_for if not each.done}
        for each in self.waits_for:
            each.followers.append(self)


def perform(action: Action) -> None:
    """Run an action now; what a kernel raises becomes a launch failure."""
    try:
        action()
    except Refusal:
        raise
    except Exception as failure:
        raise kernel_failed(failure) from failure


class Deferred:
    """Pending work as a graph: a task waits for others, and runs only when somebody must see it done."""

    def __init__(self) -> None:
        self.pending: dict[Task, None] = {}
        self.ready: dict[Task, None] = {}
        self.serial: dict[Hashable, Task] = {}
        # One thread at a time drives work, so that what it runs is in one definite order.
        self.driving = threading.RLock()

    def add(
        self, action: Action | None, batch: Batch, waits_for: Iterable[Task], serial: Hashable | None = None
    ) -> Task:
        """Queue a task; it also waits for the latest task with an equal `serial` other than None."""
        before = list(waits_for)
        if serial is not None and serial in self.serial:
            before.append(self.serial[serial])
        task = Task(action, batch, before)
        self.pending[task] = None
        if not task.waits_for:
            self.ready[task] = None
        if serial is not None:
            self.serial[serial] = task
        return task

    def drive(self, targets: Iterable[Task] | None, limit: int | None = None) -> None:
        """Finish `targets`, or everything for None, and some other work as the adversary likes.

        Stops after `limit` needed tasks.  The first failure met is raised at the end.
        """
        failure: Refusal | None = None
        with self.driving, policy.surround():
            with LOCK:
                needed = dict.fromkeys(self.pending if targets is None else _closure(targets))
                greed = adversary.choice((0.0, 0.3, 0.6))
                pick = adversary.choice((_first, _last, adversary.choice))
            ran = 0
            while needed and (limit is None or ran < limit):
                with LOCK:
                    ready = list(self.ready)
                    if adversary.random() >= greed:
                        ready = [each for each in ready if each in needed]
                    if not ready:
                        # Only a kernel that waits for itself gets here: let it go on.
                        break
                    task = pick(ready)
                    del self.pending[task], self.ready[task]
                if task in needed:
                    del needed[task]
                    ran += 1
                try:
                    self._run(task)
                except Refusal as refusal:
                    failure = failure or refusal
        if failure is not None:
            raise failure

    def _run(self, task: Task) -> None:
        action, batch = task.action, task.batch
        try:
            if action is not None and batch is not None and not batch.failed:
                perform(action)
        except Refusal:
            if batch is not None:
                batch.failed = True
            raise
        finally:
            with LOCK:
                task.done = True
                for follower in task.followers:
                    follower.waits_for.discard(task)
                    if not follower.waits_for:
                        self.ready[follower] = None
                # A done task may be named by events and executables for long: it keeps nothing alive.
                task.action = task.batch = None
                task.followers = []


def _first(tasks: Sequence[Task]) -> Task:
    return tasks[0]


def _last(tasks: Sequence[Task]) -> Task:
    return tasks[-1]


def _closure(targets: Iterable[Task]) -> dict[Task, None]:
    closure: dict[Task, None] = {}
    front = [each for each in targets if not each.done]
    while front:
        task = front.pop()
        if task not in closure:
            closure[task] = None
            front.extend(task.waits_for)
    return closure


class _Policy:
    deferred: Deferred | None = None
    #: Entered around pending work when it runs, in whatever thread and state somebody waits for it.
    surround: Callable[[], AbstractContextManager[object]] = staticmethod(nullcontext)


policy: Final = _Policy()


@contextmanager
def deferred(seed: int = 0) -> Iterator[None]:
    """Leave submitted work pending, in every thread, until something that CUDA guarantees needs it.

    Everything has run when the context is left; what a kernel raised meanwhile, with nothing synchronised after it, is
    raised then.  Raises RuntimeError inside of another such context.
    """
    with LOCK:
        if policy.deferred is not None:
            raise RuntimeError("deferred() is already active; leave it before entering it again")
        adversary.seed(seed)
        policy.deferred = work = Deferred()
    try:
        yield
    except BaseException:
        # The exception under way says more than a later failure of the device.
        with suppress(Refusal):
            work.drive(None)
        raise
    else:
        try:
            work.drive(None)
        except Refusal as refusal:
            raise (refusal.__cause__ or refusal) from None
    finally:
        with LOCK:
            policy.deferred = None


def surround_kernels(factory: Callable[[], AbstractContextManager[object]]) -> None:
    """Have every run of pending work take place inside `factory()`."""
    policy.surround = factory


def idle() -> bool:
    """Whether no work is pending anywhere."""
    return policy.deferred is None or not policy.deferred.pending


def predecessors(stream: Stream) -> tuple[Task, ...]:
    """The unfinished work that the next work on `stream` waits for."""
    waits = stream.tail
    if stream.legacy:
        waits += tuple(task for each in _blocking_streams() for task in each.tail)
    elif stream.blocking:
        waits += legacy.tail
    return tuple(task for task in waits if not task.done)


def advance(stream: Stream, task: Task) -> None:
    """Make `task` the latest work of `stream`."""
    stream.tail = (task,)
    if stream.blocking:
        _used_blocking[stream] = None


# Per-thread default streams have no handle of their own, so the ones with work are remembered here.
_used_blocking: dict[Stream, None] = {}


def _blocking_streams() -> list[Stream]:
    for stream in list(_used_blocking):
        if all(task.done for task in stream.tail):
            del _used_blocking[stream]
    return list(_used_blocking)


def submit(stream: Stream, action: Action, *, serial: Hashable | None = None, memory: object = None) -> None:
    """Hand one piece of work to `stream`."""
    work = policy.deferred
    if work is None:
        perform(action)
        return
    with LOCK:
        advance(stream, work.add(action, Batch(memory), predecessors(stream), serial))


def record(stream: Stream, event: Event) -> None:
    """Let `event` mark all work of `stream` so far."""
    event.captured = None
    work = policy.deferred
    if not event.timed:
        event.work = () if work is None else predecessors(stream)
        return
    event.stamp = Stamp()
    if work is None:
        event.stamp()
        event.work = ()
    else:
        task = work.add(event.stamp, Batch(), predecessors(stream))
        advance(stream, task)
        event.work = (task,)


def wait(stream: Stream, event: Event) -> None:
    """Let all later work of `stream` wait for what `event` marks now."""
    work = policy.deferred
    if work is not None and event.work:
        advance(stream, work.add(None, Batch(), (*predecessors(stream), *event.work)))


def finish(tasks: Iterable[Task] | None) -> None:
    """Run what has to run for `tasks`, or for all work for None, to be done."""
    if policy.deferred is not None:
        policy.deferred.drive(tasks)


def finish_serial(serial: Hashable) -> None:
    """Run what has to run for the latest work with that `serial` to be done.  Raises what a kernel raised."""
    work = policy.deferred
    latest = None if work is None else work.serial.get(serial)
    if latest is None:
        return
    try:
        finish([latest])
    except Refusal as refusal:
        raise (refusal.__cause__ or refusal) from None


def poll(tasks: Sequence[Task]) -> bool:
    """Whether `tasks` are done; asking brings those that are not a little further."""
    if policy.deferred is None or all(task.done for task in tasks):
        return True
    with LOCK:
        limit = adversary.randint(1, 3)
    policy.deferred.drive(tasks, limit)
    return all(task.done for task in tasks)
