"""What must become of a test in which the hostile backend behaves in a given way.

Each entry: the verdict, where it falls, and words of the message; ``|`` stands between what may be either.
"""

from __future__ import annotations

EXPECTED: dict[str, tuple[str, str, str]] = {
    "segmentation-fault": ("crash", "call", "was ended by SIGSEGV"),
    "abort": ("crash", "call", "was ended by SIGABRT"),
    "kill": ("crash", "call", "was ended by SIGKILL"),
    "exit-0": ("crash", "call", "ended with exit status 0"),
    "exit-77": ("crash", "call", "ended with exit status 77"),
    "system-exit": ("fail", "call", "SystemExit"),
    "pytest-exit": ("crash", "call", "ended"),
    "abort-at-import": ("crash", "call", "was ended by SIGABRT"),
    "abort-in-constructor": ("crash", "call", "was ended by SIGABRT"),
    "abort-in-destructor": ("crash", "teardown", "was ended by SIGABRT"),
    "abort-at-exit": ("crash", "exit", "was ended by SIGABRT after the test"),
    "exit-code-at-exit": ("crash", "exit", "ended with exit status 3 after the test"),
    "hang-at-exit": ("timeout", "exit", "its process did not end"),
    "hang-in-python": ("timeout", "call", "it did not come back"),
    "hang-in-c-with-lock": ("timeout", "call", "it did not come back"),
    # The signal that asks for its stacks wakes it, so that it may get as far as its teardown.
    "hang-in-c-without-lock": ("timeout", "call|teardown", "it did not come back"),
    "hang-in-destructor": ("timeout", "teardown", "it did not come back"),
    "hang-without-sigterm": ("timeout", "call", "was ended by SIGKILL"),
    "stack-overflow": ("crash", "call", "was ended by SIGSEGV"),
    "memory-hog": ("fail", "call", "MemoryError"),
    "sticky-error": ("fail", "call", "an illegal memory access was encountered"),
    "capture-left-open": ("fail", "call", "the current stream is still capturing"),
    "dead-after-a-failed-capture": ("fail", "teardown", "no capture is possible after the one that failed"),
    "wrong-stream": ("fail", "call", "another stream was left current"),
    "wrong-value": ("fail", "call", "each replay runs the captured work once"),
    "thread-left-running": ("fail", "teardown", "the thread 'stray' was left running"),
    "child-left-running": ("pass", "call", ""),
    "garbage-on-stdout": ("pass", "call", ""),
    # The connection to the controller is one of the places: it breaks, or falls silent.
    "garbage-everywhere": ("crash|timeout", "call", "ended"),
    "closed-descriptors": ("crash", "call", "ended"),
    # The child holds the connection to the controller too, so that it does not break.
    "closed-beside-a-child": ("crash", "call", "ended"),
    "errors-100-mb": ("pass", "call", ""),
    "changed-folder": ("fail", "teardown", "the working directory was changed"),
    "changed-handler": ("fail", "teardown", "the handler of SIGINT was replaced"),
    "changed-environment": ("fail", "teardown", "the environment variable HOME was changed"),
    "changed-recursion-limit": ("fail", "teardown", "the recursion limit was changed to 500"),
    "stopped-collector": ("fail", "teardown", "the garbage collector's switch was changed to False"),
    "changed-grad-mode": ("fail", "teardown", "torch's grad mode was changed to False"),
    "changed-autocast-cache": ("fail", "teardown", "autocast's cache was changed to False"),
    "replaced-judges": ("fail", "teardown", "pytest.fail was replaced"),
    "broken-runner": ("fail", "call", "TestReport.from_item_and_call was replaced"),
}


def table() -> str:
    """The same for people, as it stands in ``docs/isolation.md``."""
    lines = ["| in its test the backend does | verdict | where | in the message |", "| --- | --- | --- | --- |"]
    for behaviour, (verdict, phase, words) in EXPECTED.items():
        quote = f"`{words}`" if words else ""
        lines.append(f"| {behaviour} | {_either(verdict)} | {_either(phase)} | {quote} |".replace("  ", " "))
    return "\n".join(lines)


def _either(words: str) -> str:
    return " or ".join(f"`{word}`" for word in words.split("|"))
