"""Mitigating False Positives in Filters: to Adapt or to Cache? (2021)."""

from sentences import Sentence, columns, geometric_mean

REPEATED = "trace=repeated"  # the trace whose keys are queried as often as those of the paper


def lowest(*others):
    """The lowest rate of the others / that of the broom filter, in the row with the least gain."""
    return lambda rows: min(min(float(row[name]) for name in others) / float(row["broom_published"]) for row in rows)


def serendipitous(rows):
    """The share of corrections that are serendipitous, over all traces and rates, / 0.24."""
    return geometric_mean(share / 24 for share in rows.all(None, "serendipitous_percent"))


def share_grows(rows):
    return (rows.get(f"{REPEATED},eps=0.01562", "serendipitous_percent") /
            rows.get(f"{REPEATED},eps=0.0009766", "serendipitous_percent"))


def highest(*others):
    """The rate of qf / the highest rate of the others, in the row with the least difference."""
    return lambda rows: min(float(row["qf"]) / max(float(row[name]) for name in others) for row in rows)


def close_to_eps(where=None):
    return columns("eps", "qf", where)


SENTENCES = [
    Sentence("aoc-broom-speed", "adapt-or-cache: Section 1", "we hope to implement a broom filter that is as fast as a quotient filter",
             "time of a negative query of qf / of broom, after one query per member", factor=1, similar=True, claim="broom-speed",
             timed=True),
    Sentence("aoc-qf-faster", "adapt-or-cache: Section 4", "it is faster than alternatives such as the cuckoo filter",
             "time of a negative query of cf / of qf", claim="broom-speed", timed=True),
    Sentence("aoc-lemma-1", "adapt-or-cache: Lemma 1", "For any $m > 0$ and any constant $s > 0$, if $x = o(m)$, then",
             "exponent at which the queries grow from 80 to 81,920 distinct keys / max(1, s), six exponents", factor=1,
             similar=True, claim="distinct-keys"),
    Sentence("aoc-zipf-qf-highest", "adapt-or-cache: Figure 2", "In all cases the non-adaptive quotient filter has the highest EFPR",
             "rate of qf / highest rate of the others, at the eps and s with the least difference", factor=1, claim="adapt-or-cache",
             judge=highest("caf_n", "caf_2n", "caf_3n", "broom_published")),
    Sentence("aoc-zipf-qf-eps", "adapt-or-cache: Figure 1", "which is close to the false-positive probability",
             "eps / rate of qf, s = 0.5", factor=1, similar=True, claim="adapt-or-cache", judge=close_to_eps("zipf=0.5")),
    Sentence("aoc-zipf-caf-91", "adapt-or-cache: Figure 2", "the CAFs have 52-91% lower EFPR than the non-adaptive",
             "rate without a cache / with a cache of 3n bits, s = 1.2, at the eps with the largest gain; the paper: up to 11", factor=11,
             claim="adapt-or-cache", judge=columns("qf", "caf_3n", "zipf=1.2", max)),
    Sentence("aoc-zipf-broom-19", "adapt-or-cache: Figure 1", "and 19-95% reduction over quotient filters",
             "rate of qf / of the broom filter, s = 0.5, at the eps with the least gain; the paper: 1.23 and more", factor=1.23,
             claim="adapt-or-cache", judge=columns("qf", "broom_published", "zipf=0.5", min)),
    Sentence("aoc-traces-qf-highest", "adapt-or-cache: Section 4.2", "The non-adaptive quotient filter has the highest EFPR",
             "rate of qf / highest rate of the others, at the trace and eps with the least difference", factor=1, claim="cache-traces",
             judge=highest("caf", "broom_published")),
    Sentence("aoc-traces-qf-eps", "adapt-or-cache: Section 4.2", "which is close to the false-positive probability",
             "eps / rate of qf, all traces", factor=1, similar=True, claim="cache-traces", judge=close_to_eps()),
    Sentence("aoc-traces-caf-82", "adapt-or-cache: Figure 3", "the CAFs have 52-82% lower EFPR than the non-adaptive quotient filter",
             "rate without a cache / with one of 4 entries, at the eps with the largest gain; the paper: up to 5.6", factor=5.6,
             claim="cache-traces", judge=columns("qf", "caf", REPEATED, max)),
    Sentence("aoc-traces-broom-73", "adapt-or-cache: Figure 4", "offering 31-73% reduction in EFPR over CAFs",
             "rate with a cache of 4 entries / of the broom filter, at the eps with the largest gain; the paper: up to 3.7", factor=3.7,
             claim="cache-traces", judge=columns("caf", "broom_published", REPEATED, max)),
    Sentence("aoc-traces-broom-97", "adapt-or-cache: Figure 5", "and 90-97% reduction over quotient filters",
             "rate of qf / of the broom filter, at the eps with the largest gain; the paper: up to 33", factor=33, claim="cache-traces",
             judge=columns("qf", "broom_published", REPEATED, max)),
    Sentence("aoc-traces-theorem-5", "adapt-or-cache: Section 4.2", "All CAFs have higher EFPR than the theoretical result given by Theorem 5",
             "rate with a cache / the bound, on traces", not_testable=(
                 "the theorem is about queries of Zipf's law; for a trace it needs the exponent, which the authors estimated for theirs")),
    Sentence("aoc-traces-theorem-2", "adapt-or-cache: Section 4.2", "is lower than the theoretical result given by Theorem 2",
             "the bound / rate of the broom filter, on traces", not_testable=(
                 "the theorem is about queries of Zipf's law; for a trace it needs the exponent, which the authors estimated for theirs")),
    Sentence("aoc-zipf-caf-same", "adapt-or-cache: Figure 1", "basically the same EFPR as the non-adaptive quotient filter",
             "rate with a cache of n bits / without, s = 0.5", factor=1, similar=True, claim="adapt-or-cache",
             judge=columns("caf_n", "qf", "zipf=0.5")),
    Sentence("aoc-zipf-caf-52", "adapt-or-cache: Figure 2", "the CAFs have 52-91% lower EFPR than the non-adaptive",
             "rate without a cache / with a cache of n bits, s = 1.2; the paper: 2.1 to 11", factor=2.1, claim="adapt-or-cache",
             judge=columns("qf", "caf_n", "zipf=1.2", min)),
    Sentence("aoc-zipf-broom-caf-weak", "adapt-or-cache: Figure 1", "offering a 18-74% reduction in EFPR over CAFs",
             "rate with a cache of 3n bits / of the broom filter, s = 0.5, at the eps with the least gain; the paper: 1.22 and more",
             factor=1.22, claim="adapt-or-cache", judge=columns("caf_3n", "broom_published", "zipf=0.5", min)),
    Sentence("aoc-zipf-broom-caf", "adapt-or-cache: Figure 2", "offering a 18-74% reduction in EFPR over CAFs",
             "rate with a cache of n bits / of the broom filter, s = 1.2, at the eps with the largest gain; the paper: up to 3.8",
             factor=3.85, claim="adapt-or-cache", judge=columns("caf_n", "broom_published", "zipf=1.2", max)),
    Sentence("aoc-zipf-broom-qf", "adapt-or-cache: Figure 2", "and 19-95% reduction over quotient filters",
             "rate of qf / of the broom filter, s = 1.2, at the eps with the largest gain; the paper: up to 20", factor=20,
             claim="adapt-or-cache", judge=columns("qf", "broom_published", "zipf=1.2", max)),
    Sentence("aoc-zipf-lowest", "adapt-or-cache: Figure 2", "The broom filter always achieves the lowest EFPR",
             "lowest rate of the others / of the broom filter, at the eps and s with the least gain",
             claim="adapt-or-cache", judge=lowest("qf", "caf_n", "caf_2n", "caf_3n")),
    Sentence("aoc-traces-caf", "adapt-or-cache: Figure 3", "the CAFs have 52-82% lower EFPR than the non-adaptive quotient filter despite",
             "rate without a cache / with one of 4 entries; the paper: 2.1 to 5.6", factor=2.1, claim="cache-traces",
             judge=columns("qf", "caf", REPEATED)),
    Sentence("aoc-traces-broom-caf", "adapt-or-cache: Figure 4", "offering 31-73% reduction in EFPR over CAFs",
             "rate with a cache of 4 entries / of the broom filter; the paper: 1.45 to 3.7", factor=1.45, claim="cache-traces",
             judge=columns("caf", "broom_published", REPEATED)),
    Sentence("aoc-traces-broom-qf", "adapt-or-cache: Figure 5", "and 90-97% reduction over quotient filters",
             "rate of qf / of the broom filter; the paper: 10 to 33", factor=10, claim="cache-traces",
             judge=columns("qf", "broom_published", REPEATED)),
    Sentence("aoc-traces-lowest", "adapt-or-cache: Figure 5", "The broom filter always achieves the lowest EFPR",
             "lowest rate of the others / of the broom filter, at the trace and eps with the least gain", claim="cache-traces",
             judge=lowest("qf", "caf")),
    Sentence("aoc-serendipity-24", "adapt-or-cache: Table 2", "24-55% of all observed corrections are serendipitous",
             "share of corrections that are serendipitous / 24 %, by queries, mean of our four traces and all rates; it depends on the "
             "trace: 2 to 75 %", factor=1, claim="serendipity",
             judge=serendipitous),
    Sentence("aoc-serendipity-eps", "adapt-or-cache: Table 2",
             "The proportion of serendipitous corrections increases as false-positive probability",
             "serendipitous share at eps 2^-6 / at 2^-10", claim="serendipity", judge=share_grows),
    Sentence("aoc-zipf-drops", "adapt-or-cache: Section 4.1", "the broom filter's false positive rate drops to 0",
             "false positives of the broom filter for larger exponents / 0", not_testable=(
                 "the paper names neither these exponents nor the number of queries, and says itself that a longer sequence has "
                 "false positives. With s = 1.2, cache-theory counts 0.0011 per query at 2^-6 and 0.00008 at 2^-10")),
    Sentence("aoc-acf-traces", "adapt-or-cache: Section 1", "by between one and two orders of magnitude",
             "rate of a cuckoo filter / of the adaptive one on network traces", not_testable=(
                 "the traces are not public, and on ours most queries are first queries of their key: no filter that must answer "
                 "them by its fingerprints can gain a factor of 10")),
]
