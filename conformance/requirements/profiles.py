"""Profiles: the parts of what is documented that an implementation can be claimed to conform in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from conformance.requirements.registry import Requirement


@dataclass(frozen=True)
class Profile:
    """A named group of capabilities.

    Attributes:
        name: by which a claim calls it.
        meaning: what an implementation that conforms in it does as documented.
        capabilities: the optional features that it consists of.
        area: whose requirements are all part of it, whatever else they need.
    """

    name: str
    meaning: str
    capabilities: tuple[str, ...]
    area: str | None = None


#: What every class has, and what is in no other profile.
CORE = "core"
#: All profiles together.
FULL = "full"

#: Each capability is in one of them.
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(CORE, "captures and replays, resets, and has the context manager", ("rng",)),
            Profile(
                "streams",
                "captures work that forks to other streams, and captures in several threads",
                ("fork_join", "threads"),
            ),
            Profile("pools", "shares memory between graphs by tokens, and gives it back", ("pools", "memory_stats")),
            Profile(
                "keep-graph",
                "keeps the template, instantiates it when asked, and hands out raw handles",
                ("keep_graph", "raw_handles"),
            ),
            Profile("editing", "lets the template behind the raw handle be edited", ("template_editing",)),
            Profile("error-modes", "tells the capture error modes apart", ("capture_modes", "raw_allocation")),
            Profile("liveness", "notices inputs that died", ("liveness",)),
            Profile("hooks", "runs hooks at the end of a capture and after each instantiation", ("hooks",)),
            Profile("phases", "ends a capture in two phases", ("capture_phases",)),
            Profile("debug", "dumps its graphs", ("debug_dump",)),
            Profile("data", "describes its graphs as data", ("graph_data",), area="graph-data"),
            Profile("callables", "makes graphed callables", ("graphed_callables",)),
        )
    }
)

_OF_CAPABILITY = {capability: profile.name for profile in PROFILES.values() for capability in profile.capabilities}
_OF_AREA = {profile.area: profile.name for profile in PROFILES.values() if profile.area is not None}


def profile_of(requirement: Requirement) -> str:
    """The name of the profile that `requirement` is part of."""
    if requirement.area in _OF_AREA:
        return _OF_AREA[requirement.area]
    return CORE if requirement.capability is None else _OF_CAPABILITY.get(requirement.capability, CORE)
