"""What nothing asks for is left out of a script."""

from __future__ import annotations

import ast

from conformance.reproducing.pruning import pruned

DEFINITIONS = """
used = 1
unused = 2

class Base:
    def __init__(self): self.asked()
    def asked(self): self.inner()
    def inner(self): return used
    def left(self): return unused

class Own(Base):
    def inner(self): return super().inner()
    def alone(self): return self.alone()

class Module(torch.nn.Module):
    def forward(self, x): return x

def nobody(): return Own()
"""


def left(main: str) -> str:
    return "\n".join(map(ast.unparse, pruned(ast.parse(DEFINITIONS).body, ast.parse(main).body[0])))


def test_what_is_asked_for_stays() -> None:
    text = left("def reproduce(): Own()")
    assert "used = 1" in text
    assert text.count("def inner") == 2
    assert "def asked" in text


def test_the_rest_goes() -> None:
    text = left("def reproduce(): Own()")
    for name in ("unused", "left", "alone", "nobody", "Module"):
        assert name not in text


def test_what_another_package_calls_stays() -> None:
    assert "def forward" in left("def reproduce(): Module()")


def test_a_name_in_a_string_is_asked_for() -> None:
    assert "def left" in left("def reproduce(): getattr(Own(), 'left')()")
