"""The table of the published records: a row for each record in the packages of ``published``.

    python -m tools.published

It stands in README.md and in published/README.md, between two marks; the tests hold both to the packages.
"""

from __future__ import annotations

import re
from pathlib import Path

from tabulate import tabulate

from conformance.packaging.manifest import RecordEntry
from conformance.packaging.verifying import verify

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "published"
#: Where the table stands, with the columns that it has there.
PAGES = {
    ROOT / "README.md": ("implementation", "documents", "PyTorch", "ran on", "outcome"),
    FOLDER / "README.md": ("package", "implementation", "documents", "PyTorch", "Python", "day", "suites", "outcome"),
}
_MARKS = ("<!-- published records -->\n", "<!-- end of them -->\n")
#: Hexadecimal digits of a digest that tell it from others.
_DIGITS = 12


def rows(folder: Path) -> list[dict[str, str]]:
    """What each record in the packages of `folder` is, by the columns that a table may have.

    Raises:
        PackageError: a package is not what it says.
        RecordError: one cannot be read.
    """
    return [_row(path, record) for path in sorted(folder.glob("*.zip")) for record in verify(path).manifest.records]


def _row(path: Path, record: RecordEntry) -> dict[str, str]:
    known = record.environment
    verdict, _, rest = record.outcome.partition(": ")
    return {
        "package": f"[{path.name}]({path.name})",
        "implementation": f"`{record.implementation}`",
        "documents": f"{record.dialect} {record.revision}",
        "PyTorch": known["torch"].partition("+")[0],
        "Python": known["python"],
        "ran on": "the host, in simulation" if "runs_on" in known else known["device"],
        "day": record.started_at.partition("T")[0],
        "suites": f"`{record.suite_digest[:_DIGITS]}`",
        "outcome": f"{verdict.lower()}: {rest.partition(': ')[2]}",
    }


def table(of: list[dict[str, str]], columns: tuple[str, ...]) -> str:
    """The Markdown of a table of those rows."""
    lines: str = tabulate([[row[column] for column in columns] for row in of], columns, tablefmt="github")
    return lines + "\n"


def with_table(text: str, content: str) -> str:
    """`text` with `content` between the marks.

    Raises:
        ValueError: the marks are not there, once and in order.
    """
    between = re.compile(f"({re.escape(_MARKS[0])}).*?({re.escape(_MARKS[1])})", re.DOTALL)
    changed, count = between.subn(lambda marks: f"{marks[1]}\n{content}\n{marks[2]}", text)
    if count != 1:
        raise ValueError(f"the marks {_MARKS[0].strip()} and {_MARKS[1].strip()} stand there {count} times")
    return changed


def main() -> None:
    """Write both tables."""
    found = rows(FOLDER)
    for page, columns in PAGES.items():
        page.write_text(with_table(page.read_text(encoding="utf-8"), table(found, columns)), encoding="utf-8")


if __name__ == "__main__":
    main()
