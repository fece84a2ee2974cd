"""The page on publishing: its workflow's steps, run in order in a checkout of a small class, publish and refuse."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conformance.packaging.verifying import verify
from conformance.records.record import read_record
from tests.reports.formats.folders import parsed

HOME = Path(__file__).parents[2]
PAGE = (HOME / "docs" / "publishing.md").read_text(encoding="utf-8")
WORKFLOW = (HOME / "examples" / "publishing" / "workflow.yml").read_text(encoding="utf-8")

GIT = shutil.which("git") or "git"
#: As the host runs a step whose shell is bash.
BASH = [shutil.which("bash") or "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]

#: The class that is tested; what its second replay comes to is in the place of SECOND.
ADAPTER = """
import contextlib

from conformance.adapter import Adapter


class Graph:
    def __init__(self, keep_graph=False):
        self.replays = 0

    def capture_begin(self, pool=None, capture_error_mode="global"): ...
    def capture_end(self): ...
    def reset(self): ...

    def replay(self):
        self.replays += SECOND


class Mine(Adapter):
    name = "mine"
    revision = "2.13"
    graph_class = Graph

    def current_stream(self): return "the only one"
    def stream(self, stream): return contextlib.nullcontext()
    def synchronize(self): ...
    def is_current_stream_capturing(self): return False

    # Only these need torch, whose import takes longer than all else of a run.
    @property
    def device(self): raise NotImplementedError
    def full(self, *given, **named): raise NotImplementedError
"""
#: Its suite stands in for the kit's, which takes longer and has more to say.
SUITE = """
import pytest
from conformance.checks import expect
from conformance.markers import requirement


@requirement("hostile.behaves")
@pytest.mark.parametrize("number", [1, 2])
def test_replays(impl, number):
    graph = impl.new_graph()
    for _ in range(number):
        graph.replay()
    expect(graph.replays == number, f"{number} replays", f"{graph.replays}")


@requirement("hostile.deadly")
def test_reset(impl):
    impl.new_graph().reset()
"""
#: What stands in the place of the installed command: the kit's own but for the suites that it runs.
COMMAND = """#!{python}
import os, sys
words = sys.argv[1:]
if words[0] == "run":
    words = ["-m", "pytest", "-p", "no:cacheprovider", "-c", "pytest.ini", "--rootdir=.", "--no-isolate",
             "--import-mode=importlib", "-q", "test_suite.py", *words[1:]]
    os.execv(sys.executable, [sys.executable, *words])
