"""Several sessions from one process, each in a fork of it: what they all import takes longer than most of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

_FORKS = """
import gc, json, os, sys
import hypothesis, pytest, torch
import conformance.adapters.reference, conformance.property_tests, conformance.start, conformance.reproducing.writing
import conformance.session.executor, conformance.session.fixtures, conformance.session.recorder
import reference_impl.accelerator, reference_impl.devices.software, reference_impl.xpu
from conformance.requirements.loading import load_documents, load_registry

load_registry(), load_documents()
gc.collect()
gc.freeze()
for words, output in json.loads(sys.argv[1]):
    pid = os.fork()
    if pid == 0:
        exec(sys.argv[2], {"words": words})
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        status = pytest.main(words)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(status))
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Ended:
    """How a session ended, and what it said."""

    status: int
    output: str


def sessions(commands: Sequence[Sequence[str]], folder: Path, *, first: str = "", **variables: str) -> list[Ended]:
    """Run pytest with each of `commands`, one after the other.

    Args:
        commands: the words of each.
        folder: for what they say.
        first: what each fork does before its session, as code that may change its `words`.
        variables: further ones of the environment.
    """
    folder.mkdir(parents=True, exist_ok=True)
    outputs = [folder / f"{number}.txt" for number in range(len(commands))]
    asked = [([*words], str(output)) for words, output in zip(commands, outputs, strict=True)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", _FORKS, json.dumps(asked), first],
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    statuses = [int(line) for line in done.stdout.split()]
    texts = [output.read_text(encoding="utf-8") for output in outputs]
    return [Ended(status, text) for status, text in zip(statuses, texts, strict=True)]
