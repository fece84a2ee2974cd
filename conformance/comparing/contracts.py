"""What became of the requirements, and where what they ask is not the same in both records."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from conformance.comparing.changes import Change, transition
from conformance.comparing.found import Found, RequirementChange
from conformance.errors import one_line
from conformance.records.record import Record
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement

#: What makes another demand of a requirement.
_CONTRACT = ("level", "text", "since", "until", "dialects", "capabilities", "untestable")
#: What is never said of what the documents leave open.
_JUDGED = frozenset({Change.REGRESSED, Change.FIXED, Change.FAILING})
#: Gravest first.
_LEVELS = ("must", "should", "may")
_SHOWN = 120
_NOT_ASKED, _NOT_THERE = "not asked", "not there"


def compare_requirements(
    old: Record, new: Record, rejected_alike: Collection[str], still_open: Collection[str]
) -> Mapping[Change, Found[RequirementChange]]:
    """What became of the requirements that hold in one of two records, or in both.

    Args:
        old: a record.
        new: the other.
        rejected_alike: the ids of what a test rejects in the new record that has the same code in both.
        still_open: the ids of what a test rejected in the old record that does not pass, unchanged, in the new one.
    """
    before, after = ({entry.id: entry for entry in record.header.requirements} for record in (old, new))
    asked_before, asked_after = old.assessment.requirements, new.assessment.requirements
    found: dict[Change, Found[RequirementChange]] = {}
    entries = sorted({**before, **after}.values(), key=lambda entry: _LEVELS.index(entry.level))
    for entry in entries:
        name = entry.id
        if name not in asked_before and name not in asked_after:
            continue
        differences: tuple[str, ...] = ()
        if name not in before or name not in after:
            change = Change.NEW if name in after else Change.GONE
        else:
            differences = _differences(before[name], after[name], old, new)
            if differences:
                change = Change.CHANGED
            elif name in asked_before and name in asked_after:
                change = _change(entry, asked_before[name], asked_after[name], rejected_alike, still_open)
            else:
                change = Change.NEW if name in asked_after else Change.GONE
        verdicts = (
            _words(asked_before.get(name), name in before),
            _words(asked_after.get(name), name in after),
        )
        found.setdefault(change, Found()).add(
            RequirementChange(entry.id, entry.level, entry.text, *verdicts, differences),
            is_notable=_is_notable(change, asked_before.get(name), asked_after.get(name)),
            is_must=entry.level == "must",
        )
    return {change: found[change] for change in Change if change in found}


def _change(
    entry: Requirement, old: Verdict, new: Verdict, rejected_alike: Collection[str], still_open: Collection[str]
) -> Change:
    change = transition(old, new, scored=entry.scored)
    if not entry.scored and change in _JUDGED:
        # Its test crashed or hung, which is told of the test.
        return Change.SAME if old is new else Change.OPEN
    if change is Change.REGRESSED and entry.id not in rejected_alike:
        return Change.INCOMPARABLE
    if change is Change.FIXED and entry.id in still_open:
        return Change.INCOMPARABLE
    return change


def _is_notable(change: Change, before: Verdict | None, after: Verdict | None) -> bool:
    if change is Change.CHANGED:
        return before is not after
    verdict = before if change is Change.GONE else after
    return change not in {Change.NEW, Change.GONE} or (verdict is not None and verdict.is_trouble)


def _differences(before: Requirement, after: Requirement, old: Record, new: Record) -> tuple[str, ...]:
    """Where the two ask for other things; of those that do, also when they are asked of one run only."""
    found = []
    for name in _CONTRACT:
        first, second = getattr(before, name), getattr(after, name)
        if first != second:
            found.append(f"{name}: {_shown(first)}, now {_shown(second)}")
    was_asked, is_asked = before.id in old.assessment.requirements, after.id in new.assessment.requirements
    if found and was_asked != is_asked:
        header = (old if was_asked else new).header
        found.append(f"asked of {header.dialect} {header.revision} only")
    return tuple(found)


def _words(verdict: Verdict | None, is_there: bool) -> str:
    if verdict is not None:
        return verdict.value
    return _NOT_ASKED if is_there else _NOT_THERE


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return "none" if value is None else one_line(str(value), _SHOWN)