from conformance.cli import main
sys.exit(main(words))
"""


@dataclass(frozen=True)
class Step:
    """A step of the workflow."""

    name: str
    run: str | None
    condition: str | None

    def holds(self, ref: str, *, failed: bool) -> bool:
        if self.condition == "always()":
            return True
        if self.condition is None:
            return not failed
        assert self.condition == "startsWith(github.ref, 'refs/tags/')"
        return ref.startswith("refs/tags/") and not failed


def steps() -> list[Step]:
    _, _, text = WORKFLOW.partition("    steps:\n")
    found = []
    for block in re.split(r"^      - name: ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = block.partition("\n")
        condition = re.search(r"^        if: (.*)$", rest, re.MULTILINE)
        lines = re.search(r"^        run: \|\n((?: {10}.*\n)+)", rest, re.MULTILINE)
        line = re.search(r"^        run: (?!\|)(.*)$", rest, re.MULTILINE)
        code = textwrap.dedent(lines[1]) if lines is not None else None if line is None else line[1]
        assert (code is None) == ("        uses: " in rest)
        found.append(Step(name, code, None if condition is None else condition[1]))
    return found


@dataclass
class Job:
    """One run of the workflow: which steps ran, and which failed."""

    ran: list[str] = field(default_factory=list)
    failed: str | None = None
    output: str = ""


class Repository:
    """A repository of a class, with what its host has of it, and a runner that checks it out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.origin = folder / "origin.git"
        self.work = folder / "work"
        self._git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.origin))
        self._git(folder, "clone", "--quiet", str(self.origin), str(self.work))
        shutil.copy(HOME / "tests" / "isolation" / "hostile" / "kit.py", self.work / "conftest.py")
        (self.work / "test_suite.py").write_text(SUITE, encoding="utf-8")
        (self.work / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        command = folder / "bin" / "graph-conformance"
        command.parent.mkdir()
        command.write_text(COMMAND.replace("{python}", sys.executable), encoding="utf-8")
        command.chmod(0o755)
        (command.parent / "python").symlink_to(sys.executable)

    def _git(self, folder: Path, *words: str) -> str:
        named = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        done = subprocess.run(
            [GIT, *named, *words], cwd=folder, env=self._variables(), capture_output=True, text=True, check=True
        )
        return done.stdout

    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GIT_"))}
        return {**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def release(self, second: str, version: str) -> None:
        """Release a version of the class."""
        (self.work / "adapter.py").write_text(ADAPTER.replace("SECOND", second), encoding="utf-8")
        self._git(self.work, "add", "--all")
        self._git(self.work, "commit", "--quiet", "--message", version)
        self._git(self.work, "push", "--quiet", "origin", "HEAD:main")

    def job(self, ref: str = "refs/tags/v1", runner: str = "runner") -> Job:
        """Run the workflow on a machine that may have been used before."""
        checkout = self.folder / runner
        if not checkout.exists():
            self._git(self.folder, "clone", "--quiet", str(self.origin), str(checkout))
        self._git(checkout, "fetch", "--quiet", "origin", "main")
        self._git(checkout, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
        # Untracked files stay, which is more than most hosts leave.
        job = Job()
        for step in steps():
            if step.name == "Install" or step.run is None or not step.holds(ref, failed=job.failed is not None):
                continue
            job.ran.append(step.name)
            done = subprocess.run(
                [*BASH, step.run],
                cwd=checkout,
                env={
                    **self._variables(),
                    "PATH": os.pathsep.join([str(self.folder / "bin"), os.environ["PATH"]]),
                    "PYTHONPATH": str(HOME),
                    "IMPL": "adapter.py:Mine",
                    "GITHUB_ACTOR": "somebody",
                    "GITHUB_REF_NAME": ref.rpartition("/")[2],
                },
                capture_output=True,
                text=True,
                check=False,
            )
            job.output += f"== {step.name}\n{done.stdout}{done.stderr}"
            if done.returncode and job.failed is None:
                job.failed = step.name
        return job

    def published(self, place: Path) -> dict[str, bytes]:
        """What the branch with the pages has."""
        self._git(self.folder, "clone", "--quiet", "--branch=pages", str(self.origin), str(place))
        return {
            path.relative_to(place).as_posix(): path.read_bytes()
            for path in place.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(place).parts
        }

    def messages(self) -> list[str]:
        """What was published when, the last first."""
        return self._git(self.origin, "log", "--format=%s", "pages").splitlines()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_the_page_shows_the_workflow() -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown == WORKFLOW


def test_its_steps_are_read() -> None:
    names = [step.name for step in steps()]
    assert names == re.findall(r"^      - name: (.*)$", WORKFLOW, re.MULTILINE)
    assert sum(step.run is not None for step in steps()) == WORKFLOW.count("        run: ")
    assert "shell: bash" in WORKFLOW  # with pipefail, as here


def test_a_class_is_published_and_a_regression_is_not(repository: Repository, tmp_path: Path) -> None:
    repository.release("1", "the first")
    first = repository.job("refs/tags/v1")
    assert first.failed is None, first.output
    assert "Nothing was published before." in first.output
    files = repository.published(tmp_path / "first")
    assert {"index.json", "report.json", "results.zip", "comparison.txt", ".nojekyll", "badges/mine/full.json"} <= {
        *files
    }
    assert not {"adapter.py", "test_suite.py", "run.jsonl"} & {*files}
    badge = parsed(files["badges/mine/full.json"].decode())
    assert badge["message"] == "conforms: 2 of 2 musts met"
    assert not verify(tmp_path / "first" / "results.zip").manifest.without_claim
    for name, content in files.items():
        assert socket.gethostname().encode() not in content or len(socket.gethostname()) < 3, name

    repository.release("2 if self.replays else 1", "a faster one")
    regression = repository.job("refs/tags/v2")
    assert regression.failed == "Compare with what is published", regression.output
    assert "REGRESSED: 1 requirement (1 must) and 1 test regressed" in regression.output
    assert regression.ran[-1] == "Make the pages"  # to be looked at, and no more
    assert repository.published(tmp_path / "second") == files

    repository.release("1 if self.replays else 1", "mended")
    mended = repository.job("refs/tags/v3")
    assert mended.failed is None, mended.output
    assert "NO REGRESSION" in mended.output
    assert repository.messages() == ["Publish the results of v3", "Publish the results of v1"]
    after = repository.published(tmp_path / "third")
    assert after.keys() == files.keys()
    assert after["results.zip"] != files["results.zip"]


def test_what_was_wrong_before_is_no_regression_and_a_branch_publishes_nothing(
    repository: Repository, tmp_path: Path
) -> None:
    repository.release("2", "never right")
    assert repository.job("refs/tags/v1").failed is None  # "does not conform" may be published like any other
    badge = repository.published(tmp_path / "first")["badges/mine/full.json"]
    assert b"does not conform: 1 of 2 musts met, 1 not met" in badge
    repository.release("2 + 0", "still not")
    branch = repository.job("refs/heads/main", runner="another")
    assert branch.failed is None, branch.output
    assert "Publish" not in branch.ran
    assert repository.messages() == ["Publish the results of v1"]


def test_a_run_that_says_nothing_is_not_published(repository: Repository) -> None:
    repository.release("1", "the first")
    (repository.work / "test_suite.py").write_text("import nothing_of_that_name\n", encoding="utf-8")
    repository.release("1 + 0", "a broken suite")
    job = repository.job()
    assert job.failed == "Run", job.output
    assert "Publish" not in job.ran


def test_what_is_published_is_verified_before_it_is_compared_with(repository: Repository, tmp_path: Path) -> None:
    repository.release("1", "the first")
    assert repository.job().failed is None
    place = tmp_path / "edited"
    repository.published(place)
    (place / "results.zip").write_bytes((place / "results.zip").read_bytes()[:-1])
    repository._git(place, "commit", "--quiet", "--all", "--message", "edited")
    repository._git(place, "push", "--quiet", "origin", "HEAD:pages")
    repository.release("1 + 0", "the second")
    job = repository.job("refs/tags/v2")
    assert job.failed == "Compare with what is published", job.output
    assert "Publish" not in job.ran


def test_a_host_that_cannot_be_reached_is_no_first_publication(repository: Repository) -> None:
    repository.release("1", "the first")
    assert repository.job().failed is None
    repository.release("2", "the second")
    checkout = repository.folder / "runner"
    fetch = next(step for step in steps() if step.name == "Fetch what is published")
    assert fetch.run is not None
    done = subprocess.run(
        [*BASH, "git remote set-url origin nowhere\n" + fetch.run],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode not in {0, 2}


def test_the_commands_of_the_page_are_in_order(repository: Repository, tmp_path: Path) -> None:
    """What the page does by hand, from a run to the pages, comes to what it shows."""
    repository.release("1", "the first")
    (script,) = re.findall(r"^```sh\n(graph-conformance run .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [*BASH, script.replace("conformance_adapter/adapter.py:MineAdapter", "adapter.py:Mine")],
        cwd=repository.work,
        env={
            **repository._variables(),
            "PATH": os.pathsep.join([str(repository.folder / "bin"), os.environ["PATH"]]),
            "PYTHONPATH": str(HOME),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = (repository.work / "new" / "records").iterdir()
    assert read_record(record).claim.line.startswith("CONFORMS: mine as cuda 2.13")
    assert verify(repository.work / "results.zip").manifest.records[0].outcome == read_record(record).claim.line
