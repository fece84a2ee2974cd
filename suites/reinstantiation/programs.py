"""Edits of a template, each with what a replay does before and after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from suites.support.captures import captured
from suites.support.template import Template

SIZE = 37
FLAG = -7.0  # what the flag holds before each replay


class Scene:
    """A graph that adds one to `x`, and a `flag` and a `source` that only edits of the template reach."""

    def __init__(self, impl: Adapter) -> None:
        self.impl = impl
        self.x = impl.full(SIZE, 0.0)
        self.flag = impl.full(SIZE, FLAG)
        self.source = impl.full(SIZE, 0.0)
        self.graph: Any
        self.graph, _ = captured(impl, lambda: self.x.add_(1), keep_graph=True)
        self._turn = 0

    def template(self) -> Template:
        """The graph's template."""
        return Template(self.impl, self.graph)

    def check(self, edit: Edit, promise: str, run: Callable[[], None] | None = None) -> None:
        """Replay once on fresh values; reject unless the work is that of a template with `edit`."""
        self._turn += 1
        before = torch.arange(SIZE, dtype=torch.float32) * self._turn + 50
        source = torch.arange(SIZE, dtype=torch.float32) * -3 + self._turn
        self.x.copy_(self.impl.tensor(before))
        self.source.copy_(self.impl.tensor(source))
        self.flag.fill_(FLAG)
        (run or self.graph.replay)()
        x, flag = edit.result(Contents(before, source))
        expect_equal(self.impl, self.x, x, f"{promise} (the tensor that the captured work adds one to)")
        expect_equal(self.impl, self.flag, flag, f"{promise} (the tensor that only edits write)")


@dataclass(frozen=True)
class Contents:
    """What the tensors of a scene hold before a replay."""

    x: torch.Tensor
    source: torch.Tensor


@dataclass(frozen=True)
class Edit:
    """A change of the scene's template.

    Attributes:
        name: for test ids.
        apply: makes the change.
        result: what `x` and `flag` hold after a replay, from what they held before it.
    """

    name: str
    apply: Callable[[Scene], None]
    result: Callable[[Contents], tuple[torch.Tensor, torch.Tensor]]


def _flag(value: float = FLAG) -> torch.Tensor:
    return torch.full((SIZE,), value)


def _memset_flag(scene: Scene) -> None:
    template = scene.template()
    template.add_memset(scene.flag, 3.0, after=template.leaves())


def _memset_x(scene: Scene) -> None:
    template = scene.template()
    template.add_memset(scene.x, 5.0, after=template.leaves())


def _memset_x_first(scene: Scene) -> None:
    template = scene.template()
    roots = template.roots()
    node = template.add_memset(scene.x, 5.0)
    for root in roots:
        template.link(node, root)


def _copy_source(scene: Scene) -> None:
    scene.template().add_memcpy(scene.flag, scene.source)


def _copy_x(scene: Scene) -> None:
    template = scene.template()
    template.add_memcpy(scene.flag, scene.x, after=template.leaves())


def _remove_all(scene: Scene) -> None:
    scene.template().remove_all()


def _replace_all(scene: Scene) -> None:
    scene.template().remove_all()
    scene.template().add_memcpy(scene.x, scene.source)


#: No edit at all: the captured work as it was.
UNEDITED = Edit("unedited", lambda _: None, lambda before: (before.x + 1, _flag()))

EDITS = (
    Edit("memset-added", _memset_flag, lambda before: (before.x + 1, _flag(3.0))),
    Edit("memset-after-captured-work", _memset_x, lambda _: (torch.full((SIZE,), 5.0), _flag())),
    Edit("memset-before-captured-work", _memset_x_first, lambda _: (torch.full((SIZE,), 6.0), _flag())),
    Edit("memcpy-added", _copy_source, lambda before: (before.x + 1, before.source)),
    Edit("memcpy-of-captured-result", _copy_x, lambda before: (before.x + 1, before.x + 1)),
    Edit("captured-work-removed", _remove_all, lambda before: (before.x, _flag())),
    Edit("captured-work-replaced", _replace_all, lambda before: (before.source, _flag())),
)

#: One edit that adds behind the captured work, one that adds next to it and one that removes it.
FEW_EDITS = (EDITS[0], EDITS[3], EDITS[5])
