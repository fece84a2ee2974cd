"""What the installed suites plan, to compare records of their digest with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

from conformance.errors import KitError, one_line
from conformance.paths import HOME

#: Seconds that the suites have to be collected; they need three.
_PATIENCE = 300
_COLLECTOR = "conformance.session.suite_plan"


def installed_plan() -> Mapping[str, tuple[str, ...]]:
    """All tests of the installed suites, each with the requirements that it decides.

    They are the same for each implementation, dialect and revision, which only decide which of them apply.

    Raises:
        KitError: the suites cannot be collected.
    """
    plan = _collected()
    if isinstance(plan, KitError):
        raise plan
    return plan


@cache
def _collected() -> Mapping[str, tuple[str, ...]] | KitError:
    """The plan, or why there is none, asked of another process once in this one: it takes seconds."""
    # Nothing that the user's own sessions of pytest are told may change what there is.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    try:
        run = subprocess.run(  # noqa: S603  # this Python, and a module of the kit's
            [sys.executable, "-m", _COLLECTOR],
            cwd=HOME,
            env={**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
        if run.returncode:
            said = run.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            return KitError(f"the installed suites cannot be collected: {one_line(said, 200)} ({run.returncode})")
        return {test: tuple(ids) for test, ids in json.loads(run.stdout).items()}
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return KitError(f"the installed suites cannot be collected: {one_line(error)}")
