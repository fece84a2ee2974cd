"""The requirement files: what is read, and what is refused."""

from __future__ import annotations

import dataclasses
import textwrap
from pathlib import Path

import pytest

from conformance.errors import RequirementError
from conformance.markers import requirement
from conformance.requirements.area_files import read_registry
from conformance.requirements.loading import load_registry, tied
from conformance.requirements.registry import Area, Registry, Requirement, unclaimed
from conformance.requirements.statements import Document, Statement

GOOD = """
area = "alpha"
title = "An area"

[[requirement]]
id = "alpha.one"
level = "must"
text = "It is so."
documents = ["a page"]
since = "2.8"
"""


def _read(folder: Path, text: str, name: str = "alpha.toml") -> Registry:
    (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return read_registry(folder)


def test_a_requirement_has_defaults(tmp_path: Path) -> None:
    entry = _read(tmp_path, GOOD).requirements["alpha.one"]
    assert entry == Requirement("alpha.one", "alpha", "must", "It is so.", ("a page",), "2.8")
    assert entry.dialects == ("cuda", "xpu", "accelerator")
    assert entry.scored


def test_a_requirement_may_need_several_capabilities(tmp_path: Path) -> None:
    entry = _read(tmp_path, GOOD + 'capability = "rng"\nneeds = ["threads", "pools"]').requirements["alpha.one"]
    assert entry.capabilities == ("rng", "pools", "threads")
    assert entry.lacks({"rng": True, "threads": False}) == "threads"
    assert entry.lacks({"rng": True, "hooks": False}) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("area = ", "alpha.toml: not TOML"),
        (GOOD.replace('title = "An area"', ""), "alpha.toml: 'title' is missing"),
        (GOOD.replace('area = "alpha"', 'area = "beta"'), "alpha.toml: area is 'beta'; it must be the file's name"),
        ('area = "alpha"\ntitle = "x"', "alpha.toml: no [[requirement]] entries"),
        ("colour = 1\n" + GOOD, "alpha.toml: unknown key 'colour'"),
        (GOOD + GOOD.partition("\n\n")[2], "alpha.toml: alpha.one stands there twice"),
        (GOOD + 'needs = ["pols"]', "alpha.toml, alpha.one: unknown capability 'pols'; known: keep_graph, pools"),
        (GOOD + 'needs = ["rng", "rng"]', "alpha.toml, alpha.one: 'needs' names what is needed besides"),
        (GOOD + 'capability = "rng"\nneeds = ["rng"]', "alpha.toml, alpha.one: 'needs' names what is needed besides"),
        (GOOD.replace('id = "alpha.one"', ""), "alpha.toml, entry 1: 'id' is missing"),
        (
            GOOD.replace("alpha.one", "beta.one"),
            "alpha.toml, beta.one: the id must start with the file's area, 'alpha.'",
        ),
        (GOOD.replace("alpha.one", "alphaone"), "alpha.toml, alphaone: the id must start with"),
        (GOOD.replace("alpha.one", "alpha.One_1"), "alpha.toml, alpha.One_1: the part after the dot"),
        (GOOD.replace('"must"', '"shall"'), "alpha.toml, alpha.one: unknown level 'shall'; known: must, should, may"),
        (GOOD.replace('text = "It is so."', ""), "alpha.toml, alpha.one: 'text' is missing"),
        (GOOD.replace('"It is so."', "7"), "alpha.toml, alpha.one: 'text' must be a text, not 7"),
        (GOOD.replace('["a page"]', '"a page"'), "alpha.toml, alpha.one: 'documents' must be a list"),
        (GOOD.replace('["a page"]', "[]"), "alpha.toml, alpha.one: 'documents' must be a list"),
        (GOOD.replace('"2.8"', '"2.x"'), "alpha.toml, alpha.one: 'since': '2.x' is not a revision"),
        (GOOD.replace('"2.8"', "2.8"), "alpha.toml, alpha.one: 'since' must be a text"),
        (GOOD + 'dialects = ["metal"]', "alpha.toml, alpha.one: unknown dialect 'metal'"),
        (GOOD + "dialects = []", "alpha.toml, alpha.one: 'dialects' must be a list"),
        (GOOD + 'capability = "flight"', "alpha.toml, alpha.one: unknown capability 'flight'"),
        (GOOD + 'untestable = ""', "alpha.toml, alpha.one: 'untestable' must be a text"),
        (GOOD + 'destructive = "yes"', "alpha.toml, alpha.one: 'destructive' must be true or false"),
        (GOOD + "weight = 3", "alpha.toml, alpha.one: unknown key 'weight'"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RequirementError) as refusal:
        _read(tmp_path, text)
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "alpha.toml").write_bytes(b"area = '\xff'")
    with pytest.raises(RequirementError, match=r"alpha\.toml: not TOML"):
        read_registry(tmp_path)


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("no", encoding="utf-8")
    assert list(_read(tmp_path, GOOD).areas) == ["alpha"]


