"""Tests the site that site/build.py has written: site.py SITE [PICTURES].

Every link leads to a page and a heading, nothing is loaded from elsewhere, some pages are legible in both colours on a
phone and on a desktop, and the search finds sections. PICTURES: a directory for screenshots of them."""

import html
import os
import pathlib
import re
import sys

from browser import DESKTOP, DOUBLE_IDS, PALE_TEXTS, PHONE, WRONG_HEADINGS, Driver, Page

SHOWN = ("index.html", "docs/kinds.html", "docs/results.html", "docs/related-work.html", "man/besom.1.html")
OWN = ("playground.html", "report.html")  # pages with tests of their own


def read(path):
    return path.read_text(encoding="utf-8")


def check_links(site):
    anchors = {path: set(re.findall(r'\bid="([^"]+)"', read(path))) for path in site.rglob("*.html")}
    assert len(anchors) > 40, len(anchors)
    for page in anchors:
        if page.name in OWN:
            continue
        text = read(page)
        for attribute, address in re.findall(r'\b(href|src)="([^"]*)"', text):
            address = html.unescape(address)
            if re.match(r"(data:|mailto:)", address):
                continue
            assert not re.match(r"[a-z]+:", address) or attribute == "href", f"{page}: loads {address}"
            if re.match(r"https?:", address):
                continue
            name, _, anchor = address.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), f"{page}: {address}: no such page"
            assert not anchor or target.name in OWN or anchor in anchors[target], f"{page}: {address}: no such heading"


def check_page(page, name):
    width = page.size[0]
    assert page.ask("document.documentElement.scrollWidth") <= width, f"{name} is wider than {width}"
    assert page.ask("document.title") and page.ask("document.documentElement.lang") == "en", name
    assert page.ask("document.querySelectorAll('h1').length") == 1, name
    assert page.ask(DOUBLE_IDS) == [], (name, page.ask(DOUBLE_IDS))
    inside = WRONG_HEADINGS.replace("querySelectorAll('h1,", "querySelectorAll('main h1,").replace(", h", ", main h")
    assert page.ask(inside) == [], f"{name}: headings out of order"
    for scheme in ("dark", "light"):
        page.prefer(color_scheme=scheme)
        assert page.ask(PALE_TEXTS) == [], (name, scheme, page.ask(PALE_TEXTS))
    assert page.ask("performance.getEntriesByType('resource').every(e => e.name.startsWith('file:'))"), name
    assert page.complaints() == [], page.complaints()


def check_search(page):
    page.type("input[type=search]", "false-positive rate")
    page.wait("document.querySelectorAll('#found li').length > 3", "the search finds sections")
    first = page.ask("document.querySelector('#found a').href")
    page.click("#found a")
    page.wait(f"location.href === {first!r}", "a hit leads to its section")
    page.wait("document.querySelector('input[type=search]') !== null", "the page of the hit")
    page.type("input[type=search]", "zzzyqx")
    page.wait("document.querySelector('#found').textContent === 'Nothing found.'", "nothing is found")


def main(site, pictures=None):
    check_links(site)
    with Driver() as driver:
        for size in (PHONE, DESKTOP):
            for name in SHOWN:
                with Page(driver, str(site / name), size) as page:
                    check_page(page, name)
                    if pictures:
                        for scheme in ("light", "dark"):
                            page.prefer(color_scheme=scheme)
                            page.picture(os.path.join(pictures, f"{name.replace('/', '-')}-{size[0]}-{scheme}.png"))
            with Page(driver, str(site / "docs/guard.html"), size) as page:
                check_search(page)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), *sys.argv[2:])
