"""Whatever a class says when it fails, the script that shows the failure is Python, and can be written to a file."""

from __future__ import annotations

import ast

import pytest
import torch  # noqa: F401 - before pytester takes stock of modules

from conformance import checks, start  # noqa: F401 - likewise
from conformance.records.verdicts import Verdict
from conformance.reproducing.sources import forget
from conformance.session import executor, fixtures, recorder  # noqa: F401 - likewise
from tests.conformance.conftest import Kit, kit, registry  # noqa: F401 - fixtures

pytest_plugins = ["pytester"]

MESSAGES = {
    "nul": "before\0after",
    "surrogate": "a driver's \udcff\ud800 text",
    "quotes": 'three """ and \'\'\' and one at the end"',
    "backslashes": "C:\\new\\x41\\N{DIGIT ONE}\\u12 and one at the end\\",
    "breaks": "one\rtwo\r\nthree\x0cfour\x85five\u2028six\x1a",
    "signs": "\x1b[2J \u202eback\u2066 \ufeff",
    "code": '"""\nimport os; os.abort()\n"""',
    "long": "x" * 100_000,
}
VENDOR = """
import reference_impl

MESSAGES = {messages!r}


class Loud(reference_impl.CUDAGraph):
    message = ""

    def replay(self):
        raise RuntimeError(Loud.message)
"""


@pytest.fixture(autouse=True)
def _forgetful() -> None:
    """Each test's suite is another module of one name."""
    forget()


@pytest.mark.parametrize("name", MESSAGES)
def test_a_script_is_python(kit: Kit, name: str) -> None:  # noqa: F811 - the fixture
    text = VENDOR.format(messages=MESSAGES)
    (kit.folder / "loud.py").write_text(text, encoding="utf-8")
    kit.tests(f"""
        @requirement("alpha.one")
        def test_one(impl):
            impl.graph_class.message = {MESSAGES[name]!r}
            impl.new_graph().replay()
    """)
    _, record = kit.recorded(impl="loud.py:Loud")
    (result,) = record.results
    assert result.verdict is Verdict.FAIL
    assert result.reproducer is not None
    compile(result.reproducer.encode("utf-8"), "script.py", "exec", dont_inherit=True)
    assert "import os; os.abort()" not in [line.strip() for line in _code(result.reproducer).splitlines()]


def _code(script: str) -> str:
    """`script` without its docstring."""
    tree = ast.parse(script)
    assert ast.get_docstring(tree) is not None
    return ast.unparse(tree.body[1:])  # type: ignore[arg-type]
