"""The report as one HTML file that loads nothing: styles and the script for the filters are inside it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from conformance.text import capital, visible
from reports.model import Counts, Report, evidence
from reports.words import ALIKE, CAUSES, DETECTION, OBSERVATIONS, Tone, seconds, trial

_BAR_WIDTH = 1000


def to_html(report: Report) -> str:
    """The page."""
    styles, script = _read("report.css"), _read("report.js")
    # Should anything hostile get past the escaping all the same, the browser still runs and loads nothing else.
    sources = f"style-src '{_hash(styles)}'; script-src '{_hash(script)}'"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    page = _template().render(
        report=report,
        policy=policy,
        styles=styles,
        script=script,
        about_causes=CAUSES,
        about_alike=ALIKE,
        observations=OBSERVATIONS,
        about_detection=DETECTION,
    )
    return page.strip() + "\n"


@cache
def _template() -> Template:
    # All text passes through `visible` and is then escaped; only the styles and the script are put in as they are.
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else visible(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["seconds"] = seconds
    environment.filters["evidence"] = evidence
    environment.filters["trial"] = trial
    environment.filters["sentence"] = capital
    environment.filters["bar"] = _bar
    return environment.from_string(_read("report.html.j2"))


def _read(name: str) -> str:
    return (resources.files("reports") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _bar(counts: Counts) -> list[tuple[Tone, float, float]]:
    """Segments of a bar of `_BAR_WIDTH` units: tone, start, width."""
    total = sum(count for _, count in counts)
    segments: list[tuple[Tone, float, float]] = []
    start = 0.0
    for word, count in counts:
        width = _BAR_WIDTH * count / total
        segments.append((word.tone, round(start, 2), round(width, 2)))
        start += width
    return segments
