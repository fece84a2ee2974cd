"""The process that calls the implementation: whatever becomes of it, its last line says how far it came.

It writes a line of JSON for each thing that it finds out, and one before each call that it may not come back from.
"""

from __future__ import annotations

import faulthandler
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.errors import ConformanceError

#: The files that it leaves behind in its folder.
LINES, OUTPUT, STACKS = "lines", "output", "stacks"


def main(arguments: Sequence[str]) -> None:
    """Examine what the first of `arguments` names, as the others ask, and leave what is found in a folder.

    Args:
        arguments: as JSON, the words of ``--impl``, ``--device`` and ``--revision``; and the folder.
    """
    words, folder = json.loads(arguments[0]), Path(arguments[1])
    stacks = (folder / STACKS).open("wb", buffering=0)
    faulthandler.enable(stacks)
    faulthandler.register(signal.SIGUSR1, stacks, all_threads=True)
    with (folder / LINES).open("w", encoding="utf-8", buffering=1) as file:

        def tell(**line: Any) -> None:
            file.write(json.dumps(line) + "\n")

        try:
            tell(began="its import")
            _examine(words, tell)
        except ConformanceError as error:
            tell(refused=str(error).removeprefix(f"--impl={words['spec']}: "))
        tell(end=True)


def _examine(words: dict[str, Any], tell: Any) -> None:
    # Only now: what importing the implementation trips over is told, too.
    from conformance.adapters.answers import Answer
    from conformance.adapters.checking import ESSENTIAL, shape_faults
    from conformance.adapters.implementations import named
    from conformance.adapters.members import Examination
    from conformance.diagnosis.facts import facts_of

    spec = words["spec"]
    adapter = named(spec, words["device"], words["revision"])
    misshapen = dict(shape_faults(spec, adapter))
    for member, text in misshapen.items():
        tell(answer=Answer(member.partition(" ")[0], "not as it has to be", "adapter", text).to_dict())
    if ESSENTIAL & {*misshapen}:
        return
    tell(facts=facts_of(spec, adapter, words["revision"]).to_dict())
    Examination(
        adapter,
        began=lambda member: tell(began=member),
        ended=lambda answer: tell(answer=answer.to_dict()),
        suites=True,
        misshapen=misshapen,
        thorough=True,
    ).run()


if __name__ == "__main__":
    main(sys.argv[1:])
