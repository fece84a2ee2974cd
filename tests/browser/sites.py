"""Reports for a browser to open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.records.record import Record
from conformance.records.verdicts import Verdict
from reports import write
from tests.reports.samples import BAD, GOOD, result, sample


@dataclass(frozen=True)
class Site:
    """The folder of a report.

    Attributes:
        folder: where it is.
        pages: their paths in the folder, the one to begin with first.
    """

    folder: Path
    pages: tuple[str, ...]

    @property
    def matrix(self) -> str:
        """The page with the matrix."""
        return "matrix.html" if "matrix.html" in self.pages else self.pages[0]

    @property
    def kinds(self) -> list[str]:
        """The pages at the top, and the two longest of each folder: of one kind, these have the most in them."""
        folders: dict[str, list[str]] = {}
        for page in self.pages:
            folders.setdefault(page.rpartition("/")[0], []).append(page)
        top = folders.pop("", [])
        return top + [page for pages in folders.values() for page in sorted(pages, key=self._size)[-2:]]

    def _size(self, page: str) -> int:
        return (self.folder / page).stat().st_size

    def address(self, page: str) -> str:
        """Of a page, as a file of this machine."""
        return (self.folder / page).as_uri()


def site_of(records: Sequence[Record], folder: Path, *, single: bool = False) -> Site:
    """Write the report of `records`."""
    first = write(records, folder, single=single)[0].name
    names = {file.relative_to(folder).as_posix() for file in folder.rglob("*.html")}
    return Site(folder, (first, *sorted(names - {first})))


def small_site(folder: Path, *, single: bool = False) -> Site:
    """A report with every kind of page: of two implementations, one of which had an earlier run."""
    records = [
        sample(folder / "good.jsonl"),
        sample(folder / "earlier.jsonl", GOOD, implementation="broken.Graph", started_at="2030-01-01T00:00:00Z"),
        sample(folder / "bad.jsonl", [DRAWN, *BAD[1:], WAIVED], implementation="broken.Graph"),
    ]
    return site_of(records, folder / "report", single=single)


_WAIVER = {"reason": "known", "link": "https://example.org/1", "owner": "us", "expires": "2030-02-01"}
WAIVED = result("modes.py::test_waived", "modes.strict", Verdict.WAIVED, waiver={**_WAIVER, "verdict": "fail"})
#: A failure whose page has both drawings: of a graph, and of the order of calls.
DRAWN = replace(
    BAD[0],
    calls=("adapter.capture(g0, stream=None)", "  g0.capture_begin(pool=None)", "  g0.capture_end()", "g0.replay()"),
    graphs=(
        {
            "name": "g0",
            "source": "runtime",
            "state": "instantiated",
            "pool": "p0",
            "nodes": [
                {"kind": "Memset", "label": "", "stream": "s0"},
                {"kind": "Kernel", "label": "void at::native::vectorized_elementwise_kernel<4, float>", "stream": "s0"},
                {"kind": "Kernel", "label": "add", "stream": "s1"},
                {"kind": "Memcpy", "label": "", "stream": "s0"},
            ],
            "edges": [[0, 1], [0, 2], [1, 3], [2, 3]],
        },
    ),
)
