"""A device without memory gives no verdict on a class, unless it is the class that holds the memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance import checks, start  # noqa: F401 - before pytester takes stock of modules
from conformance.errors import is_out_of_memory
from conformance.records.record import read_record
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.session import executor, fixtures, recorder  # noqa: F401 - likewise
from tests.conformance.conftest import Kit

pytest_plugins = ["pytester"]

STARVED = Path(__file__).parents[1] / "isolation" / "starved.py"
#: A device whose memory is others' (`neighbours`), or goes to the tests that take it and do not give it back.
VENDOR = """
import fake


class OutOfMemoryError(RuntimeError): ...


class Fake(fake.Fake):
    held = 0

    def pinned(self, data, dtype=None):
        raise OutOfMemoryError("no 20 MiB left")

    def memory_reserved(self):
        return self.held


class Untold(Fake):
    capabilities = {"memory_stats": False}


class Full(Fake):
    def recover(self):
        raise RuntimeError("CUDA error: out of memory")
"""
WANT = "impl.pinned([1.0])"
SWALLOWED = """
            try:
                impl.pinned([1.0])
            except RuntimeError:
                pass
"""
LEAK = f"impl.held += 3 << 30; {WANT}"


@pytest.mark.parametrize(
    ("impl", "body", "verdict", "message"),
    [
        ("Fake", "...", Verdict.PASS, ""),
        ("Fake", WANT, Verdict.ERROR, "the device had no memory: OutOfMemoryError: no 20 MiB left"),
        ("Fake", "raise RuntimeError('cudaErrorMemoryAllocation')", Verdict.ERROR, "the device had no memory: Runtime"),
        ("Fake", SWALLOWED, Verdict.ERROR, "the device had no memory: OutOfMemoryError: no 20 MiB left"),
        (
            "Fake",
            f"{SWALLOWED.strip()}\n            fail('it holds', 'it does not')",
            Verdict.ERROR,
            "the device had no memory: OutOfMemoryError: no 20 MiB left\nso this says nothing: promised: it holds",
        ),
        ("Fake", f"expect_raises('it is refused', lambda: {WANT})", Verdict.ERROR, "the device had no memory: "),
        ("Fake", f"expect_no_raise('it works', lambda: {WANT})", Verdict.ERROR, "the device had no memory: "),
        ("Fake", "fail('it is said when out of memory', 'nothing')", Verdict.FAIL, "promised: it is said when out of"),
        ("Full", "...", Verdict.ERROR, "the device had no memory: RuntimeError: CUDA error: out of memory"),
        ("Fake", LEAK, Verdict.FAIL, "the device had no memory, and 3072 MiB of it were not given back by this test"),
        ("Untold", LEAK, Verdict.ERROR, "the device had no memory: OutOfMemoryError: no 20 MiB left"),
        ("Fake", "raise MemoryError", Verdict.FAIL, "MemoryError"),
    ],
)
def test_a_want_of_memory_is_no_verdict(kit: Kit, impl: str, body: str, verdict: Verdict, message: str) -> None:
    (kit.folder / "vendor.py").write_text(VENDOR, encoding="utf-8")
    kit.tests(f"""
        from conformance.checks import expect_no_raise, expect_raises

        @requirement("alpha.one")
        def test_one(impl):
            {body}

        @requirement("alpha.two")
        def test_two(impl): ...
    """)
    result, record = kit.recorded(impl=f"vendor.py:{impl}")
    first = record.results[0]
    assert (first.verdict, first.message[: len(message)]) == (verdict, message)
    assert result.ret == {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.ERROR: 3}[verdict]
    assert (record.claim.verdict is RunVerdict.ERROR) == (verdict is Verdict.ERROR)
    assert (first.reproducer is None) or verdict is Verdict.FAIL


def test_a_fixture_may_want_memory_too(kit: Kit) -> None:
    (kit.folder / "vendor.py").write_text(VENDOR, encoding="utf-8")
    kit.tests("""
        @pytest.fixture
        def tensor(impl):
            return impl.pinned([1.0])

        @requirement("alpha.one")
        def test_one(impl, tensor): ...
    """)
    _, record = kit.recorded(impl="vendor.py:Fake")
    (result,) = record.results
    assert (result.verdict, result.phase) == (Verdict.ERROR, "setup")
    assert result.message == "the device had no memory: OutOfMemoryError: no 20 MiB left"


def test_nothing_is_held_against_the_class_in_the_suites(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    words = ["--no-isolate", f"--record={path}", "-q", "suites/replay", "suites/random_programs/test_memory.py"]
    code = "import sys; from conformance.cli import main; sys.exit(main(sys.argv[1:]))"
    run = [sys.executable, "-c", code, "run", f"--impl={STARVED}:adapter", *words]
    assert subprocess.run(run, capture_output=True, check=False, timeout=300).returncode == 3
    results = read_record(path).results
    errors = [result for result in results if result.verdict is Verdict.ERROR]
    assert len(errors) > 4
    assert {result.message.partition(":")[0] for result in errors} == {"the device had no memory"}
    assert not [result for result in results if result.verdict.rejects]


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (RuntimeError("HIP error: hipErrorOutOfMemory"), True),
        (RuntimeError("UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"), True),
        (RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"), True),
        (RuntimeError("an illegal memory access was encountered"), False),
        (AssertionError("expected memory"), False),
    ],
)
def test_makers_say_it_in_many_ways(error: Exception, is_one: bool) -> None:
    assert is_out_of_memory(error) == is_one
