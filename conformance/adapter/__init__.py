"""The adapter: what the kit must know about an implementation before it can test it.

`Adapter` is the whole contract between the suites and a backend.  Suites reach the implementation through it and
through nothing else, so that a requirement is written once and decided for every documented shape of the class
(`dialect`).  A backend whose device module is shaped like ``torch.cuda`` needs only `ModuleAdapter`.
"""

from __future__ import annotations

from conformance.adapter.contract import Adapter, Event, Stream
from conformance.adapter.module_adapter import ModuleAdapter
from conformance.adapter.threads import in_thread
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS, Capability, Dialect

__all__ = [
    "CAPABILITIES",
    "DIALECTS",
    "Adapter",
    "Capability",
    "Dialect",
    "Event",
    "ModuleAdapter",
    "Stream",
    "in_thread",
]
