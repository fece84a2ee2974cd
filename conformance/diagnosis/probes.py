"""Tries each capability with the suite that is about declarations, in workers, and reads what it noted."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from conformance.diagnosis.examination import Request
from conformance.errors import ConformanceError, one_line
from conformance.records.record import read_record
from conformance.records.result import TestResult
from conformance.requirements.loading import load_registry

_AREA = "suites/declarations"
_COMMAND = "import sys; from conformance.cli import main; sys.exit(main(sys.argv[1:]))"
#: What a probe notes when it came through.
WORKS = "there and works"


@dataclass(frozen=True)
class Probe:
    """What trying a capability came to.

    Attributes:
        capability: its name.
        outcome: in words.
    """

    capability: str
    outcome: str

    @property
    def works(self) -> bool:
        """Whether it is there and works."""
        return self.outcome == WORKS


def probe(request: Request) -> tuple[tuple[Probe, ...], str | None]:
    """Try each capability that the documents of the release have.

    Returns:
        What came of each, and why there is nothing, or ``None``.
    """
    with tempfile.TemporaryDirectory(prefix="graph-conformance-") as name:
        record = Path(name) / "probes.jsonl"
        done = subprocess.run(  # noqa: S603  # this program again
            [sys.executable, "-c", _COMMAND, *_words(request, record)], capture_output=True, text=True, check=False
        )
        try:
            results = read_record(record).results
        except ConformanceError:
            lines = (done.stdout + done.stderr).strip().splitlines()
            return (), one_line(lines[-1] if lines else f"the probes ended with exit status {done.returncode}")
    requirements = load_registry().requirements
    probes = [Probe(str(requirements[result.requirements[0]].probes), _outcome(result)) for result in results]
    return tuple(probes), None


def _words(request: Request, record: Path) -> list[str]:
    words = ["run", f"--impl={request.spec}", "--isolate", f"--record={record}", "--tb=no", _AREA]
    words += [f"--test-timeout={request.seconds:g}"]
    words += [] if request.device is None else [f"--device={request.device}"]
    words += [] if request.revision is None else [f"--revision={request.revision}"]
    return words


def _outcome(result: TestResult) -> str:
    outcome = result.observations.get("outcome")
    return str(outcome) if outcome is not None else one_line(f"{result.verdict.value}: {result.message}")
