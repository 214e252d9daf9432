"""Theorems and bounds of the papers. The factor is the bound divided by what was measured: below 1 if it is exceeded."""

import itertools

from sentences import Sentence


def same_order(rows):
    """The share of the pairs of filters whose order by FPR is that with the paper's 50 % of the absent keys known.

    A pair whose intervals overlap with both parts of the keys has no order, so it cannot change.
    """
    rates = {(row["known_percent"], row["filter"]): [float(row[name]) for name in ("low", "fpr", "high")] for row in rows}

    def order(part, a, b):
        """(Whether a has the lower FPR, whether the intervals are apart.)"""
        (low_a, mean_a, high_a), (low_b, mean_b, high_b) = rates[part, a], rates[part, b]
        return mean_a < mean_b, high_a < low_b or high_b < low_a

    def changes(part, a, b):
        (now, clear_now), (usual, clear_usual) = order(part, a, b), order("50", a, b)
        return now != usual and (clear_now or clear_usual)

    pairs = list(itertools.combinations(dict.fromkeys(name for _, name in rates), 2))
    changed = [changes(part, a, b) for part in ("10", "20", "80") for a, b in pairs]
    return max(0.001, 1 - sum(changed) / len(changed))


SENTENCES = [
    Sentence("taf-theorem-1", "telescoping: Theorem 1", "the TAF has a sustained false-positive rate of",
             "eps / rate of keys that were a false positive before, after all selectors have changed (utaf). A key that was one is "
             "known to have the quotient of a member, so its run has 2 - 1/n members on average. The smallest case is two members: "
             "1.3 eps", factor=1, bound=True, claim="sustained"),
    Sentence("taf-lemma-2-zero", "telescoping: Lemma 2", "the probability that none of them collide with y is",
             "probability of selector 0 by the lemma / share of the members, 8 queried keys per quotient", factor=1, similar=True,
             claim="selectors"),
    Sentence("taf-lemma-2", "telescoping: Lemma 2", "ways of choosing $i$ unique queries from",
             "bound of the lemma for selector 2 / share of the members, 8 queried keys per quotient, repeated. The lemma leaves out "
             "that a key can match after another one has raised the selector. The smallest case is one member and two keys",
             factor=1, bound=True, claim="selectors"),
    Sentence("taf-corollary-3", "telescoping: Corollary 3", "closely match the distribution of hash-selector frequencies we observe",
             "bound of the corollary for selector 2 / share of the members, as for Lemma 2; by our formula one member and three keys "
             "are the smallest case", factor=1, bound=True, claim="selectors"),
    Sentence("exaf-factor-2", "telescoping: Section 1", "the query performance of exAF is factor 2 better than that of the TAF",
             "time of a query of taf / of exaf, published forms, 95 % load, after 10 queried keys per member", factor=2,
             claim="exaf-speed", timed=True),
    Sentence("aqf-theorem-2", "adaptiveqf: Theorem 2", "the probability that the construction succeeds is",
             "bits of Lemma 5 / bits added to the fingerprints, one at a time as in the proof, in every seed", factor=1, bound=True,
             claim="yesno-bits"),
    Sentence("aqf-theorem-7", "adaptiveqf: Theorem 7", "the number of bits used by a static YES/NO filter is at least",
             "bits of the smallest of our filters of two lists / the lower bound, at the proportion with the least difference", factor=1,
             bound=True, claim="lists", judge=lambda rows: min(
                 float(row[name]) / float(row["lower_bound_bits"]) for row in rows
                 for name in ("yesno_bits", "cascade_bits", "fuse_bits", "ribbon_bits", "guard_bits"))),
    Sentence("aqf-rekeying-eps-k", "adaptiveqf: Section 4.4", "the number of false positives from any sequence of k queries is very close to",
             "eps k / false positives of k queries, half of them by an adversary, with rekeying. Above 1 there are fewer of them than eps k, "
             "which the guarantee allows", factor=1, claim="endless"),
    Sentence("aqf-fixed-10-qf", "adaptiveqf: Section 6.1", "seeing 10× fewer false positives over 200 million queries",
             "false positives of qf / of aqf, blocked domains. The factor is the number of queries per key: 10.5, at full size 175",
             factor=10, claim="fixed-dataset"),
    Sentence("aqf-fixed-10-cf", "adaptiveqf: Section 6.1", "than the quotient filter and the cuckoo filter",
             "false positives of cf / of aqf, as for qf", factor=10, claim="fixed-dataset"),
    Sentence("aqf-fixed-faster", "adaptiveqf: Section 6.1", "This resulted in 4–7× faster queries",
             "time per query of qf / of aqf, blocked domains; computed from the counts of false positives, "
             "with 100 us per read of the database and 100 ns per query; the paper: 4 to 7", factor=4, claim="fixed-dataset",
             judge=lambda rows: rows.get("data=domains,filter=qf", "time_per_aqf")),
    Sentence("aoc-theorem-2-eps", "adapt-or-cache: Theorem 2", "and so the false-positive rate is at most",
             "eps / rate of the broom filter, s up to 1", factor=1, bound=True, claim="cache-theory"),
    Sentence("aoc-theorem-2-11", "adapt-or-cache: Theorem 2", "is lower than the theoretical result given by Theorem 2",
             "eps^s / n^(s-1), with a constant of 1, / rate of the broom filter, s of 1.1", factor=1, bound=True, claim="cache-theory"),
    Sentence("aoc-theorem-2-12", "adapt-or-cache: Theorem 2", "is lower than the theoretical result given by Theorem 2",
             "eps^s / n^(s-1), with a constant of 1, / rate of the broom filter, s of 1.2", factor=1, bound=True, claim="cache-theory"),
    Sentence("aoc-theorem-5", "adapt-or-cache: Theorem 5", "All CAFs have higher EFPR than the theoretical result given by Theorem 5",
             "rate with a cache of 3n bits / the bound, all six exponents", factor=1, bound=True, claim="cache-theory"),
    Sentence("aoc-theorem-6", "adapt-or-cache: Theorem 6", "analytically establishing the advantage of adaptivity over caching",
             "rate with a cache of 3n bits / of the broom filter with 3n bits, all six exponents", claim="cache-theory"),
    Sentence("aoc-six-exponents", "adapt-or-cache: Section 4.1", "the broom filter outperforms the competition on Zipfian queries",
             "rate with a cache of 3n bits / of the broom filter, s = 0.9, 1 and 1.1, which the figures do not show",
             claim="cache-theory"),
    Sentence("stacked-theorem-1", "stacked-filters: Theorem 1", "finding the optimal EFPR across all values of",
             "2/eps + 2 / calls of the oracle", factor=1, bound=True, claim="stacked-proofs"),
    Sentence("stacked-theorem-2", "stacked-filters: Theorem 2", "Quasi-convex functions have unique global minima",
             "1 / (1 + number of times the size falls after it has risen), 153 curves per value of c", factor=1, bound=True,
             claim="stacked-proofs"),
    Sentence("stacked-training-order", "stacked-filters: Section 8", "from between 10% to 80% of the training data and saw the same relative results",
             "pairs of filters with 10, 20 and 80 % of the absent keys known that have the order of those with 50 % / all pairs; by rates "
             "over seeds, without pairs whose intervals overlap in both cases", factor=1, claim="stacked-training", judge=same_order),
]
