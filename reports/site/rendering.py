"""From pages to HTML: all text is made visible and escaped on its way."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from conformance.records.causes import number
from conformance.text import capital, visible
from reports.model import Cell, Counts
from reports.site.drawing import STYLE
from reports.site.map import COMPARE, FAILURES, MATRIX, NAVIGATION, OVERVIEW, Map
from reports.site.page import Page, Single, Site
from reports.words import ALIKE, CAUSES, DETECTION, OBSERVATIONS, Tone, Word, seconds

_BAR_WIDTH = 1000
_WORDS = {"causes": CAUSES, "alike": ALIKE, "observations": OBSERVATIONS, "detection": DETECTION}
#: Should anything hostile get past the escaping all the same, the browser still runs and loads nothing else.
_POLICY = (
    "default-src 'none'; style-src {styles}; script-src {script}; img-src data:; base-uri 'none'; form-action 'none'"
)

#: The files that the pages of a site share, by their paths in its folder.
ASSETS = ("assets/site.css", "assets/site.js")
_PARENTS = {"requirements": MATRIX, "failures": FAILURES, "records": OVERVIEW, "compare": COMPARE}


def asset(path: str) -> str:
    """The text of one of `ASSETS`."""
    text = (resources.files("reports") / "site" / path).read_text(encoding="utf-8")
    return text + STYLE if path.endswith(".css") else text


class Renderer:
    """Makes HTML of the pages of one site.

    Args:
        title: of the whole.
    """

    def __init__(self, title: str) -> None:
        self._title = title

    def page(self, page: Page) -> str:
        """A page that is a file of its own."""
        site = Site()
        return self._whole(
            title=page.title if page.path == OVERVIEW else f"{page.title} - {self._title}",
            body=_body(page, site),
            href=_hrefs(site, page.path),
            root="../" * page.path.count("/"),
            current=_PARENTS.get(page.path.partition("/")[0], page.path),
            policy=_POLICY.format(styles="'self'", script="'self'"),
            has_script=page.path == MATRIX,
            styles=None,
            script=None,
        )

    def single(self, pages: Iterable[Page]) -> str:
        """All `pages` as one."""
        site = Single()
        styles, script = map(asset, ASSETS)
        body = Markup("\n").join(_body(page, site) for page in pages)
        return self._whole(
            title=self._title,
            body=body,
            href=_hrefs(site, OVERVIEW),
            root="",
            current="",
            policy=_POLICY.format(styles=f"'{_hash(styles)}'", script=f"'{_hash(script)}'"),
            has_script=True,
            styles=Markup(styles),  # noqa: S704 - the kit's own
            script=Markup(script),  # noqa: S704 - the kit's own
        )

    def _whole(self, **values: object) -> str:
        whole = _template("layout").render(site_title=self._title, navigation=NAVIGATION, icon=_icon(), **values)
        return whole.strip() + "\n"


def _body(page: Page, site: Site) -> Markup:
    """What stands between the navigation and the foot."""

    def anchor(fragment: str) -> str:
        return site.anchor(page.path, fragment)

    inner = _template(page.template).render(
        content=page.content, href=_hrefs(site, page.path), anchor=anchor, words=_WORDS
    )
    head = Markup('<section class="page" id="{}" aria-labelledby="{}">\n<h1 id="{}">{}</h1>\n')
    place = site.anchor(page.path, "") or "page"
    title = site.anchor(page.path, "title")
    return head.format(place, title, title, visible(page.title)) + Markup(inner) + Markup("\n</section>")  # noqa: S704


def _hrefs(site: Site, source: str) -> Callable[..., str]:
    def href(target: str, fragment: str = "") -> str:
        return site.href(source, target, fragment)

    return href


@cache
def _environment() -> Environment:
    # All text passes through `visible` and is then escaped.
    environment = Environment(
        loader=PackageLoader("reports.site"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else visible(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["seconds"] = seconds
    environment.filters["number"] = number
    environment.filters["moment"] = _moment
    environment.filters["sentence"] = capital
    environment.filters["bar"] = _bar
    environment.filters["cells"] = _cells
    return environment


@cache
def _template(name: str) -> Template:
    return _environment().get_template(f"{name}.html.j2")


def _moment(time: str) -> Markup:
    """A record's point in time, in two parts between which a line may end."""
    day, _, rest = time.partition("T")
    return Markup('<span class="when">{}</span> <span class="when">{}</span>').format(day, visible(rest))


def _cells(cells: Iterable[Cell], href: Callable[..., str], places: Map) -> Markup:
    """The cells of a row of the matrix; there are so many in all that a template would take too long."""
    return Markup("").join(
        _still(cell.word)
        if cell.finding is None
        else _CELL.format(cell.word.tone, _LINK.format(href(places.failure(cell.finding)), _verdict(cell.word)))
        for cell in cells
    )


_CELL = Markup('<td class="{}">{}</td>')
_LINK = Markup('<a href="{}">{}</a>')


@cache
def _still(word: Word) -> Markup:
    """A cell that leads nowhere."""
    return _CELL.format(word.tone, _verdict(word))


@cache
def _verdict(word: Word) -> Markup:
    return Markup('<span aria-hidden="true">{}</span> {}').format(word.symbol, word.text)


@cache
def _icon() -> str:
    """An address that is the icon: of a page that names none, browsers ask its host for one."""
    return "data:image/svg+xml;base64," + base64.b64encode(asset("assets/icon.svg").encode()).decode()


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
