"""Records of many tests: what programs read grows with them, the memory to write it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.test_large_records import failing, names_of, passing, peak, written
from tests.reports.formats.folders import parsed

FEW, MANY = 2_000, 20_000
#: With a line for each test; the others are bounded.
GROWING = ("results.csv", "junit.xml", "ctrf.json", "traceability.json")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system says nothing of a process's memory")
def test_files_grow_with_the_tests_and_memory_does_not(tmp_path: Path) -> None:
    peaks: dict[int, float] = {}
    sizes: dict[int, dict[str, int]] = {}
    kinds: tuple[Callable[..., object], ...] = (passing, failing)
    for count in (FEW, MANY):
        record, output = tmp_path / f"{count}.jsonl", tmp_path / str(count)
        written(record, [kinds[not number % 10](test) for number, test in enumerate(names_of(count))])  # type: ignore[misc]
        peaks[count] = peak("report", str(record), f"--output={output}")
        sizes[count] = {path.relative_to(output).as_posix(): path.stat().st_size for path in _files(output)}
    assert peaks[MANY] < 1.2 * peaks[FEW], peaks
    few, many = sizes[FEW], sizes[MANY]
    assert few.keys() == many.keys()
    for name in few:
        assert many[name] < (1.1 * MANY / FEW if name in GROWING else 1.5) * few[name], name
    lines = (tmp_path / str(MANY) / "traceability.json").read_text(encoding="ascii").splitlines()
    assert len(lines) == MANY + 2
    assert parsed(lines[1].rstrip(","))["test"] == names_of(1)[0]
    summary = json.loads((tmp_path / str(MANY) / "ctrf.json").read_bytes())["results"]["summary"]
    assert (summary["tests"], summary["failed"]) == (MANY, MANY // 10)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
