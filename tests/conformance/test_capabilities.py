"""The table of capabilities: it agrees with the requirement files, and the page shows it as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.adapter import Adapter, Dialect
from conformance.requirements.loading import load_registry
from conformance.requirements.page import capability_table
from conformance.requirements.revisions import Revision
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS, Capability

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"


@pytest.mark.parametrize("capability", CAPABILITIES.values(), ids=CAPABILITIES)
def test_the_table_agrees_with_the_requirement_files(capability: Capability) -> None:
    entries = load_registry().requirements.values()
    behind = [entry for entry in entries if capability.name in {entry.capability, entry.probes}]
    releases = {entry.since for entry in behind}
    assert min(releases, key=Revision) == capability.since
    assert capability.complete is None or capability.complete in releases - {capability.since}
    assert {dialect for entry in behind for dialect in entry.dialects} == set(capability.dialects)


def test_the_page_has_the_table() -> None:
    assert capability_table() in PAGE.read_text(encoding="utf-8"), f"the table should be:\n{capability_table()}"


@pytest.mark.parametrize(
    ("revision", "dialect", "declared", "owed"),
    [
        ("2.7", "cuda", None, False),
        ("2.8", "cuda", None, False),  # the executable's handle is not documented yet
        ("2.9", "cuda", None, True),
        ("2.9", "cuda", True, True),
        ("2.9", "cuda", False, False),
        ("2.14", "accelerator", None, False),
    ],
)
def test_an_adapter_owes_what_is_documented_in_full_and_not_declared_absent(
    revision: str, dialect: Dialect, *, declared: bool | None, owed: bool
) -> None:
    adapter = Adapter()
    adapter.revision, adapter.dialect = revision, dialect
    adapter.capabilities = {} if declared is None else {"raw_handles": declared}
    assert adapter.owes("raw_handles") is owed


@pytest.mark.parametrize(("revision", "begun"), [("2.7", False), ("2.8", True), ("2.9", True)])
def test_a_capability_begins_before_it_is_complete(revision: str, *, begun: bool) -> None:
    capability = CAPABILITIES["raw_handles"]
    assert capability.begun_in(revision, "xpu") is begun
    assert not capability.begun_in(revision, "accelerator")
    assert set(capability.dialects) < set(DIALECTS)
