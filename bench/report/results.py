"""Writes docs/results.md and the figures of the README."""

import re
import textwrap

import full
import maps
import papers
import texts
import verdicts

# Figures of the README: a claim, filters of its rows, and a sentence with columns of the first row of each filter.
HEADLINES = [
    ("zipf", ["span=last_half,filter=aqf"],
     "Some absent keys are asked for again and again (Zipf 1.5): an adaptive filter has {0[median_reduction]} times fewer false "
     "positives than a quotient filter of the same size, with the median seed"),
    ("store-adversary", ["kind=aqf,cache=0.25,adversarial_percent=10", "kind=qf,cache=0.25,adversarial_percent=10"],
     "Hostile clients, who send a tenth of the queries for absent keys: {0[reads_per_1k]} database reads per 1000 of these "
     "queries. Behind a quotient filter there are {1[reads_per_1k]}, and the whole answers at {1[of_none]} of its speed"),
    ("lists", ["log2_no_yes=0"],
     "Two lists of equal length, exact on both: {0[yesno_bits]} bits per key; a cascade of Bloom filters takes {0[cascade_bits]}"),
    ("stacked-memory", ["keys=zipf,base=bloom,curve=stacked 1,bits=10"],
     "A filter that is planned from a log of past queries (Zipf 1): {0[times]} times fewer false positives than a Bloom filter of "
     "the same 10 bits per key"),
]

LONGEST_TABLE = 24


def plain(text):
    """Escapes a text for a line or a table cell of Markdown."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


def table(columns, rows):
    lines = [columns, ["---"] * len(columns)] + rows
    return "\n".join("| " + " | ".join(plain(cell) for cell in line) + " |" for line in lines)


def verdict_rows(found):
    return [[each.sentence.source.partition(": ")[2], f"“{texts.plain_quote(each.sentence.quote)}”", each.sentence.says, texts.paper_factor(each.sentence),
             texts.our_factor(each), str(each.count or ""), f"**{each.verdict}**" + (f": {each.remark}" if each.remark else ""),
             f"[{each.sentence.claim}](#{each.sentence.claim})" if each.sentence.claim else ""] for each in found]


def contradicted(results, found):
    """A paragraph per contradicted sentence."""
    known = {claim["name"]: (claim, record) for claim, record, _ in results if record}
    wrong = [each for each in found if each.verdict == verdicts.CONTRADICTED and each.sentence.claim in known]
    if not wrong:
        return []
    lines = ["Contradicted, one by one:", ""]
    for each in wrong:
        lines += textwrap.wrap(plain(texts.in_detail(each, *known[each.sentence.claim])), 100, initial_indent="- ", subsequent_indent="  ",
                               break_long_words=False, break_on_hyphens=False)
    return lines + [""]


def overview(results, found):
    """The verdicts on the sentences, paper by paper, and those on our own claims."""
    columns = ["where", "the paper says", "factor", "paper", "besom (95 % interval)", "seeds or rounds", "verdict", "claim"]
    lines = []
    for _, title, authors, about in papers.by_paper(found):
        lines += [f"### Verdicts: {title}", "", authors, "", table(columns, verdict_rows(about)), "", *contradicted(results, about)]
    own = [[f"[{claim['name']}](#{claim['name']})", claim["title"], papers.own_verdict(record), papers.parts(record)]
           for claim, record, _ in results if claim["source"] == papers.OWN]
    if own:
        lines += ["### Verdicts: claims about besom", "", table(["claim", "about", "verdict", ""], own), ""]
    return "\n".join(lines)


def place(full):
    """The name of the page of this size."""
    return "results-full" if full else "results"


def records_place(full):
    """The directory of the records of this size, from that of the pages."""
    return f"../bench/records/{'full' if full else 'quick'}"


def numbers(claim, record):
    path = f"{records_place(record.about['size'] == 'full')}/{claim['name']}.csv"
    lines = [f"`{texts.command_of(claim, record)}`; numbers: [{path.removeprefix('../')}]({path})", ""]
    for plot in claim["plots"]:
        if plot["map"]:
            lines += [f"{plot['title']}:", "", table(*maps.table(plot, record.where(plot["where"]))), ""]
    if len(record.rows) <= LONGEST_TABLE:
        lines += [table(record.columns, [list(row.values()) for row in record.rows]), ""]
    return lines


def verdicts_of(claim, record, found):
    """The line of verdicts of a claim: those on its sentences, or, for a claim of our own, whether it holds."""
    if claim["source"] == papers.OWN:
        return " ".join(filter(None, [f"**{papers.own_verdict(record)}**", papers.parts(record)]))
    counts = papers.count({"": found.get(claim["name"], [])})
    return ", ".join(f"**{number} {verdict}**" for verdict, number in counts.items()) + f" ({claim['source']})"


def chapter(claim, record, error, found):
    lines = [f"### {claim['name']}", "", f"{claim['title']}: {verdicts_of(claim, record, found)}", ""]
    for name, text in (("The paper", claim["paper"]), ("Tested", claim["statement"]), ("What differs", claim["differs"]),
                       ("Reason", None if record else error)):
        if text:
            lines += [f"*{name}:* {plain(text)}", ""]
    return "\n".join(lines + (numbers(claim, record) if record else []))


def full_runs(results, differing):
    """The sections that only the page of the full runs has."""
    text = ("## Runs\n\nEach claim has at most 15 minutes: CPU time if it counts, elapsed time if it measures times. It runs one seed after "
            "the other until its stated seeds or the time are used up. A record stays valid while what its claim measures is "
            "the same; the library may be newer than the commit of a record.\n\n" + table(*full.runs(results)))
    text += "\n\n## Verdicts that differ from the quick runs\n\n"
    return text + (table(full.DIFFERENCE_COLUMNS, differing) if differing else "None.") + "\n\n"


def make(results, found, summary, more=""):
    """more: sections before the verdicts."""
    text = f"# Claims and results{' at full size' if more else ''}\n\n"
    command = full.CONTINUE if more else "make report"
    text += f"Generated by `{command}`, which also draws each figure in build/report/index.html. Do not edit.\n\n"
    text += "\n".join(f"- {sentence}" for sentence in summary) + f"\n\n{more}## Verdicts\n\n"
    text += "\n".join(f"- **{verdict}**: {meaning}." for verdict, meaning in verdicts.MEANINGS.items())
    text += f"\n\n{overview(results, found)}\n"
    for _, title, authors, here in papers.chapters(results):
        if not here:
            continue
        text += f"\n## {title}\n\n{authors}\n\n" + "\n".join(chapter(*result, found) for result in here)
    return text


def headlines(results):
    known = {claim["name"]: record for claim, record, _ in results if record}
    lines = ""
    for name, filters, sentence in HEADLINES:
        rows = [found[0] for found in map(known[name].where, filters) if found] if name in known else []
        if len(rows) == len(filters):
            line = f"- {sentence.format(*rows)} ([{name}](docs/results.md#{name}))"
            lines += textwrap.fill(line, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
    return lines


def update_readme(text, results):
    """Replaces the figures between the markers of the README."""
    new, sections = re.subn(r"(<!-- make report -->\n).*?(<!-- end -->)", lambda m: m[1] + headlines(results) + m[2], text, flags=re.S)
    if sections != 1:
        raise SystemExit("report: the README must have exactly one section between <!-- make report --> and <!-- end -->")
    return new
