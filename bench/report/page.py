"""Writes the page: one self-contained HTML file."""

import base64
from html import escape

import figures
import papers
import verdicts

STYLE = """
:root { color-scheme: light; --ink: #1d2125; --soft: #5b6570; --line: #dfe3e8; --paper: #fff; --page: #f5f6f8; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
main, body > header { max-width: 68rem; margin: 0 auto; padding: 0 1rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1rem 0 .5rem; }
h2 { font-size: 1.4rem; margin: 2.5rem 0 .25rem; }
h3 { font-size: 1.1rem; margin: 0; }
p { margin: .5rem 0; }
a { color: #0059a0; }
.soft { color: var(--soft); font-size: .9rem; }
article { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0; }
article > header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; }
dl { display: grid; grid-template-columns: 9rem 1fr; gap: .35rem 1rem; margin: .75rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: .5rem 0; max-width: 38rem; }
figcaption { font-size: .9rem; color: var(--soft); text-align: center; }
svg { display: block; width: 100%; height: auto; }
.verdict { border-radius: 1rem; padding: .05rem .7rem; font-size: .85rem; white-space: nowrap; color: #fff; }
.untested { background: #5b6570; }
.holds { background: #1a7f4b; }
.partly { background: #a15c00; }
.not { background: #b3261e; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
.words { text-align: left; }
.overview { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: .3rem 1rem;
  padding: 0; margin: .4rem 0 1.2rem; }
.overview li { list-style: none; }
summary { cursor: pointer; color: #0059a0; }
code { font-size: .9em; background: #eef0f3; padding: .05rem .3rem; border-radius: 4px; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .6rem; } h1 { font-size: 1.5rem; } }
"""

CLASSES = {"holds": "holds", "holds partly": "partly", "does not hold": "not"}


def chip(verdict):
    return f'<span class="verdict {CLASSES.get(verdict, "untested")}">{escape(verdict)}</span>'


def is_number(text):
    return text == "" or figures.number(text) is not None


def table(record):
    words = [not all(is_number(row[column]) for row in record.rows) for column in record.columns]
    mark = [' class="words"' if word else "" for word in words]
    head = "".join(f'<th scope="col"{m}>{escape(c.replace("_", " "))}</th>' for c, m in zip(record.columns, mark))
    body = "".join("<tr>" + "".join(f"<td{m}>{escape(row[c])}</td>" for c, m in zip(record.columns, mark)) + "</tr>\n"
                   for row in record.rows)
    # Without a mouse only a focusable element can be scrolled.
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def pictures(claim, record):
    shown = ""
    for i, plot in enumerate(claim["plots"]):
        for title, svg in figures.draw(plot, record, f"{claim['name']}-{i}"):
            shown += f"<figure>{svg}<figcaption>{escape(title)}</figcaption></figure>\n"
    return f'<div class="figures">\n{shown}</div>\n' if shown else ""


def facts(pairs):
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs if text) + "</dl>\n"


def numbers(record, command):
    about = record.about
    data = base64.b64encode(record.text.encode()).decode()
    link = f'<a download="{escape(about["claim"])}.csv" href="data:text/csv;base64,{data}">CSV</a>'
    return (f"<details{'' if len(record.rows) > 12 else ' open'}><summary>numbers</summary>\n{table(record)}</details>\n"
            f'<p class="soft"><code>{escape(command)}</code> · {escape(about["date"])} · {escape(about["seconds"])} s · '
            f'commit {escape(about["commit"])} · seed {escape(about["seed"])} · {link}</p>\n')


def verdict_of(claim, record, found):
    if claim["source"] == papers.OWN:
        return chip(papers.own_verdict(record))
    return "".join(chip(each.verdict) for each in found.get(claim["name"], []))


def article(claim, record, error, found):
    name = escape(claim["name"])
    source = "" if claim["source"] == papers.OWN else claim["source"]
    remarks = "".join(f'<span class="soft">{escape(remark)}</span>' for remark in (papers.parts(record), source) if remark)
    text = (f'<article id="{name}"><header><h3>{escape(claim["title"])}</h3>{verdict_of(claim, record, found)}{remarks}</header>\n' +
            facts([("the paper says", claim["paper"]), ("tested here", claim["statement"]), ("what differs", claim["differs"]),
                   ("reason", None if record else error)]))
    if not record:
        text += chip(verdicts.NOT_TESTED)
    if record:
        size = " --full" if record.about["size"] == "full" else ""
        text += pictures(claim, record) + numbers(record, f"besom-bench run {claim['name']}{size}")
    return text + "</article>\n"


def sections(results, found):
    return "".join(f'<section><h2>{escape(title)}</h2><p class="soft">{escape(authors)}</p>\n' +
                   "".join(article(*result, found) for result in here) + "</section>\n"
                   for title, authors, here in papers.chapters(results))


def make(results, found, summary):
    """results: [(claim, record or None, error)]; found: verdicts by claim; summary: sentences about the whole run."""
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1"><title>besom: claims and results</title>'
            f"<style>{STYLE}</style></head><body><header><h1>besom: claims and results</h1>\n"
            "<p>The claims of five papers about adaptive and stacked filters, compared with measurements of besom. "
            "Claims that do not hold are shown as such.</p>\n" +
            "".join(f'<p class="soft">{escape(sentence)}</p>\n' for sentence in summary) +
            f"</header><main>\n{sections(results, found)}</main></body></html>\n")
