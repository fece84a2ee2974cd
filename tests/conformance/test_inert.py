"""Without --impl the plug-in does nothing, in anybody's project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance import start  # noqa: F401 - before pytester takes stock of modules

pytest_plugins = ["pytester"]


def test_loading_the_plug_in_imports_no_torch() -> None:
    code = "import sys, conformance.plugin; print(sorted({'torch', 'hypothesis', 'numpy'} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_a_projects_own_options_and_fixtures_of_the_same_names_work(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        import pytest

        def pytest_addoption(parser):
            for name in ("--impl", "--device", "--record", "--revision", "--test"):
                parser.addoption(name, default="its own")

        @pytest.fixture
        def impl(request): return request.config.getoption("impl")
    """)
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", [1, 2])
        def test_it(impl, number): assert impl == "its own"

        def test_warning_free(request): assert not request.config.pluginmanager.has_plugin("conformance-executor")
    """)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers")
    result.assert_outcomes(passed=3)
    assert result.ret == 0


def test_conformance_tests_without_an_implementation_are_wrong_use(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from conformance.markers import requirement

        @requirement("alpha.one")
        def test_one(impl): ...
    """)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers")
    assert result.ret == 4
    (line,) = [line for line in result.errlines if line]
    assert line == (
        "ERROR: conformance: these tests need an implementation: pytest --impl=NAME "
        "(reference, torch.cuda, package.module:attribute or file.py:attribute)"
    )


@pytest.mark.parametrize("where", ["ini", "environment"])
def test_a_projects_settings_may_name_the_implementation(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if where == "ini":
        pytester.makeini("[pytest]\naddopts = --impl=nope")
    else:
        monkeypatch.setenv("PYTEST_ADDOPTS", "--impl=nope")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: conformance: --impl=nope: no implementation has that name*"])


def test_a_broken_requirement_file_ends_the_session_with_one_line(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from conformance.requirements.area_files import read_registry

    (tmp_path / "alpha.toml").write_text("area = ", encoding="utf-8")
    monkeypatch.setattr("conformance.start.load_registry", lambda: read_registry(tmp_path))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--impl=reference")
    assert result.ret == 3
    (line,) = [line for line in result.errlines if line]
    assert line.startswith("Exit: conformance: alpha.toml: not TOML")
