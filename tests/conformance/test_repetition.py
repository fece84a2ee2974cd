"""The same error in test after test ends the run, in one process and in workers."""

from __future__ import annotations

import textwrap

import pytest
import torch  # noqa: F401 - before pytester takes stock of modules

from conformance import start  # noqa: F401 - likewise
from conformance.records.record import read_record
from conformance.records.verdicts import Verdict
from conformance.session.repetition import LIMIT
from tests.conformance.conftest import IMPLEMENTATION, Kit

pytest_plugins = ["pytester"]

SAME = """
    @pytest.mark.parametrize("number", range(14))
    @requirement("replay.performs-work")
    def test_it(impl, number):
        raise HarnessError(f"no room at {object()!r}")
"""
OTHER = """
    @pytest.mark.parametrize("number", range(14))
    @requirement("replay.performs-work")
    def test_it(impl, number):
        raise HarnessError(f"no room for {number}")
"""
FAILING = """
    @pytest.mark.parametrize("number", range(14))
    @requirement("replay.performs-work")
    def test_it(impl, number):
        fail("one", "none")
"""


@pytest.fixture
def kit(pytester: pytest.Pytester) -> Kit:
    """A folder with the implementation, whose sessions know the kit's own requirements, as workers do."""
    (pytester.path / "fake.py").write_text(textwrap.dedent(IMPLEMENTATION), encoding="utf-8")
    return Kit(pytester)


@pytest.mark.parametrize("where", ["--no-isolate", "--isolate"])
def test_the_run_ends_with_a_line_that_says_so(kit: Kit, where: str) -> None:
    kit.tests(SAME)
    result, record = kit.recorded(where)
    assert result.ret == 3
    assert [outcome.verdict for outcome in record.results] == [Verdict.ERROR] * LIMIT
    assert record.footer is not None
    assert record.footer.exit_status == 3
    line = f"STOPPED: {LIMIT} tests of fake ended in the same error, so no other was begun: no room at <object *"
    result.stdout.fnmatch_lines([line])
    assert result.stdout.str().count("so no other was begun") == 1


@pytest.mark.parametrize(
    ("tests", "verdict", "status"), [(OTHER, Verdict.ERROR, 3), (FAILING, Verdict.FAIL, 1)], ids=["other", "failing"]
)
def test_errors_that_differ_and_failures_end_nothing(kit: Kit, tests: str, verdict: Verdict, status: int) -> None:
    kit.tests(tests)
    result, record = kit.recorded()
    assert result.ret == status
    assert [outcome.verdict for outcome in record.results] == [verdict] * 14
    assert "STOPPED" not in result.stdout.str()


@pytest.mark.parametrize("where", ["--no-isolate", "--isolate"])
def test_the_other_implementations_go_on(kit: Kit, where: str) -> None:
    kit.tests("""
        @pytest.mark.parametrize("number", range(14))
        @requirement("replay.performs-work")
        def test_it(impl, number):
            if impl.name == "fake":
                raise HarnessError(f"no room at {object()!r}")
    """)
    folder = kit.pytester.path / "records"
    result = kit.run(where, f"--record={folder}", impl="fake.py:Fake,fake.py:Second")
    records = {record.header.implementation: record for record in map(read_record, folder.glob("*.jsonl"))}
    assert [outcome.verdict for outcome in records["fake"].results] == [Verdict.ERROR] * LIMIT
    assert [outcome.verdict for outcome in records["second"].results] == [Verdict.PASS] * 14
    first, second = records["fake"].footer, records["second"].footer
    assert first is not None
    assert second is not None
    assert "10 tests of fake ended in the same error" in str(first.stopped)
    assert second.stopped is None
    assert result.ret == 3
    assert result.stdout.str().count("so no other was begun") == 1


def test_errors_are_counted_for_each_implementation(kit: Kit) -> None:
    kit.tests(SAME.replace("14", str(LIMIT - 1)))
    result = kit.run(impl="fake.py:Fake,fake.py:Second")
    assert result.ret == 3
    assert "STOPPED" not in result.stdout.str()