@pytest.mark.parametrize(
    ("dialect", "revision", "holds"),
    [("cuda", "2.8", True), ("cuda", "2.14", True), ("cuda", "1.10", False), ("xpu", "2.8", False)],
)
def test_a_requirement_holds_for_its_dialects_and_later_revisions(dialect: str, revision: str, holds: bool) -> None:
    entry = Requirement("a.b", "a", "must", "t", ("d",), "2.8", ("cuda",))
    assert entry.holds_for(dialect, revision) is holds


@pytest.mark.parametrize("ids", [(), (7,)])
def test_the_decorator_takes_ids(ids: tuple[str, ...]) -> None:
    with pytest.raises(TypeError, match="requirement takes ids"):
        requirement(*ids)


def test_the_decorator_without_parentheses_is_refused() -> None:
    with pytest.raises(TypeError, match="requirement takes ids"):
        requirement(lambda: None)  # type: ignore[arg-type]


def test_unclaimed_names_the_testable_rest(registry: Registry) -> None:
    claimed = set(registry.requirements) - {"alpha.two", "beta.hopeless"}
    assert unclaimed(claimed, registry) == ("alpha.two",)


@pytest.mark.parametrize(
    ("identity", "hint"), [("alpha.three", "no such entry in that area's file"), ("gamma.one", "no area 'gamma'")]
)
def test_an_unknown_id_is_refused(registry: Registry, identity: str, hint: str) -> None:
    with pytest.raises(RequirementError, match=hint) as refusal:
        registry.get(identity, "test_it")
    assert "test_it names the unknown requirement" in str(refusal.value)


def test_a_requirement_survives_its_dictionary(registry: Registry) -> None:
    for entry in registry.requirements.values():
        assert Requirement.from_dict({**entry.to_dict(), "of_a_later_version": 1}) == entry


def test_the_kits_own_requirements_are_well_formed() -> None:
    assert load_registry().requirements


def test_until_comes_after_since(tmp_path: Path) -> None:
    assert _read(tmp_path, GOOD + 'until = "2.11"\n').requirements["alpha.one"].until == "2.11"
    with pytest.raises(RequirementError, match=r"alpha\.one: 'until' is 2\.8, which is not after 'since', 2\.8"):
        _read(tmp_path, GOOD + 'until = "2.8"\n')


def test_a_must_that_no_document_promises_is_refused() -> None:
    entry = Requirement("a.one", "a", "must", "One.", ("a page",), "2.8", dialects=("cuda", "xpu"))
    behaviour = Statement("page.Graph.one", "Graph", "behaviour", "One.", ("a.one",))
    sentence = dataclasses.replace(behaviour, kind="sentence")
    registry = Registry([Area("a", "An area", (entry,))])
    with pytest.raises(RequirementError, match=r"a\.toml, a\.one: a must that no statement of a document promises"):
        tied(registry, [Document("page", "A page", "2.8", "cuda", (behaviour,))])
    known = tied(registry, [Document("page", "A page", "2.8", "cuda", (sentence,))]).requirements["a.one"]
    assert (known.statements, known.advised) == (("page.Graph.one",), ("xpu",))
    assert (known.level_for("cuda"), known.level_for("xpu")) == ("must", "should")


def test_a_requirement_holds_until_a_release_that_no_longer_asks_it() -> None:
    entry = Requirement("a.one", "a", "must", "One.", ("a page",), "2.8", until="2.11")
    releases = ("2.7", "2.8", "2.10", "2.11", "2.14")
    assert [release for release in releases if entry.holds_for("cuda", release)] == ["2.8", "2.10"]
