"""What the doctor says of one implementation: what was found, what each call gave, and what to mend first."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest
import torch

from conformance.cli import doctor, main
from conformance.diagnosis import child, examination
from conformance.diagnosis.examination import Findings, Request

VENDOR = """
    import ctypes
    import os
    import time

    import reference_impl
    import reference_impl.xpu
    from conformance.adapters.reference import OnHost
    from torch.utils._python_dispatch import TorchDispatchMode


    def made(cls=reference_impl.CUDAGraph, kind=OnHost, **values):
        return kind("vendor", reference_impl, cls, device="cpu", revision="2.8", **values)


    class Derived(reference_impl.xpu.XPUGraph): ...


    class Crashing(reference_impl.CUDAGraph):
        def replay(self):
            ctypes.string_at(0)

    class Hanging(reference_impl.CUDAGraph):
        def capture_end(self):
            time.sleep(600)

    class Leaving(reference_impl.CUDAGraph):
        def capture_end(self):
            os._exit(0)

    class Raising(reference_impl.CUDAGraph):
        def capture_end(self):
            raise RuntimeError("no end today")

    class Lazy(reference_impl.CUDAGraph):
        def replay(self): ...

    class Eager:  # of which each replay does the work anew, and the capture, too
        recorded, runs = False, 1

        def capture_begin(self):
            self.mode = Mode()
            self.mode.__enter__()

        def capture_end(self):
            self.mode.__exit__(None, None, None)

        def replay(self):
            for function, arguments in self.mode.calls * self.runs:
                function(*arguments)

        def reset(self): ...

    class Vain(Eager):
        runs = 0

    class Mode(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.calls = []

        @classmethod
        def _should_skip_dynamo(cls):  # else the compiler is imported, for seconds
            return False

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.calls.append((function, args))
            return function(*args)

    class Double(reference_impl.CUDAGraph):
        def replay(self):
            super().replay()
            super().replay()

    class Wild(reference_impl.CUDAGraph):
        def replay(self):
            for _ in range(10):
                super().replay()

    class Deadly(OnHost):
        def empty_cache(self):
            ctypes.string_at(0)

    class Silent(OnHost):
        def is_current_stream_capturing(self): return False

    class Five(OnHost):
        def current_stream(self): ...
        def new_event(self): return self.modul.Event()
        def read(self, tensor): return tensor.tolist()
        def synchronize(self, device): ...
        def recover(self): return 0


    def crashing(): return made(Crashing)
    def hanging(): return made(Hanging)
    def leaving(): return made(Leaving)
    def raising(): return made(Raising)
    def lazy(): return made(Lazy)
    def double(): return made(Double)
    def wild(): return made(Wild)
    eager, vain = Eager, Vain
    def silent(): return made(kind=Silent)
    def deadly(): return made(kind=Deadly)
    def five(): return made(kind=Five)
    def lying(): return made(capabilities={"pools": False, "template_editing": False})
    def number(): return 5
"""


@pytest.fixture(autouse=True)
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with all of them."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "vendor.py"
    file.write_text(textwrap.dedent(VENDOR), encoding="utf-8")
    return file


class Forked:
    """The process that calls the implementation, as a fork of this one, which has imported what takes long."""

    def __init__(self, words: list[str], *, stdout: IO[bytes], **_: Any) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.setsid()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(stdout.fileno(), 1)
                os.dup2(stdout.fileno(), 2)
                sys.stderr = os.fdopen(2, "w", closefd=False)
                torch.set_num_threads(1)  # the others are in the process that this one was forked from
                child.main(words[3:])
                status = 0
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            os._exit(status)

    def wait(self, seconds: float = 300.0) -> None:
        until = time.monotonic() + seconds
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                raise subprocess.TimeoutExpired("a fork", seconds)
            else:
                time.sleep(0.005)

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no interpreter anew, where what is found is not about its start."""
    import reference_impl  # noqa: F401  # what the class derives from

    start = SimpleNamespace(Popen=Forked, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(examination, "subprocess", start)


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit status, all that was said, and the last line."""
    status = main(["doctor", *words])
    text = capsys.readouterr().out
    return status, text, text.splitlines()[-1]


def test_a_class_that_is_ready(vendor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, last = _said(capsys, "vendor.py:Derived", "--revision=2.12")
    assert status == 0
    assert last == "READY: graph-conformance run --impl=vendor.py:Derived --revision=2.12"
    line = next(number for number, code in enumerate(vendor.read_text().splitlines(), 1) if "class Derived" in code)
    assert re.search(rf"class +vendor_\w+\.Derived \({re.escape(str(vendor))}, line {line}\)\n", text)
    assert re.search(r"dialect +xpu, as for reference\.xpu, whose class it derives from\n", text)
    assert re.search(r"revision +2\.12, as --revision says\n", text)
    assert re.search(r"it has +capture_begin, capture_end, .*raw_xpu_graph_exec", text)
    assert re.search(r"\n  current_stream +<reference_impl\.Stream 0x0>\n", text)
    assert re.search(r"\n  read +\[1\.0, 1\.0\]\n", text)
    for program in ("a capture and its replay", "the same with capture()"):
        assert re.search(rf"\n  {re.escape(program)} +\[4\.0(, 4\.0){{6}}\]\n", text)
    assert re.search(r"\n  keep_graph +unstated +there and works\n", text)
    assert "capture_modes" not in text  # its page knows none
    assert "to mend" not in text


@pytest.mark.usefixtures("forked")
def test_what_is_declared_absent_and_works_is_contradicted(capsys: pytest.CaptureFixture[str]) -> None:
    status, text, last = _said(capsys, "vendor.py:lying")
    assert status == 4
    assert last == "NOT READY: mend this first: pools works and is declared absent: declare it, or leave it out"
    assert re.search(r"\n  pools +absent +CONTRADICTED, there and works\n", text)
    assert re.search(r"\n  template_editing +absent +not there: ", text)
    # What no declaration covers and the adapter cannot show.
    assert 'if the class has none, declare capabilities={"capture_modes": False}\n' in text
    assert 'declare capabilities={"template_editing": False}' not in text


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("crashing", "the process was ended by SIGSEGV in a capture and its replay at *vendor.py, line *, in replay"),
        ("hanging", "the process did not come back in 3 s in a capture and its replay at *, in capture_end"),
        ("leaving", "the process ended with exit status 0 in a capture and its replay"),
        ("raising", "a capture and its replay: `graph.capture_end()` raised RuntimeError: no end today at *, line *"),
        (
            "lazy",
            "a capture and its replay: the replay did nothing: seven times 3, plus 1, was *",
        ),
        ("eager", "a capture and its replay: the work ran while it was captured, and once more in the replay: *"),
        ("vain", "a capture and its replay: the work ran while it was captured, and the replay did nothing: *"),
        ("double", "a capture and its replay: one replay did the work twice: *"),
        ("wild", "a capture and its replay: the replay gave wrong values: *13.0] after a replay"),
    ],
)
def test_a_class_that_captures_nothing_is_no_fault_of_the_adapter(
    capsys: pytest.CaptureFixture[str], name: str, trouble: str
) -> None:
    status, text, last = _said(capsys, f"vendor.py:{name}", f"--test-timeout={3 if name == 'hanging' else 60}")
    assert status == 1
    assert re.fullmatch(re.escape(f"NOT READY: mend this first: {trouble}").replace(r"\*", ".*"), last)
    assert re.search(r"\n  read +\[1\.0, 1\.0\]\n", text)
    assert "capabilities, not tried: first mend what stands below\n" in text


@pytest.mark.usefixtures("forked")
def test_a_query_that_never_sees_a_capture_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    status, text, last = _said(capsys, "vendor.py:silent")
    (line,) = text.partition("\nto declare, or to expect as failures\n")[2].partition("\n\n")[0].splitlines()[:1]
    assert line.strip().startswith("is_current_stream_capturing() said False inside of a capture that recorded")
    assert (status, last) == (0, "READY: graph-conformance run --impl=vendor.py:silent")


@pytest.mark.usefixtures("forked")
def test_all_faults_are_told_the_first_of_them_at_the_end(vendor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, last = _said(capsys, "vendor.py:five")
    assert status == 4
    faults = text.partition("\nto mend\n")[2].partition("\n\n")[0].splitlines()
    told = [
        "the adapter's synchronize cannot be called: missing a required argument: 'device'",
        "current_stream gives NoneType None, which is not a stream",
        "new_event raised AttributeError: 'Five' object has no attribute 'modul'; did you mean 'module'?",
    ]
    assert [fault.partition(" at ")[0].strip() for fault in faults[:3]] == told
    assert all(f" at {vendor}, line " in fault and "; write " in fault for fault in faults)
    assert last == f"NOT READY: mend this first: {faults[0].strip()}"


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("vendor.py:number", "the function returned a int, not a conformance.adapter.Adapter"),
        ("vendor.py:nobody", "vendor.py has no attribute 'nobody'"),
        ("nowhere.py:adapter", "no file nowhere.py"),
    ],
)
def test_what_names_no_implementation_is_refused(capsys: pytest.CaptureFixture[str], name: str, last: str) -> None:
    status, text, line = _said(capsys, name)
    assert (status, line) == (4, f"NOT READY: mend this first: {last}")
    assert "called once" not in text


def test_a_member_that_takes_the_process_down_is_to_be_mended(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, last = _said(capsys, "vendor.py:deadly")
    assert status == 4
    assert last.startswith("NOT READY: mend this first: the process was ended by SIGSEGV in empty_cache at ")


def test_a_name_that_nothing_has_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "refrence"]) == 4
    assert "no implementation has that name; did you mean 'reference'?" in capsys.readouterr().err


def test_what_the_kit_stumbles_over_is_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def examine(_: Request) -> Findings:
        return Findings(None, (), kit="OSError: no space left")

    monkeypatch.setattr(doctor, "examine", examine)
    status, _, last = _said(capsys, "reference")
    assert (status, last) == (3, "the kit failed: OSError: no space left")
