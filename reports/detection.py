"""What the suites detect: the part of a report that comes from a self-check's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from conformance.records.causes import number
from conformance.records.header import Header
from conformance.selfcheck.outcomes import AS_PROMISED, Outcome, Row, counts
from conformance.selfcheck.table import Table, complaint
from reports.words import OUTCOMES, Word, seconds


@dataclass(frozen=True)
class Line:
    """One fault or variant.

    Attributes:
        row: of the table.
        word: its outcome.
        complaint: what the suites, or a script that they made, do wrong with it; empty when nothing.
    """

    row: Row
    word: Word
    complaint: str


@dataclass(frozen=True)
class Group:
    """The faults of a layer, or the variants.

    Attributes:
        name: for a heading.
        figure: how many of them came out well.
        lines: in their catalogue's order.
    """

    name: str
    figure: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Detection:
    """A self-check.

    Attributes:
        kind, symbol, headline: what it came to.
        notices: why it may not describe the suites that the records come from.
        groups: everything that was tried.
        wrong: what did not come out well.
        facts: how it was made.
    """

    kind: Literal["holds", "fails"]
    symbol: str
    headline: str
    notices: tuple[str, ...]
    groups: tuple[Group, ...]
    wrong: tuple[Line, ...]
    facts: tuple[tuple[str, str], ...]


def detection(table: Table, runs: Sequence[tuple[str, Header]]) -> Detection:
    """What a report says about `table`, next to records with these labels and headers."""
    layers = dict.fromkeys(row.layer for row in table.of("fault"))
    groups = [
        _group(f"Faults of the layer: {layer}", [row for row in table.of("fault") if row.layer == layer])
        for layer in layers
    ]
    if table.of("variant"):
        groups.append(_group("Variants", table.of("variant")))
    parts = [_headline(kind, table.of(kind)) for kind in ("fault", "variant") if table.of(kind)]
    misleading = sum(row.outcome.good and not row.good for row in table.rows)
    if misleading:
        parts.append(f"{number(misleading, 'script')} of killed faults not as promised")
    headline = "; ".join(parts)
    return Detection(
        kind="holds" if table.good else "fails",
        symbol="✓" if table.good else "✗",
        headline=f"{headline or 'Nothing was tried'}.",
        notices=_notices(table, runs),
        groups=tuple(groups),
        wrong=tuple(line for group in groups for line in group.lines if line.complaint),
        facts=_facts(table),
    )


def _headline(kind: str, rows: Sequence[Row]) -> str:
    well = Outcome.KILLED if kind == "fault" else Outcome.ACCEPTED
    return f"{counts(rows).get(well, 0)} of {len(rows)} {kind}s {well}"


def _group(name: str, rows: Sequence[Row]) -> Group:
    figure = ", ".join(f"{number} {outcome}" for outcome, number in counts(rows).items())
    return Group(name, figure, tuple(_line(row) for row in rows))


def _line(row: Row) -> Line:
    return Line(row, OUTCOMES[row.outcome], "" if row.good else complaint(row))


def _notices(table: Table, runs: Sequence[tuple[str, Header]]) -> tuple[str, ...]:
    state = (table.kit_version, table.suite_digest)
    others = [label for label, header in runs if (header.kit_version, header.suite_digest) != state]
    notices = []
    if others:
        notices.append(
            f"This table is of another state of the suites than the record of {', '.join(others)}: "
            "what decided there may detect more, or less."
        )
    if table.narrowed:
        notices.append("Only a part of the faults, of the variants or of the suites was tried.")
    return tuple(notices)


def _facts(table: Table) -> tuple[tuple[str, str], ...]:
    scripts = [row.script for row in table.rows if row.script is not None]
    facts = [
        ("started", table.started_at),
        ("duration", f"{seconds(table.duration_s)}, {table.processes} at a time"),
        ("kit", table.kit_version),
        ("suite digest", table.suite_digest),
        *((name, str(value)) for name, value in table.environment.items()),
    ]
    if scripts:
        figure = f"{scripts.count(AS_PROMISED)} of {len(scripts)} fail with the fault and pass without it"
        facts.insert(0, ("scripts of killed faults", figure))
    return tuple(facts)
