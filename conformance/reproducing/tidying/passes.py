"""The order in which a program is tidied."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from conformance.reproducing.tidying.captures import ask_where_waited, drop_questions, wait_once
from conformance.reproducing.tidying.deletions import drop_deletions, drop_ending
from conformance.reproducing.tidying.renaming import drop_loop_names, rename
from conformance.reproducing.tidying.shortening import (
    call_directly,
    drop_certain,
    drop_defaults,
    drop_vain_handlers,
    merge_contexts,
)
from conformance.reproducing.tidying.substitution import substitute
from conformance.reproducing.tidying.unused import drop_unused


def tidy(body: list[ast.stmt], better: Mapping[str, str] | None = None) -> list[ast.stmt]:
    """Tidy the body of a function, whose names are all its own, and give those names that have them `better` ones."""
    whole = ast.Module(body, [])
    body = whole.body
    drop_defaults(whole)
    drop_vain_handlers(whole)
    call_directly(whole)
    drop_certain(whole)
    while drop_unused(whole) | substitute(whole):
        pass
    drop_questions(whole)
    wait_once(whole)
    ask_where_waited(whole)
    drop_deletions(whole)
    drop_ending(body)
    while drop_unused(whole) | substitute(whole):
        pass
    call_directly(whole)
    while drop_unused(whole) | substitute(whole):
        pass
    merge_contexts(whole)
    rename(whole, better or {})
    drop_loop_names(whole)
    return body
