"""The examples in the docstrings of the public face do what they show."""

from __future__ import annotations

import doctest
import inspect

import pytest

import reports
from conformance.adapter import Adapter, ModuleAdapter
from conformance.checks import expect, expect_raises
from conformance.markers import requirement
from conformance.records.record import read_record

PUBLIC_FACE = (Adapter, ModuleAdapter, expect, expect_raises, requirement, read_record, reports.write)


def _example_of(documented: object) -> doctest.DocTest:
    module = inspect.getmodule(documented)
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(documented, module=module, globs=dict(vars(module)))
    return example


@pytest.mark.parametrize("documented", PUBLIC_FACE, ids=lambda documented: documented.__name__)
def test_the_docstring_has_an_example_that_is_true(documented: object) -> None:
    example = _example_of(documented)
    assert example.examples, f"{example.name} has no example"
    output: list[str] = []
    result = doctest.DocTestRunner().run(example, out=output.append)
    assert result.failed == 0, "".join(output)
