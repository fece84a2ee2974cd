"""A waiver: a known failure that someone accepts, for a reason, until a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase

#: What a waiver may be limited to.
SCOPE = ("implementation", "revision", "device", "driver")


def facts(implementation: str, revision: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What scopes are compared with, of one run; what the adapter does not state is left out."""
    values = {name: environment[name] for name in SCOPE if name in environment}
    return {**values, "implementation": implementation, "revision": revision}


@dataclass(frozen=True)
class Waiver:
    """One entry of a waiver file.

    Attributes:
        place: ``FILE:LINE``, without the file's folder.
        reason: why the failure is accepted.
        link: where it is followed up.
        owner: who answers for it.
        expires: the last day on which it waives.
        requirement: whose failures it waives, or ``None``.
        test: whose failures it waives, or ``None``; without parameters it means all of them.
        scope: by the names in `SCOPE`, patterns of the shell that the run's own values must match.
    """

    place: str
    reason: str
    link: str
    owner: str
    expires: date
    requirement: str | None = None
    test: str | None = None
    scope: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """What it names."""
        return self.test or self.requirement or ""

    def names(self, test: str) -> bool:
        """Whether it names `test` itself.

        >>> from datetime import date
        >>> waiver = Waiver("known.toml:1", "r", "l", "o", date(2026, 1, 1), test="suites/reset/test_twice.py::test_it")
        >>> waiver.names("suites/reset/test_twice.py::test_it[2]"), waiver.names("suites/reset/test_twice.py::test_its")
        (True, False)
        """
        return self.test is not None and self.test in {test, test.partition("[")[0]}

    def concerns(self, test: str, requirements: tuple[str, ...]) -> bool:
        """Whether it names `test`, or one of the `requirements` that the test decides."""
        return self.names(test) or self.requirement in requirements

    def in_scope(self, run: Mapping[str, str]) -> bool:
        """Whether it is for the run with these `facts`."""
        return all(self.fits(name, run) for name in self.scope)

    def fits(self, name: str, run: Mapping[str, str]) -> bool:
        """Whether the part `name` of its scope is that of the run with these `facts`."""
        return name not in self.scope or (name in run and fnmatchcase(run[name], self.scope[name]))

    def days_left(self, today: date) -> int:
        """How many days it still waives after `today`; below 0 once it has expired."""
        return (self.expires - today).days

    def to_dict(self) -> dict[str, str]:
        """The waiver as JSON values, without what it does not say."""
        target = {"requirement": self.requirement, "test": self.test}
        return {
            "place": self.place,
            **{name: value for name, value in target.items() if value is not None},
            "reason": self.reason,
            "link": self.link,
            "owner": self.owner,
            "expires": self.expires.isoformat(),
            **self.scope,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, str]) -> Waiver:
        """The inverse of `to_dict`; keys of later versions are ignored."""
        return cls(
            place=values["place"],
            reason=values["reason"],
            link=values["link"],
            owner=values["owner"],
            expires=date.fromisoformat(values["expires"]),
            requirement=values.get("requirement"),
            test=values.get("test"),
            scope={name: values[name] for name in SCOPE if name in values},
        )
