"""What the doctor says: what was found, what each call gave, and at the end what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tabulate import tabulate

from conformance.adapters.answers import Answer
from conformance.adapters.members import PROGRAMS
from conformance.diagnosis.examination import Findings, Request
from conformance.diagnosis.facts import Facts
from conformance.diagnosis.probes import Probe
from conformance.errors import ExitStatus
from conformance.text import visible_line

_WORDS = {True: "present", False: "absent", None: "unstated"}


def faults(findings: Findings, probes: Sequence[Probe]) -> list[str]:
    """What the adapter's author is to mend before any run."""
    found = [findings.refused] if findings.refused is not None else []
    found += [findings.lost] if findings.lost is not None and not _is_lost_in_a_program(findings) else []
    found += [answer.trouble for answer in findings.answers if answer.whose == "adapter"]
    return [*dict.fromkeys(found), *(text for _, text in _contradictions(findings.facts, probes))]


def failures(findings: Findings) -> list[str]:
    """What the class does wrong in a program that each test contains."""
    found = [f"{answer.member}: {answer.trouble}" for answer in findings.answers if answer.whose == "class"]
    return [*([findings.lost] if findings.lost is not None and _is_lost_in_a_program(findings) else []), *found]


def _is_lost_in_a_program(findings: Findings) -> bool:
    return findings.lost_in in PROGRAMS.values()


def exit_status(findings: Findings, probes: Sequence[Probe], trouble: str | None) -> ExitStatus:
    """What the command ends with."""
    if findings.kit is not None:
        return ExitStatus.KIT_FAILED
    if faults(findings, probes):
        return ExitStatus.USAGE
    if failures(findings):
        return ExitStatus.NOT_CONFORMING
    return ExitStatus.CONFORMING if trouble is None else ExitStatus.KIT_FAILED


def account(request: Request, findings: Findings, probes: Sequence[Probe], trouble: str | None) -> Iterator[str]:
    """The lines."""
    yield from _about(findings.facts)
    yield from _calls(findings.answers)
    yield from _capabilities(findings.facts, probes, trouble)
    # What the class does under a wrong adapter says nothing of the class.
    yield from _list("to mend", faults(findings, probes) or failures(findings))
    notes = [answer.trouble for answer in findings.answers if answer.whose == "declaration"]
    yield from _list("to declare, or to expect as failures", [*notes, *_doubts(findings.facts, probes)])
    yield ""
    yield visible_line(_last(request, findings, probes, trouble))


def _about(facts: Facts | None) -> Iterator[str]:
    if facts is None:
        return
    rows = [
        ("class", facts.graph_class),
        ("adapter", facts.adapter),
        ("dialect", facts.dialect),
        ("revision", facts.revision),
        ("of its page it has", ", ".join(facts.has) or "nothing"),
        ("and lacks", ", ".join(facts.lacks) or "nothing"),
    ]
    yield from _table(rows)
    yield from _list("derived, since no adapter says so", facts.derived)


def _calls(answers: Sequence[Answer]) -> Iterator[str]:
    if answers:
        yield ""
        yield "each member, called once"
        yield from _table((answer.member, answer.words) for answer in answers)


def _capabilities(facts: Facts | None, probes: Sequence[Probe], trouble: str | None) -> Iterator[str]:
    if facts is None:
        return
    yield ""
    if trouble is not None:
        yield visible_line(f"capabilities, not tried: {trouble}")
        return
    yield "capabilities, as declared and as tried"
    contradicted = {name for name, _ in _contradictions(facts, probes)}
    for probe in probes:
        word = "CONTRADICTED, " if probe.capability in contradicted else ""
        declared = _WORDS[facts.declared.get(probe.capability)]
        yield visible_line(f"  {probe.capability:<18} {declared:<9} {word}{probe.outcome}")


def _contradictions(facts: Facts | None, probes: Sequence[Probe]) -> Iterator[tuple[str, str]]:
    """What is declared absent and works."""
    for probe in probes if facts is not None else ():
        if probe.works and facts is not None and facts.declared.get(probe.capability) is False:
            yield probe.capability, f"{probe.capability} works and is declared absent: declare it, or leave it out"


def _doubts(facts: Facts | None, probes: Sequence[Probe]) -> Iterator[str]:
    """What is not declared absent and does not work."""
    for probe in probes if facts is not None else ():
        if not probe.works and facts is not None and facts.declared.get(probe.capability) is not False:
            declaration = f'capabilities={{"{probe.capability}": False}}'
            yield f"{probe.capability}: {probe.outcome}; if the class has none, declare {declaration}"


def _list(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        yield ""
        yield title
        yield from (f"  {visible_line(text)}" for text in texts)


def _last(request: Request, findings: Findings, probes: Sequence[Probe], trouble: str | None) -> str:
    if findings.kit is not None:
        return f"the kit failed: {findings.kit}"
    first = next(iter(faults(findings, probes) or failures(findings)), None)
    if first is not None:
        return f"NOT READY: mend this first: {first}"
    if trouble is not None:
        return f"the kit failed: the capabilities could not be tried: {trouble}"
    words = [f"--impl={request.spec}"]
    words += [] if request.device is None else [f"--device={request.device}"]
    words += [] if request.revision is None else [f"--revision={request.revision}"]
    return f"READY: graph-conformance run {' '.join(words)}"


def _table(rows: object) -> Iterator[str]:
    text: str = tabulate([[visible_line(cell) for cell in row] for row in rows], tablefmt="plain")  # type: ignore[attr-defined]
    yield from (f"  {line}" for line in text.splitlines())
