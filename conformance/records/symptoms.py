"""What a test that went wrong has in common with others: the part of its result that no value of the test is in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from conformance.errors import one_line
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict

#: Characters of a text that are looked at: what is common stands at its beginning.
_LOOKED_AT = 600
#: Characters of a symptom.
_SHOWN = 160

#: What a property test adds when its example does not fail each time.
NOT_EACH_TIME = "\n(not each time that these calls are made)"

_TYPE = r"[A-Za-z_]\w{0,60}(?:Error|Exception|Exit|Interrupt)"
#: ``TypeError: …`` alone, after other words, or with some between the two.
_EXCEPTION = re.compile(rf"\b(?P<type>{_TYPE})(?:, which refuses nothing| instead)?: (?P<words>.+)")
#: The words of an exception that was right, and after which something is wrong.
_BEFORE_IT = re.compile(rf"(?<=, after )(?P<type>{_TYPE}): .*", re.DOTALL)
#: PyTorch's advice behind an error of a runtime.
_ADVICE = re.compile(r" +Search for `\w+' in http.*")
#: What a driver says of an error, whose own words may be the same for everything.
_LOGGED = re.compile(r"driver logged these messages[^\n]*\n(?P<first>[^\n]+)")
_NO_ARGUMENT = re.compile(r"(?P<owner>[\w.<>]{1,120})\(\) got an unexpected keyword argument '(?P<name>\w{1,80})'")
_NO_ATTRIBUTE = re.compile(
    r"(?P<kind>module |type object )?'(?P<owner>[\w.]{1,120})'(?: object)? has no attribute '(?P<name>\w{1,80})'"
)
#: What differs between two tests with one cause.
_VALUES = re.compile(
    r"""
    <[^<>]{0,200}\ at\ 0x[0-9a-fA-F]+>                        # an object
    | (?<!\w)(?:[A-Za-z]:[/\\]|[~.]{0,2}/)[\w./\\~=-]+         # a path
    | (?<![\w.-])[\w.-]+(?:[/\\][\w.-]+)*[/\\][\w-]+\.\w{1,5}\b          # a file
    | \b0x[0-9a-fA-F]+\b                                      # an address
    | (?<![\w.])[-+]?\d+(?:[_,]\d{3})*(?:\.\d*)?(?:[eE][-+]?\d+)?j?   # a number
    | [-+]?\b(?:nan|inf)\b
    """,
    re.VERBOSE,
)
_SEVERAL = re.compile(r"[\[({]\s*…(?:\s*,\s*…?)*\s*[\])}]|…(?:\s*,\s*…)+")
_WORD = re.compile(r"[A-Za-z]{2,}")
#: So many words say something; fewer are a value like ``[False, False]``.
_WORDS = 3

#: A call as it is noted: of which thread, on which object, and what.
_CALL = re.compile(r"\s*(?:\[[^]]*\] *)?(?:end of )?(?:[gse]\d+\.)?([\w.]+)\s*\(")
_FRAME = re.compile(r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+) in (?P<function>.+)$')
_OF_THE_KIT = ("suites/", "conformance/")


class Symptom(NamedTuple):
    """What one test shows.

    Attributes:
        key: of its kind, the same for each test that shows it; ``None`` when the test has nothing in common with any.
        words: to a person, with the values of this test.
    """

    key: tuple[str, ...] | None
    words: str


def symptom_of(result: TestResult) -> Symptom:
    """What `result`, of a test that went wrong, shows.

    >>> symptom_of(TestResult("t", (), Verdict.FAIL, message="IndexError: no element 7 in x.py:12")).key
    ('IndexError', 'no element … in …')
    """
    symptom = _symptom_of(result)
    if result.verdict is not Verdict.FLAKY:
        return symptom
    # What comes and goes has another cause than what is always there.
    key = None if symptom.key is None else ("now and then", *symptom.key)
    return Symptom(key, one_line(f"now and then: {symptom.words}", _SHOWN))


def _symptom_of(result: TestResult) -> Symptom:
    if result.is_loss:
        return _loss(result)
    text = (result.seen or result.message).removesuffix(NOT_EACH_TIME)[:_LOOKED_AT]
    text = _BEFORE_IT.sub(r"\g<type>", text)
    # Where it is known that something is missing, a line says so in front of the exception.
    raised = next(filter(None, map(_EXCEPTION.search, text.split("\n")[:2])), None)
    if raised is not None:
        logged = _LOGGED.search(text)
        words = _ADVICE.sub("", raised["words"])
        return _exception(raised["type"], words if logged is None else f"{words} ({logged['first'].strip()})")
    line = one_line(text, _SHOWN)
    common = without_values(line)
    return Symptom((result.verdict.value, common) if len(_WORD.findall(common)) >= _WORDS else None, line)


def without_values(text: str) -> str:
    """`text` with ``…`` for each number, shape, address, object and path in it.

    >>> without_values("37 of 37 elements differ; the first, at (0, 3), is -7.0 and should be nan")
    '… of … elements differ; the first, at …, is … and should be …'
    """
    return _SEVERAL.sub("…", _VALUES.sub("…", text))


def _exception(kind: str, words: str) -> Symptom:
    missing = _missing(words)
    if missing is not None:
        return missing
    line = one_line(f"{kind}: {words}", _SHOWN)
    return Symptom((kind, without_values(one_line(words, _SHOWN))), line)


def _missing(words: str) -> Symptom | None:
    """A name that something has not."""
    argument = _NO_ARGUMENT.search(words)
    if argument is not None:
        owner, name = argument["owner"], argument["name"]
        called = owner.removesuffix(".__init__")
        subject = f"{owner}()" if called == owner else f"the constructor of {called}"
        return Symptom(("argument", owner, name), f"{subject} takes no {name}")
    attribute = _NO_ATTRIBUTE.search(words)
    if attribute is None:
        return None
    owner, name = attribute["owner"], attribute["name"]
    return Symptom(("attribute", owner, name), f"{owner} has no {name}")


# -- processes that ended or did not come back ------------------------------------------------------------------------


def _loss(result: TestResult) -> Symptom:
    """How the process ended, and where it was."""
    ending = result.ending or {}
    status = ending.get("exit_status")
    if result.rejection is Verdict.TIMEOUT:
        words = common = "did not come back"
    elif ending.get("signal"):
        words = common = f"the process ended by {ending['signal']}"
    elif status is not None:
        words = common = f"the process ended with exit status {status}"
    else:
        words = f"the process {one_line(result.message, _SHOWN)}"
        common = without_values(words)
    place = _place(str(ending.get("stacks") or ""), result.calls)
    return Symptom(
        (result.rejection.value, common, place),
        one_line(f"{words}, in {place}" if place else words, _SHOWN),
    )


def _place(stacks: str, calls: Sequence[str]) -> str:
    """Where a process was: its innermost frame, or the call that it made, when that is no Python code."""
    lines = stacks.splitlines()
    # The thread that ended the process is named so; where none is, the last one is the main thread.
    heads = [number for number, line in enumerate(lines) if "most recent call first" in line]
    current = [number for number in heads if lines[number].startswith("Current thread")] or heads
    for line in lines[current[-1] + 1 :] if current else ():
        frame = _FRAME.match(line)
        if frame is None:
            continue
        if frame["file"].startswith(_OF_THE_KIT):
            break
        return f"{frame['function']} ({frame['file']}:{frame['line']})"
    return _called(calls[-1]) if calls else ""


def _called(call: str) -> str:
    """The function that a call was of: on which object and with what differs from test to test."""
    match = _CALL.match(call)
    return call if match is None else f"{match[1]}()"
