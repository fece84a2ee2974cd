"""The way of one verdict in hops: from the check that rejects to the exit status, and from the record to the page.

    python benchmarks/verdict_hops.py [--trace]

Runs one test on a class that is wrong on purpose, in this process, and counts the kit's own calls from the moment that
the check rejects.  What the test's set-up did before, and what only loads a module, is not on the way.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import sys
import tempfile

import pytest
from hops import Counter, Hops

from conformance import checks
from conformance.cli import main as command
from conformance.paths import HOME, SUITES

_TEST = SUITES / "reset" / "test_recapture.py"
_WRONG = '''
import reference_impl

class Wrong(reference_impl.CUDAGraph):
    def reset(self):
        """Keeps everything."""
'''
#: What only loads a module, or tells the command line which commands there are.
_NOT_ON_THE_WAY = {"<module>", "add", "add_command"}


class _OfTheKit(Counter):
    """Notes the calls of all packages."""

    root = HOME
    left_out = Counter.left_out | _NOT_ON_THE_WAY


def _begin_at_the_rejection(counter: Counter) -> None:
    make = checks.NotConforming.__init__

    def begin(error: checks.NotConforming, promise: str, seen: str) -> None:
        make(error, promise, seen)
        sys.setprofile(counter)

    checks.NotConforming.__init__ = begin  # type: ignore[method-assign]


def ways() -> dict[str, Hops]:
    """The two halves of the way."""
    verdict, page = _OfTheKit(), _OfTheKit()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        wrong, record = pathlib.Path(folder, "wrong.py"), pathlib.Path(folder, "run.jsonl")
        wrong.write_text(_WRONG, encoding="utf-8")
        _begin_at_the_rejection(verdict)
        words = [f"--impl={wrong}:Wrong", f"--record={record}", "--no-isolate", "-q", "-p", "no:cacheprovider"]
        pytest.main([*words, "-k", "test_new_capture_replaces_the_old and executable-only", str(_TEST)])
        sys.setprofile(page)
        command(["report", str(record), "--output", folder])
        sys.setprofile(None)
    return {"from the rejection to the exit status": _ours(verdict), "from the record to the page": _ours(page)}


def _ours(counter: Counter) -> Hops:
    packages = ("conformance", "suites", "reports")
    return Hops(tuple(call for call in counter.calls if call[0].startswith(packages)))


def main() -> None:
    for name, way in ways().items():
        judged = sum(function == "assess" and file.endswith("assessment.py") for file, function in way.calls)
        counts = (
            f"{len(way.calls):5} calls, {way.files:3} files, {way.changes:4} changes of file, judged {judged} times"
        )
        print(f"{name:38} {counts}")
        if "--trace" in sys.argv[1:]:
            print("".join(f"    {file:40} {function}\n" for file, function in way.calls))


if __name__ == "__main__":
    main()
