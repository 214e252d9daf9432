#!/usr/bin/env python3
"""links.py ROOT: every link of the Markdown files of ROOT leads to a file, and to a heading of it if the link names
one; docs/README.md lists every page of docs/. Prints every violation as file:line: link, and ends with 1 if there is
one. Links to other sites are not followed."""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
IGNORED = {"build", "data", "debian", ".git", "node_modules"}


def prose(text):
    """The text with code blocks and code spans blanked; line numbers stay."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    text = re.sub(r"^(```+).*?^\1\s*$", blank, text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", blank, text)


def anchors(path, known={}):
    """The anchors of the headings of a Markdown file, as hosting sites make them."""
    if path not in known:
        found = set()
        text = re.sub(r"^(```+).*?^\1\s*$", "", path.read_text(), flags=re.M | re.S)
        for heading in re.findall(r"^#+ +(.*)$", text, flags=re.M):
            heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
            slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
            count = 0
            while slug + ("-%d" % count if count else "") in found:
                count += 1
            found.add(slug + ("-%d" % count if count else ""))
        found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
        known[path] = found
    return known[path]


def fault(page, target):
    """What is wrong with a link; None if it is fine."""
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    if not path.exists():
        return "there is no such file"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return "there is no such heading"
    return None


def pages_of(root):
    for path in sorted(root.rglob("*.md")):
        if not IGNORED.intersection(path.relative_to(root).parts):
            yield path


def main(root):
    bad = False
    for page in pages_of(root):
        text = prose(page.read_text())
        for match in LINK.finditer(text):
            target = match.group(1) or match.group(2)
            wrong = fault(page, target)
            if wrong:
                line = text.count("\n", 0, match.start()) + 1
                print(f"{page.relative_to(root)}:{line}: {target}: {wrong}")
                bad = True
    index = root / "docs" / "README.md"
    listed = index.read_text() if index.exists() else ""
    for page in sorted((root / "docs").glob("*.md")):
        if page != index and f"]({page.name})" not in listed:
            print(f"docs/README.md:1: {page.name}: not listed")
            bad = True
    return bad


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
