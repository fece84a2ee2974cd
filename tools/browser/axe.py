"""What axe-core finds against the accessibility guidelines of a page."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: Levels A and AA of each version of the guidelines.
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa")


def violations(page: Page, *, on_paper: bool = False) -> list[str]:
    """Each violation of the open page, with the first elements that have it; on paper nobody clicks."""
    page.evaluate(_source())
    # Without preload, which would fetch the styles once more: the policy of the pages refuses that.
    options = {
        "runOnly": [*_RULES],
        "rules": {"target-size": {"enabled": not on_paper}},
        "resultTypes": ["violations"],
        "preload": False,
    }
    found: dict[str, list[dict[str, Any]]] = page.evaluate(f"axe.run({json.dumps(options)})")
    return [_in_words(one) for one in found["violations"]]


@cache
def _source() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def _in_words(one: dict[str, Any]) -> str:
    nodes = one["nodes"]
    places = "; ".join(f"{' '.join(map(str, node['target']))}: {node['failureSummary']}" for node in nodes[:3])
    return f"{one['id']} ({len(nodes)}): {places}"
