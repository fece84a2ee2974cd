"""Captures that a test leaves open, where nothing tells that one is: no other test meets them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conformance.records.record import Record, read_record
from conformance.records.verdicts import Verdict
from tests.isolation.conftest import environment

#: Classes with three methods, which no adapter is written for.  Of the second, nothing but a test holds the graphs.
CLASSES = """
    OPEN = []


    class Held:
        def capture_begin(self):
            if OPEN:
                raise RuntimeError("a capture is under way already")
            OPEN.append(self)

        def capture_end(self):
            if OPEN != [self]:
                raise RuntimeError("there is no capture to end")
            OPEN.clear()

        def replay(self): ...


    class Dropped:
        def capture_begin(self):
            if OPEN:
                raise RuntimeError("a capture is under way already")
            OPEN.append(id(self))

        def capture_end(self):
            if OPEN != [id(self)]:
                raise RuntimeError("there is no capture to end")
            OPEN.clear()

        def replay(self): ...
"""

TESTS = """
    import pytest

    from conformance.checks import fail
    from conformance.errors import Unsupported
    from conformance.markers import requirement
    from suites.support.captures import capture_between, open_capture

    anything = requirement("capture.runs-nothing")


    @anything
    def test_a_fails_inside(impl):
        with open_capture(impl, impl.new_graph()):
            fail("it is two", "it is not")


    @anything
    def test_b_means_to_leave_it(impl):
        with open_capture(impl, impl.new_graph()):
            ...


    @anything
    def test_c_has_no_means(impl):
        with open_capture(impl, impl.new_graph()):
            raise Unsupported("there is one stream")


    @anything
    def test_d_ends_it_before_it_fails(impl):
        graph = impl.new_graph()
        with open_capture(impl, graph):
            graph.capture_end()
            fail("it is three", "it is not")


    @anything
    def test_e_forgets_the_graph(impl):
        def begin():
            impl.capture_begin(impl.new_graph())

        begin()


    @anything
    @pytest.mark.parametrize("number", range(2))
    def test_f_captures(impl, number):
        capture_between(impl, impl.new_graph(), lambda: None)
"""


def _run(folder: Path, name: str, *words: str) -> tuple[Record, str]:
    (folder / "classes.py").write_text(textwrap.dedent(CLASSES), encoding="utf-8")
    (folder / "test_it.py").write_text(textwrap.dedent(TESTS), encoding="utf-8")
    process = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_it.py"),
            *(f"--impl=classes.py:{name}", "--record=run.jsonl", *words),
        ],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return read_record(folder / "run.jsonl"), process.stdout + process.stderr


@pytest.mark.parametrize("way", ["--isolate", "--no-isolate"])
def test_what_the_class_holds_is_ended(tmp_path: Path, way: str) -> None:
    record, output = _run(tmp_path, "Held", way)
    verdicts = {result.test.partition("::")[2]: result.verdict for result in record.results}
    assert verdicts == {
        "test_a_fails_inside": Verdict.FAIL,
        "test_b_means_to_leave_it": Verdict.PASS,
        "test_c_has_no_means": Verdict.UNSUPPORTED,
        "test_d_ends_it_before_it_fails": Verdict.FAIL,
        "test_e_forgets_the_graph": Verdict.PASS,
        "test_f_captures[0]": Verdict.PASS,
        "test_f_captures[1]": Verdict.PASS,
    }, output
    messages = {result.test.partition("::")[2]: result for result in record.results}
    assert messages["test_a_fails_inside"].seen == messages["test_d_ends_it_before_it_fails"].seen == "it is not"
    assert not any(result.left_behind for result in record.results)


def test_what_nobody_can_end_is_charged_to_the_test_that_left_it(tmp_path: Path) -> None:
    record, output = _run(tmp_path, "Dropped", "--isolate")
    found = {result.test.partition("::")[2]: result for result in record.results}
    left = found["test_e_forgets_the_graph"]
    assert left.verdict is Verdict.FAIL, output
    assert "a capture is under way already" in left.message
    assert {found[f"test_f_captures[{number}]"].verdict for number in range(2)} == {Verdict.PASS}
