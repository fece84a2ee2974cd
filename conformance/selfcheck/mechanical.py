"""The mechanical half of the self-check: distortions of what users call, and pairs of the catalogue's faults."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from conformance import __version__
from conformance.adapters.implementations import resolve
from conformance.paths import suite_digest
from conformance.records.subject import environment
from conformance.requirements.loading import load_registry
from conformance.selfcheck import catalogue, pairs
from conformance.selfcheck.distortions import checking
from conformance.selfcheck.distortions.distortion import chosen, every_distortion
from conformance.selfcheck.distortions.equivalents import equivalents, refuse_idle
from conformance.selfcheck.outcomes import Row
from conformance.selfcheck.running import run
from conformance.selfcheck.table import Table


@dataclass(frozen=True)
class Request:
    """What to check.

    Attributes:
        distortions: whether to check distortions.
        patterns: of their ids; when there are any, only what matches one is checked.
        pairs: how many pairs of faults to check.
        faults: the module of their catalogue.
        processes: how many tests run at a time.
    """

    distortions: bool
    patterns: tuple[str, ...] = ()
    pairs: int = 0
    faults: str = catalogue.FAULTS
    processes: int = 2


def check(request: Request, say: Callable[[str], None]) -> Table:
    """Carry a mechanical self-check out.

    Args:
        request: what to check.
        say: called with a line whenever something is finished.

    Raises:
        ConformanceError: a pattern matches nothing, the catalogue or the list of equivalents is malformed, or the
            suites cannot be collected.
    """
    registry, listed = load_registry(), equivalents()
    every = every_distortion() if request.distortions else []
    if every:
        refuse_idle(listed, every)
    distortions = chosen(every, request.patterns)
    sample = pairs.sample(catalogue.faults(request.faults, registry), request.pairs)

    rows: dict[str, Row] = {}
    jobs = [checking.job_of(each, registry, listed, rows, say) for each in distortions]
    jobs += [pairs.job_of(each, registry, rows, say) for each in sample]
    began, started_at = time.monotonic(), datetime.now(timezone.utc).isoformat(timespec="seconds")
    run(jobs, request.processes, None, scripts=False)
    lasted = time.monotonic() - began
    return Table(
        tuple(rows[key] for key in [*(each.id for each in distortions), *(each.name for each in sample)]),
        environment(resolve("reference")),
        bool(request.patterns),
        __version__,
        suite_digest(),
        started_at,
        lasted,
        request.processes,
    )
