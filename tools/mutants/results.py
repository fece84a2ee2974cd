"""What became of each mutant, as JSON lines that are written as they come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import IO, Any

from tools.mutants.plan import Mutant, Plan


class Outcome(str, Enum):
    """What became of a mutant."""

    #: A test that passes without the change rejected it.
    KILLED = "killed"
    #: As killed; the test, or its process, did not end in time.
    TIMEOUT = "timeout"
    #: Every test that runs the changed statement passes as before.
    SURVIVED = "survived"
    #: No test runs the changed statement.
    NOT_REACHED = "not reached"
    #: Nothing was learnt: the change could not be put in, or the kit itself failed.
    TROUBLE = "trouble"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Result:
    """One line of the results.

    Attributes:
        id, module, function, line, operator, diff: of the mutant.
        outcome: what became of it.
        implementation: whose tests killed it, or the last whose tests ran.
        test: that killed it.
        requirements: that the test decides.
        message: of the rejection, or what was wrong.
        tests: how many tests ran.
        seconds: from its start to its end, waiting for a processor included.
    """

    id: str
    module: str
    function: str
    line: int
    operator: str
    diff: str
    outcome: Outcome
    implementation: str = ""
    test: str = ""
    requirements: tuple[str, ...] = ()
    message: str = ""
    tests: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, mutant: Mutant, outcome: Outcome, **further: Any) -> Result:
        return cls(
            *(mutant.id, mutant.module, mutant.function, mutant.line, mutant.operator, mutant.diff),
            outcome,
            **further,
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Result:
        arguments = {**values, "outcome": Outcome(values["outcome"]), "requirements": tuple(values["requirements"])}
        return cls(**arguments)


class Writer:
    """Writes results, each at once, after a head that says how many there are to be, and where they come from."""

    def __init__(self, stream: IO[str], plan: Plan, environment: Mapping[str, str]) -> None:
        self._stream = stream
        self._say({"totals": plan.totals(), "environment": dict(environment)})

    def write(self, result: Result) -> None:
        self._say(asdict(result))

    def _say(self, values: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(values) + "\n")
        self._stream.flush()


@dataclass(frozen=True)
class Results:
    """What stands in some files of results.

    Attributes:
        totals: for each module, how many mutants there are, and how many of them can be run.
        by_id: the latest result of each mutant.
        environments: of the run that each result comes from, by the mutant's id.
    """

    totals: Mapping[str, Mapping[str, int]]
    by_id: Mapping[str, Result]
    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Iterable[Path]) -> Results:
        """What stands in `files`; of two results of one mutant the later counts."""
        totals: dict[str, Mapping[str, int]] = {}
        by_id: dict[str, Result] = {}
        environment: Mapping[str, str] = {}
        environments: dict[str, Mapping[str, str]] = {}
        for file in files:
            for values in _lines(file):
                if "totals" in values:
                    totals |= values["totals"]
                    environment = values.get("environment", {})
                else:
                    result = Result.from_dict(values)
                    by_id[result.id], environments[result.id] = result, environment
        return cls(totals, by_id, environments)

    def of(self, plan: Plan) -> Results:
        """Those of the mutants of `plan`, where the lines of a module that has changed since are `plan`'s."""
        results = {}
        for mutant in plan.mutants:
            if mutant.id in self.by_id:
                results[mutant.id] = replace(self.by_id[mutant.id], line=mutant.line)
        return Results(
            plan.totals(),
            results,
            {identity: environment for identity, environment in self.environments.items() if identity in results},
        )


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text(encoding="utf-8").split("\n")[:-1]:  # one without an end was cut off
        yield json.loads(line)
