"""A worker: a pytest session that runs the tests it is told to, one at a time, and says what each left behind."""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import xdist.remote
from _pytest.config import _prepareconfig
from xdist.remote import Marker, WorkerInteractor, setup_config

from conformance.errors import ExitStatus
from conformance.isolation.calls import CallRing, trace
from conformance.isolation.hands import CALLS, OUTPUT, STACKS, TAIL, tail
from conformance.records.subject import Subject
from conformance.session.process_state import ProcessState, changed_judges

if TYPE_CHECKING:
    from conformance.session.executor import Executor

_PR_SET_PDEATHSIG = 1
# No second handler of fatal signals, and output that a crash leaves behind.
_PYTEST_OPTIONS = ("-p", "no:faulthandler", "--capture=no", "-W", "ignore::pytest.PytestAssertRewriteWarning")

_LIBRARIES = frozenset({"torch", "hypothesis", "pytest", "_pytest", "numpy", "execnet", "xdist", "sympy"})


@dataclass
class _BlackBox:
    """What outlives the process."""

    folder: Path
    stacks: Any


def run(channel: Any, given: tuple[Any, ...]) -> None:
    """Be a worker until told to stop.  `given` is what pytest-xdist sends to one."""
    workerinput, arguments, options, _ = given
    told = workerinput["conformance"]
    box = _open_black_box(Path(told["folder"]))
    _leave_the_group()
    _die_with(told["parent"])
    channel.send(("conformance_pid", {"pid": os.getpid()}))
    os.environ["PYTEST_XDIST_TESTRUNUID"] = workerinput["testrunuid"]
    os.environ["PYTEST_XDIST_WORKER"] = workerinput["workerid"]
    os.environ["PYTEST_XDIST_WORKER_COUNT"] = str(workerinput["workercount"])
    try:
        config = _prepareconfig([*arguments, *_PYTEST_OPTIONS], None)
        # The options of the terminal's plug-in are needed, its output is not.
        config.pluginmanager.unregister(name="terminal")
        setup_config(config, options.get("basetemp"))
        config.option.tx = []
        vars(config)["workerinput"] = workerinput
        vars(config)["workeroutput"] = {}
        vars(xdist.remote)["interactor"] = Interactor(config, channel, box)
        config.hook.pytest_cmdline_main(config=config)
    except pytest.UsageError as error:
        channel.send(("conformance_refused", {"text": str(error), "exit_status": int(ExitStatus.USAGE)}))


