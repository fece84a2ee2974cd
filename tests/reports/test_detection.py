"""What a report says of a self-check, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.selfcheck.outcomes import Outcome, Row
from conformance.selfcheck.reading import read_table
from conformance.selfcheck.table import Table
from reports import write
from tests.reports.pages import Page, in_both
from tests.reports.samples import sample

KILLED = Row(
    name="loses-a-node",
    kind="fault",
    layer="recorder",
    implementation="reference.xpu",
    about="A capture loses its last node.",
    outcome=Outcome.KILLED,
    requirements=("replay.performs-work", "capture.records-all"),
    tests=4,
    run=7,
    message="expected: all of the work; seen: a part",
    script="as promised",
)
SURVIVED = replace(
    KILLED,
    name="keeps-time",
    layer="class",
    outcome=Outcome.SURVIVED,
    requirements=(),
    tests=0,
    message="no scored requirement rejects it",
    script=None,
)
ACCEPTED = Row("other-order", "variant", "", "reference", "Runs backwards.", Outcome.ACCEPTED, (), 0, 900, "")
ALARM = replace(
    ACCEPTED,
    name="other-words",
    outcome=Outcome.FALSE_ALARM,
    requirements=("misuse.message",),
    message="suites/misuse.py::test: seen: other words",
    explore=3,
)

TABLE = Table(
    rows=(KILLED, ACCEPTED),
    environment={"torch": "2.14.0", "machine": "sample machine"},
    narrowed=False,
    kit_version="0.1.0",
    suite_digest="0123abcd",
    started_at="2030-02-03T04:05:06Z",
    duration_s=123.4,
    processes=2,
)
BAD = replace(TABLE, rows=(KILLED, SURVIVED, replace(KILLED, name="beats", script="passes with the fault"), ALARM))


@pytest.fixture
def pages(tmp_path: Path) -> Callable[[Table], tuple[Page, str]]:
    """Report on a good record and a table; the HTML, parsed, and the Markdown."""

    def make(table: Table) -> tuple[Page, str]:
        file = tmp_path / "table.json"
        file.write_text(json.dumps(table.to_dict()), encoding="utf-8")
        html, markdown = write([sample(tmp_path / "good.jsonl")], tmp_path / "out", file, single=True)
        return Page(html.read_text(encoding="utf-8")), markdown.read_text(encoding="utf-8")

    return make


def test_is_shown(pages: Callable[[Table], tuple[Page, str]]) -> None:
    both = pages(TABLE)
    in_both(
        both,
        "What these suites detect",
        "1 of 1 faults killed; 1 of 1 variants accepted.",
        "Faults of the layer: recorder",
        "loses-a-node",
        "A capture loses its last node.",
        "replay.performs-work",
        "capture.records-all",
        "replay, capture",
        "4 of 7",
        "expected: all of the work; seen: a part",
        "as promised",
        "1 of 1 fail with the fault and pass without it",
        "other-order",
        "2030-02-03T04:05:06Z",
        "2 min 03 s, 2 at a time",
        "sample machine",
    )
    page, markdown = both
    for text in (page.text, markdown):
        assert "another state" not in text
        assert "Only a part" not in text
    assert "detection" in page.ids
    assert {link["href"].removeprefix("#") for link in page.all("a")} <= set(page.ids)


def test_is_left_out_when_there_is_none(tmp_path: Path) -> None:
    _, markdown = write([sample(tmp_path / "good.jsonl")], tmp_path / "out")
    assert "What these suites detect" not in markdown.read_text(encoding="utf-8")
    page = Page((tmp_path / "out" / "detection.html").read_text(encoding="utf-8"))
    assert "This report was made without the table of a self-check." in page.text


def test_what_went_wrong_comes_first_and_the_rest_by_layer(pages: Callable[[Table], tuple[Page, str]]) -> None:
    page, markdown = both = pages(BAD)
    in_both(
        both,
        "✗ 2 of 3 faults killed; 0 of 1 variants accepted; 1 script of killed faults not as promised.",
        "✗ survived",
        "✗ false alarm",
        "its script passes with",
    )
    for text in (page.text, markdown):
        section = text[text.rindex("✗ 2 of 3 faults") :]
        wrong, whole = section.split("The whole table")
        assert all(name in wrong for name in ("keeps-time", "beats", "other-words"))
        assert "loses-a-node" not in wrong
        # By layer, each in the catalogue's order.
        places = [whole.index(name) for name in ("loses-a-node", "beats", "keeps-time", "other-words")]
        assert places == sorted(places)
        assert "examples 3" in whole


def test_a_table_of_other_suites_or_of_a_part_says_so(pages: Callable[[Table], tuple[Page, str]]) -> None:
    words = "This table is of another state of the suites than the record of sample.Graph"
    in_both(pages(replace(TABLE, suite_digest="ffff")), words)
    in_both(pages(replace(TABLE, kit_version="0.2.0", narrowed=True)), words, "Only a part of the faults")


def test_the_counts_are_those_of_the_rows(pages: Callable[[Table], tuple[Page, str]]) -> None:
    in_both(pages(replace(TABLE, rows=())), "Nothing was tried.")


HOSTILE = "</style></script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{ 7*7 }}|`]\x1b[31m\x00\u202e"


def test_hostile_texts_stay_texts(pages: Callable[[Table], tuple[Page, str]]) -> None:
    row = replace(
        SURVIVED,
        name=HOSTILE,
        layer=HOSTILE,
        implementation=HOSTILE,
        about=HOSTILE,
        requirements=(HOSTILE,),
        message=HOSTILE + "\n```\n" + HOSTILE,
        script=HOSTILE,
    )
    table = replace(
        TABLE,
        rows=(row,),
        environment={HOSTILE: HOSTILE},
        kit_version=HOSTILE,
        suite_digest=HOSTILE,
        started_at=HOSTILE,
    )
    page, markdown = pages(table)
    assert len(page.all("style")) == 1
    assert page.all("script") == [{"type": "application/json", "class": "matrix-data"}, {}]
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    for text in (page.raw, markdown):
        assert not re.search("[\x00\x1b\u202e]", text)
    outside = re.sub(r"(?ms)^(`{3,})\n.*?\n\1$|(`+)(?!`).*?(?<!`)\2(?!`)", "", re.sub(r"\\[\\`]", "", markdown))
    assert set(re.findall(r"<[^>]*>", outside)) <= {"<br>", "<details>", "</details>", "<summary>", "</summary>"}


# -- reading ----------------------------------------------------------------------------------------------------------


def test_a_table_comes_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    file.write_text(json.dumps({**BAD.to_dict(), "later": 1}), encoding="utf-8")
    assert read_table(file) == BAD


def changed(**values: Any) -> str:
    return json.dumps({**TABLE.to_dict(), **values})


def without(name: str) -> str:
    return json.dumps({key: value for key, value in TABLE.to_dict().items() if key != name})


def row(**values: Any) -> str:
    return changed(rows=[{**KILLED.to_dict(), **values}])


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "{",
        "[]",
        "\xff",
        "{}",
        changed(schema=99),
        changed(rows=None),
        changed(rows=[1]),
        changed(rows=[{}]),
        changed(duration_s="long"),
        changed(environment={"torch": 2}),
        changed(narrowed=1),
        without("suite_digest"),
        row(outcome="maimed"),
        row(kind="guess"),
        row(tests="4"),
        row(tests=True),
        row(requirements="replay.performs-work"),
        row(requirements=[1]),
        row(about=None),
        row(script=1),
        row(explore="3"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path: Path, content: str | None) -> None:
    file, output = tmp_path / "table.json", tmp_path / "out"
    if content is not None:
        file.write_text(content, encoding="latin-1")
    with pytest.raises(RecordError) as caught:
        write([sample(tmp_path / "good.jsonl")], output, file)
    assert "table.json" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not output.exists()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, file = sample(tmp_path / "good.jsonl").path, tmp_path / "table.json"
    command = ["report", str(record), f"--output={tmp_path / 'out'}", f"--self-check={file}"]
    assert main(command) == ExitStatus.USAGE
    assert capsys.readouterr().err.startswith(f"graph-conformance: the table {file} cannot be read")
    file.write_text(json.dumps(TABLE.to_dict()), encoding="utf-8")
    assert main(command) == ExitStatus.CONFORMING
    assert "loses-a-node" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
