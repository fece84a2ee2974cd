"""What a report of many implementations costs: to build, to send and to read in a browser.

    python benchmarks/site.py [IMPLEMENTATIONS] [REQUIREMENTS]

It writes the records of that many implementations (50) with a result for each of that many requirements (2,000) into a
temporary folder: one test in fifty fails, for one of nine reasons, with a script, and each implementation lacks one
capability of three.  It prints the load of the machine, the seconds of wall time and of processor time and the most
memory of ``graph-conformance report``, the size of each file in its folder, as it is and compressed, and, where there
is a Chromium, what a reader waits for there: the first paint of the matrix, and each filter until the next frame is
drawn.
"""

from __future__ import annotations

import gzip
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

from large_records import measured
from tabulate import tabulate

from conformance.records.result import TestResult
from conformance.records.run import Run
from conformance.records.subject import Subject
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Area, Registry, Requirement

IMPLEMENTATIONS, REQUIREMENTS = 50, 2_000
AREAS = 24
CAPABILITIES = ("keep_graph", "pools", "hooks")
REASONS = 9
#: One test in so many fails.
FAILING = 50
#: Visits of the matrix.
TURNS = 5
_MIB = 1 << 20
_ROOT = Path(__file__).parents[1]

#: What a reader does to the matrix: an element, its new value, and none for one to click.
ACTIONS = {
    "verdict": (".chip[data-value=fail]", None),
    "level": (".chip[data-value=must]", None),
    "area": ("select[name=area]", "3"),
    "text": ("input[name=text]", "reads-what-is-there-1"),
    "order": ("select[name=sort]", "unmet"),
    "clear": ("button[type=reset]", None),
}
#: Milliseconds from an action until the frame behind it is drawn.
_ACT = """([selector, value]) => new Promise((resolve) => {
    const element = document.querySelector(`.filters ${selector}`);
    requestAnimationFrame(() => {
        const start = performance.now();
        if (value === null) element.click();
        else {
            element.value = value;
            element.dispatchEvent(new Event('input', { bubbles: true }));
        }
        setTimeout(() => requestAnimationFrame(() => {
            document.body.offsetHeight;
            setTimeout(() => resolve(performance.now() - start));
        }));
    });
})"""
_PAINT = """() => new Promise((resolve) => {
    const take = (list) => list.getEntriesByName('first-contentful-paint').forEach((one) => resolve(one.startTime));
    new PerformanceObserver(take).observe({ type: 'paint', buffered: true });
})"""


