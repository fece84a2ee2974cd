"""What answers are made of, looked at where a signature only says that there is a dictionary."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
from collections.abc import Iterator
from typing import Any

from conformance.adapter import Adapter
from conformance.selfcheck.children import Forked, Reporter, fork
from conformance.selfcheck.distortions.sites import Part, documents_of


def answers_of(adapter: Adapter) -> dict[str, tuple[Part, ...]]:
    """By documented method without arguments, the parts of what it answers about a small graph.

    The graph is captured in a forked process, because this one must not touch the device.
    """

    def live(reporter: Reporter) -> None:
        graph = _captured(adapter)
        for member in dict.fromkeys(member for each in documents_of(adapter) for member in each.members):
            method = getattr(graph, member, None)
            if not callable(method) or not _asks_nothing(method):
                continue
            with contextlib.suppress(RuntimeError):
                parts = [(part.path, part.kind) for part in _parts(method(), ())]
                reporter.say("answer", member=member, parts=parts)

    pid, pipe = fork(live)
    os.set_blocking(pipe.fileno(), True)
    lines = [json.loads(line) for line in pipe]
    Forked(pid, pipe, 0.0).wait()
    return {
        line["member"]: tuple(Part(tuple(path), kind) for path, kind in line["parts"])
        for line in lines
        if line["kind"] == "answer"
    }


def _captured(adapter: Adapter) -> Any:
    graph, scrap, side = adapter.new_graph(True), adapter.full(3, 1.0), adapter.new_stream()
    side.wait_stream(adapter.current_stream())
    with adapter.stream(side):
        adapter.capture_begin(graph)
        scrap.add_(1)
        scrap.mul_(2)
        graph.capture_end()
        graph.instantiate()
    return graph


def _asks_nothing(method: Any) -> bool:
    """Whether it is a question: it takes nothing and says that it answers something."""
    signature = inspect.signature(method)
    return not signature.parameters and signature.return_annotation not in {None, "None"}


def _parts(value: Any, path: tuple[str, ...]) -> Iterator[Part]:
    yield Part(path, type(value).__name__)
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _parts(entry, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for key, entry in value[0].items():
            yield from _parts(entry, (*path, "*", key))
