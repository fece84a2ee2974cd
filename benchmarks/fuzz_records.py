"""Changes a record, or the table of a self-check, at random and gives it to all that reads it, as long as it is let.

    python benchmarks/fuzz_records.py RECORD [SECONDS] [SEED]

Prints how many files there were, how many were refused, and what went wrong, with the seed of the file: a traceback, an
exit status or lines that do not fit what stands in the file, a file that a command had no business to write or change.
The exit status is 1 when anything did.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.records.assessment import as_json
from conformance.records.chain import chained
from conformance.records.record import Record, read_record
from conformance.records.run import Run
from conformance.records.subject import Subject
from conformance.requirements.loading import load_registry
from conformance.selfcheck.reading import read_table

#: So many results of the record are kept, with what its header says of them.
KEPT = 25
WORDS = (
    "",
    "pass",
    "waived",
    "flaky",
    "runs",
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
DEEP: Any = []
for _ in range(600):
    DEEP = [DEEP, {"a": DEEP}] if not DEEP else [DEEP]
VALUES: tuple[Any, ...] = (
    DEEP,
    *(10**400, -(10**18), 2**63, 5e-324),
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
    alike = [other for other in VALUES if type(other) is type(value)]
    # Half of what is put there has the type of what was there, so that not all of it is refused for its type.
    return draw.choice(alike if alike and draw.random() < 0.5 else VALUES)


def mutated(draw: random.Random, lines: list[dict[str, Any]]) -> bytes:
    """A file made of `lines`, changed in one to three places, or in its bytes."""
    lines = list(lines)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        # Most of the lines are results, and most of what is judged stands in the first and the last.
        place, other = draw.choice((0, 0, len(lines) - 1, draw.randrange(len(lines)))), draw.randrange(len(lines))
        chance = draw.random()
        if chance < 0.05 and len(lines) > 1:
            del lines[place]
        elif chance < 0.1:
            lines.insert(other, lines[place])
        elif chance < 0.15:
            lines[place], lines[other] = lines[other], lines[place]
        else:
            lines[place] = mutate(draw, lines[place])
    # What breaks the chain makes no claim, so that most files shall have a whole one.
    return bytes(spoilt(draw, bytearray(chain_of(lines))))


def spoilt(draw: random.Random, content: bytearray) -> bytearray:
    """`content`, one time in ten with other bytes, and now and then cut off."""
    if draw.random() < 0.1:
        for _ in range(draw.randint(1, 5)):
            content[draw.randrange(len(content))] = draw.randrange(256)
    if draw.random() < 0.05:
        del content[draw.randrange(len(content)) :]
    return content


def ended(lines: list[dict[str, Any]], path: Path, **header: Any) -> list[dict[str, Any]]:
    """`lines` with such a header, and with the footer that they come to; written to `path`."""
    lines = [{**lines[0], **header}, *lines[1:-1], lines[-1]]
    path.write_bytes(chain_of(lines))
    told = read_record(path).as_told
    tallies = {"counts": as_json(told.tests), "musts": as_json(told.musts), "advice": as_json(told.advice)}
    footer = {**lines[-1], **tallies, "verdict": told.verdict.value, "exit_status": int(told.exit_status)}
    path.write_bytes(chain_of([*lines[:-1], footer]))
    return [*lines[:-1], footer]


def table(header: dict[str, Any]) -> dict[str, Any]:
    """The table of a self-check, in the environment of a record."""
    words = {
        "name": "F001",
        "kind": "fault",
        "layer": "class",
        "implementation": "reference",
        "about": "a",
        "message": "",
    }
    row = {**words, "outcome": "killed", "requirements": ["a.b"], "tests": 1, "run": 2, "level": "must", "script": None}
    variant = {**row, "name": "V001", "kind": "variant", "outcome": "accepted", "level": None}
    kept = {name: header[name] for name in ("kit_version", "suite_digest", "started_at", "environment")}
    return {"schema": 1, "rows": [row, variant], "narrowed": False, "duration_s": 1.5, "processes": 2, **kept}


class Fuzzer:
    """Tries files in a folder of its own.

    Args:
        lines: of the record that they are made from.
        folder: an empty one.
    """

    def __init__(self, lines: list[dict[str, Any]], folder: Path) -> None:
        self._good = folder / "good.jsonl"
        #: One whose suites are the installed ones, which it lacks most of; a good one; a shard.
        self.starts = [
            ended(lines, self._good),
            ended(lines, self._good, suite_digest="", options={"shard": "1/1"}),
            ended(lines, self._good, suite_digest=""),
        ]
        self.table = table(lines[0])
        self.troubles: Counter[str] = Counter()
        self.count = self.refused = 0
        self._path = folder / "run.jsonl"
        self._table_path = folder / "table.json"
        self._output = folder / "output"
        self._folder = folder

    def try_one(self, seed: int) -> None:
        """Try the file of `seed`."""
        draw = random.Random(seed)  # noqa: S311 - repeatable, and no secret
        self.count += 1
        if seed % 10:
            self._try_record(mutated(draw, draw.choice(self.starts)), seed)
        else:
            self._try_table(bytes(spoilt(draw, bytearray(json.dumps(mutate(draw, self.table)).encode()))), seed)

    def _try_record(self, content: bytes, seed: int) -> None:
        self._path.write_bytes(content)
        record = self._read(read_record, self._path, seed)
        path, output = str(self._path), str(self._output)
        refused = {ExitStatus.USAGE}
        merged = (
            refused if record is None or record.defects or "shard" not in record.header.options else set(ExitStatus)
        )
        asked = refused if record is None else {ExitStatus.CONFORMING, ExitStatus.NOT_CONFORMING}
        shown = refused if record is None else {ExitStatus.CONFORMING}
        for command, statuses in (
            (["report", path, "--output", output, "--force"], shown),
            (["report", str(self._good), path, "--output", output, "--force"], shown),
            (["merge", path, "--output", output], merged),
            (["requirements", "--coverage", path], asked),
            (["waivers", path], shown),
        ):
            self._try(command, statuses, seed)
        self._resume(record, seed)
        self._look_around(self._path, content, seed)

    def _try_table(self, content: bytes, seed: int) -> None:
        self._table_path.write_bytes(content)
        is_refused = self._read(read_table, self._table_path, seed) is None
        words = [
            "report",
            str(self._good),
            "--output",
            str(self._output),
            "--force",
            "--self-check",
            str(self._table_path),
        ]
        self._try(words, {ExitStatus.USAGE if is_refused else ExitStatus.CONFORMING}, seed)
        self._look_around(self._table_path, content, seed)

    def _read(self, read: Any, path: Path, seed: int) -> Any:
        """What is in the file, or ``None`` when it is refused."""
        try:
            return read(path)
        except RecordError as error:
            self.refused += 1
            if not str(error).isprintable():
                self._note(f"a refusal of more than a line (seed {seed})")
        except Exception as error:
            self._note(f"read: {_place(error)} (seed {seed})")
        return None

    def _resume(self, record: Record | None, seed: int) -> None:
        """What ``--resume`` does before the first test."""
        header = None if record is None else record.header
        subject = Subject("reference", "reference", "cuda", "2.14", {}, {})
        if header is not None:
            subject = Subject(
                header.implementation,
                "reference",
                header.dialect,
                header.revision,
                header.capabilities,
                header.environment,
            )
        begun = b"\n" in self._path.read_bytes()
        try:
            run = Run(subject, load_registry(), self._path, resume=True)
            options = {} if header is None else header.options
            # Another plan than that of the record, so that nothing may be written.
            run.begin({"another": ()}, {**options, "tests": ["another"]}, "2026-01-01T00:00:00+00:00")
            if begun:
                self._note(f"resume: goes on with another run (seed {seed})")
            self._path.write_bytes(b"")  # a run that died in its header may be begun again
        except RecordError as error:
            if not str(error).isprintable():
                self._note(f"resume: a refusal of more than a line (seed {seed})")
        except Exception as error:
            self._note(f"resume: {_place(error)} (seed {seed})")

    def _try(self, command: list[str], statuses: set[ExitStatus], seed: int) -> None:
        texts = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
        name = " ".join(word for word in command if word.startswith("--") or word == command[0])
        try:
            with contextlib.redirect_stdout(texts[0]), contextlib.redirect_stderr(texts[1]):
                status = main(command)
        except Exception as error:
            self._note(f"{name}: {_place(error)} (seed {seed})")
            return
        texts[1].seek(0)
        said = texts[1].read()
        if status not in statuses or "the kit failed" in said:
            self._note(f"{name} ended with {status}: {said.strip()[:200]} (seed {seed})")
        if status == ExitStatus.USAGE and said.count("\n") != 1:
            self._note(f"{name} was refused in {said.count(chr(10))} lines (seed {seed})")
        if self._output.is_dir():
            shutil.rmtree(self._output)
        else:
            self._output.unlink(missing_ok=True)

    def _look_around(self, path: Path, content: bytes, seed: int) -> None:
        known = {self._good, self._path, self._table_path}
        for other in set(self._folder.iterdir()) - known:
            self._note(f"{other.name} was written (seed {seed})")
            other.unlink()
        if path.read_bytes() not in {content, b""}:
            self._note(f"{path.name} was changed (seed {seed})")

    def _note(self, trouble: str) -> None:
        self.troubles[trouble] += 1


def chain_of(lines: list[dict[str, Any]]) -> bytes:
    """The file of `lines` as they are."""
    content, digest = "", ""
    for values in lines:
        line, digest = chained(digest, json.dumps(values))
        content += f"{line}\n"
    return content.encode()


def fuzz(record: Path, seconds: float, first_seed: int) -> int:
    """Try files for `seconds`; the exit status."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        fuzzer = Fuzzer(small(record), Path(name))
        while time.monotonic() < end:
            fuzzer.try_one(first_seed + fuzzer.count)
    print(f"{fuzzer.count} files, {fuzzer.refused} refused, {sum(fuzzer.troubles.values())} troubles")
    for trouble, times in fuzzer.troubles.most_common(50):
        print(f"{times:6} {trouble}")
    return int(bool(fuzzer.troubles))


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"[:200]


if __name__ == "__main__":
    file, *rest = sys.argv[1:]
    sys.exit(fuzz(Path(file), float(rest[0]) if rest else 600.0, int(rest[1]) if len(rest) > 1 else 0))
