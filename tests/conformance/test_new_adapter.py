"""What a vendor begins with runs at once, and is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib


def _command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = "import conformance.cli; raise SystemExit(conformance.cli.main())"
    return subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, check=False)


def test_the_stand_in_runs_at_once(tmp_path: Path) -> None:
    written = _command(tmp_path, "new-adapter", "torch.mine", "--stand-in")
    assert written.returncode == 0, written.stderr
    assert written.stdout.endswith("next: graph-conformance doctor conformance_adapter/adapter.py:MineAdapter\n")
    run = _command(
        tmp_path,
        *("run", "--impl=conformance_adapter/adapter.py:MineAdapter"),
        *("suites/signatures", "suites/keep_graph", "--no-isolate", "-q", "-p", "no:cacheprovider"),
    )
    assert " failed" not in run.stdout, run.stdout
    assert " passed" in run.stdout, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].startswith("NO CLAIM: torch.mine as cuda ")


@pytest.mark.parametrize("dialect", ["cuda", "xpu", "accelerator"])
def test_every_file_is_sound(tmp_path: Path, dialect: str) -> None:
    written = _command(tmp_path, "new-adapter", "torch.mine", "--output=begin", f"--dialect={dialect}")
    assert written.returncode == 0, written.stderr
    folder = tmp_path / "begin"
    assert {path.name for path in folder.iterdir()} == {"adapter.py", "readme.md", "waivers.toml", "workflow.yml"}
    compile((folder / "adapter.py").read_bytes(), "adapter.py", "exec")
    assert not tomllib.loads((folder / "waivers.toml").read_text(encoding="utf-8"))
    for path in folder.iterdir():
        assert not re.search(r"\$[a-z]", path.read_text(encoding="utf-8")), path
    adapter = (folder / "adapter.py").read_text(encoding="utf-8")
    assert "import torch_mine" in adapter
    assert "graph_class = torch.mine.MINEGraph" in adapter
    assert ("capture_modes" in adapter) == (dialect != "xpu")


def test_nothing_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "begin").mkdir()
    (tmp_path / "begin" / "adapter.py").write_text("mine\n", encoding="utf-8")
    refused = _command(tmp_path, "new-adapter", "torch.mine", "--output=begin")
    assert refused.returncode == 4
    assert "none is replaced" in refused.stderr
    assert [path.name for path in (tmp_path / "begin").iterdir()] == ["adapter.py"]


@pytest.mark.parametrize("words", [["a b"], ["torch.mine/x"], [""], ["torch.mine", "--stand-in", "--dialect=xpu"]])
def test_wrong_use(tmp_path: Path, words: list[str]) -> None:
    refused = _command(tmp_path, "new-adapter", *words)
    assert refused.returncode == 4
    assert len(refused.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


_METADATA = "Metadata-Version: 2.1\nName: mine-graphs\nVersion: 1.2\n"


def test_an_installed_package_adds_its_name(tmp_path: Path) -> None:
    """The name of its entry point is taken by --impl, listed, and suggested."""
    _command(tmp_path, "new-adapter", "torch.mine", "--stand-in", "--output=mine_graphs")
    info = tmp_path / "mine_graphs-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(_METADATA, encoding="utf-8")
    entry = "[graph_conformance.implementations]\ntorch.mine = mine_graphs.adapter:MineAdapter\n"
    (info / "entry_points.txt").write_text(entry, encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
    code += "import conformance.cli; raise SystemExit(conformance.cli.main())"

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)

    listed = command("implementations").stdout
    assert "added by mine-graphs 1.2" in listed
    assert "mine_graphs.adapter:MineAdapter" in listed
    run = command("run", "--impl=torch.mine", "suites/keep_graph", "--no-isolate", "-q", "-p", "no:cacheprovider")
    assert run.stdout.splitlines()[-1].startswith("NO CLAIM: torch.mine as cuda "), run.stdout + run.stderr
    assert "did you mean 'torch.mine'" in command("run", "--impl=torch.min", "suites/keep_graph").stderr
