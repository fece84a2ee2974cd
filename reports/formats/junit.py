"""JUnit's XML: a suite for each record, so that no number adds up two implementations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from conformance.errors import one_line
from conformance.records.assessment import as_json
from conformance.records.result import TestResult
from conformance.records.runs import each_number
from conformance.records.verdicts import Verdict
from conformance.text import visible
from reports.formats.runs import RecordedRun

#: The element that a verdict becomes; its ``type`` is the verdict.
ELEMENTS: Mapping[Verdict, str] = {
    Verdict.FAIL: "failure",
    Verdict.FLAKY: "failure",
    Verdict.TIMEOUT: "failure",
    Verdict.CRASH: "failure",
    Verdict.ERROR: "error",
    Verdict.UNSUPPORTED: "skipped",
    Verdict.SKIPPED: "skipped",
    Verdict.NOT_RUN: "skipped",
    Verdict.WAIVED: "skipped",
}
_MESSAGE = 400


def xml_text(value: object) -> str:
    r"""`value` in characters that XML has, with nothing hidden among them; not yet escaped.

    >>> xml_text("a\x00\ufffe<")
    'a\\u0000\\ufffe<'
    """
    text = str(value)
    return text if text.isascii() and text.isprintable() else visible(text)


class JUnit:
    """The file, written while the tests pass by."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="graph-conformance">\n')

    def begin(self, run: RecordedRun) -> None:
        """Begin the suite of `run`."""
        record, header = run.record, run.record.header
        tests = record.assessment.tests
        by_element = {
            name: sum(count for verdict, count in tests.items() if ELEMENTS.get(verdict) == element)
            for name, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
        }
        attributes = {
            "name": run.column.label,
            "tests": sum(tests.values()),
            **by_element,
            "time": f"{record.duration_s:.3f}",
            "timestamp": header.started_at,
        }
        properties = {
            "implementation": header.implementation,
            "dialect": header.dialect,
            "revision": header.revision,
            "device": header.environment.get("device", ""),
            "outcome": record.claim.verdict.value,
            "claim": record.claim.headline,
            "complete": "yes" if record.complete else "no",
            **{f"tests.{verdict}": count for verdict, count in as_json(tests).items()},
        }
        lines = [f"  <property{_attributes({'name': name, 'value': value})}/>" for name, value in properties.items()]
        text = "\n".join([f" <testsuite{_attributes(attributes)}>", " <properties>", *lines, " </properties>\n"])
        self._stream.write(text)

    def add(self, result: TestResult) -> None:
        """Add a test to the suite."""
        file, _, name = result.test.partition("::")
        place = {"classname": file, "name": name} if name else {"classname": "", "name": result.test}
        case = f"  <testcase{_attributes({**place, 'time': f'{result.duration_s:.3f}'})}"
        element = ELEMENTS.get(result.verdict)
        if element is None:
            self._stream.write(f"{case}/>\n")
            return
        message = (result.waiver or {}).get("reason", "") if result.verdict is Verdict.WAIVED else result.message
        opened = f"<{element}{_attributes({'type': result.verdict.value, 'message': one_line(message, _MESSAGE)})}>"
        self._stream.write(f"{case}>{opened}{escape(xml_text(_body(result)))}</{element}></testcase>\n")

    def end(self) -> None:
        """End the suite."""
        self._stream.write(" </testsuite>\n")

    def close(self) -> None:
        """End the file."""
        self._stream.write("</testsuites>\n")


def _attributes(values: Mapping[str, object]) -> str:
    return "".join([f" {name}={quoteattr(xml_text(value))}" for name, value in values.items()])


def _body(result: TestResult) -> str:
    parts = {
        "requirements": ", ".join(result.requirements),
        "expected": result.expected or "",
        "seen": result.seen or "",
        "runs": each_number(result.runs),
        "left behind": result.left_behind or "",
        "frames": "\n".join(result.frames),
        "run again": result.command,
    }
    return "\n".join([result.message, *(f"{name}: {text}" for name, text in parts.items() if text)])
