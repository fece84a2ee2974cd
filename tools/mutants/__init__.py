"""Mutation testing of the reference with the suites as the tests: which small changes of its code do they notice?

    python -m tools.mutants plan --output plan.json [FILE...]
    python -m tools.mutants run plan.json --output results.jsonl --processes 14 --part 1/4 [--skip results.jsonl]
    python -m tools.mutants run plan.json --output more.jsonl --survivors results.jsonl --budget 1000
    python -m tools.mutants table results.jsonl... --markdown FILE

`plan` needs mutmut, whose operators make the changes; the other two need nothing that the kit does not.  A plan holds
all that a run needs, and a run that was cut off goes on where it was.

Left out, because the documents leave the outcome open: the texts of messages (what a ``raise``, a warning or the
making of an exception is given, the name of a call that is passed down for a message, what is logged, the message of
an ``assert``, the work of ``__repr__`` and ``__str__``), docstrings and type annotations.  Left out too is what only
states that things are as they always are (the ``strict`` of ``zip``), and, because another change of the same place
says as much, other spellings of a string than one that is certainly unknown, and ``None`` where ``False`` stood.

What stands in modules and classes outside of functions ran before the first test and cannot be changed in a process
that has imported it: such mutants are counted, and not run.
"""
