"""Reading the Graphviz DOT format: the nodes and edges of a file, and a reason where it is not DOT.

The grammar is Graphviz's, without HTML labels nested deeper than their brackets tell, and without anything's meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

_TOKEN = re.compile(
    r"""
    (?P<space> \s+ | //[^\n]* | /\*.*?\*/ | ^\#[^\n]*$ )
  | (?P<quoted> "(?:[^"\\]|\\.)*" )
  | (?P<arrow> -> | -- )
  | (?P<word> [A-Za-z_\x80-\U0010ffff][\w]* | -?(?:\.\d+|\d+(?:\.\d*)?) )
  | (?P<mark> [{}\[\];,=:+] )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class NotDot(ValueError):
    """The text is not in the DOT format."""


@dataclass
class Drawing:
    """What a file shows.

    Attributes:
        nodes: names of all nodes.
        edges: (from, to), in order, repeated where the file repeats them.
    """

    nodes: set[str] = field(default_factory=set)
    edges: list[tuple[str, str]] = field(default_factory=list)

    def arrows(self) -> dict[str, list[str]]:
        """For each node the nodes that edges lead to from it."""
        return {node: [later for earlier, later in self.edges if earlier == node] for node in self.nodes}


def following(edges: list[tuple[str, str]], start: str) -> set[str]:
    """The nodes that edges lead to from `start`, directly or through others."""
    followers: set[str] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        new = {later for earlier, later in edges if earlier == node} - followers
        followers |= new
        waiting.extend(new)
    return followers


def read(text: str) -> Drawing:
    """The drawing in `text`.

    Raises:
        NotDot: it is none; says where and why.
    """
    nodes, edges = nodes_and_edges(text)
    return Drawing(nodes, edges)


def nodes_and_edges(text: str) -> tuple[set[str], list[tuple[str, str]]]:
    """What a drawing consists of.

    Raises:
        NotDot: the text is none.
    """
    drawing = _Reader(text).read()
    return drawing.nodes, drawing.edges


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._drawing = Drawing()

    def read(self) -> Drawing:
        if self._word("strict"):
            self._at += 1
        if not self._word("digraph"):
            raise self._wrong("digraph")
        self._at += 1
        if not self._mark("{"):
            self._name()
        self._block()
        if self._at != len(self._tokens):
            raise self._wrong("the end of the file")
        return self._drawing

    # -- tokens -----------------------------------------------------------------------------------------------------

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "the end of the file")

    def _word(self, word: str) -> bool:
        kind, text = self._peek()
        return kind == "word" and text.lower() == word

    def _mark(self, mark: str) -> bool:
        return self._peek() == ("mark", mark)

    def _skip(self, *marks: str) -> bool:
        if self._peek()[0] == "mark" and self._peek()[1] in marks:
            self._at += 1
            return True
        return False

    def _wrong(self, expected: str) -> NotDot:
        return NotDot(f"{expected} was expected where {self._peek()[1][:60]!r} stands (token {self._at + 1})")

    def _name(self) -> str:
        kind, text = self._peek()
        if kind not in ("word", "quoted", "html"):
            raise self._wrong("a name")
        self._at += 1
        if kind != "quoted":
            return text
        while self._skip("+"):
            text += self._name()
        return text

    # -- statements -------------------------------------------------------------------------------------------------

    def _block(self) -> set[str]:
        """A block in braces; the nodes that it names."""
        if not self._skip("{"):
            raise self._wrong("'{'")
        names: set[str] = set()
        while not self._skip("}"):
            if self._peek()[0] == "end":
                raise self._wrong("'}'")
            names |= self._statement()
            self._skip(";", ",")
        return names

    def _statement(self) -> set[str]:
        if any(self._word(word) for word in ("graph", "node", "edge")):
            self._at += 1
            if not self._mark("["):
                raise self._wrong("'['")
            self._attributes()
            return set()
        if self._tokens[self._at + 1 : self._at + 2] == [("mark", "=")]:
            for _ in range(2):
                self._name()
                self._skip("=")
            return set()
        ends = [self._end()]
        while self._peek()[0] == "arrow":
            if self._peek()[1] != "->":
                raise self._wrong("'->'")
            self._at += 1
            ends.append(self._end())
        self._attributes()
        for earlier, later in pairwise(ends):
            self._drawing.edges += [(first, second) for first in sorted(earlier) for second in sorted(later)]
        return set().union(*ends)

    def _end(self) -> set[str]:
        """A node, or a block whose nodes all stand for it."""
        if self._word("subgraph"):
            self._at += 1
            if not self._mark("{"):
                self._name()
            return self._block()
        if self._mark("{"):
            return self._block()
        name = self._name()
        while self._skip(":"):
            self._name()
        self._drawing.nodes.add(name)
        return {name}

    def _attributes(self) -> None:
        while self._skip("["):
            while not self._skip("]"):
                self._name()
                if self._skip("="):
                    self._name()
                self._skip(";", ",")


def _tokens(text: str) -> Iterable[tuple[str, str]]:
    at = 0
    while at < len(text):
        if text[at] == "<":
            end = _html_end(text, at)
            yield "html", text[at:end]
            at = end
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotDot(f"{text[at : at + 20]!r} means nothing in DOT (character {at})")
        at = match.end()
        kind = str(match.lastgroup)
        if kind != "space":
            token = match[0]
            yield kind, token[1:-1] if kind == "quoted" else token


def _html_end(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    raise NotDot(f"'<' without '>' (character {start})")
