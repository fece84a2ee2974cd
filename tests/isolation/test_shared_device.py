"""A second run on a device is told of the first, and is kept from nothing."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.records.merge import merge
from conformance.records.tested import SHARED_DEVICE, accelerator_of
from tests.isolation.conftest import Outcome, environment, session

ADAPTER = """
import torch
import toy

class OnDevice(toy.Toy):
    device = torch.device("meta:1")
    visible_devices = "META_VISIBLE"

class OnHost(toy.Toy):
    device = torch.device("cpu")
"""

HOLD = """
import sys
from conformance.isolation.process_control import share

print(share([sys.argv[1]]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(toy_folder: Path, tmp_path: Path) -> Path:
    """The toy on a device, and a folder for temporary files beside it."""
    suite = tmp_path / "suite"
    shutil.copytree(toy_folder, suite)
    (suite / "devices.py").write_text(ADAPTER, encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    return suite


@contextlib.contextmanager
def _another_run(folder: Path, device: str) -> Iterator[bool]:
    """Another run on `device`, as far as anybody can see; whether it was told of one."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, device],
        env=environment(TMPDIR=str(folder.parent / "temporary")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline() == "True\n"
    finally:
        process.communicate()


def _run(folder: Path, *words: str, adapter: str = "OnDevice", **variables: str) -> Outcome:
    words = (f"--impl=devices.py:{adapter}", "-k", "test_it and calm", *words)
    return session(
        folder, folder.parent / "run.jsonl", *words, TMPDIR=str(folder.parent / "temporary"), HOSTILE="", **variables
    )


@pytest.mark.parametrize("mode", ["--no-isolate", "-n2"])
def test_a_second_run_is_told_at_its_start_and_in_its_record(folder: Path, mode: str) -> None:
    alone = _run(folder, mode)
    assert alone.status == 0, alone.output
    assert SHARED_DEVICE not in alone.output
    assert "shared_device" not in alone.record.header.environment
    with _another_run(folder, "meta 1") as told:
        assert not told
        second = _run(folder, mode, "--force", "-q")
        with _another_run(folder, "meta 1") as third_is_told:
            assert third_is_told
    assert second.status == 0, second.output
    # Before the first test, and again where the result is.
    assert second.output.index(f"note: {SHARED_DEVICE}") < second.output.index("conformance of toy")
    assert second.output.count(f"note: {SHARED_DEVICE}") == 2
    assert second.record.header.environment["shared_device"] == SHARED_DEVICE
    assert second.verdicts == alone.verdicts


@pytest.mark.parametrize(
    ("device", "adapter", "variables"),
    [("cpu 0", "OnHost", {}), ("meta 0", "OnDevice", {}), ("meta 1", "OnDevice", {"META_VISIBLE": "4,5"})],
)
def test_the_host_is_shared_with_everybody_and_another_device_with_nobody(
    folder: Path, device: str, adapter: str, variables: dict[str, str]
) -> None:
    with _another_run(folder, device):
        outcome = _run(folder, "--no-isolate", adapter=adapter, **variables)
    assert outcome.status == 0, outcome.output
    assert SHARED_DEVICE not in outcome.output


def test_a_lock_that_cannot_be_had_is_no_obstacle(folder: Path) -> None:
    with _another_run(folder, "meta 1"):
        (lock,) = (folder.parent / "temporary").glob("graph-conformance-*.lock")
    assert lock.stat().st_size == 0
    lock.unlink()
    lock.symlink_to(folder / "victim")
    outcome = _run(folder, "--no-isolate")
    assert outcome.status == 0, outcome.output
    assert not (folder / "victim").exists()


def test_parts_of_a_run_need_not_agree_on_who_else_was_there(folder: Path) -> None:
    first = _run(folder, "--no-isolate", "--shard=1/2")
    shard = shutil.copy(first.path, folder.parent / "1.jsonl")
    lines = first.path.read_bytes().splitlines(keepends=True)
    first.path.write_bytes(b"".join(lines[:-1]))
    with _another_run(folder, "meta 1"):
        resumed = _run(folder, "--no-isolate", "--shard=1/2", f"--resume={first.path}")
        second = _run(folder, "--no-isolate", "--shard=2/2", "--force")
    assert resumed.status == 0, resumed.output
    merged = merge([shard, second.path], folder.parent / "all.jsonl")
    assert merged.header.environment["shared_device"] == SHARED_DEVICE


def test_a_device_has_the_same_name_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(uuid="GPU-1")
    module = SimpleNamespace(get_device_properties=lambda _: properties)
    adapter = SimpleNamespace(graph_class=type, device="cuda:1", module=module, visible_devices="VISIBLE")
    assert accelerator_of(adapter) == "cuda GPU-1"
    del properties.uuid
    assert accelerator_of(adapter) == "cuda 1"
    monkeypatch.setenv("VISIBLE", "3,GPU-7")
    assert accelerator_of(adapter) == "cuda GPU-7"
    adapter.device = "cuda"
    assert accelerator_of(adapter) == "cuda 3"
    adapter.device = "cpu"
    assert accelerator_of(adapter) is None
