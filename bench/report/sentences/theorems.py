"""Theorems and bounds of the papers. The factor is the bound divided by what was measured: below 1 if it is exceeded."""

from sentences import Sentence

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
    Sentence("aqf-theorem-2-slots", "adaptiveqf: Section 4.2", "by giving an additional slot to the fingerprint",
             "bits of Lemma 5 / bits of the slots that the filter adds, mu of 1 and more: the theorem is about single bits, the filter of the same "
             "paper adds whole slots", factor=1, bound=True, claim="yesno-bits"),
    Sentence("aqf-rekeying-eps-k", "adaptiveqf: Section 4.4", "the number of false positives from any sequence of k queries is very close to",
             "eps k / false positives of k queries, half of them by an adversary, with rekeying", factor=1, similar=True, claim="endless"),
    Sentence("aqf-fixed-10-qf", "adaptiveqf: Section 6.1", "seeing 10× fewer false positives over 200 million queries",
             "false positives of qf / of aqf, blocked domains with 10.5 queries per key. The factor is the number of queries per key",
             factor=10, claim="fixed-dataset"),
    Sentence("aqf-fixed-10-cf", "adaptiveqf: Section 6.1", "than the quotient filter and the cuckoo filter",
             "false positives of cf / of aqf, as for qf", factor=10, claim="fixed-dataset"),
    Sentence("aqf-fixed-faster", "adaptiveqf: Section 6.1", "This resulted in 4–7× faster queries",
             "queries per second of aqf / of qf, with a database on disk", not_testable=(
                 "it depends on the disk and on the queries per key; the column time_per_aqf of fixed-dataset computes it from the "
                 "counts, with 100 us per read and 100 ns per query")),
    Sentence("aoc-theorem-2-eps", "adapt-or-cache: Theorem 2", "and so the false-positive rate is at most",
             "eps / rate of the broom filter, s up to 1", factor=1, bound=True, claim="cache-theory"),
    Sentence("aoc-theorem-2-skewed", "adapt-or-cache: Theorem 2", "is lower than the theoretical result given by Theorem 2",
             "eps^s / n^(s-1), with a constant of 1, / rate of the broom filter, s of 1.1 and 1.2", factor=1, bound=True,
             claim="cache-theory"),
    Sentence("aoc-theorem-5", "adapt-or-cache: Theorem 5", "All CAFs have higher EFPR than the theoretical result given by Theorem 5",
             "rate with a cache of 3n bits / the bound, all six exponents", factor=1, bound=True, claim="cache-theory"),
    Sentence("aoc-theorem-6", "adapt-or-cache: Theorem 6", "analytically establishing the advantage of adaptivity over caching",
             "rate with a cache of 3n bits / of the broom filter with 3n bits, all six exponents", claim="cache-theory"),
    Sentence("aoc-six-exponents", "adapt-or-cache: Section 4.1", "We repeated the experiment for six values of the Zipfian constant",
             "rate with a cache of 3n bits / of the broom filter, s = 0.9, 1 and 1.1, which the figures do not show",
             claim="cache-theory"),
    Sentence("stacked-theorem-1", "stacked-filters: Theorem 1", "finding the optimal EFPR across all values of",
             "2/eps + 2 / calls of the oracle", factor=1, bound=True, claim="stacked-proofs"),
    Sentence("stacked-theorem-2", "stacked-filters: Theorem 2", "Quasi-convex functions have unique global minima",
             "1 / (1 + number of times the size falls after it has risen), 153 curves per value of c", factor=1, bound=True,
             claim="stacked-proofs"),
    Sentence("stacked-training-stacked", "stacked-filters: Section 8", "from between 10% to 80% of the training data and saw the same relative results",
             "rate of a Bloom filter / of a stacked one that knows 10 % of the absent keys", claim="stacked-training"),
    Sentence("stacked-training-learned", "stacked-filters: Section 8", "only the higher frequency half of the negative set for training",
             "rate of a Bloom filter / of a sandwiched learned one that knows 10 % of the absent keys", claim="stacked-training"),
]