def registry_of(count: int) -> Registry:
    """That many requirements, in areas."""
    areas: dict[str, list[Requirement]] = {f"area-{number:02}": [] for number in range(AREAS)}
    names = [*areas]
    for number in range(count):
        area = names[number * AREAS // count]
        areas[area].append(
            Requirement(
                id=f"{area}.replay-reads-what-is-there-{number}",
                area=area,
                level="must" if number % 5 < 2 else "should",
                text=f"A replay reads what is at the captured addresses now, and nothing else: promise {number}.",
                documents=("torch.cuda.CUDAGraph: replay", "CUDA Graphs: semantics"),
                since="2.8" if number % 3 else "1.10",
                capability=None if number % 4 else CAPABILITIES[number // 4 % len(CAPABILITIES)],
                statements=(f"cuda.replay-reads-{number}",),
            )
        )
    return Registry(Area(name, name, tuple(entries)) for name, entries in areas.items())


def write_records(folder: Path, implementations: int, requirements: int) -> list[Path]:
    """Write a record for each implementation."""
    registry = registry_of(requirements)
    return [_write_record(folder / f"{number}.jsonl", number, registry) for number in range(implementations)]


def _write_record(path: Path, number: int, registry: Registry) -> Path:
    absent = CAPABILITIES[number % len(CAPABILITIES)]
    environment = {
        "python": "3.11.2",
        "torch": f"2.{8 + number % 7}.0",
        "platform": "Linux-6.1-x86_64",
        "device": f"device {number}",
        "driver": f"{500 + number}.10",
    }
    capabilities = {name: name != absent for name in CAPABILITIES}
    subject = Subject(f"vendor_{number:02}.Graph", "vendor.py:Graph", "cuda", "2.14", capabilities, environment)
    run = Run(subject, registry, path)
    planned = {
        f"suites/{entry.area.replace('-', '_')}/test_{index % 7}.py::test_replay_reads_{index}": entry
        for index, entry in enumerate(registry.requirements.values())
    }
    run.begin(
        {test: (entry.id,) for test, entry in planned.items()}, {"isolate": True}, f"2026-01-01T00:00:{number:02}+00:00"
    )
    draw = random.Random(number)  # noqa: S311 - which tests fail
    for index, (test, entry) in enumerate(planned.items()):
        run.started(test)
        run.ended(_result(test, entry, index, draw, lacks=entry.capability == absent))
    assessment = run.assess(narrowed=False, stopped=None)
    run.end(assessment, assessment.exit_status, None)
    run.close()
    return path


def _result(test: str, entry: Requirement, index: int, draw: random.Random, *, lacks: bool) -> TestResult:
    command = f'pytest --impl=vendor.py:Graph --test="{test}"'
    if lacks:
        verdict = Verdict.UNSUPPORTED
        return TestResult(test, (entry.id,), verdict, message=f"{entry.capability} is declared absent", command=command)
    if draw.randrange(FAILING):
        return TestResult(test, (entry.id,), Verdict.PASS, duration_s=0.01, command=command)
    reason = draw.randrange(REASONS)
    seen = f"{reason + 2} of 37 elements differ; the first, at ({reason},), is -7.0 and should be 3.0"
    return TestResult(
        test,
        (entry.id,),
        Verdict.FAIL,
        message=f"promised: a replay reads what is there now\nseen: {seen}",
        expected="a replay reads what is there now",
        seen=seen,
        frames=tuple(f"vendor/graphs.py:{12 * line} in replay" for line in range(1, 4)),
        duration_s=0.02,
        command=command,
        reproducer="".join(f"x{line} = torch.full((37,), {index}.0, device=device)\n" for line in range(45)),
    )


def read_in_browser(matrix: Path) -> list[tuple[str, float, float]]:
    """What a reader waits for, in milliseconds: the middle and the longest of several times."""
    sys.path.append(str(_ROOT))
    from tools.browser.chromium import chromium, visit, why_not

    reason = why_not()
    if reason is not None:
        print(reason)
        return []
    times: dict[str, list[float]] = {"first paint": []}
    with chromium() as browser:
        for _ in range(TURNS):
            with visit(browser) as one:
                page = one.open(matrix.as_uri())
                times["first paint"].append(page.evaluate(_PAINT))
                for name, (selector, value) in ACTIONS.items():
                    times.setdefault(name, []).append(page.evaluate(_ACT, [selector, value]))
    return [(name, statistics.median(each), max(each)) for name, each in times.items()]


def main(implementations: int = IMPLEMENTATIONS, requirements: int = REQUIREMENTS) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, output = Path(name), Path(name, "report")
        records = write_records(folder, implementations, requirements)
        size = sum(record.stat().st_size for record in records) / _MIB
        print(f"{implementations} implementations, {requirements:,} requirements: {size:.0f} MiB of records")
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        cost = measured("report", *map(str, records), "--output", str(output))
        files = sum(file.is_file() for file in output.rglob("*"))
        print(f"built in {cost.wall_s:.1f} s, {cost.cpu_s:.1f} of processor, {cost.memory:.0f} MiB: {files} files")
        rows = [
            (file.relative_to(output), file.stat().st_size / _MIB, len(gzip.compress(file.read_bytes(), 6)) / _MIB)
            for file in sorted(output.glob("*.*"))
        ]
        print(tabulate(rows, headers=("file", "MiB", "compressed"), floatfmt=".2f"))
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        waits = read_in_browser(output / "matrix.html")
        print(tabulate(waits, headers=("in Chromium", "median ms", "longest ms"), floatfmt=".0f"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
