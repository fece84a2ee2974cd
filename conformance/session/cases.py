"""Which tests run for which implementation, and what they are called in a record."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.errors import RequirementError, UsageError
from conformance.markers import asked_seconds, claimed_ids, draws_examples
from conformance.paths import HOME, SUITES
from conformance.requirements.registry import Registry, Requirement
from conformance.session.options import Options

if TYPE_CHECKING:
    from conformance.adapter import Adapter


@dataclass(frozen=True)
class Case:
    """One test of one implementation.

    Attributes:
        nodeid: pytest's name for it.
        test: the record's name for it, which no implementation's name is part of.
        implementation: the adapter's name.
        requirements: what it decides.
        seconds: how long it asks for; 0 when it does not.
        draws: whether it draws examples.
    """

    nodeid: str
    test: str
    implementation: str
    requirements: tuple[Requirement, ...]
    seconds: float = 0.0
    draws: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.requirements)

    @property
    def scored_ids(self) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.requirements if entry.scored)

    @property
    def scored(self) -> bool:
        """Whether anything that it decides is judged."""
        return any(entry.scored for entry in self.requirements)

    @property
    def destructive(self) -> bool:
        return any(entry.destructive for entry in self.requirements)

    def applies_to(self, adapter: Adapter) -> bool:
        """Whether all that it decides holds for the adapter's dialect and revision."""
        return all(entry.holds_for(adapter.dialect, adapter.revision) for entry in self.requirements)

    def absent_capability(self, adapter: Adapter) -> str | None:
        """The first capability that it needs and the adapter declares absent."""
        needed = (entry.capability for entry in self.requirements if entry.capability is not None)
        return next((name for name in needed if adapter.capabilities.get(name) is False), None)

    def probed_absence(self, capabilities: Mapping[str, bool]) -> str | None:
        """The capability that it probes although `capabilities` declare it absent."""
        probed = (entry.probes for entry in self.requirements if entry.probes is not None)
        return next((name for name in probed if capabilities.get(name) is False), None)


@dataclass
class Selection:
    """What a session leaves out.

    Attributes:
        not_applicable: by implementation, the tests of other dialects or later revisions.
        narrowed: whether the operator asked for a part of the suites only.
        settled: whether that is known, and nothing of it was refused; pytest says that it has collected either way.
    """

    not_applicable: dict[str, list[str]] = field(default_factory=dict)
    narrowed: bool = False
    settled: bool = False


def split_nodeid(nodeid: str, root: Path, implementations: Iterable[str]) -> tuple[str, str] | None:
    """The implementation and the record's name of the test that pytest calls `nodeid`.

    ``None`` for a test of no implementation.
    """
    base, bracket, inside = nodeid.partition("[")
    parameters = inside.removesuffix("]")
    # The longest name first: one name may begin with another.
    for name in sorted(implementations, key=len, reverse=True) if bracket else ():
        if parameters == name or parameters.startswith(name + "-"):
            rest = parameters[len(name) + 1 :]
            return name, _from_home(base, root) + (f"[{rest}]" if rest else "")
    return None


def _from_home(base: str, root: Path) -> str:
    file, separator, rest = base.partition("::")
    path = (root / file).resolve()
    name = path.relative_to(HOME).as_posix() if path.is_relative_to(SUITES) else file
    return name + separator + rest


def case_of(item: pytest.Item, registries: Mapping[str, Registry]) -> Case | None:
    """The case that `item` is, or ``None`` when it is a test of no implementation.

    Args:
        item: the test.
        registries: by implementation, the requirements as its dialect sees them.

    Raises:
        RequirementError: it is in the suites but names no requirement, an unknown one, or one that is declared
            untestable.
    """
    name = split_nodeid(item.nodeid, item.config.rootpath, registries)
    ids = claimed_ids(item)
    if name is None:
        if not ids and not item.path.is_relative_to(SUITES):
            return None
        raise RequirementError(f"{item.nodeid} does not take the fixture 'impl', so it tests no implementation")
    if not ids:
        raise RequirementError(f'{item.nodeid} names no requirement; decorate it with @requirement("area.slug")')
    requirements = tuple(registries[name[0]].get(identity, item.nodeid) for identity in ids)
    for entry in requirements:
        if entry.untestable is not None:
            raise RequirementError(f"{item.nodeid} decides {entry.id}, which is declared untestable")
    return Case(item.nodeid, name[1], name[0], requirements, asked_seconds(item), draws_examples(item))


def is_narrowed(config: pytest.Config) -> bool:
    """Whether the command line's paths leave a part of the suites out."""
    if config.option.ignore or config.option.ignore_glob:
        return True
    if config.args_source is not config.ArgsSource.ARGS:
        return False
    here = config.invocation_params.dir
    files = [(here / argument).resolve() for argument in config.args if "::" not in argument]
    if any(SUITES.is_relative_to(file) for file in files):
        return False
    return len(files) < len(config.args) or any(file.is_relative_to(SUITES) for file in files)


def names_suites(config: pytest.Config) -> bool:
    """Whether the command line's paths name the suites, or a part of them."""
    here = config.invocation_params.dir
    paths = [(here / argument.partition("::")[0]).resolve() for argument in config.args]
    return any(path.is_relative_to(SUITES) or SUITES.is_relative_to(path) for path in paths)


def is_part(items: Iterable[pytest.Item]) -> bool:
    """Whether tests of the suites are among `items`, and others of the suites are not.

    Some plug-ins and settings keep pytest from collecting a file or a function, and tell nobody.
    """
    names: dict[Path, set[str]] = {}
    modules: dict[Path, dict[str, object]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.path.is_relative_to(SUITES):
            names.setdefault(item.path, set()).add(item.originalname)
            modules.setdefault(item.path, vars(item.module))
    if not names:
        return False
    return names.keys() != set(SUITES.rglob("test_*.py")) or any(
        name.startswith("test_") and callable(value) and name not in names[path]
        for path, module in modules.items()
        for name, value in module.items()
    )


def only(cases: Mapping[str, Case], tests: Sequence[str]) -> set[str]:
    """The node ids of the `cases` that the record calls `tests`.

    Raises:
        UsageError: there is no such test.
    """
    names = set(tests)
    unknown = names - {case.test for case in cases.values()}
    if unknown:
        raise UsageError(f"--test={min(unknown)}: no such test here")
    return {nodeid for nodeid, case in cases.items() if case.test in names}


def rerun_command(case: Case, spec: str, options: Options, config: pytest.Config) -> str:
    """The command that runs just this test again, from the folder that this session was started in."""
    words = options.command_line(spec)
    in_suites = case.test.startswith(f"{SUITES.name}/")
    if in_suites and config.invocation_params.dir != config.rootpath:
        return shlex.join(["graph-conformance", "run", *words, f"--test={case.test}"])
    return shlex.join(["pytest", *words, case.nodeid])
