"""The catalogues are well formed: every entry says what it is and names what there is."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.adapters.implementations import KNOWN
from conformance.errors import UsageError
from conformance.requirements.loading import load_registry
from conformance.selfcheck import catalogue
from reference_impl.faults import FAULTS, Fault
from reference_impl.faults.fault import kebab_case
from reference_impl.variants import VARIANTS

REGISTRY = load_registry()
DIALECTS = {"reference.xpu": "xpu", "reference.accelerator": "accelerator"}


def test_there_are_enough() -> None:
    assert len(FAULTS) >= 120
    assert len(VARIANTS) >= 15
    layers = Counter(fault.layer for fault in FAULTS)
    assert set(layers) == {"class", "runtime", "allocator", "recorder"}
    assert min(layers.values()) >= 15


def test_the_kit_reads_them() -> None:
    assert len(catalogue.faults(catalogue.FAULTS, REGISTRY)) == len(FAULTS)
    assert len(catalogue.variants(catalogue.VARIANTS, REGISTRY)) == len(VARIANTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_what_a_fault_names_holds_for_its_dialect(fault: Fault) -> None:
    assert len(fault.about) > 20, "the docstring is the entry in the kill table: say what is wrong"
    dialect = DIALECTS.get(fault.implementation, "cuda")
    for identity in fault.rejected_by:
        entry = REGISTRY.get(identity, fault.name)
        assert entry.scored
        assert entry.holds_for(dialect, "2.14"), f"{identity} does not hold for {fault.implementation}"


def test_variants_are_described() -> None:
    for variant in VARIANTS:
        assert len(variant.about) > 20
        assert set(variant.implementations) <= set(KNOWN)
        assert variant.implementations


def test_every_dialect_has_variants() -> None:
    assert {name for variant in VARIANTS for name in variant.implementations} == {
        "reference",
        "reference.asynchronous",
        "reference.xpu",
        "reference.accelerator",
    }


@pytest.mark.parametrize("module", ["tests.selfcheck.no_such_module", "tests.selfcheck.test_catalogue_none", "json"])
def test_what_is_no_catalogue_is_refused(module: str) -> None:
    with pytest.raises(UsageError, match="is no catalogue"):
        catalogue.faults(module, REGISTRY)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UsageError, match="no-such-fault"):
        catalogue.faults(catalogue.FAULTS, REGISTRY, ["no-such-fault"])


def test_a_misspelled_name_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean replays-twice"):
        catalogue.faults(catalogue.FAULTS, REGISTRY, ["replay-twice"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("RunsAtCaptureEnd", "runs-at-capture-end"),
        ("join_adds_no_edge", "join-adds-no-edge"),
        ("XPUGraph", "xpu-graph"),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert kebab_case(name) == expected
