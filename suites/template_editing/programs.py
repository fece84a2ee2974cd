"""Further edits of a template, its clones, and changes of an executable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from suites.support.captures import kept_graph
from suites.support.template import Template


def nodes_made_by(impl: Adapter, body: Callable[[], Any]) -> int:
    """How many nodes a program is captured as."""
    graph = kept_graph(impl, body)
    return len(Template(impl, graph).nodes())
