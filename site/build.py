#!/usr/bin/env python3
"""build.py OUT: writes the site, from the Markdown of the project: OUT/index.html, which opens from disk.

Pages are README.md, what docs/README.md lists, the pages beside it, and those of bench/records; their order and
groups are those of docs/README.md. Manual pages, the playground and the report are added if build/ has them. pandoc
makes the HTML."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "site"
MAKES = {"build/man": "make", "build/playground.html": "make playground", "build/report/index.html": "make report"}


def run(*command, text=None):
    return subprocess.run(command, check=True, input=text, stdout=subprocess.PIPE, text=True).stdout


def markdown_pages():
    """Paths of the Markdown files that become pages, relative to the root."""
    top = [path for path in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md") if (ROOT / path).exists()]
    return [pathlib.PurePosixPath(path) for path in
            top + sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")) +
            sorted(str(path.relative_to(ROOT)) for path in (ROOT / "bench/records").glob("*.md"))]


def page_of(path):
    """The page that a Markdown file becomes: README.md of the project is index.html."""
    return pathlib.PurePosixPath("index.html") if str(path) == "README.md" else path.with_suffix(".html")


def up_to_root(page):
    return "../" * (len(page.parts) - 1)


class Linker:
    """Leads links of one Markdown file to pages of the site. What is no page is copied, or shown as a name."""

    def __init__(self, source, pages, out):
        self.source, self.pages, self.out = source, pages, out

    def target(self, address):
        """The address within the site; None: it is a file of the sources."""
        name, _, anchor = address.partition("#")
        if re.match(r"[a-z]+:", address) or not name:
            return address
        path = (ROOT / self.source.parent / name).resolve().relative_to(ROOT)
        anchor = "#" + anchor if anchor else ""
        up = up_to_root(page_of(self.source))
        if pathlib.PurePosixPath(path) in self.pages:
            return up + str(page_of(pathlib.PurePosixPath(path))) + anchor
        if path.suffix in (".svg", ".png", ".webp"):
            (self.out / path.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.out / path)
            return up + str(path)
        return None

    def link(self, match):
        target = self.target(html.unescape(match[1]))
        if target is None:
            return f'<span class="file">{match[2]}</span>'
        return f'<a href="{html.escape(target)}">{match[2]}</a>'

    def picture(self, match):
        return f'{match[1]}="{html.escape(self.target(html.unescape(match[2])) or match[2])}"'

    def all(self, text):
        text = re.sub(r'<a href="([^"]*)"[^>]*>(.*?)</a>', self.link, text, flags=re.S)
        return re.sub(r'\b(src|srcset)="([^"]*)"', self.picture, text)


def convert(source, pages, out):
    text = run("pandoc", "--from=gfm+gfm_auto_identifiers", "--to=html5", "--no-highlight", "--wrap=preserve",
               str(ROOT / source))
    text = re.sub(r"<table\b.*?</table>", lambda m: f'<div class="scroll" tabindex="0">{m[0]}</div>', text, flags=re.S)
    text = re.sub(r"<pre\b", '<pre tabindex="0"', text)
    return Linker(source, pages, out).all(text)


def plain(text):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text))).strip()


def sections(page, title, text):
    """For the search: a page's sections, each with its anchor, heading and words."""
    parts = re.split(r'<h[1-6] id="([^"]*)">(.*?)</h[1-6]>', text, flags=re.S)
    yield [page, "", title, plain(parts[0])]
    for anchor, heading, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        yield [page, anchor, f"{title}: {plain(heading)}" if plain(heading) != title else title, plain(body)]


def groups_of_index():
    """The groups of docs/README.md: [heading, [path of a Markdown file, ...]]."""
    groups = []
    for line in (ROOT / "docs/README.md").read_text().splitlines():
        heading = re.match(r"\| (to [^|]+|your job) \| \|$", line) or re.match(r"## (.+)", line)
        if heading:
            groups.append([heading[1], []])
        elif line.startswith("| [") and groups:
            for name in re.findall(r"\]\(([^)#]+\.md)\)", line.split(" | ")[0]):
                path = pathlib.PurePosixPath((ROOT / "docs" / name).resolve().relative_to(ROOT))
                if path not in [listed for _, paths in groups for listed in paths]:
                    groups[-1][1].append(path)
    return groups


def name_of(path):
    name = "besom" if str(path) == "README.md" else path.stem.replace("-", " ")
    return f"records: {name}" if path.parts[0] == "bench" else name


def navigation(extra, page):
    """extra: pages that are not made of Markdown, as (page, name)."""
    up = up_to_root(page)

    def item(target, name):
        here = ' aria-current="page"' if target == page else ""
        return f'<li><a href="{up}{target}"{here}>{html.escape(name)}</a></li>'

    groups = [["besom", [(page_of(pathlib.PurePosixPath("README.md")), "start"), *extra]]]
    groups += [[heading, [(page_of(path), name_of(path)) for path in paths]] for heading, paths in groups_of_index()]
    return "".join(f"<h2>{html.escape(heading)}</h2><ul>{''.join(item(*one) for one in pages)}</ul>"
                   for heading, pages in groups)


def write_page(out, page, title, body, extra):
    values = {"title": html.escape(title), "style": (HERE / "site.css").read_text(), "root": up_to_root(page),
              "script": (HERE / "site.js").read_text(), "navigation": navigation(extra, page), "body": body}
    text = re.sub(r"@(\w+)@", lambda m: values[m[1]], (HERE / "template.html").read_text())
    path = out / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def manual_pages(out, index, extra):
    for path in sorted((ROOT / "build/man").glob("*.1")):
        page = pathlib.PurePosixPath("man") / f"{path.stem}.1.html"
        body = run("mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", str(path))
        body = re.sub(r'<h([12])\b', lambda m: f"<h{int(m[1]) + 1}", body)
        body = re.sub(r"</h([12])>", lambda m: f"</h{int(m[1]) + 1}>", body)
        body = f"<h1>{path.stem}(1)</h1>{body}"
        index.extend(sections(str(page), f"{path.stem}(1)", body))
        write_page(out, page, f"{path.stem}(1)", body, extra)


def main(out):
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    extra = []
    for built, page, name in (("build/playground.html", "playground.html", "playground"),
                              ("build/report/index.html", "report.html", "report"), ("build/man", "", "")):
        if not (ROOT / built).exists():
            print(f"site: without {built}: run {MAKES[built]} first", file=sys.stderr)
        elif page:
            text = (ROOT / built).read_text()
            (out / page).write_text(re.sub(r"\.\./((docs|bench/records)/[\w-]+)\.md", r"\1.html", text))
            extra.append((pathlib.PurePosixPath(page), name))
    if (ROOT / "build/man/besom.1").exists():
        extra.append((pathlib.PurePosixPath("man/besom.1.html"), "manual of the command"))

    pages, index = markdown_pages(), []
    for source in pages:
        body = convert(source, set(pages), out)
        title = plain(re.search(r"<h1\b[^>]*>(.*?)</h1>", body, re.S)[1])
        index.extend(sections(str(page_of(source)), title, body))
        write_page(out, page_of(source), title, body, extra)
    manual_pages(out, index, extra)
    (out / "search.js").write_text(f"besomSearch({json.dumps(index, ensure_ascii=False, separators=(',', ':'))});\n")
    print(out / "index.html")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
