"""When an edit of the template reaches a replay: with the next instantiate(), never before."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.reinstantiation.programs import EDITS, FEW_EDITS, UNEDITED, Edit, Scene

EACH_EDIT = pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
FEW = pytest.mark.parametrize("edit", FEW_EDITS, ids=lambda edit: edit.name)
HIDDEN = "an edit of the template does not reach the executable that was made before it"
SHOWN = "instantiate() makes an executable that has the edits of the template"


@requirement("reinstantiation.edit-shown-after-instantiate")
@EACH_EDIT
def test_edit_is_shown_after_instantiate(impl: Adapter, edit: Edit) -> None:
    """After another instantiate() every replay has the edit."""
    scene = Scene(impl)
    scene.graph.instantiate()
    scene.check(UNEDITED, "a replay runs the captured work")
    edit.apply(scene)
    scene.graph.instantiate()
    for _ in range(3):
        scene.check(edit, SHOWN)


@requirement("reinstantiation.edit-hidden-until-instantiate")
@FEW
def test_edit_is_hidden_from_an_explicit_executable(impl: Adapter, edit: Edit) -> None:
    """Replays of an executable made by instantiate() go on without the edit."""
    scene = Scene(impl)
    scene.graph.instantiate()
    edit.apply(scene)
    for _ in range(3):
        scene.check(UNEDITED, HIDDEN)


@requirement("reinstantiation.edit-hidden-until-instantiate")
@FEW
def test_edit_is_hidden_from_a_lazy_executable(impl: Adapter, edit: Edit) -> None:
    """Replays of an executable made by the first replay go on without the edit, until instantiate()."""
    scene = Scene(impl)
    scene.check(UNEDITED, "the first replay instantiates and runs the captured work")
    edit.apply(scene)
    for _ in range(2):
        scene.check(UNEDITED, HIDDEN)
    scene.graph.instantiate()
    for _ in range(2):
        scene.check(edit, SHOWN)


@requirement("reinstantiation.edit-before-first-executable-included")
@FEW
def test_edit_before_the_first_replay_is_included(impl: Adapter, edit: Edit) -> None:
    """The executable that the first replay makes has the edits made before that replay."""
    scene = Scene(impl)
    edit.apply(scene)
    for _ in range(3):
        scene.check(edit, "the first replay instantiates the template as it then is")


@requirement("reinstantiation.edit-before-first-executable-included")
@FEW
def test_edit_before_the_first_instantiate_is_included(impl: Adapter, edit: Edit) -> None:
    """The executable that the first instantiate() makes has the edits made between capture_end and that call."""
    scene = Scene(impl)
    edit.apply(scene)
    scene.graph.instantiate()
    for _ in range(3):
        scene.check(edit, "instantiate() takes the template as it then is")
