"""Check a built site without a network: where does each link lead?

    python docs/links.py docs/_build/html

A link within the site needs its file, and the place in it that it names. Links that lead
elsewhere are counted; they must be https.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class Page(HTMLParser):
    """The links and the named places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and what it is called."""
        for name, value in attrs:
            if name in ("href", "src") and value and tag != "link":
                self.links.append(value)
            if name in ("id", "name") and value:
                self.places.add(value)


def check(site: Path) -> tuple[list[str], int]:
    """Return what is wrong, and how many links lead elsewhere."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    wrong, elsewhere = [], 0
    for file, page in pages.items():
        for link in page.links:
            here, parts = file.relative_to(site), urlsplit(link)
            if parts.scheme or parts.netloc:
                elsewhere += 1
                if parts.scheme not in ("https", "data", "mailto"):
                    wrong.append(f"{here}: {link} is not https")
                continue
            path, place = urldefrag(link)
            target = (file.parent / unquote(urlsplit(path).path)).resolve() if path else file
            if not target.is_file():
                wrong.append(f"{here}: {link} leads nowhere")
            elif place and target in pages and unquote(place) not in pages[target].places:
                wrong.append(f"{here}: {link} names a place that is not there")
    return wrong, elsewhere


if __name__ == "__main__":
    found, outside = check(Path(sys.argv[1]).resolve())
    print("\n".join(found))
    print(f"{len(found)} broken links; {outside} lead elsewhere and were not followed")
    sys.exit(1 if found else 0)
