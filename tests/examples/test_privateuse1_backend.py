"""PyTorch's own torch.accelerator.Graph, on the backend that an example builds: in plain PyTorch, and with the kit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from conformance.records.record import Record, read_record

HOME = Path(__file__).parents[2]
EXAMPLE = HOME / "examples" / "privateuse1_backend"
ADAPTER = "examples/privateuse1_backend/adapter.py:HostmemAdapter"
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")

#: Where the backend's own work shows: streams, pools, modes, the shapes of results, and the class's settings.
SUITES = (
    "suites/accelerator",
    "suites/capture",
    "suites/context_manager",
    "suites/debug_dump",
    "suites/error_modes",
    "suites/keep_graph",
    "suites/pools",
    "suites/signatures",
)

pytestmark = [
    pytest.mark.skipif(shutil.which(os.environ.get("CXX", "c++")) is None, reason="there is no C++ compiler"),
    pytest.mark.skipif(shutil.which("ninja") is None, reason="there is no ninja, which builds the backend"),
    pytest.mark.skipif(not hasattr(torch.accelerator, "Graph"), reason="this torch has no torch.accelerator.Graph"),
]


#: Programs of users, each with what it prints.
PROGRAMS = {
    "the README's": (
        README.split("```python\n")[1].split("```")[0]
        + """
print(x.unique().tolist())
graph.replay()
print(x.unique().tolist())
""",
        ["[1.0]", "[2.0]"],
    ),
    "a new stream and a new graph in one statement": (
        """
x = torch.ones(3, device="hostmem")
before = torch.accelerator.current_stream()
with torch.Stream(), torch.accelerator.Graph():
    print(torch.accelerator.current_stream().is_capturing())
    y = x * 2
    x += 1
print(torch.accelerator.current_stream() == before, before.is_capturing())
print(x.tolist(), y.isnan().all().item())
""",
        ["True", "True False", "[1.0, 1.0, 1.0] True"],
    ),
    "work on two streams": (
        """
x, side, graph = torch.ones(3, device="hostmem"), torch.Stream(), torch.accelerator.Graph()
with torch.Stream() as stream, graph:
    side.wait_stream(stream)
    with side:
        y = x + 1
    z = x * 10
    stream.wait_stream(side)
    total = y + z
for value in (2, 3):
    x.fill_(value)
    graph.replay()
    print(total.tolist())
""",
        ["[23.0, 23.0, 23.0]", "[34.0, 34.0, 34.0]"],
    ),
    "work that does not join again": (
        """
x, side, graph = torch.ones(3, device="hostmem"), torch.Stream(), torch.accelerator.Graph()
try:
    with torch.Stream() as stream, graph:
        side.wait_stream(stream)
        with side:
            x += 1
except RuntimeError as error:
    print(str(error).splitlines()[0])
print(stream.is_capturing(), side.is_capturing(), x.tolist())
""",
        ["the capture failed: work was forked to another stream and not joined again", "False False [1.0, 1.0, 1.0]"],
    ),
    "autocast and a backward pass": (
        """
layer = torch.nn.Linear(4, 2).to("hostmem")
x, graph = torch.ones(3, 4, device="hostmem"), torch.accelerator.Graph()
with torch.Stream(), graph:
    with torch.autocast("hostmem", torch.bfloat16):
        y = layer(x)
    y.float().sum().backward()
print(y.dtype, layer.weight.grad.isnan().all().item())
for value in (1, 5):
    x.fill_(value)
    graph.replay()
    print(layer.weight.grad.unique().tolist())
""",
        ["torch.bfloat16 True", "[3.0]", "[15.0]"],
    ),
    "memory that grows in a capture": (
        """
x, y, graph = torch.zeros(2, device="hostmem"), torch.zeros(1, device="hostmem"), torch.accelerator.Graph()
with torch.Stream(), graph:
    y.resize_(0)
    torch.add(x, 1, out=y)
    y.resize_(3)[2:] = 7
for value in (3, 4):
    x.fill_(value)
    graph.replay()
    print(y.tolist())
""",
        ["[4.0, 4.0, 7.0]", "[5.0, 5.0, 7.0]"],
    ),
    "a replay inside another capture": (
        """
x, inner, outer = torch.ones(3, device="hostmem"), torch.accelerator.Graph(), torch.accelerator.Graph()
with torch.Stream(), inner:
    x += 1
