"""What runs in a worker: a pytest session that runs the tests it is given, and says what each one comes to."""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import xdist.remote
from _pytest.config import _prepareconfig, create_terminal_writer
from xdist.remote import Marker, WorkerInteractor, setup_config

from conformance.errors import ExitStatus
from conformance.evidence.calls import CallRing
from conformance.isolation.messages import (
    START_UP,
    Begin,
    CaseValues,
    Devices,
    Done,
    ForkReady,
    InternalError,
    Judged,
    Message,
    Ready,
    Refused,
    Script,
    Started,
    StartUp,
    WriteScript,
    from_event,
    is_own,
)
from conformance.isolation.process_control import CALLS, OUTPUT, STACKS, TAIL, tail
from conformance.isolation.sendable import sendable
from conformance.records.subject import Subject
from conformance.records.tested import accelerator_of
from conformance.session.foreign_warnings import portable
from conformance.session.process_state import ProcessState, changed_judges

if TYPE_CHECKING:
    from conformance.session.executor import Executor

_PR_SET_PDEATHSIG = 1
# No second handler of fatal signals, and output that a crash leaves behind.
_PYTEST_OPTIONS = (
    *("-p", "no:faulthandler", "--capture=no", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *("-p", "no:benchmark"),  # pytest-benchmark warns of pytest-xdist, which is an error under -W error
)

_LIBRARIES = frozenset({"torch", "hypothesis", "pytest", "_pytest", "numpy", "execnet", "xdist", "sympy"})


@dataclass
class BlackBox:
    """What outlives the process."""

    folder: Path
    stacks: Any


def run(channel: Any, values: tuple[Any, ...]) -> None:
    """Be a worker until the controller ends it.  `values` is what pytest-xdist sends to one."""
    workerinput, arguments, options, _ = values
    start_up = StartUp.from_dict(workerinput[START_UP])
    box = open_black_box(Path(start_up.folder))
    leave_the_group()
    die_with(start_up.parent)
    channel.send(Started(os.getpid()).to_event())
    name_worker(workerinput)
    try:
        config = configured(arguments, options.get("basetemp"), workerinput)
        vars(xdist.remote)["interactor"] = Interactor(config, channel, box, start_up=start_up)
        config.hook.pytest_cmdline_main(config=config)
    except pytest.UsageError as error:
        channel.send(sendable(Refused(str(error), int(ExitStatus.USAGE)).to_event()))


class _Unheard:
    """Stands for the terminal, whose writer pytest before 9.1 asks for when it words a comparison; it has no hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self._tw = create_terminal_writer(config, io.StringIO())


def configured(arguments: Sequence[str], basetemp: str | None, workerinput: dict[str, Any]) -> pytest.Config:
    """The configuration of a session that runs in a worker.

    Args:
        arguments: of the controller's session.
        basetemp: the folder for the tests' temporary ones.
        workerinput: what pytest-xdist gives a worker.
    """
    config = _prepareconfig([*arguments, *_PYTEST_OPTIONS], None)
    # The options of the terminal's plug-in are needed, its output is not.
    config.pluginmanager.unregister(name="terminal")
    config.pluginmanager.register(_Unheard(config), "terminalreporter")
    setup_config(config, basetemp)
    config.option.tx = []
    vars(config)["workerinput"] = workerinput
    vars(config)["workeroutput"] = {}
    return config


def name_worker(workerinput: dict[str, Any]) -> None:
    """Say in the environment which worker this is, as pytest-xdist does."""
    os.environ["PYTEST_XDIST_TESTRUNUID"] = workerinput["testrunuid"]
    os.environ["PYTEST_XDIST_WORKER"] = workerinput["workerid"]
    os.environ["PYTEST_XDIST_WORKER_COUNT"] = str(workerinput["workercount"])


def open_black_box(folder: Path) -> BlackBox:
    """Write to files in `folder` what this process prints, and what its threads do when it must end."""
    stacks = (folder / STACKS).open("ab", buffering=0)
    faulthandler.enable(stacks)
    faulthandler.register(signal.SIGUSR1, stacks, all_threads=True)
    # The gateway talks over copies of the first two, so that nothing that is printed can disturb it.
    write_to(folder / OUTPUT)
    return BlackBox(folder, stacks)


def write_to(file: Path) -> None:
    """Write what this process prints to `file`."""
    output = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)


def leave_the_group() -> None:
    """Leave the terminal's group: Ctrl-C is for the controller, and one signal reaches all that a test starts."""
    os.setpgid(0, 0)


def die_with(parent: int | None) -> None:
    """Ask the kernel to end this process, even one that is blocked, when its parent dies."""
    if parent is None or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(ExitStatus.INTERRUPTED)


class Interactor(WorkerInteractor):  # type: ignore[misc]  # xdist ships no types
    """The worker's end of the connection, with one test at a time."""

    def __init__(
        self, config: pytest.Config, channel: Any, box: BlackBox, *, start_up: StartUp, digest: str | None = None
    ) -> None:
        super().__init__(config, channel)
        self._digest = digest
        self._box = box
        self._output = box.folder / OUTPUT
        self._state: ProcessState | None = None
        self._exit_hooks = _ExitHooks()
        self._ring = CallRing(box.folder / CALLS)
        self._modules = 0
        self._trial = start_up.trial
        self._spare = start_up.spare
        self._reads = start_up.reads

    @property
    def _executor(self) -> Executor:
        executor: Executor = self.config.pluginmanager.get_plugin("conformance-executor")
        return executor

    # -- what there is to run -----------------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say what there is to run, once this process is as it will be before each test."""
        # Where it is not settled, why not is on its way.
        if self._executor.selection.settled and not self._spare:
            self.announce(session)

    def announce(self, session: pytest.Session) -> None:
        """Try the device, and say what there is to run."""
        executor = self._executor
        executor.gather_evidence(self._ring)
        if self._reads:
            executor.secure = lambda outcome: self._send(Judged(outcome.to_dict()))
        executor.try_captures(allowed=self._trial)
        gc.collect()
        self._freeze()
        executor.collect_garbage()
        nodeids = [item.nodeid for item in session.items]
        self._send(_ready(executor, nodeids) if self._digest is None else _fork_ready(executor, self._digest))
        self._state = ProcessState.now()

    # -- running ------------------------------------------------------------------------------------------------------

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run what the controller sends, until it sends the end."""
        self.channel.setcallback(self.handle_command, endmarker=Marker.SHUTDOWN)
        while True:
            request = self.torun.get()
            if isinstance(request, int):
                self._run(session, request)
            elif isinstance(request, WriteScript):
                self._write_script(session, request)
            elif isinstance(request, Begin):
                self._trial, self._reads = request.trial, request.reads
                self.announce(session)
            else:
                return True

    def sendevent(self, name: str, **values: object) -> None:
        """Send an event, or end this process when that is impossible: while a child that a test left running holds the
        connection open, the controller cannot see that it is broken, and both would wait forever.
        """
        try:
            super().sendevent(name, **sendable(values))
        except OSError as error:
            try:
                print(f"the connection to the controller is broken: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(ExitStatus.KIT_FAILED)

    @pytest.hookimpl
    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: tuple[str, int, str] | None
    ) -> None:
        """Send a warning whose class the controller has, too."""
        super().pytest_warning_recorded(portable(warning_message), when, nodeid, location)

    def _send(self, message: Message) -> None:
        name, values = message.to_event()
        self.sendevent(name, **values)

    def handle_command(self, command: Any) -> None:
        """Take the kit's own messages too."""
        if isinstance(command, tuple) and is_own(command[0]):
            self.torun.put(from_event(command))
        else:
            super().handle_command(command)

    def _write_script(self, session: pytest.Session, request: WriteScript) -> None:
        """Write the script for a test that another process did not survive."""
        text = self._executor.reproducer(session.items[request.index], request.failure)
        self._send(Script(request.index, text))

    def _run(self, session: pytest.Session, index: int) -> None:
        self.item_index = index
        hooks = self._exit_hooks.count
        sys.stdout.flush()
        self._start = self._size()
        # Without a next test everything is torn down, so that what breaks then belongs to this one.
        self.config.hook.pytest_runtest_protocol(item=session.items[index], nextitem=None)
        if len(sys.modules) > self._modules:
            self._freeze()
        self._send(Done(index, exit_hooks=self._exit_hooks.count > hooks))

    def _freeze(self) -> None:
        """Take what is there out of the garbage collector's sight: modules stay, and collecting after each test is slow
        when it must walk through all of them.
        """
        gc.freeze()
        self._modules = len(sys.modules)

    def _size(self) -> int:
        return self._output.stat().st_size

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show what a failed test printed."""
        report = yield
        if report.failed:
            sys.stdout.flush()
            size = self._size()
            # The controller may have shortened the file meanwhile.
            length = size - self._start if size >= self._start else size
            if length > 0:
                text = tail(str(self._output), min(length, TAIL)).decode("utf-8", "replace")
                report.sections.append(("Captured output", text))
        return report

    # -- when it goes wrong -------------------------------------------------------------------------------------------

    @pytest.hookimpl
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Pass on a refusal, which ends the controller's session with the same words."""
        # Once tests run, whatever calls pytest.exit is not the kit.
        if self._state is None and isinstance(excinfo.value, pytest.exit.Exception):
            status = excinfo.value.returncode
            self._send(Refused(str(excinfo.value.msg), int(ExitStatus.INTERRUPTED if status is None else status)))

    @pytest.hookimpl
    def pytest_internalerror(self, excrepr: object) -> None:
        """Say that pytest itself failed, and whether a test changed it."""
        self._send(InternalError(str(excrepr), [] if self._state is None else changed_judges(self._state)))


def _ready(executor: Executor, nodeids: Sequence[str]) -> Ready:
    return Ready(
        subjects=_subjects(executor),
        nodeids=tuple(nodeids),
        cases=tuple(CaseValues.of(executor.cases[nodeid]) for nodeid in nodeids if nodeid in executor.cases),
        not_applicable=executor.selection.not_applicable,
        narrowed=executor.selection.narrowed,
        devices=_devices(executor),
        accelerators=_accelerators(executor),
    )


def _fork_ready(executor: Executor, digest: str) -> ForkReady:
    return ForkReady(subjects=_subjects(executor), digest=digest, accelerators=_accelerators(executor))


def _subjects(executor: Executor) -> tuple[Subject, ...]:
    return tuple(Subject.of(adapter, executor.specs[name]) for name, adapter in executor.adapters.items())


def _accelerators(executor: Executor) -> tuple[str, ...]:
    return tuple(filter(None, map(accelerator_of, executor.adapters.values())))


def _devices(executor: Executor) -> Devices | None:
    """How to give a worker one of several devices, when that is what they differ by."""
    adapters = list(executor.adapters.values())
    if executor.options.device is not None or len({adapter.visible_devices for adapter in adapters}) != 1:
        return None
    variable = adapters[0].visible_devices
    count = min(adapter.device_count() for adapter in adapters)
    return None if variable is None else Devices(variable, count)


class _ExitHooks:
    """Counts what is put off to the end of the process, except by the libraries, which do so at any first use."""

    def __init__(self) -> None:
        self.count = 0
        self._register = atexit.register
        vars(atexit)["register"] = self._note

    def _note(self, hook: Callable[..., Any], *arguments: Any, **settings: Any) -> Callable[..., Any]:
        package = (getattr(hook, "__module__", None) or "").partition(".")[0]
        if package not in sys.stdlib_module_names and package not in _LIBRARIES:
            self.count += 1
        return self._register(hook, *arguments, **settings)
