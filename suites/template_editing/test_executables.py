"""The graph's executable, changed by its raw handle: seen at the next replay, gone with the next instantiate()."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.support.captures import replay
from suites.support.editor import kept, refused_update, update
from suites.support.handles import executable_of, runtime_call

SIZE = 37


class _Scene:
    """A graph that adds one to `x`, sets `flag` to 3 and copies `source` to `copy`, instantiated."""

    def __init__(self, impl: Adapter) -> None:
        self._impl = impl
        self.x, self.flag, self.copy = impl.full(SIZE, 0.0), impl.full(SIZE, -1.0), impl.full(SIZE, -1.0)
        self.source = impl.tensor(torch.arange(SIZE, dtype=torch.float32))
        self.graph: Any
        self.graph, self.template = kept(impl, lambda: self.x.add_(1))
        self.memset = self.template.add_memset(self.flag, 3.0)
        self.memcpy = self.template.add_memcpy(self.copy, self.source)
        self.graph.instantiate()
        self.executable = executable_of(impl, self.graph)
        self._replays = 0

    def check(self, promise: str, flag: float = 3.0, contents: Any = None) -> None:
        """Replay twice on poisoned tensors; reject unless they hold `flag` and `contents`."""
        for _ in range(2):
            self._replays += 1
            self.flag.fill_(-1.0)
            self.copy.fill_(-1.0)
            replay(self._impl, self.graph)
            expect_equal(self._impl, self.flag, flag, promise)
            expect_equal(self._impl, self.copy, torch.arange(SIZE) if contents is None else contents, promise)
            expect_equal(self._impl, self.x, float(self._replays), "the captured work is left in place")


@requirement("template-editing.exec-update")
def test_update(impl: Adapter) -> None:
    """New parameters in the template show after the update, not before, and stay over instantiate()."""
    scene, other = _Scene(impl), impl.full(SIZE, 8.0)
    scene.template.change_memset(scene.memset, scene.flag, 4.0)
    scene.template.change_memcpy(scene.memcpy, scene.copy, other)
    scene.check("an edit of the template does not reach the executable by itself")
    update(impl, scene.executable, scene.template)
    scene.check("after cudaGraphExecUpdate the executable has the template's new parameters", 4.0, 8.0)
    after = impl.raw_exec(scene.graph)
    expect(after == int(scene.executable), "an update makes no new executable", f"the handle became {after}")
    scene.graph.instantiate()
    scene.check("instantiate() takes the template's new parameters as well", 4.0, 8.0)


@requirement("template-editing.exec-update")
def test_update_from_a_clone(impl: Adapter) -> None:
    """Parameters changed in a clone alone reach the executable; instantiate() goes back to the template."""
    scene = _Scene(impl)
    with scene.template.clone() as clone:
        clone.change_memset(scene.template.in_clone(scene.memset, clone), scene.flag, 6.0)
        update(impl, scene.executable, clone)
    scene.check("after cudaGraphExecUpdate the executable has the clone's parameters", 6.0)
    scene.graph.instantiate()
    scene.check("instantiate() makes an executable from the template")


@requirement("template-editing.exec-update-refused")
@pytest.mark.parametrize("edit", ["node-added", "node-removed"])
def test_refused_update(impl: Adapter, edit: str) -> None:
    """A template of another shape is refused; replays, and later instantiate(), are as they should be."""
    scene = _Scene(impl)
    if edit == "node-added":
        scene.template.add_memset(scene.flag, 7.0, after=[scene.memset])
    else:
        scene.template.remove(scene.memset)
    refused = refused_update(impl, scene.executable, scene.template)
    expect(refused, "the runtime refuses to update an executable from a template of another shape", "it did not")
    scene.check("a refused update changes nothing about replays")
    scene.graph.instantiate()
    scene.check("instantiate() takes the edited template", 7.0 if edit == "node-added" else -1.0)


@requirement("template-editing.exec-node-parameters")
def test_parameters_of_a_node(impl: Adapter) -> None:
    """A memset and a memcpy changed in the executable show at the next replay; the template's stay."""
    scene, other = _Scene(impl), impl.full(SIZE, 8.0)
    before = int(scene.template.memset_of(scene.memset).value)
    scene.check("replays do what was captured and added")
    scene.template.set_memset_in(scene.executable, scene.memset, scene.flag, 5.0)
    scene.check("parameters set on a node of the executable show at the next replay", 5.0)
    scene.template.set_memcpy_in(scene.executable, scene.memcpy, scene.copy, other)
    scene.check("parameters set on a node of the executable show at the next replay", 5.0, 8.0)
    after = int(scene.template.memset_of(scene.memset).value)
    expect(after == before, "what is set in the executable is not set in the template", f"{before:#x} is {after:#x}")


@requirement("template-editing.exec-changes-end-with-instantiate")
@pytest.mark.parametrize("change", ["parameters", "disabled"])
def test_instantiate_after_a_change(impl: Adapter, change: str) -> None:
    """The executable that instantiate() makes comes from the template alone."""
    scene = _Scene(impl)
    if change == "parameters":
        scene.template.set_memset_in(scene.executable, scene.memset, scene.flag, 5.0)
    else:
        scene.template.enable_in(scene.executable, scene.memset, enabled=False)
    scene.check("a change of the executable shows at the next replay", 5.0 if change == "parameters" else -1.0)
    scene.graph.instantiate()
    scene.check("instantiate() makes an executable from the template, without what was changed in the old one")


@requirement("template-editing.exec-node-disabled")
def test_disabled_node(impl: Adapter) -> None:
    """A disabled memset writes nothing until it is enabled again; the rest of the graph runs."""
    scene = _Scene(impl)
    for _ in range(2):
        scene.template.enable_in(scene.executable, scene.memset, enabled=False)
        scene.check("a disabled node does nothing in replays", -1.0)
        scene.template.enable_in(scene.executable, scene.memset, enabled=True)
        scene.check("a node that is enabled again does its work")


@requirement("template-editing.exec-upload")
def test_upload(impl: Adapter) -> None:
    """An upload before or between replays runs nothing and changes nothing."""
    scene = _Scene(impl)
    for _ in range(2):
        runtime_call(impl, "cudaGraphUpload", scene.executable, 0)
        impl.synchronize()
        scene.check("an uploaded executable replays as before")
