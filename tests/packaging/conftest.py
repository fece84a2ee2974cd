"""Records to package, of suites that are not installed, so that nothing has to be collected."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.records.writer import RecordWriter
from tests.conformance.test_record import FIRST, FOOTER, GRAPH, HEADER, LEFT_OUT, PLANNED, SECOND

#: What a failure may say of the machine that it was seen on.
MESSAGE = 'promised: p\nseen: File "/data/home/dora/the lab/vendor.py", line 3, on gpu-box-7 (10.1.2.3)'
COMMAND = "pytest --impl=/data/home/dora/backend.py:Adapter 'suites/a/test_b.py::test_c[x]'"

Recorded = Callable[..., Path]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Writes a record that does not conform, with other values in its header."""

    def write(name: str = "run.jsonl", *, ended: bool = True, message: str = MESSAGE, **header: Any) -> Path:
        writer = RecordWriter(tmp_path / name)
        second = dataclasses.replace(
            SECOND,
            message=message,
            frames=("/opt/lab/graph.py:7 in replay",),
            calls=("g0.debug_dump('/opt/lab/dora/graph.dot') raised OSError: no /opt/lab/do...",),
            graphs=(dict(GRAPH, nodes=[{"kind": "Kernel", "label": "/opt/lab/kernels.cu:12"}]),),
        )
        with contextlib.closing(writer):
            writer.header(dataclasses.replace(HEADER, **header), PLANNED, LEFT_OUT)
            for result in (FIRST, second):
                writer.started(result.test)
                writer.result(dataclasses.replace(result, command=COMMAND))
            if ended:
                writer.footer(FOOTER)
        return tmp_path / name

    return write
