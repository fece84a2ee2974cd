"""A waiver file that is malformed is refused before anything runs, with one line that has its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import ExitStatus, UsageError
from conformance.requirements.registry import Area, Registry, Requirement
from conformance.waivers.reading import read_waivers
from tests.waivers.conftest import ONE, OPEN, Kit, waiver

pytest_plugins = ["pytester"]

MALFORMED: dict[str, tuple[str | bytes, int, str]] = {
    "no-toml": (waiver() + "owner\n", 7, "not TOML"),
    "unclosed-text": ('[[waiver]]\nreason = "the', 2, "not TOML"),
    "a-key-twice": (waiver() + 'owner = "x"\n', 7, "not TOML"),
    "not-utf-8": (b'[[waiver]]\nreason = "\xff"\n', 2, "it is not UTF-8"),
    "empty": ("# nothing yet\n", 1, "no [[waiver]] entry"),
    "one-table": ('# one\n[waiver]\nowner = "x"\n', 2, "start each waiver with a line [[waiver]]"),
    "inline": ('waiver = [{ owner = "x" }]\n', 1, "start each waiver with a line [[waiver]]"),
    "another-table": (waiver() + "[options]\nstrict = true\n", 7, "unknown key 'options'"),
    "unknown-key": (waiver(severity='"low"'), 7, "unknown key 'severity'; known: requirement, test, reason"),
    "misspelt-key": (waiver(expires="-", expiry="2026-12-31"), 6, "unknown key 'expiry'"),
    "key-of-a-subtable": (waiver() + '[waiver.scope]\ndevice = "x"\n', 7, "unknown key 'scope'"),
    "both": (waiver(requirement=f'"{ONE}"', test='"test_it.py::test_replay"'), 3, "both 'requirement' and 'test'"),
    "neither": (waiver(requirement="-"), 1, "neither 'requirement' nor 'test'"),
    "unknown-area": (
        waiver(requirement='"nowhere.at-all"'),
        2,
        "unknown requirement 'nowhere.at-all' (no area 'nowhere')",
    ),
    "unknown-slug": (waiver(requirement=f'"{ONE}-again"'), 2, f"unknown requirement '{ONE}-again'"),
    "open-requirement": (waiver(requirement=f'"{OPEN}"'), 2, "is left open (may), so it is never judged"),
    "requirement-list": (waiver(requirement=f'["{ONE}"]'), 2, "'requirement' must be a text"),
    "empty-requirement": (waiver(requirement='""'), 2, "'requirement': it is empty"),
    "unknown-file": (waiver(test='"suites/nowhere/test_it.py::test_x"'), 2, "no test file 'suites/nowhere/test_it.py'"),
    "test-file-alone": (waiver(test='"test_it.py"'), 2, "write suites/AREA/test_FILE.py::test_NAME"),
    "test-name-missing": (waiver(test='"test_it.py::"'), 2, "write suites/AREA/test_FILE.py::test_NAME"),
    "empty-reason": (waiver(reason='""'), 3, "'reason': it is empty: say why"),
    "blank-reason": (waiver(reason='"  "'), 3, "'reason': it is empty: say why"),
    "no-reason": (waiver(reason="-"), 1, "'reason' is missing"),
    "empty-link": (waiver(link='""'), 4, "'link': it is empty: say where"),
    "no-link": (waiver(link="-"), 1, "'link' is missing"),
    "empty-owner": (waiver(owner='""'), 5, "'owner': it is empty: say who"),
    "owner-number": (waiver(owner="7"), 5, "'owner' must be a text, not 7"),
    "no-expiry": (waiver(expires="-"), 1, "'expires' is missing"),
    "expiry-text": (waiver(expires='"2026-12-31"'), 6, "must be a date such as 2026-12-31, without quotes"),
    "expiry-never": (waiver(expires="false"), 6, "must be a date"),
    "expiry-time": (waiver(expires="2026-12-31T12:00:00Z"), 6, "must be a date"),
    "expiry-no-day": (waiver(expires="2026-02-30"), 6, "not TOML"),
    "empty-device": (waiver(device='""'), 7, "'device': it is empty: leave it out"),
    "revision-number": (waiver(revision="2.13"), 7, "'revision' must be a text, not 2.13"),
    "twice": (waiver() + "\n" + waiver(reason='"another"'), 8, f"{ONE} is waived with the same scope at known.toml:1"),
    "second-entry": (waiver() + "\n" + waiver(device='"x"', link='""'), 11, "'link': it is empty"),
    "after-a-long-text": (
        waiver(reason="'''two lines\n[[waiver]]\n'''") + waiver(device='"x"', owner='""'),
        13,
        "'owner': it is empty",
    ),
}


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["here", "workers"])
@pytest.mark.parametrize("name", MALFORMED)
def test_it_is_refused(kit: Kit, name: str, workers: tuple[str, ...]) -> None:
    text, line, message = MALFORMED[name]
    result, record = kit.run(text, *workers)
    assert result.ret == ExitStatus.USAGE
    (refusal,) = [each for each in result.errlines if each.strip()]
    assert refusal.startswith(f"ERROR: conformance: known.toml:{line}: ")
    assert message in refusal
    assert record is None
    assert "passed" not in result.stdout.str()


def test_what_no_test_decides_is_refused(tmp_path: Path) -> None:
    entry = Requirement("area.one", "area", "must", "One.", ("a page",), "2.8", untestable="it is about the future")
    file = tmp_path / "known.toml"
    file.write_text(waiver(requirement='"area.one"'), encoding="utf-8")
    with pytest.raises(UsageError, match=r"known.toml:2: 'requirement': no test decides area.one"):
        read_waivers(file, Registry([Area("area", "An area", (entry,))]), tmp_path)


@pytest.mark.parametrize(("name", "message"), [("gone.toml", "No such file"), (".", "Is a directory")])
def test_a_file_that_is_none_is_refused(kit: Kit, name: str, message: str) -> None:
    result, record = kit.run(None, f"--waivers={name}")
    assert (result.ret, record) == (ExitStatus.USAGE, None)
    result.stderr.fnmatch_lines(f"ERROR: conformance: --waivers={name}: the file cannot be read: {message}*")