with torch.Stream(), outer:
    inner.replay()
    x *= 2
print(x.tolist())
outer.replay()
print(x.tolist())
""",
        ["[1.0, 1.0, 1.0]", "[4.0, 4.0, 4.0]"],
    ),
    "a host read in a capture": (
        """
x, graph = torch.ones(3, device="hostmem"), torch.accelerator.Graph()
with torch.Stream(), graph:
    x += 1
    for read in (x.tolist, x.sum().item, x.cpu, torch.accelerator.synchronize):
        try:
            print(read())
        except RuntimeError as error:
            print("capturing" in str(error))
graph.replay()
print(x.tolist())
""",
        ["True", "True", "True", "True", "[2.0, 2.0, 2.0]"],
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _build() -> None:
    """Compile the backend, if it is not compiled already, in a process that nothing hurries."""
    run = _process("-c", "import hostmem", PYTHONPATH=str(EXAMPLE))
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]


def _process(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python apart: a process that imports the backend has an accelerator, and may have no other."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, *words], cwd=HOME, env=ours | environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def printed() -> dict[str, list[str]]:
    """What the programs print, all from one process because importing torch takes longer than they do."""
    programs = json.dumps([program for program, _ in PROGRAMS.values()])
    run = _process("-c", RUN_ALL, programs, PYTHONPATH=str(EXAMPLE))
    assert run.returncode == 0, run.stderr
    return dict(zip(PROGRAMS, json.loads(run.stdout.splitlines()[-1]), strict=True))


#: Prints, as the last line, what each of the programs in its argument prints, or how it ends.
RUN_ALL = """
import contextlib, io, json, sys, traceback
import hostmem, torch
outputs = []
for program in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            exec(program, {"torch": torch, "hostmem": hostmem})
        except Exception:
            print(traceback.format_exc())
    outputs.append(output.getvalue().splitlines())
print(json.dumps(outputs))
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_of_plain_pytorch(printed: dict[str, list[str]], name: str) -> None:
    assert printed[name] == PROGRAMS[name][1]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Of a part of the suites, in one process because that takes the least time."""
    path = tmp_path_factory.mktemp("privateuse1") / "run.jsonl"
    words = [f"--impl={ADAPTER}", f"--record={path}", "--no-isolate", "-q", "-p", "no:cacheprovider", *SUITES]
    run = _process("-m", "pytest", *words)
    assert path.exists(), run.stdout[-3000:] + run.stderr[-3000:]
    return read_record(path)


def test_nothing_is_rejected(record: Record) -> None:
    rejected = {
        result.test: result.message for result in record.results if result.verdict not in ("pass", "unsupported")
    }
    assert rejected == {}
    assert Counter(result.verdict for result in record.results)["pass"] > 300


def test_what_is_tested_is_pytorch_s_own_class(record: Record) -> None:
    assert record.header.dialect == "accelerator"
    assert record.header.capabilities == {}


def test_what_cannot_be_tried_is_in_the_readme(record: Record) -> None:
    untried = _requirements(record, "unsupported") - _requirements(record, "pass")
    assert untried
    assert untried <= set(re.findall(r"^\| `([a-z-]+\.[a-z-]+)` \|", README, re.MULTILINE))


def test_installed_it_is_torch_accelerator(tmp_path: Path) -> None:
    """The entry point makes ``import torch`` load it, in each worker, too; no adapter names it."""
    project = (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")
    (entry_point,) = re.findall(r"^hostmem = \"(.*)\"$", project, re.MULTILINE)
    info = tmp_path / "hostmem-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostmem\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[torch.backends]\nhostmem = {entry_point}\n", encoding="utf-8")
    path = tmp_path / "run.jsonl"
    words = ["--impl=torch.accelerator", f"--record={path}", "-q", "-p", "no:cacheprovider", "suites/accelerator"]
    run = _process("-m", "pytest", *words, PYTHONPATH=os.pathsep.join([str(tmp_path), str(EXAMPLE)]))
    assert path.exists(), run.stdout[-3000:] + run.stderr[-3000:]
    record = read_record(path)
    assert record.header.environment["device"] == "hostmem:0"
    assert {result.verdict for result in record.results} == {"pass", "unsupported"}


def _requirements(record: Record, verdict: str) -> set[str]:
    return {name for result in record.results if result.verdict == verdict for name in result.requirements}
