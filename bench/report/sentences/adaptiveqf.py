"""Adaptive Quotient Filters (2024)."""

from sentences import Sentence

SENTENCES = [
    Sentence("aqf-zipf-100", "adaptiveqf: Section 6.1", "reduce the false-positive rate by about 100×",
             "false-positive rate of qf / of aqf, with the same seed", factor=100, claim="zipf"),
    Sentence("aqf-zipf-bits", "adaptiveqf: Section 6.1", "for an additional cost of less than 1/1000th of a bit per item",
             "0.001 bits per key / those used by aqf", factor=1, claim="zipf"),
    Sentence("aqf-zipf-below-tqf", "adaptiveqf: Figure 7", "drops to lower than the TQF and ACF",
             "false-positive rate of taf / of aqf, second half of the queries", claim="zipf"),
    Sentence("aqf-zipf-below-acf", "adaptiveqf: Figure 7", "drops to lower than the TQF and ACF",
             "false-positive rate of acf-cyclic / of aqf, second half of the queries", claim="zipf"),
]
