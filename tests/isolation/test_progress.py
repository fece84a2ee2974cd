"""How far a session with workers has come is known where nothing but their results is."""

from __future__ import annotations

from pathlib import Path

from tests.isolation.conftest import session


def test_each_test_is_counted_once_whoever_ran_it(toy_folder: Path, tmp_path: Path) -> None:
    of_run = ("-p", "conformance.cli.suites_of_run", "--tb=no", "-rN", "test_toy.py")
    outcome = session(toy_folder, tmp_path / "run.jsonl", *of_run)
    total = len(outcome.verdicts)
    lost = [verdict for verdict in outcome.verdicts.values() if verdict in {"crash", "timeout", "fail"}]
    lines = [line for line in outcome.output.splitlines() if " tests (" in line]
    assert lines[-1].startswith(f"{total} of {total} tests (100%)")
    counted = [part.split() for part in lines[-1].split(", ")[1:]]
    assert sum(int(count) for count, _ in counted) == len(lost) > 0
    assert outcome.output.rstrip().splitlines()[-1] == outcome.record.claim.line
