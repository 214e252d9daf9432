"""A Practical Adaptive Quotient Filter (2021). SELQF is taf here, EXTQF is exaf, USELQF is utaf, RSQF is qf."""

from sentences import Sentence, columns, geometric_mean
from sentences.telescoping import best_of_paper, last_round, over_ratios, static_over_taf

ADAPTIVE = ("exaf", "taf", "acf1", "acf2", "acf3", "acf_swapping", "acf_cuckooing")


def only_they_win(q_per_s, *winners):
    """The share of the seeds with which these filters empty the adversary's queue, less that of the best other one."""
    def judge(rows):
        wins = {name: rows.get(last_round(q_per_s, "emptied"), name) for name in ADAPTIVE}
        return max(0.001, min(wins[name] for name in winners) - max(wins[name] for name in ADAPTIVE if name not in winners))
    return judge


def elements(q_per_s, over, under):
    """The share of the adversary's keys that still err: the lowest of `over` / of `under`; 0.001 if there are none."""
    return lambda rows: (max(0.001, min(rows.get(last_round(q_per_s), name) for name in over)) /
                         max(0.001, rows.get(last_round(q_per_s), under)))


def queue_left(q_per_s, name):
    return lambda rows: max(1e-4, rows.get(f"Q_per_S={q_per_s},what=queue,round=3", name))


def near_acf2(rows):
    """Rate of the cyclic filter with two bits / of taf, active set: at A/S 20 and the next one."""
    measured = sorted({int(row["A_per_S"]) for row in rows if row["stream"] == "active_set" and int(row["A_per_S"]) >= 20})
    return over_ratios("active_set", "acf2", "taf", measured[:2])(rows)


def rebuilds(rows):
    """Rebuilds of exaf / of taf, both streams, all A/S."""
    return sum(rows.all(None, "exaf_rebuilds")) / max(1, sum(rows.all(None, "taf_rebuilds")))


def always_ahead(rows):
    """Rate of exaf / of taf, on the stream and at the A/S with the least gain."""
    return min(float(row["exaf"]) / float(row["taf"]) for row in rows)


