"""A kit of two requirements, known to the controller and to each worker."""

import conformance.records.run
import conformance.start
from conformance.requirements.registry import Area, Registry, Requirement


def _requirement(slug: str, *, destructive: bool = False) -> Requirement:
    return Requirement(f"hostile.{slug}", "hostile", "must", "It behaves.", ("a page",), "2.8", destructive=destructive)


REGISTRY = Registry([Area("hostile", "Behaving", (_requirement("behaves"), _requirement("deadly", destructive=True)))])
conformance.start.load_registry = lambda: REGISTRY

# Not the digest of suites that have nothing to do with these sessions.
conformance.records.run.suite_digest = lambda: "0" * 64
