"""A Practical Adaptive Quotient Filter (2021). SELQF is taf here, EXTQF is exaf, USELQF is utaf, RSQF is qf."""

from sentences import Sentence, columns
from sentences.telescoping import best_of_paper, last_round, over_ratios, static_over_taf

SENTENCES = [
    Sentence("selqf-active-degrades", "thesis: Figure 6.1", "performance starts to degrade as the SELQF begins to perform more rebuilds",
             "rate of taf at A/S = 50 / at A/S = 20, active set", claim="firehose",
             judge=lambda rows: rows.get("stream=active_set,A_per_S=50", "taf") / rows.get("stream=active_set,A_per_S=20", "taf")),
    Sentence("selqf-power-best", "thesis: Figure 6.2", "On power-law data, the SELQF performs best on moderate values",
             "lowest rate of the other adaptive filters / rate of taf, power law, A/S 5 to 20", claim="firehose",
             judge=best_of_paper("power_law")),
    Sentence("selqf-space", "thesis: Figure 6.2", "the SELQF uses space toward adaptivity more effectively than the EXTQF",
             "rate of exaf / of taf, active set, A/S 20 and 50", claim="firehose",
             judge=over_ratios("active_set", "exaf", "taf", (20, 50))),
    Sentence("selqf-traces-acf3", "thesis: Figure 6.3", "has the highest FPR of the three, followed by the ACF2",
             "rate of the cyclic filter with three bits / with two, on recorded requests", claim="traces",
             judge=columns("acf3", "acf2")),
    Sentence("selqf-rounds-20", "thesis: Figure 6.6", "The SELQF does well up until around",
             "share of the adversary's keys that still err at Q/S = 20, of a static filter / of taf", claim="rounds",
             judge=static_over_taf),
    Sentence("selqf-rounds-beat-10", "thesis: Section 6.4", "it appears that all filters beat the adversary",
             "seeds with which the adaptive filter that wins least often wins at Q/S = 10 / all seeds", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, min(rows.get(last_round(10, "won"), name) for name in (
                 "exaf", "taf", "acf1", "acf2", "acf3", "acf_swapping", "acf_cuckooing")))),
    Sentence("selqf-rounds-exaf-loses", "thesis: Section 6.4", "loses to the adversary for any A/S \\geq 10",
             "seeds with which exaf loses at Q/S = 10 / all seeds", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, 1 - rows.get(last_round(10, "won"), "exaf"))),
    Sentence("selqf-rounds-always-wins", "thesis: Section 6.4", "The adversary consistently wins for all filters",
             "seeds with which the paper's adaptive filters lose at Q/S = 30 / all", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, 1 - max(rows.get(last_round(30, "won"), name) for name in (
                 "exaf", "taf", "acf1", "acf2", "acf3", "acf_swapping", "acf_cuckooing")))),
    Sentence("selqf-rounds-30", "thesis: Figure 6.5", "The Swapping ACF, Cuckooing ACF, and ACF3 outperform the SELQF",
             "keys left in the adversary's queue at Q/S = 30, of taf / of the worst of the three", claim="rounds",
             judge=lambda rows: max(1e-4, rows.get("Q_per_S=30,what=queue,round=3", "taf")) / max(
                 1e-4, *(rows.get("Q_per_S=30,what=queue,round=3", name) for name in ("acf_swapping", "acf_cuckooing", "acf3")))),
    Sentence("selqf-rounds-50", "thesis: Figure 6.5", "The Cuckooing and Swapping ACFs outperform all other filters",
             "keys left in the adversary's queue at Q/S = 50, of the best of the other filters / of the worse of the two", claim="rounds",
             judge=lambda rows: min(rows.get("Q_per_S=50,what=queue,round=3", name) for name in ("exaf", "taf", "acf1", "acf2", "acf3")) /
             max(rows.get("Q_per_S=50,what=queue,round=3", name) for name in ("acf_swapping", "acf_cuckooing"))),
    Sentence("selqf-comparable", "thesis: Chapter 1", "Both the SELQF and EXTQF achieve comparable throughput to their non-adaptive counterparts",
             "speed of taf / of qf: geometric mean of inserts and both streams of queries, 95 % load", factor=1, similar=True,
             claim="throughput", timed=True),
    Sentence("extqf-comparable", "thesis: Chapter 1", "Both the SELQF and EXTQF achieve comparable throughput to their non-adaptive counterparts",
             "speed of exaf / of qf, as for taf", factor=1, similar=True, claim="throughput", timed=True),
    Sentence("selqf-rsqf-declines", "thesis: Figure 6.7", "whose throughput declines as load factor increases",
             "queries per second of qf at 10 % load / at 95 %, active set", claim="throughput", timed=True),
    Sentence("selqf-vacuum-unaffected", "thesis: Figure 6.7", "throughput performance is largely unaffected by load factor",
             "queries per second of vacuum at 95 % load / at 10 %, active set", factor=1, similar=True, claim="throughput", timed=True),
    Sentence("selqf-useqf-70", "thesis: Figure 6.9", "attains roughly 70% of the USELQF’s query throughput on power-law data",
             "queries per second of utaf / of taf, power law, 95 % load", factor=1.43, claim="throughput", timed=True),
    Sentence("selqf-inserts-vacuum", "thesis: Section 6.4", "within an order of magnitude of the vacuum filter for insertions",
             "10 times the inserts per second of taf / those of vacuum, 95 % load", factor=1, claim="throughput", timed=True),
    Sentence("selqf-queries-vacuum", "thesis: Section 6.4", "SELQF queries are 75% as fast as vacuum filter queries",
             "queries per second of taf / 0.75 times those of vacuum, power law, 95 % load", factor=1, similar=True, claim="throughput",
             timed=True),
    Sentence("extqf-queries-vacuum", "thesis: Section 6.4", "outperform vacuum filter queries",
             "queries per second of exaf / of vacuum, power law, 95 % load", claim="throughput", timed=True),
]
