"""Records that nobody should have written: a good one, changed in one place at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conformance.records.chain import chained
from conformance.records.lines import DEPTH_LIMIT, TEXT_LIMIT

#: Put in the place of each value; what has the type of the value and means something else is among them.
STRANGE: tuple[Any, ...] = (None, True, -1, 1e300, "", "strange\n\x1b[2J", [], [None], {}, {"a": [1]})


def changed(lines: list[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    """Each value of `lines`, at the top and one level below, replaced, left out or doubled; with a name for each."""
    for number, line in enumerate(lines):
        for key, value in line.items():
            for name, other in _others(value):
                yield f"{line['kind']}-{key}-{name}", _joined(lines, number, {**line, key: other})
            without = {each: value for each, value in line.items() if each != key}
            yield f"{line['kind']}-{key}-missing", _joined(lines, number, without)
            text = json.dumps(line)
            doubled = text[:-1] + f", {json.dumps(key)}: {json.dumps(value)}}}"
            yield f"{line['kind']}-{key}-twice", _joined(lines, number, doubled)


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    for number, strange in enumerate(STRANGE):
        yield f"strange{number}", strange
    if isinstance(value, dict):
        for key in value:
            for number, strange in enumerate(STRANGE):
                yield f"{key}-strange{number}", {**value, key: strange}
    if isinstance(value, list):
        for number, strange in enumerate(STRANGE):
            yield f"with-strange{number}", [*value, strange]
        yield "doubled", value * 2
        if value and isinstance(value[0], dict):
            for key in value[0]:
                for number, strange in enumerate(STRANGE):
                    yield f"first-{key}-strange{number}", [{**value[0], key: strange}, *value[1:]]


def broken(lines: list[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    """Files whose form is wrong, each with its name."""
    whole = _joined(lines, 0, lines[0])
    texts = whole.decode().splitlines()
    result = next(number for number, line in enumerate(lines) if line["kind"] == "result")
    yield "empty", b""
    yield "only-newlines", b"\n\n\n"
    yield "only-a-number", b"2\n"
    yield "nul", b"\0" * 100
    yield "gzip", b"\x1f\x8b\x08\0" + whole
    yield "utf-16", whole.decode().encode("utf-16")
    yield "mark-of-utf-8", b"\xef\xbb\xbf" + whole
    yield "no-utf-8", whole.replace(b"fake", b"f\xff\xfe")
    yield "surrogate", whole.replace(b"fake", b"f\\ud800")
    yield "surrogate-seen", whole.replace(b"seen: s", b"seen: \\ud800")
    yield "backwards", "\n".join(reversed(texts)).encode()
    yield "footer-first", "\n".join([texts[-1], *texts[:-1]]).encode()
    yield "footer-second", "\n".join([texts[0], texts[-1], *texts[1:-1]]).encode()
    yield "footer-twice", "\n".join([*texts, texts[-1]]).encode()
    yield "all-twice", whole * 2
    yield "results-twice", "\n".join([*texts[:-1], *texts[1:]]).encode()
    yield "no-header", "\n".join(texts[1:]).encode()
    yield "header-only", texts[0].encode()
    yield "one-line", whole.replace(b"\n", b" ")
    yield "deep", whole + b"[" * 100_000 + b"\n"
    yield "deep-object", whole + b'{"kind":' * 100_000 + b"\n"
    for depth in (DEPTH_LIMIT, 500, 900):
        nested: Any = 0
        for _ in range(depth):
            nested = {"a": nested}
        yield f"depth-{depth}", _joined(lines, result, {**lines[result], "observations": nested})
    yield "long-text", _joined(lines, result, {**lines[result], "message": "x" * (TEXT_LIMIT + 1)})
    yield "long-key", _joined(lines, result, {**lines[result], "x" * (TEXT_LIMIT + 1): 1})
    yield "long-number", whole.replace(b'"schema": 3', b'"schema": ' + b"2" * 10_000)
    yield "long-revision", whole.replace(b'"2.13"', b'"' + b"2" * 10_000 + b'.1"')
    yield "infinity", whole.replace(b'"duration_s": 0.0', b'"duration_s": 1e999')
    yield "beyond-floats", whole.replace(b'"duration_s": 0.0', b'"duration_s": 1' + b"0" * 400)
    yield "no-number", whole.replace(b'"duration_s": 0.0', b'"duration_s": NaN')
    for number in range(len(texts)):
        yield f"line-{number}-cut", "\n".join([*texts[:number], texts[number][:-9], *texts[number + 1 :], ""]).encode()
        yield f"line-{number}-gone", "\n".join([*texts[:number], *texts[number + 1 :], ""]).encode()
        yield f"line-{number}-a-list", "\n".join([*texts[:number], "[]", *texts[number + 1 :], ""]).encode()


def _joined(lines: list[dict[str, Any]], number: int, other: dict[str, Any] | str) -> bytes:
    texts = [json.dumps(line) for line in lines]
    texts[number] = other if isinstance(other, str) else json.dumps(other)
    return rechained(texts)


def rechained(texts: list[str]) -> bytes:
    """A file of these objects, with a whole chain."""
    content, digest = "", ""
    for text in texts:
        line, digest = chained(digest, text)
        content += line + "\n"
    return content.encode()


def without_chain(line: str) -> str:
    """The object on a line, as it is written before it is chained."""
    return line[: line.rindex(', "chain": "')] + "}"
