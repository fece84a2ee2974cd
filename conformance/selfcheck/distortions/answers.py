"""Operators on what a call answers."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from conformance.selfcheck.distortions.call import Act, Call, Owners, PerOwner, differ
from conformance.selfcheck.distortions.operator import Means, Operator
from conformance.selfcheck.distortions.sites import Part, Site, Through
from conformance.selfcheck.distortions.values import changes_of, rearrangements

_Change = Callable[[Any], Any]


def on_answers(site: Site) -> Iterator[Operator]:
    """Every operator that fits what `site` answers."""
    if site.answer == "None" or site.attribute == "__init__":
        return
    yield _changed("answers nothing", "answers None", lambda _: None)
    yield Operator("answers the first", "answers what it answered first, whoever asks", _first)
    yield Operator("answers the last", "answers what it answered before, whoever asked", _previous)
    if site.is_method:
        yield Operator("answers its last", "answers what it answered the same object before", _previous_own)
        yield Operator("answers for another", "answers for another object", _anothers)
    if site.through is Through.CALL:
        yield _changed("answers detached", "answers without history for autograd", _each(lambda x: x.detach()))
        yield _changed("answers copied", "answers copies", _each(lambda x: x.clone()))
        yield _changed("answers more", "answers one more in each tensor", _each(lambda x: x + 1))
    for part in site.parts or (Part((), site.answer),):
        yield from _on_part(part)
    yield from _exchanges(site.parts)


def _on_part(part: Part) -> Iterator[Operator]:
    where = f"{part.name} " if part.path else ""
    for name, about, change in changes_of(part.kind):
        of = f"each {part.name}" if part.many else part.name or "the answer"
        yield _changed(f"answers {where}{name}", f"answers with {of} {about}", _at(part.path, change))
    if part.path:
        yield _changed(f"answers without {part.name}", f"answers without {part.name}", _without(part.path))
    if part.many:
        for name, about, rearrange in rearrangements():
            words = f"answers {part.name} {name} across"
            yield _changed(words, f"answers with the values of {part.name} {about}", _across(part.path, rearrange))


def _exchanges(parts: tuple[Part, ...]) -> Iterator[Operator]:
    """Two values of one kind in the same dictionary, each in the other's place."""
    for one, other in itertools.combinations(parts, 2):
        if one.path and one.path[:-1] == other.path[:-1] and one.kind == other.kind:
            names = one.path[-1], other.path[-1]
            yield _changed(
                f"answers {names[0]} as {names[1]}",
                f"answers with {names[0]} and {names[1]} exchanged",
                _exchange(one.path, other.path),
            )


# -- what is done to the answer ---------------------------------------------------------------------------------------


def _changed(name: str, about: str, change: _Change) -> Operator:
    def make(means: Means) -> Act:
        def act(call: Call) -> Any:
            answer = call.do()
            changed = change(answer)
            if differ(changed, answer):
                means.mark.set()
            return changed

        return act

    return Operator(name, about, make)


def _holders(answer: Any, path: tuple[str, ...]) -> list[dict[str, Any]]:
    """The dictionaries in which the last key of `path` stands."""
    holders = [answer]
    for key in path[:-1]:
        holders = [each for holder in holders for each in (holder if key == "*" else [holder[key]])]
    return holders


def _at(path: tuple[str, ...], change: _Change) -> _Change:
    if not path:
        return change

    def changed(answer: Any) -> Any:
        answer = copy.deepcopy(answer)
        for holder in _holders(answer, path):
            holder[path[-1]] = change(holder[path[-1]])
        return answer

    return changed


def _across(path: tuple[str, ...], rearrange: _Change) -> _Change:
    def changed(answer: Any) -> Any:
        answer = copy.deepcopy(answer)
        holders = _holders(answer, path)
        for holder, value in zip(holders, rearrange([each[path[-1]] for each in holders]), strict=True):
            holder[path[-1]] = value
        return answer

    return changed


def _without(path: tuple[str, ...]) -> _Change:
    def changed(answer: Any) -> Any:
        answer = copy.deepcopy(answer)
        for holder in _holders(answer, path):
            del holder[path[-1]]
        return answer

    return changed


def _exchange(one: tuple[str, ...], other: tuple[str, ...]) -> _Change:
    def changed(answer: Any) -> Any:
        answer = copy.deepcopy(answer)
        for holder in _holders(answer, one):
            holder[one[-1]], holder[other[-1]] = holder[other[-1]], holder[one[-1]]
        return answer

    return changed


def _each(change: _Change) -> _Change:
    """`change` for each tensor in what a graphed callable answers."""

    def changed(answer: Any) -> Any:
        if isinstance(answer, list | tuple):
            return type(answer)(map(changed, answer))
        return change(answer) if hasattr(answer, "detach") else answer

    return changed


# -- another answer ---------------------------------------------------------------------------------------------------


def _first(means: Means) -> Act:
    answers: list[Any] = []

    def act(call: Call) -> Any:
        answer = call.do()
        if not answers:
            answers.append(answer)
        if differ(answers[0], answer):
            means.mark.set()
        return answers[0]

    return act


def _previous(means: Means) -> Act:
    answers: list[Any] = []

    def act(call: Call) -> Any:
        answer = call.do()
        previous = answers.pop() if answers else answer
        answers.append(answer)
        if differ(previous, answer):
            means.mark.set()
        return previous

    return act


def _previous_own(means: Means) -> Act:
    answers: PerOwner[Any] = PerOwner()

    def act(call: Call) -> Any:
        answer = call.do()
        previous = answers.get(call.owner, answer)
        answers.put(call.owner, answer)
        if differ(previous, answer):
            means.mark.set()
        return previous

    return act


def _anothers(means: Means) -> Act:
    owners = Owners()

    def act(call: Call) -> Any:
        answer, other = call.do(), next(owners.others_than(call.owner), None)
        if other is None:
            return answer
        try:
            others = call.on(other)
        except Exception:  # whatever it refuses with, it has no answer
            return answer
        if differ(others, answer):
            means.mark.set()
        return others

    return act
