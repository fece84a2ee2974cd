"""Changes a record at random and gives it to each command that reads records, as long as it is let.

    python benchmarks/fuzz_records.py RECORD [SECONDS] [SEED]

Prints how many files there were, how many were refused, and each exception with the place that it came from and the
seed of its file.  The exit status is 1 when there was one, or when a command ended with a status that only a failure of
the kit has.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.records.chain import chained
from conformance.records.record import read_record

#: So many results of the record are kept, with what its header says of them.
KEPT = 25
WORDS = (
    "",
    "pass",
    "waived",
    "fail",
    "may",
    "must",
    "99.0",
    "cuda",
    "unknown",
    "a\nb",
    "\x1b[2J",
    "\u202e",
    "\ud800",
    "\0",
    "x" * 5000,
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**70, 0.5, 1e308, float("nan"), float("inf"), [], {}, [[]], [{}]),
    *({"a": 1}, {"": None}, [None], ["a", 1]),
    *WORDS,
)


def small(path: Path) -> list[dict[str, Any]]:
    """The lines of the record at `path`, cut to a few results."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        del line["chain"]
    header, footer = lines[0], lines[-1]
    results = [line for line in lines if line["kind"] == "result"][:KEPT]
    tests = {result["test"] for result in results}
    ids = {identity for result in results for identity in result["requirements"]}
    planned = {result["test"]: result["requirements"] for result in results}
    plan = {"kind": "plan", "planned": planned, "not_applicable": ["suites/left_out.py::test"]}
    header |= {"planned": len(planned), "not_applicable": 1}
    header["requirements"] = [entry for entry in header["requirements"] if entry["id"] in ids]
    started = [line for line in lines if line["kind"] == "started" and line["test"] in tests]
    footer |= {"counts": {"pass": len(results)}, "musts": {}, "advice": {}}
    return [header, plan, *(line for pair in zip(started, results, strict=True) for line in pair), footer]


def mutate(draw: random.Random, value: Any) -> Any:
    """`value` with one place in it changed."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        chance = draw.random()
        if chance < 0.1:
            return {each: inner for each, inner in value.items() if each != key}
        if chance < 0.2:
            return {draw.choice(WORDS) if each == key else each: inner for each, inner in value.items()}
        return {**value, key: mutate(draw, value[key])}
    if isinstance(value, list) and value and draw.random() < 0.85:
        place = draw.randrange(len(value))
        chance = draw.random()
        if chance < 0.1:
            return [*value[:place], *value[place + 1 :]]
        if chance < 0.2:
            return [*value, value[place]]
        return [*value[:place], mutate(draw, value[place]), *value[place + 1 :]]
    return draw.choice(VALUES)


def mutated(draw: random.Random, lines: list[dict[str, Any]]) -> bytes:
    """A file made of `lines`, changed in one to three places, or in its bytes."""
    lines = list(lines)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        # Most of the lines are results, and most of what is judged stands in the first and the last.
        place = draw.choice((0, 0, len(lines) - 1, draw.randrange(len(lines))))
        chance = draw.random()
        if chance < 0.05 and len(lines) > 1:
            del lines[place]
        elif chance < 0.1:
            lines.insert(draw.randrange(len(lines) + 1), lines[place])
        else:
            lines[place] = mutate(draw, lines[place])
    content, digest = bytearray(), ""
    for values in lines:
        # What breaks the chain makes no claim, so that most files shall have a whole one.
        line, digest = chained(digest, json.dumps(values))
        content += f"{line}\n".encode()
    if draw.random() < 0.1:
        for _ in range(draw.randint(1, 5)):
            content[draw.randrange(len(content))] = draw.randrange(256)
    if draw.random() < 0.05:
        del content[draw.randrange(len(content)) :]
    return bytes(content)


def fuzz(record: Path, seconds: float, first_seed: int) -> int:
    """Try files for `seconds`; the exit status."""
    lines = small(record)
    troubles: Counter[str] = Counter()
    count = refused = 0
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "run.jsonl"
        while time.monotonic() < end:
            seed = first_seed + count
            count += 1
            path.write_bytes(mutated(random.Random(seed), lines))  # noqa: S311 - repeatable, and no secret
            outputs = (folder / f"{seed}.merged", folder / f"{seed}.report")
            try:
                read_record(path)
                commands = [
                    ["report", str(path), "--output", str(outputs[1]), "--force"],
                    ["merge", str(path), "--output", str(outputs[0])],
                    ["requirements", "--coverage", str(path)],
                    ["waivers", str(path)],
                ]
            except RecordError as error:
                refused += 1
                commands = []
                if not str(error).isprintable():
                    troubles[f"more than a line (seed {seed})"] += 1
            except Exception as error:
                commands = []
                troubles[_place(error)] += 1
            for command in commands:
                _try(command, seed, troubles)
    print(f"{count} files, {refused} refused, {sum(troubles.values())} tracebacks or wrong statuses")
    for trouble, times in troubles.most_common():
        print(f"{times:6} {trouble}")
    return int(bool(troubles))


def _try(command: list[str], seed: int, troubles: Counter[str]) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = main(command)
        if status == ExitStatus.KIT_FAILED:
            troubles[f"{command[0]} ended with {status} (seed {seed})"] += 1
    except Exception as error:
        troubles[f"{command[0]}: {_place(error)}"] += 1


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"


if __name__ == "__main__":
    file, *rest = sys.argv[1:]
    sys.exit(fuzz(Path(file), float(rest[0]) if rest else 600.0, int(rest[1]) if len(rest) > 1 else 0))
