"""Workers behind a gateway give the same results as local ones."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.isolation.conftest import Outcome, environment, session

WORDS = ("--test-timeout=3", "-k", "test_it and not calm-3")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The server of execnet on this machine; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    with (tmp_path / "server.log").open("wb") as log:
        run = [sys.executable, "-u", "-m", "execnet.script.socketserver", address]
        process = subprocess.Popen(run, env=environment(), stdout=log, stderr=log)
        while b"Accept" not in (tmp_path / "server.log").read_bytes():
            assert process.poll() is None
        yield address
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def local(toy_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The same session with a local worker."""
    return session(toy_folder, tmp_path_factory.mktemp("local") / "run.jsonl", *WORDS, HOSTILE="1")


@pytest.mark.parametrize("kind", ["socket", "python"])
def test_the_results_are_the_same(toy_folder: Path, tmp_path: Path, server: str, local: Outcome, kind: str) -> None:
    gateway = f"socket={server}" if kind == "socket" else f"popen//python={sys.executable}"
    there = f"//env:HOSTILE=1//env:PYTHONPATH={environment()['PYTHONPATH']}"
    remote = session(toy_folder, tmp_path / "remote.jsonl", *WORDS, "--tx", gateway + there)
    assert remote.status == local.status == 1, remote.output
    results = [
        {result.test: (result.verdict, result.phase, result.message) for result in outcome.record.results}
        for outcome in (local, remote)
    ]
    assert results[0] == results[1]
    assert sorted(verdict.value for verdict, _, _ in results[0].values()) == ["crash", "pass", "pass", "timeout"]
    ending = next(result.ending for result in remote.record.results if result.ending is not None)
    assert ending["signal"] == "SIGSEGV"
    assert "in replay" in ending["stacks"]
