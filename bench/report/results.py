"""Writes docs/results.md, the page of the claims in bench/records, and the figures of the README."""

import re
import textwrap

import full
import maps
import papers
import texts
import verdicts

# Figures of the README: a claim, filters of its rows, and a sentence of the first row of each filter.
HEADLINES = [
    ("zipf", ["span=last_half,filter=aqf"],
     lambda aqf: f"Some absent keys are asked for again and again (Zipf 1.5): an adaptive filter has {aqf['median_reduction']} times "
     "fewer false positives than a quotient filter of the same size, with the median seed"),
    ("store-adversary", ["kind=aqf,cache=0.25,adversarial_percent=10", "kind=qf,cache=0.25,adversarial_percent=10"],
     lambda aqf, qf: f"Of 1000 queries for absent keys, a tenth of them by hostile clients, {aqf['reads_per_1k']} reach the database "
     f"behind an adaptive filter. Behind a quotient filter {qf['reads_per_1k']} do, and all queries together take "
     f"{1 / float(qf['of_none']):.0f} times as long as without these clients"),
    ("lists", ["log2_no_yes=0"],
     lambda lists: f"Two lists of equal length, exact on both: {lists['yesno_bits']} bits per key; a cascade of Bloom filters takes "
     f"{lists['cascade_bits']}"),
    ("stacked-memory", ["keys=zipf,base=bloom,curve=stacked 1,bits=10"],
     lambda stack: f"A filter that is planned from a log of past queries (Zipf 1): {stack['times']} times fewer false positives than a "
     "Bloom filter of the same 10 bits per key"),
]

LONGEST_TABLE = 24


def place(is_full):
    """The page of verdicts of this size, from docs/."""
    return "../bench/records/results-full.md" if is_full else "results.md"


def records_place(is_full):
    """The directory of the records of this size, from docs/; the page of the claims is beside it, with .md behind the name."""
    return f"../bench/records/{'full' if is_full else 'quick'}"


def link(name, is_full):
    """From the page of verdicts to what is said about a claim."""
    return f"[{name}]({full.PAGE if is_full else '../bench/records/quick.md'}#{name})"


def plain(text):
    """Escapes a text for a line or a table cell of Markdown."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


def table(columns, rows):
    lines = [columns, ["---"] * len(columns)] + rows
    return "\n".join("| " + " | ".join(plain(cell) for cell in line) + " |" for line in lines)


def verdict_rows(found, is_full):
    return [[each.sentence.source.partition(": ")[2], f"“{texts.plain_quote(each.sentence.quote)}”", each.sentence.says, texts.paper_factor(each.sentence),
             texts.our_factor(each), str(each.count or ""), f"**{each.verdict}**" + (f": {each.remark}" if each.remark else ""),
             link(each.sentence.claim, is_full) if each.sentence.claim else ""] for each in found]


def overview(results, found, is_full):
    """The verdicts on the sentences, paper by paper, and those on our own claims."""
    columns = ["where", "the paper says", "factor", "paper", "besom (95 % interval)", "seeds or rounds", "verdict", "claim"]
    lines = []
    for _, title, authors, about in papers.by_paper(found):
        lines += [f"### Verdicts: {title}", "", authors, "", table(columns, verdict_rows(about, is_full)), ""]
    own = [[link(claim["name"], is_full), claim["title"], papers.own_verdict(record), papers.parts(record)]
           for claim, record, _ in results if claim["source"] == papers.OWN]
    if own:
        lines += ["### Verdicts: claims about besom", "", table(["claim", "about", "verdict", ""], own), ""]
    return "\n".join(lines)


def numbers(claim, record):
    path = f"{record.about['size']}/{claim['name']}.csv"
    lines = [f"`{texts.command_of(claim, record)}`; numbers: [{path}]({path})", ""]
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
    for each in found.get(claim["name"], []) if record else []:
        if each.verdict == verdicts.CONTRADICTED:
            lines += [f"*Contradicted:* {plain(texts.in_detail(each))}", ""]
    return "\n".join(lines + (numbers(claim, record) if record else []))


def full_runs(results, differing):
    """The sections that only the page of the full runs has."""
    text = ("## Runs\n\nEach claim has at most 15 minutes: CPU time if it counts, elapsed time if it measures times. It runs one seed after "
            "the other until its stated seeds or the time are used up. A record stays valid while what its claim measures is "
            "the same; the library may be newer than the commit of a record.\n\n" + table(*full.runs(results)))
    text += "\n\n## Verdicts that differ from the quick runs\n\n"
    return text + (table(full.DIFFERENCE_COLUMNS, differing) if differing else "None.") + "\n\n"


def title(is_full):
    return f"# Claims and results{' at full size' if is_full else ''}\n\n"


def origin(is_full):
    command = full.CONTINUE if is_full else "make report"
    return f"Generated by `{command}`, which also draws each figure in build/report/index.html. Do not edit.\n\n"


def make(results, found, summary, more=""):
    """The page of the verdicts. more: sections before them, of full runs."""
    is_full = bool(more)
    text = title(is_full) + origin(is_full)
    text += "\n".join(f"- {sentence}" for sentence in summary) + f"\n\n{more}## Verdicts\n\n"
    text += "\n".join(f"- **{verdict}**: {meaning}." for verdict, meaning in verdicts.MEANINGS.items())
    return text + f"\n\n{overview(results, found, is_full)}"


def claims(results, found, is_full):
    """The page of the claims: what each tests, what differs from the paper, and its numbers."""
    name = place(is_full).rpartition("/")[2]
    text = f"{title(is_full).strip()}: the claims\n\n{origin(is_full)}The verdicts are in [{name}]({name if is_full else '../../docs/' + name}).\n"
    for _, name, authors, here in papers.chapters(results):
        if here:
            text += f"\n## {name}\n\n{authors}\n\n" + "\n".join(chapter(*result, found) for result in here)
    return text


def headlines(results):
    known = {claim["name"]: record for claim, record, _ in results if record}
    lines = ""
    for name, filters, sentence in HEADLINES:
        rows = [found[0] for found in map(known[name].where, filters) if found] if name in known else []
        if len(rows) == len(filters):
            line = f"- {sentence(*rows)} ([{name}](bench/records/quick.md#{name}))"
            lines += textwrap.fill(line, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
    return lines


def update_readme(text, results):
    """Replaces the figures between the markers of the README."""
    new, sections = re.subn(r"(<!-- make report -->\n).*?(<!-- end -->)", lambda m: m[1] + headlines(results) + m[2], text, flags=re.S)
    if sections != 1:
        raise SystemExit("report: the README must have exactly one section between <!-- make report --> and <!-- end -->")
    return new