SENTENCES = [
    Sentence("selqf-2125", "thesis: Section 5.2.2", "which uses 2.125 metadata bits per element",
             "bits per slot of qf without heads beyond the 9 of the remainder / 2.125", factor=1, similar=True, claim="space",
             judge=lambda rows: (rows.get("kind=qf heads=no", "bits_per_slot") - 9) / 2.125),
    Sentence("selqf-3-bits", "thesis: Section 5.2.2", "bringing metadata space usage up to 3 bits per element",
             "bits per slot of taf without heads beyond the remainder / 3", factor=1, similar=True, claim="space",
             judge=lambda rows: (rows.get("kind=taf heads=no", "bits_per_slot") - 9) / 3),
    Sentence("extqf-single-bits", "thesis: Section 5.2.2", "can hold around 8 single-bit extensions",
             "extensions of one bit that a block of exaf holds / 8", factor=1, similar=True, claim="extension-bits"),
    Sentence("extqf-longest", "thesis: Section 5.2.2", "or a single 19-bit extension",
             "bits of the longest extension that a block of exaf holds / 19", factor=1, similar=True, claim="extension-bits"),
    Sentence("selqf-active-acf2", "thesis: Figure 6.1", "SELQF FPR performance approaches ACF2 performance",
             "rate of the cyclic filter with two bits / of taf, active set, A/S 20 and the next one of the run (50, at full size 30); the "
             "paper: from 20 to 35", factor=1, similar=True, claim="firehose", judge=near_acf2),
    Sentence("selqf-active-best", "thesis: Figure 6.1", "the SELQF performs best at moderate A/S values in the range 5–20",
             "lowest rate of the other adaptive filters / rate of taf, active set, A/S 5 to 20", claim="firehose",
             judge=best_of_paper("active_set")),
    Sentence("selqf-rebuilds", "thesis: Section 5.4.5", "the SELQF rebuilds less often than the EXTQF",
             "rebuilds of exaf / of taf, both streams, all A/S", claim="firehose", judge=rebuilds),
    Sentence("selqf-outperforms", "thesis: Figure 6.2", "On both data sets, the SELQF consistently outperforms the EXTQF",
             "rate of exaf / of taf, on the stream and at the A/S with the least gain", claim="firehose", judge=always_ahead),
    Sentence("extqf-serendipity", "thesis: Figure 6.2", "serendipitous corrections appear to have little effect on FPR performance",
             "rate of utaf, which has none / of exaf, A/S 5, active set", factor=1, similar=True, claim="firehose",
             judge=over_ratios("active_set", "utaf", "exaf", (5,))),
    Sentence("selqf-traces-similar", "thesis: Figure 6.3", "perform similarly to the Swapping ACF and the Cyclic ACF with",
             "rates of taf and of the swapping filter: the smaller / the larger", factor=1, similar=True, claim="traces",
             judge=lambda rows: geometric_mean(min(a / b, b / a) for a, b in zip(rows.all(None, "taf"), rows.all(None, "acf_swapping")))),
    Sentence("selqf-traces-cuckooing", "thesis: Figure 6.3", "has the lowest baseline FPR",
             "rate of the next best adaptive filter / of acf_cuckooing, on recorded requests", claim="traces",
             judge=lambda rows: geometric_mean(
                 min(float(row[name]) for name in ADAPTIVE if name != "acf_cuckooing") / float(row["acf_cuckooing"]) for row in rows)),
    Sentence("selqf-rounds-static", "thesis: Figure 6.4", "the static Cuckoo filter shows the worst performance",
             "keys left in the adversary's queue at Q/S = 10, of cf / of the worst adaptive filter", claim="rounds",
             judge=lambda rows: queue_left(10, "cf")(rows) / max(queue_left(10, name)(rows) for name in ADAPTIVE)),
    Sentence("selqf-rounds-only-10", "thesis: Figure 6.4", "Only the SELQF and ACF1 adapt fully",
             "seeds with which taf and acf1 win at Q/S = 10 and no other adaptive filter does / all seeds", factor=1, claim="rounds",
             judge=only_they_win(10, "taf", "acf1")),
    Sentence("selqf-rounds-only-20", "thesis: Figure 6.4", "Only the SELQF adapts a few times",
             "share of the seeds with which taf wins at Q/S = 20, less that of the best other adaptive filter / 0.1", factor=1,
             claim="rounds", judge=lambda rows: only_they_win(20, "taf")(rows) / 0.1),
    Sentence("selqf-rounds-only-30", "thesis: Figure 6.5", "Only the Swapping ACF adapts fully at least once",
             "share of the seeds with which acf_swapping wins at Q/S = 30, less that of the best other adaptive filter / 0.1", factor=1,
             claim="rounds", judge=lambda rows: only_they_win(30, "acf_swapping")(rows) / 0.1),
    Sentence("selqf-rounds-none-50", "thesis: Figure 6.5", "No filter fully adapts",
             "seeds with which every adaptive filter of the paper loses at Q/S = 50 / all", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, 1 - max(rows.get(last_round(50, "emptied"), name) for name in ADAPTIVE))),
    Sentence("selqf-rounds-between", "thesis: Section 6.4", "the SELQF has the lowest proportion of elements with at least one false positive",
             "share of the adversary's keys that still err at Q/S = 15, of the best other adaptive filter / of taf", factor=1, claim="rounds",
             judge=elements(15, [name for name in ADAPTIVE if name != "taf"], "taf")),
    Sentence("selqf-inserts-uselqf", "thesis: Figure 6.7", "the SELQF and USELQF have roughly equivalent insertion throughput",
             "inserts per second of taf / of utaf, 95 % load", factor=1, similar=True, claim="throughput", timed=True, once=True,
             judge=columns("taf", "utaf", "operation=insert,load=0.95")),
    Sentence("extqf-queries-selqf", "thesis: Figure 6.8", "has notably worse query throughput than the EXTQF",
             "queries per second of exaf / of taf, power law, 95 % load", claim="throughput", timed=True, once=True,
             judge=columns("exaf", "taf", "operation=power_law,load=0.95")),
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
             "seeds with which the adaptive filter that wins least often wins at Q/S = 5 / all seeds; it wins when the adversary has no key "
             "left. The paper: under 10", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, min(rows.get(last_round(5, "emptied"), name) for name in ADAPTIVE))),
    Sentence("selqf-rounds-second", "thesis: Section 6.2.3", "fully adapting by round 2",
             "seeds with which taf and acf3 leave no key after the second round at Q/S = 10 / all seeds", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, float(max(rows.get("Q_per_S=10,what=queue,round=3", name) for name in ("taf", "acf3")) == 0))),
    Sentence("selqf-rounds-15", "thesis: Figure 6.4", "The SELQF and ACF1 adapts sometimes but not always",
             "seeds with which both win at Q/S = 15 / 0.1 of all seeds", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, min(rows.get(last_round(15, "emptied"), name) for name in ("taf", "acf1"))) / 0.1),
    Sentence("selqf-rounds-only", "thesis: Section 6.4", "only the SELQF and ACF3 beat the adversary",
             "seeds with which taf and acf3 win at Q/S = 10 and no other adaptive filter does / all seeds", factor=1, claim="rounds",
             judge=only_they_win(10, "taf", "acf3")),
    Sentence("selqf-rounds-exaf-loses", "thesis: Section 6.4", "loses to the adversary for any A/S \\geq 10",
             "seeds with which exaf loses at Q/S = 10 / all seeds", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, 1 - rows.get(last_round(10, "emptied"), "exaf"))),
    Sentence("selqf-rounds-always-wins", "thesis: Section 6.4", "The adversary consistently wins for all filters",
             "seeds with which the paper's adaptive filters lose at Q/S = 30 / all", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, 1 - max(rows.get(last_round(30, "emptied"), name) for name in (
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
