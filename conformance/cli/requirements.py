"""``graph-conformance requirements``: what implementations are held to, where that is documented, what was decided."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Sequence
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tabulate import tabulate

from conformance.cli.commands import add_command
from conformance.errors import ExitStatus, UsageError
from conformance.records.coverage import Coverage, cover
from conformance.records.record import read_record
from conformance.requirements.loading import load_documents, load_registry
from conformance.requirements.registry import Requirement
from conformance.requirements.revisions import Revision
from conformance.requirements.statements import Document
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS, LEVELS

if TYPE_CHECKING:
    from conformance.cli.commands import Commands

_FILTERS = ("area", "level", "dialect", "capability", "revision")
_TEXT_WIDTH = 80


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "requirements", _requirements)
    several = "; may be repeated"
    parser.add_argument("--area", action="append", default=[], metavar="NAME", help=f"only this area{several}")
    parser.add_argument("--level", action="append", default=[], choices=LEVELS, help=f"only this level{several}")
    parser.add_argument("--dialect", action="append", default=[], choices=DIALECTS, help=f"what holds for it{several}")
    parser.add_argument(
        "--capability", action="append", default=[], choices=CAPABILITIES, help=f"what needs it{several}"
    )
    parser.add_argument("--revision", metavar="R", help="what that PyTorch release already documents")
    parser.add_argument(
        "--document",
        action="append",
        default=[],
        metavar="NAME",
        help=f"what decides the statements of this document, such as cuda-2-8, or is documented under this name, such "
        f"as torch.cuda.graph{several}",
    )
    parser.add_argument("--json", action="store_true", help="all that is known of each, as JSON")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--coverage",
        nargs="+",
        type=Path,
        metavar="RECORD",
        help="what these runs decided of the documents' statements; exit status 1 when anything is undecided",
    )
    instead.add_argument("--markdown", type=Path, metavar="FILE", help="write all of it, with the tests, to FILE")
    instead.add_argument(
        "--check", type=Path, metavar="FILE", help="exit status 1 unless FILE is what --markdown writes"
    )


def _requirements(options: argparse.Namespace) -> int:
    filters = [name for name in _FILTERS if getattr(options, name)]
    if options.coverage:
        if filters:
            raise UsageError(f"--{filters[0]} does not go with --coverage; --document does")
        return _coverage(options)
    for option in ("markdown", "check"):
        if getattr(options, option) is not None:
            if filters or options.document or options.json:
                raise UsageError(f"--{option} is about all requirements; no filter goes with it")
            return _write(options.markdown) if option == "markdown" else _check(options.check)
    return _list(_filter(options), as_json=options.json)


# -- listing ----------------------------------------------------------------------------------------------------------


def _filter(options: argparse.Namespace) -> list[Requirement]:
    registry = load_registry()
    for area in options.area:
        if area not in registry.areas:
            raise UsageError(f"--area={area}: no such area (known: {', '.join(registry.areas)})")
    until = _revision(options.revision)
    documented_ids = _documented_ids(options.document, registry.requirements.values())
    return [
        entry
        for entry in registry.requirements.values()
        if _among(entry.area, options.area)
        and _among(entry.level, options.level)
        and (not options.capability or not set(entry.capabilities).isdisjoint(options.capability))
        and (not options.dialect or not set(entry.dialects).isdisjoint(options.dialect))
        and (until is None or Revision(entry.since) <= until)
        and (documented_ids is None or entry.id in documented_ids)
    ]


def _among(value: str | None, choices: Collection[str]) -> bool:
    return not choices or value in choices


def _revision(text: str | None) -> Revision | None:
    try:
        return None if text is None else Revision(text)
    except ValueError as error:
        raise UsageError(f"--revision={text}: {error}") from None


def _documented_ids(names: Iterable[str], requirements: Collection[Requirement]) -> set[str] | None:
    """The ids of what the named documents ask for, or ``None`` when none is named."""
    all_ids: set[str] = set()
    documents = load_documents()
    names = list(names)
    for name in names:
        if name in documents:
            ids = {identity for entry in documents[name].statements for identity in entry.requirements}
        else:
            # A pointer is "CLASS: MEMBER" or the name of a class or function alone.
            ids = {
                entry.id
                for entry in requirements
                if any(pointer == name or pointer.startswith(f"{name}: ") for pointer in entry.documents)
            }
        if not ids:
            raise UsageError(
                f"--document={name}: nothing is documented there (known: {', '.join(documents)}, or a name such as "
                "torch.cuda.CUDAGraph)"
            )
        all_ids |= ids
    return all_ids if names else None


def _list(requirements: Sequence[Requirement], *, as_json: bool) -> int:
    if as_json:
        print(json.dumps([entry.to_dict() for entry in requirements], indent=2))
        return ExitStatus.CONFORMING
    rows = [(entry.id, entry.level, entry.since, ", ".join(entry.capabilities), entry.text) for entry in requirements]
    print(
        tabulate(
            rows,
            headers=("requirement", "level", "since", "capability", "text"),
            disable_numparse=True,
            maxcolwidths=[None, None, None, None, _TEXT_WIDTH],
        )
    )
    return ExitStatus.CONFORMING


# -- coverage ---------------------------------------------------------------------------------------------------------


def _coverage(options: argparse.Namespace) -> int:
    documents = _documents(options.document)
    records = [read_record(path) for path in options.coverage]
    parts = [part for document in documents for part in cover(document, records)]
    totals = [part for part in parts if part.member is None]
    undecided = [entry for part in totals for entry in part.undecided]
    if options.json:
        print(json.dumps([part.to_dict() for part in parts], indent=2))
    else:
        _print_coverage(parts, totals)
    return ExitStatus.NOT_CONFORMING if undecided else ExitStatus.CONFORMING


def _documents(names: Collection[str]) -> list[Document]:
    documents = load_documents()
    for name in names:
        if name not in documents:
            raise UsageError(f"--document={name}: no such document (known: {', '.join(documents)})")
    return [document for key, document in documents.items() if _among(key, names)]


def _print_coverage(parts: Sequence[Coverage], totals: Sequence[Coverage]) -> None:
    rows = [(part.document, part.member or "(all)", *part.counts) for part in parts]
    sums = [sum(column) for column in zip(*(part.counts for part in totals), strict=True)]
    headers = ("document", "member", "statements", "decided", "recorded", "untestable", "undecided")
    print(tabulate([*rows, ("(all)", "", *sums)], headers=headers))
    hopeless = [(entry.id, entry.untestable) for part in totals for entry in part.untestable]
    if hopeless:
        print()
        print(tabulate(hopeless, headers=("untestable", "because"), maxcolwidths=[None, _TEXT_WIDTH]))
    undecided = [(entry.id, ", ".join(entry.requirements)) for part in totals for entry in part.undecided]
    print()
    if undecided:
        print(tabulate(undecided, headers=("undecided", "not each of these was"), maxcolwidths=[None, _TEXT_WIDTH]))
    else:
        print("nothing is undecided")


# -- the generated page -----------------------------------------------------------------------------------------------


def _page() -> str:
    from conformance.requirements.page import markdown
    from conformance.session.deciding_tests import tests_by_requirement

    return markdown(load_registry(), load_documents().values(), tests_by_requirement())


def _write(file: Path) -> int:
    page = _page()
    try:
        file.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}") from None
    print(f"written: {file}")
    return ExitStatus.CONFORMING


def _check(file: Path) -> int:
    try:
        content = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from None
    page = _page()
    if content == page:
        print(f"up to date: {file}")
        return ExitStatus.CONFORMING
    print(f"stale: {file}; write it again: graph-conformance requirements --markdown {file}")
    changes = unified_diff(content.splitlines(), page.splitlines(), str(file), "as it should be", lineterm="", n=0)
    print("\n".join(islice(changes, 20)))
    return ExitStatus.NOT_CONFORMING
