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
        capabilities: the optional features that it consists of; none for what every class has.
    """

    name: str
    meaning: str
    capabilities: tuple[str, ...]


#: What is in no other profile.
CORE = "core"
#: All profiles together.
FULL = "full"

#: Each capability is in one of them.
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(CORE, "captures and replays, resets, and has the context manager", ()),
            Profile(
                "streams",
                "captures work that forks to other streams, and captures in several threads",
                ("fork_join", "threads"),
            ),
            Profile("random", "captures random operators", ("rng",)),
            Profile("pools", "shares memory between graphs by tokens, and gives it back", ("pools", "memory_stats")),
            Profile(
                "keep-graph",
                "keeps the template, instantiates it when asked, and hands out raw handles",
                ("keep_graph", "raw_handles"),
            ),
            Profile("editing", "lets the template behind the raw handle be edited", ("template_editing",)),
            Profile("error-modes", "tells the capture error modes apart", ("capture_modes",)),
            Profile("liveness", "notices inputs that died", ("liveness",)),
            Profile("hooks", "runs hooks at the end of a capture and after each instantiation", ("hooks",)),
            Profile("phases", "ends a capture in two phases", ("capture_phases",)),
            Profile("debug", "dumps its graphs", ("debug_dump",)),
            Profile("data", "describes its graphs as data", ("graph_data",)),
            Profile("callables", "makes graphed callables", ("graphed_callables",)),
        )
    }
)

_PROFILE_OF = {capability: profile.name for profile in PROFILES.values() for capability in profile.capabilities}


def profile_of(requirement: Requirement) -> str:
    """The name of the profile that `requirement` is part of."""
    return CORE if requirement.capability is None else _PROFILE_OF.get(requirement.capability, CORE)