def _open_black_box(folder: Path) -> _BlackBox:
    stacks = (folder / STACKS).open("ab", buffering=0)
    faulthandler.enable(stacks)
    faulthandler.register(signal.SIGUSR1, stacks, all_threads=True)
    output = os.open(folder / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    # The gateway talks over copies of the first two, so that nothing which is printed can disturb it.
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    return _BlackBox(folder, stacks)


def _leave_the_group() -> None:
    """Leave the terminal's group: Ctrl-C is for the parent, and one signal reaches all that a test starts."""
    os.setpgid(0, 0)


def _die_with(parent: int | None) -> None:
    """Ask the kernel to end this process, even one that is blocked, when its parent dies."""
    if parent is None or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(ExitStatus.INTERRUPTED)


class Interactor(WorkerInteractor):  # type: ignore[misc]  # xdist ships no types
    """The worker's end of the line, with one test at a time."""

    def __init__(self, config: pytest.Config, channel: Any, box: _BlackBox) -> None:
        super().__init__(config, channel)
        self._box = box
        self._output = box.folder / OUTPUT
        self._state: ProcessState | None = None
        self._exit_hooks = _ExitHooks()
        self._ring = CallRing(box.folder / CALLS)
        self._modules = 0

    @property
    def _executor(self) -> Executor:
        found: Executor = self.config.pluginmanager.get_plugin("conformance-executor")
        return found

    # -- what there is to run -----------------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell the parent what there is to run, once this process is as it will be before each test."""
        executor = self._executor
        for adapter in executor.adapters.values():
            trace(adapter, self._ring)
        gc.collect()
        self._freeze()
        executor.collect_garbage()
        cases = executor.cases
        self.sendevent(
            "conformance_ready",
            subjects=[
                Subject.of(adapter, executor.specs[name]).to_dict() for name, adapter in executor.adapters.items()
            ],
            ids=[item.nodeid for item in session.items],
            cases={
                item.nodeid: {
                    "test": cases[item.nodeid].test,
                    "implementation": cases[item.nodeid].implementation,
                    "requirements": list(cases[item.nodeid].ids),
                    "seconds": cases[item.nodeid].seconds,
                    "draws": cases[item.nodeid].draws,
                }
                for item in session.items
                if item.nodeid in cases
            },
            not_applicable=executor.selection.not_applicable,
            narrowed=executor.selection.narrowed,
            devices=_devices(executor),
        )
        self._state = ProcessState.now()

    # -- running ------------------------------------------------------------------------------------------------------

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run what the parent sends, until it sends the end."""
        self.channel.setcallback(self.handle_command, endmarker=Marker.SHUTDOWN)
        while True:
            wanted = self.torun.get()
            if isinstance(wanted, int):
                self._run(session, wanted)
            elif isinstance(wanted, dict):
                self._write_script(session, **wanted)
            else:
                return True

    def sendevent(self, name: str, **values: object) -> None:
        """Tell the parent, or end here when that cannot be: while a child that a test left running holds the line open,
        the parent cannot see that it is broken, and both would wait for ever.
        """
        try:
            super().sendevent(name, **values)
        except OSError as error:
            try:
                print(f"the line to the parent is broken: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(ExitStatus.KIT_FAILED)

    def handle_command(self, command: Any) -> None:
        """Take the kit's own command too."""
        if isinstance(command, tuple) and command[0] == "conformance_script":
            self.torun.put(command[1])
        else:
            super().handle_command(command)

    def _write_script(self, session: pytest.Session, index: int, seen: str) -> None:
        """Write the script for a test that another process did not survive."""
        self.sendevent("conformance_script", index=index, text=self._executor.reproducer(session.items[index], seen))

    def _run(self, session: pytest.Session, index: int) -> None:
        self.item_index = index
        hooks = self._exit_hooks.count
        sys.stdout.flush()
        self._start = self._size()
        # Without a next test everything is torn down, so that what breaks then belongs to this one.
        self.config.hook.pytest_runtest_protocol(item=session.items[index], nextitem=None)
        if len(sys.modules) > self._modules:
            self._freeze()
        self.sendevent("conformance_done", index=index, exit_hooks=self._exit_hooks.count > hooks)

    def _freeze(self) -> None:
        """Take what is there out of the garbage collector's sight: modules stay, and collecting after each test is slow
        when it must walk through all of them.
        """
        gc.freeze()
        self._modules = len(sys.modules)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Note the calls that the test itself makes."""
        self._ring.clear()
        self._ring.on = True
        try:
            return (yield)
        finally:
            self._ring.on = False

    def _size(self) -> int:
        return self._output.stat().st_size

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show what a failed test printed."""
        report = yield
        if report.failed:
            sys.stdout.flush()
            size = self._size()
            # The parent may have shortened the file meanwhile.
            length = size - self._start if size >= self._start else size
            if length > 0:
                text = tail(str(self._output), min(length, TAIL)).decode("utf-8", "replace")
                report.sections.append(("Captured output", text))
        return report

    # -- when it goes wrong -------------------------------------------------------------------------------------------

    @pytest.hookimpl
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Pass on a refusal, which ends the parent's session with the same words."""
        # Once tests run, whatever calls pytest.exit is not the kit.
        if self._state is None and isinstance(excinfo.value, pytest.exit.Exception):
            status = excinfo.value.returncode
            self.sendevent(
                "conformance_refused",
                text=str(excinfo.value.msg),
                exit_status=int(ExitStatus.INTERRUPTED) if status is None else int(status),
            )

    @pytest.hookimpl
    def pytest_internalerror(self, excrepr: object) -> None:
        """Say that pytest itself failed, and whether somebody changed it."""
        changed = [] if self._state is None else changed_judges(self._state)
        self.sendevent("conformance_internal", text=str(excrepr), changed=changed)


def _devices(executor: Executor) -> dict[str, Any] | None:
    """How to give a worker one of several devices, when that is what they differ by."""
    adapters = list(executor.adapters.values())
    if executor.options.device is not None or len({adapter.visible_devices for adapter in adapters}) != 1:
        return None
    variable = adapters[0].visible_devices
    count = min(adapter.device_count() for adapter in adapters)
    return None if variable is None else {"variable": variable, "count": count}


class _ExitHooks:
    """Counts what is put off to the end of the process by anybody but the libraries, which do so at any first use."""

    def __init__(self) -> None:
        self.count = 0
        self._register = atexit.register
        vars(atexit)["register"] = self._note

    def _note(self, hook: Callable[..., Any], *arguments: Any, **settings: Any) -> Callable[..., Any]:
        package = (getattr(hook, "__module__", None) or "").partition(".")[0]
        if package not in sys.stdlib_module_names and package not in _LIBRARIES:
            self.count += 1
        return self._register(hook, *arguments, **settings)
