"""docs/results.md, and the figures of the README: the same results, for those who read them where the source is."""

import re

import papers

# What the README tells: claim, rows, column, and the sentence around the number.
HEADLINES = [
    ("zipf", "span=last_half", "reduction", "{} times fewer false positives than a quotient filter on Zipf 1.5 queries"),
    ("zipf", "span=last_half", "store_bits_per_item", "for {} bits a key"),
]

LONGEST_TABLE = 24


def cell(text):
    return text.replace("|", "\\|")


def table(record):
    lines = ["| " + " | ".join(record.columns) + " |", "|" + "---|" * len(record.columns)]
    lines += ["| " + " | ".join(cell(row[column]) for column in record.columns) + " |" for row in record.rows]
    return "\n".join(lines)


def verdict_of(record):
    return record.verdict if record else "not tested"


def overview(results):
    lines = ["| paper | figure or table | claim | verdict |", "|---|---|---|---|"]
    for paper, (title, _, items) in papers.PAPERS.items():
        for item in items:
            for claim, record, _ in results:
                if (paper, item) in papers.references(claim["source"]):
                    lines.append(f"| {title} | {item} | [{claim['name']}](#{claim['name']}) | {verdict_of(record)} |")
    return "\n".join(lines)


def chapter(claim, record, error):
    lines = [f"### {claim['name']}", "", f"**{verdict_of(record)}**" +
             ("" if claim["source"] == papers.OWN else f" ({claim['source']})"), ""]
    for name, text in (("The paper", claim["paper"]), ("Tested", claim["statement"]), ("What differs", claim["differs"]),
                       ("Why not tested", None if record else error)):
        if text:
            lines += [f"*{name}:* {text}", ""]
    if record:
        size = " --full" if record.about["size"] == "full" else ""
        lines += [f"`besom-bench run {claim['name']}{size}`; numbers: [results/{claim['name']}.csv](results/{claim['name']}.csv)", ""]
        if len(record.rows) <= LONGEST_TABLE:
            lines += [table(record), ""]
    return "\n".join(lines)


def make(results, summary):
    text = "# Claims put to the test\n\n"
    text += "Made by `make report`, which also draws each figure, in build/report/index.html. Do not edit.\n\n"
    text += "\n".join(f"- {sentence}" for sentence in summary) + f"\n\n{overview(results)}\n"
    for paper, (title, authors, _) in papers.PAPERS.items():
        here = [result for result in results if papers.home(result[0]["source"]) == paper]
        if here:
            text += f"\n## {title}\n\n{authors}\n\n" + "\n".join(chapter(*result) for result in here)
    return text


def headlines(results):
    known = {claim["name"]: record for claim, record, _ in results if record}
    lines = []
    for name, where, column, sentence in HEADLINES:
        if name in known:
            lines.append(f"- {sentence.format(known[name].where(where)[0][column])} ([{name}](docs/results.md#{name}))")
    return "\n".join(lines)


def update_readme(text, results):
    """The README with the figures between its marks replaced."""
    return re.sub(r"(<!-- make report -->\n).*?(<!-- end -->)", lambda m: m[1] + headlines(results) + "\n" + m[2], text, flags=re.S)
