"""Verdicts and claims in words, for the page and for the pages in docs/ and bench/records."""

import re

import papers


def factor_text(factor):
    """A factor with three digits, without an exponent."""
    if factor is None:
        return ""
    if factor <= 0.001:
        return "≤ 0.001"  # a share of 0 counts as 0.001, since factors are averaged by their logarithms
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"


def paper_factor(sentence):
    """The paper's factor, in words."""
    if sentence.similar:
        return "about 1"
    return "above 1" if sentence.factor is None else factor_text(sentence.factor)


def our_factor(verdict):
    """Our factor and its interval."""
    if verdict.factor is None:
        return ""
    span = "" if verdict.count < 2 else f" ({factor_text(verdict.low)} to {factor_text(verdict.high)})"
    return factor_text(verdict.factor) + span


def plain_quote(quote):
    """A quote without the marks of formulas."""
    return re.sub(r"\s+", " ", quote.replace("\\times", "×").replace("\\geq", "≥")).replace(" ×", "×")


def in_detail(verdict):
    """What was measured of a sentence, and how often. Its claim has the rest: what is tested, what differs, the command."""
    each = verdict.sentence
    over = f"{verdict.count} {'rounds' if each.timed else 'seeds'}" if verdict.count > 1 else "one measurement"
    return (f"{each.source.partition(': ')[2]}, “{plain_quote(each.quote)}”. Measured: {each.says}: {our_factor(verdict)}, {over}; "
            f"the paper: {paper_factor(each)}.")


def items_of(source):
    """The figures of a source, without the names of the papers: "Figure 1, Table 2"."""
    return ", ".join(item for _, item in papers.references(source))


def command_of(claim, record):
    seeds = record.about.get("seeds", "1")
    return (f"besom-bench run {claim['name']}" + (f" --seeds {seeds}" if seeds != "1" else "") +
            (" --full" if record.about["size"] == "full" else ""))
