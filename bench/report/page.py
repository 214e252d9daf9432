"""Writes the page: one self-contained HTML file."""

import base64
import os
from html import escape

import figures
import glossary
import papers
import texts
import verdicts

CLASSES = {verdicts.REPRODUCED: "good", verdicts.WEAKER: "less", verdicts.CONTRADICTED: "bad", verdicts.BY_DESIGN: "aside",
           verdicts.UNDECIDED: "less", verdicts.FASTER_BASELINE: "aside",
           "holds": "good", "does not hold": "bad"}
MOST_EXAMPLES = 4  # of each list: both lists fit on the first screen of a desktop


def chip(verdict, number=None):
    text = verdict if number is None else f"{number} {verdict}"
    return f'<span class="verdict {CLASSES.get(verdict, "none")}">{escape(text)}</span>'


def chips(counts):
    return '<ul class="chips">' + "".join(f"<li>{chip(verdict, number)}</li>" for verdict, number in counts.items()) + "</ul>\n"


def bar(counts):
    """A bar with one part per verdict. The chips beside it say the same in words."""
    parts = "".join(f'<span class="{CLASSES.get(verdict, "none")}" style="flex:{number}"></span>' for verdict, number in counts.items())
    return f'<div class="bar" aria-hidden="true">{parts}</div>'


# ------------------------------------------------------------------ the first screen

def example(each):
    """A verdict in one line."""
    quote = f'<a href="#{escape(each.sentence.claim)}">“{escape(texts.plain_quote(each.sentence.quote))}”</a>'
    return (f"<li>{quote} Paper {escape(texts.paper_factor(each.sentence))}, here {escape(texts.our_factor(each))} "
            f'<span class="soft">{escape(each.sentence.says)}</span></li>\n')


def distance(each):
    """Our factor in relation to the paper's."""
    return each.factor / (each.sentence.factor or 1)


def examples(found, wanted, first):
    """The clearest verdicts of these kinds: counts before times, and at most one per claim."""
    fitting = [each for each in found if each.verdict in wanted and each.factor and each.sentence.claim and
               sum(map(str.isalpha, each.sentence.quote)) > 0.6 * len(each.sentence.quote)]  # no rows of tables
    fitting.sort(key=lambda each: (each.sentence.timed, first(each)))
    chosen, seen = [], set()
    for each in fitting:
        if each.sentence.claim not in seen:
            seen.add(each.sentence.claim)
            chosen.append(each)
    return chosen[:MOST_EXAMPLES]


def side(title, chosen):
    if not chosen:
        return ""
    return f"<section><h2>{title}</h2><ul>\n{''.join(map(example, chosen))}</ul></section>\n"


def both_sides(found):
    every = [each for list_ in found.values() for each in list_]
    holds = examples(every, (verdicts.REPRODUCED,), lambda each: -(each.sentence.factor or 1))
    fails = examples(every, (verdicts.CONTRADICTED, verdicts.WEAKER),
                     lambda each: (each.verdict != verdicts.CONTRADICTED, distance(each)))
    return f'<div class="sides">\n{side("What holds", holds)}{side("What does not", fails)}</div>\n'


def paper_bars(found):
    lines = ""
    for paper, title, _, about in papers.by_paper(found):
        counts = papers.count({"": about})
        told = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        lines += f'<div><a href="#{papers.paper_key(paper)}">{escape(title)}</a></div>{bar(counts)}<div class="soft">{escape(told)}</div>\n'
    return f'<div class="papers">\n{lines}</div>\n' if lines else ""


def meanings():
    return "<dl class=\"facts\">" + "".join(f"<dt>{chip(verdict)}</dt><dd>{escape(text)}</dd>"
                                           for verdict, text in verdicts.MEANINGS.items()) + "</dl>\n"


def opening(results, found, summary):
    counts = papers.count(found)
    return ('<header id="top"><h1>Do the papers about adaptive filters hold?</h1>\n'
            '<p class="lead">A filter tells with a few bits per key whether a key is in a set. It is never wrong about a member, but '
            "sometimes says yes to another key: a false positive. Five papers say that filters get far better if they learn from "
            "their false positives, or from the queries. We quote their sentences that have a number or a comparison, repeat the "
            "experiments with besom, and compare: our factor against the paper's, with a 95 % interval.</p>\n"
            f"{chips(counts)}{bar(counts) if counts else ''}\n{both_sides(found)}{paper_bars(found)}" +
            "".join(f'<p class="soft">{escape(sentence)}</p>\n' for sentence in summary) +
            f"<details><summary>What the verdicts mean</summary>{meanings()}</details>\n"
            f"{contents(results)}</header>\n")


def contents(results):
    text = ""
    for _, title, _, here in papers.chapters(results):
        if not here:
            continue
        entries = "".join(f'<li><a href="#{escape(claim["name"])}">{escape(claim["title"])}</a> '
                          f'<span class="soft">{escape(texts.items_of(claim["source"]))}</span></li>\n' for claim, _, _ in here)
        text += f'<details><summary>{escape(title)}: {len(here)} experiments</summary><ul class="contents">\n{entries}</ul></details>\n'
    return (f'<nav aria-label="contents"><h2>Contents</h2>\n{text}'
            '<p><a href="#glossary">Glossary: the words and the names in the plots</a></p></nav>\n')


