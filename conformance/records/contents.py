"""What the lines of a record have to hold besides values of the right types."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

from conformance.errors import UsageError, one_line
from conformance.records.graphs import check_graphs
from conformance.records.shapes import check_shape
from conformance.records.shards import Shard
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.requirements.profiles import PROFILES
from conformance.requirements.revisions import Revision
from conformance.requirements.vocabulary import DIALECTS, is_name

#: What the subject of a run is that could not ask for more; see `conformance.records.subject.Subject.unknown`.
_UNKNOWN = "unknown"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
#: Half a character: no terminal and no file takes it.
_SURROGATE = re.compile("[\ud800-\udfff]")
_PHASES = ("setup", "call", "teardown", "exit")
_ENDING = {"signal": str, "exit_status": int, "output": str, "stacks": str}
_REPRODUCTIONS = ("shown", "passed", "otherwise")
_STATUS_LIMIT = 1 << 32


def check_header(values: Mapping[str, Any]) -> None:
    """Refuse a header that has values of the right types, and says what none can say.

    Raises:
        ValueError: which value it is.
    """
    name, version, dialect, revision = (values[key] for key in ("implementation", "kit_version", "dialect", "revision"))
    is_unknown = dialect == revision == _UNKNOWN
    # Of what could not be asked for its name, the words of the command line stand there.
    _check("implementation", name, is_name(name) or (is_unknown and bool(name) and name.isprintable()))
    _check("kit_version", version, bool(version) and not _SURROGATE.search(version))
    _check("dialect", dialect, dialect in {*DIALECTS, _UNKNOWN})
    _check("revision", revision, _is_revision(revision) or is_unknown)
    _check("started_at", values["started_at"], _is_time(values["started_at"]))
    _check_options(values["options"])
    _check_requirements(values["requirements"])


@dataclass(frozen=True)
class PlanLine:
    """The shape of a line of the plan."""

    planned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()


def check_plan(values: Mapping[str, Any]) -> None:
    """Refuse a line of the plan likewise.

    Raises:
        ValueError: which value it is.
    """
    check_shape(values, PlanLine)
    for test, ids in values.get("planned", {}).items():
        _check_ids(test, ids)


def check_result(values: Mapping[str, Any]) -> None:
    """Refuse a result likewise.

    Raises:
        ValueError: which value it is.
    """
    _check_ids(values["test"], values["requirements"])
    phase, waiver, ending = values.get("phase", "call"), values.get("waiver"), values.get("ending")
    _check("phase", phase, phase in _PHASES)
    check_graphs(values.get("graphs", ()))
    if values.get("reproduction") is not None:
        check_reproduction(values["reproduction"])
    if waiver is not None:
        _check("verdict of the waiver", waiver.get("verdict"), _is_rejection(waiver.get("verdict")))
    runs = values.get("runs")
    if runs is not None:
        _check("runs", runs, {verdict.value for verdict in Verdict}.issuperset(runs) and any(runs.values()))
    if ending is not None:
        for name, kind in _ENDING.items():
            value = ending.get(name)
            _check(f"{name} of the ending", value, value is None or type(value) is kind)
        calls = ending.get("calls", [])
        _check("calls of the ending", calls, isinstance(calls, list) and all(isinstance(call, str) for call in calls))


def check_reproduction(values: Mapping[str, Any]) -> None:
    """Refuse what running a script came to likewise.

    Raises:
        ValueError: which value it is.
    """
    outcome = values.get("outcome")
    _check("outcome of the script", outcome, outcome in _REPRODUCTIONS)


def check_footer(values: Mapping[str, Any]) -> None:
    """Refuse a footer likewise.

    Raises:
        ValueError: which value it is.
    """
    verdicts = {verdict.value for verdict in Verdict}
    for name in ("counts", "musts", "advice"):
        _check(name, values[name], verdicts.issuperset(values[name]))
    _check("verdict", values["verdict"], values["verdict"] in {verdict.value for verdict in RunVerdict})
    _check("exit_status", values["exit_status"], values["exit_status"] < _STATUS_LIMIT)


def check_texts(values: Mapping[str, Any], *names: str) -> None:
    """Refuse a line without texts of these names.

    Raises:
        ValueError: which is none.
    """
    for name in names:
        if name not in values:
            raise ValueError(f"{name} is missing")
        _check(name, values[name], isinstance(values[name], str) and bool(values[name]))


def _check_options(options: Mapping[str, Any]) -> None:
    profiles, strict, shard = options.get("profile") or [], options.get("strict") or False, options.get("shard")
    are_known = isinstance(profiles, list) and all(isinstance(name, str) and name in PROFILES for name in profiles)
    _check("option profile", profiles, are_known)
    _check("option strict", strict, isinstance(strict, bool))
    complete = options.get("complete") or False
    _check("option complete", complete, isinstance(complete, bool))
    reruns = options.get("reruns")
    _check("option reruns", reruns, reruns is None or (type(reruns) is int and reruns > 0))
    _check("option shard", shard, shard is None or (isinstance(shard, str) and _is_shard(shard)))


def _check_requirements(entries: Iterable[Any]) -> None:
    ids: set[str] = set()
    for number, entry in enumerate(entries, 1):
        try:
            _check("id", entry["id"], bool(entry["id"]) and entry["id"] not in ids)
            for name in ("since", "until"):
                _check(name, entry.get(name), entry.get(name) is None or _is_revision(entry[name]))
            _check("documents", entry["documents"], bool(entry["documents"]))
            for name in ("area", "text", "untestable"):
                _check(name, entry.get(name), entry.get(name) != "")
        except ValueError as error:
            raise ValueError(f"requirement {number}: {error}") from None
        ids.add(entry["id"])


def _check_ids(test: str, ids: Collection[str]) -> None:
    _check("test", test, bool(test))
    _check_distinct("requirements", ids)


def _check_distinct(name: str, values: Collection[str]) -> None:
    _check(name, values, len(set(values)) == len(values))


def _check(name: str, value: object, is_right: bool) -> None:
    if not is_right:
        raise ValueError(f"{name} is {one_line(repr(value)[:400], 80)}")


def _is_rejection(value: object) -> bool:
    return isinstance(value, str) and any(value == verdict.value and verdict.rejects for verdict in Verdict)


@lru_cache(64)
def _is_revision(text: str) -> bool:
    try:
        Revision(text)
    except ValueError:
        return False
    return text.isascii()


def _is_shard(text: str) -> bool:
    try:
        Shard.parse(text)
    except (UsageError, ValueError):  # the second for a number of too many digits
        return False
    return text.isascii()


def _is_time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    try:
        date.fromisoformat(match[1])
    except ValueError:
        return False
    return True
