"""docs/results.md, and the figures of the README: the same results, for those who read them where the source is."""

import re

import papers

# What the README tells: claim, rows, and a sentence with columns of the first of these.
HEADLINES = [
    ("zipf", "span=last_half,filter=aqf",
     "{reduction} times fewer false positives than a quotient filter on Zipf 1.5 queries, for {extra_bits} more bits a key"),
    ("store-adversary", "kind=aqf,cache=0.25,adversarial_percent=10",
     "{reads_per_1k} reads of a database in 1000 queries for absent keys, a tenth of which an adversary has chosen"),
    ("store-adversary", "kind=qf,cache=0.25,adversarial_percent=10",
     "{reads_per_1k} through a quotient filter, which has {of_none} of its speed left"),
    ("lists", "log2_no_yes=0",
     "{yesno_bits} bits a key for two lists of one length, exact on both; a cascade of Bloom filters takes {cascade_bits}"),
    ("stacked-memory", "keys=zipf,base=bloom,curve=stacked 1,bits=10",
     "{times} times fewer false positives than a Bloom filter of the same 10 bits a key, planned for Zipf 1 queries"),
]

LONGEST_TABLE = 24


def plain(text):
    """A text that stays in its line, or cell, and is no HTML."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


def table(columns, rows):
    lines = [columns, ["---"] * len(columns)] + rows
    return "\n".join("| " + " | ".join(plain(cell) for cell in line) + " |" for line in lines)


def overview(results):
    rows = [[title, item, f"[{claim['name']}](#{claim['name']})", papers.verdict(record)]
            for title, items in papers.outline(results) for item, about in items for claim, record, _ in about]
    return table(["paper", "figure or table", "claim", "verdict"], rows)


def place(full):
    """What the results of that size are called, and the directory of their records."""
    return "results-full" if full else "results"


def numbers(name, record):
    full = record.about["size"] == "full"
    path = f"{place(full)}/{name}.csv"
    lines = [f"`besom-bench run {name}{' --full' if full else ''}`; numbers: [{path}]({path})", ""]
    if len(record.rows) <= LONGEST_TABLE:
        lines += [table(record.columns, [list(row.values()) for row in record.rows]), ""]
    return lines


def chapter(claim, record, error):
    remarks = [papers.parts(record), "" if claim["source"] == papers.OWN else f"({claim['source']})"]
    lines = [f"### {claim['name']}", "", " ".join(filter(None, [f"**{papers.verdict(record)}**"] + remarks)), ""]
    for name, text in (("The paper", claim["paper"]), ("Tested", claim["statement"]), ("What differs", claim["differs"]),
                       ("Why not tested", None if record else error)):
        if text:
            lines += [f"*{name}:* {plain(text)}", ""]
    return "\n".join(lines + (numbers(claim["name"], record) if record else []))


def make(results, summary):
    text = "# Claims put to the test\n\n"
    text += "Made by `make report`, which also draws each figure, in build/report/index.html. Do not edit.\n\n"
    text += "\n".join(f"- {sentence}" for sentence in summary) + f"\n\n{overview(results)}\n"
    for title, authors, here in papers.chapters(results):
        text += f"\n## {title}\n\n{authors}\n\n" + "\n".join(chapter(*result) for result in here)
    return text


def headlines(results):
    known = {claim["name"]: record for claim, record, _ in results if record}
    lines = ""
    for name, where, sentence in HEADLINES:
        rows = known[name].where(where) if name in known else []
        if rows:
            lines += f"- {sentence.format(**rows[0])} ([{name}](docs/results.md#{name}))\n"
    return lines


def update_readme(text, results):
    """The README with the figures between its marks replaced."""
    new, marks = re.subn(r"(<!-- make report -->\n).*?(<!-- end -->)", lambda m: m[1] + headlines(results) + m[2], text, flags=re.S)
    if marks != 1:
        raise SystemExit("report: the README has not one place between <!-- make report --> and <!-- end -->")
    return new
