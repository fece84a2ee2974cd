"""Pictures of the pages of a report, to be looked at.

    python -m tools.browser FOLDER --output DIR [--page NAME…] [--width PIXELS…] [--height PIXELS] [--dark]

Each page of FOLDER is shown as wide as each WIDTH (360 and 1,440 CSS pixels when none is given), and its picture, as
long as the page, or of HEIGHT, stands in DIR as ``NAME-WIDTH.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.browser.chromium import chromium, visit, why_not

_WIDTHS = (360, 1440)
#: Of a page that is longer than that, its beginning.
_LONGEST = 12_000


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(prog="python -m tools.browser", description="Pictures of the pages of a report.")
    parser.add_argument("folder", type=Path, help="the folder of the report")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where to write the pictures")
    parser.add_argument("--page", action="append", metavar="NAME", help="only this page; may be given again")
    parser.add_argument(
        "--width", type=int, action="append", metavar="PIXELS", help="of the window; may be given again"
    )
    parser.add_argument("--height", type=int, metavar="PIXELS", help="of the picture; that of the page when left out")
    parser.add_argument("--dark", action="store_true", help="as a reader who prefers dark colours sees it")
    parser.add_argument("--scale", type=float, default=1, help="pixels of the picture for each CSS pixel")
    options = parser.parse_args()
    reason = why_not()
    if reason is not None:
        parser.error(reason)
    names = options.page or sorted(
        file.relative_to(options.folder).as_posix() for file in options.folder.rglob("*.html")
    )
    options.output.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for width in options.width or _WIDTHS:
            with visit(
                browser, width=width, height=options.height or 900, dark=options.dark, scale=options.scale
            ) as one:
                for name in names:
                    page = one.open((options.folder.resolve() / name).as_uri())
                    long = min(page.evaluate("document.documentElement.scrollHeight"), _LONGEST)
                    picture = options.output / f"{name.removesuffix('.html').replace('/', '-')}-{width}.png"
                    height = options.height or long
                    page.screenshot(
                        path=picture,
                        full_page=options.height is None,
                        clip={"x": 0, "y": 0, "width": width, "height": height},
                    )
                    print(picture)


if __name__ == "__main__":
    main()