# ------------------------------------------------------------------ experiments

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
        for title, svg in figures.draw(plot, record, f"{claim['name']}-{i}", claim["name"]):
            shown += f"<figure>{svg}<figcaption>{escape(title)}</figcaption></figure>\n"
    return f'<div class="figures">\n{shown}</div>\n' if shown else ""


def facts(pairs):
    return '<dl class="facts">' + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs if text) + "</dl>\n"


def sentence_row(each, link):
    """link: to the experiment, if the row does not stand there."""
    sentence = each.sentence
    where = escape(sentence.source.partition(": ")[2])
    if link and sentence.claim:
        where += f', <a href="#{escape(sentence.claim)}">the experiment</a>'
    remark = f'<div class="soft">{escape(each.remark)}</div>' if each.remark else ""
    rounds = "" if each.count < 2 else f' <span class="soft">{each.count} {"rounds" if sentence.timed else "seeds"}</span>'
    return (f"<tr><td><q>{escape(texts.plain_quote(sentence.quote))}</q> <span class=\"soft\">{where}</span></td>"
            f'<td data-name="factor">{escape(sentence.says)}</td>'
            f'<td class="number" data-name="paper">{escape(texts.paper_factor(sentence))}</td>'
            f'<td class="number" data-name="besom">{escape(texts.our_factor(each)) or "–"}{rounds}</td>'
            f"<td>{chip(each.verdict)}{remark}</td></tr>\n")


def sentence_table(found, link=False):
    if not found:
        return ""
    names = ("the paper says", "factor", "paper", "besom, 95 % interval", "verdict")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f'<table class="sentences"><thead><tr>{head}</tr></thead><tbody>\n{"".join(sentence_row(each, link) for each in found)}</tbody></table>\n'


def numbers(record, command):
    about = record.about
    data = base64.b64encode(record.text.encode()).decode()
    link = f'<a download="{escape(about["claim"])}.csv" href="data:text/csv;base64,{data}">CSV</a>'
    return (f"<details><summary>{len(record.rows)} rows of numbers</summary>\n{table(record)}</details>\n"
            f'<p class="soft"><code>{escape(command)}</code> · {escape(about["date"])} · {escape(about["seconds"])} s · '
            f'commit {escape(about["commit"])} · {link}</p>\n')


def article(claim, record, error, found):
    name, own = escape(claim["name"]), claim["source"] == papers.OWN
    verdict = chip(papers.own_verdict(record)) if own or not record else ""
    remarks = "".join(f'<span class="soft">{escape(remark)}</span>'
                      for remark in (papers.parts(record) if own else "", texts.items_of(claim["source"])) if remark)
    text = f'<article id="{name}"><header><h3>{escape(claim["title"])}</h3>{verdict}{remarks}</header>\n'
    text += sentence_table(found.get(claim["name"], []))
    text += facts([("tested here", claim["statement"] if own else None), ("the experiment", claim["paper"]),
                   ("what differs", claim["differs"]), ("reason", None if record else error)])
    if record:
        text += pictures(claim, record) + numbers(record, texts.command_of(claim, record))
    return text + "</article>\n"


def section(paper, title, authors, here, found):
    claims = {claim["name"] for claim, _, _ in here}
    rest = [each for _, _, _, about in papers.by_paper(found) for each in about
            if papers.home(each.sentence.source) == paper and each.sentence.claim not in claims]
    if not here and not rest:
        return ""
    title_of_rest = "Other sentences of this paper" if here else "Sentences of this paper, judged by experiments above"
    others = f'<div class="box"><h3>{title_of_rest}</h3>\n{sentence_table(rest, link=True)}</div>\n' if rest else ""
    return (f'<section id="{papers.paper_key(paper)}"><h2>{escape(title)}</h2><p class="soft">{escape(authors)}</p>\n' +
            "".join(article(*result, found) for result in here) + others + '<p><a href="#top">Back to top</a></p></section>\n')


def glossary_section():
    terms = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(meaning)}</dd></div>\n" for term, meaning in glossary.TERMS)
    return f'<section id="glossary"><h2>Glossary</h2>\n<dl class="terms">\n{terms}</dl></section>\n'


def make(results, found, summary):
    """results: [(claim, record or None, error)]; found: verdicts by claim or paper; summary: sentences about the whole run."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "style.css"), encoding="utf-8") as file:
        style = file.read()
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Do the papers about adaptive filters hold? besom's report</title><style>\n{style}</style></head><body>\n" +
            opening(results, found, summary) + "<main>\n" +
            "".join(section(*chapter, found) for chapter in papers.chapters(results)) + glossary_section() +
            '</main>\n<a class="top" href="#top">Back to top</a></body></html>\n')
