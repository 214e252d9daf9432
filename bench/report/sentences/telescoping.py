"""Telescoping Filter: A Practical Adaptive Filter (2021)."""

import statistics

from sentences import Sentence, columns, geometric_mean

MODERATE = (5, 10, 20)
OTHERS = ("exaf", "acf1", "acf2", "acf3", "acf_swapping", "acf_cuckooing")


def against_others(stream, choose):
    """The rate that is chosen of those of the paper's other filters / the rate of taf, at moderate A/S."""
    def judge(rows):
        found = []
        for a_per_s in MODERATE:
            where = f"stream={stream},A_per_S={a_per_s}"
            found.append(choose(rows.get(where, name) for name in OTHERS) / rows.get(where, "taf"))
        return geometric_mean(found)
    return judge


def best_of_paper(stream):
    return against_others(stream, min)


def median_of_all(rows):
    """The median of the rates of the paper's other filters / the rate of taf, over all rows."""
    return geometric_mean(statistics.median(float(row[name]) for name in OTHERS) / float(row["taf"]) for row in rows)


def equal_but_for_bits(rows):
    """Rates of the cuckoo filters, divided by 2^s for s bits of adaptation: the lowest / the highest."""
    found = []
    for row in rows:
        rates = [float(row["acf_cuckooing"])] + [float(row[f"acf{s}"]) / 2 ** s for s in (1, 2, 3)]
        found.append(min(rates) / max(rates))
    return geometric_mean(found)


def over_ratios(stream, over, under, ratios):
    return lambda rows: geometric_mean(rows.get(f"stream={stream},A_per_S={r}", over) / rows.get(f"stream={stream},A_per_S={r}", under)
                                       for r in ratios)


def close_to_acf1(name):
    return lambda rows: geometric_mean(min(a / b, b / a) for a, b in zip(rows.all(None, name), rows.all(None, "acf1")))


def last_round(q_per_s, what="by_element"):
    return f"Q_per_S={q_per_s},what={what}"


def static_over_taf(rows):
    return rows.get(last_round(20), "cf") / max(0.001, rows.get(last_round(20), "taf"))


SENTENCES = [
    Sentence("taf-firehose-best", "telescoping: Figure 2", "the TAF is the best data structure for moderate A/S",
             "lowest rate of the other adaptive filters / rate of taf, active set, A/S 5 to 20", claim="firehose",
             judge=best_of_paper("active_set")),
    Sentence("taf-firehose-competitive", "telescoping: Figure 2", "For the power law data, the TAF is competitive",
             "median of the rates of the other adaptive filters / rate of taf, power law, A/S 5 to 20", factor=1, claim="firehose",
             judge=against_others("power_law", statistics.median)),
    Sentence("taf-firehose-acf2", "telescoping: Figure 2", "its performance is similar to that of the Cyclic ACF with s=2",
             "rate of the cyclic filter with two bits / of taf, active set, A/S 50", factor=1, similar=True, claim="firehose",
             judge=over_ratios("active_set", "acf2", "taf", (50,))),
    Sentence("taf-firehose-swapping", "telescoping: Figure 2", "second to the Swapping ACF",
             "rate of taf / of acf_swapping, active set, A/S 50", claim="firehose", judge=over_ratios("active_set", "taf", "acf_swapping", (50,))),
    Sentence("taf-firehose-exaf", "telescoping: Figure 2", "the exAF performs substantially worse than the TAF",
             "rate of exaf / of taf, active set, all A/S", claim="firehose",
             judge=over_ratios("active_set", "exaf", "taf", (5, 10, 20, 50))),
    Sentence("taf-firehose-exaf-power", "telescoping: Figure 2", "in both cases (and particularly for the active set data)",
             "rate of exaf / of taf, power law, all A/S", claim="firehose",
             judge=over_ratios("power_law", "exaf", "taf", (5, 10, 20, 50))),
    Sentence("taf-firehose-degrades", "telescoping: Figure 2", "rebuilds become frequent enough that TAF performance degrades somewhat",
             "rate of taf at A/S = 50 / at A/S = 20, active set", claim="firehose",
             judge=lambda rows: rows.get("stream=active_set,A_per_S=50", "taf") / rows.get("stream=active_set,A_per_S=20", "taf")),
    Sentence("taf-firehose-frequently", "telescoping: Section 1", "the TAF frequently matches or outperforms other filters",
             "median of the rates of the other adaptive filters / rate of taf, both streams, all A/S", factor=1, claim="firehose",
             judge=median_of_all),
    Sentence("taf-traces-equally", "telescoping: Figure 3", "most filters are equally effective at fixing false positives",
             "rates of the cuckooing filter and the cyclic ones, divided by 2^s for s bits of adaptation: the lowest / the highest",
             factor=1, similar=True, claim="traces", judge=equal_but_for_bits),
    Sentence("taf-traces-acf3", "telescoping: Figure 4", "this adaptivity comes at a significantly worsened baseline FP rate",
             "rate of the cyclic filter with three bits / the highest of the other adaptive filters, on recorded requests", claim="traces",
             judge=lambda rows: geometric_mean(
                 float(row["acf3"]) / max(float(row[name]) for name in ("taf", *OTHERS) if name != "acf3") for row in rows)),
    Sentence("taf-traces-cuckooing", "telescoping: Figure 3", "This gives the Cuckooing ACF an advantage",
             "rate of the next best filter of the paper / of acf_cuckooing, on recorded requests", claim="traces",
             judge=lambda rows: geometric_mean(
                 min(float(row[name]) for name in ("exaf", "taf", "acf1", "acf2", "acf3", "acf_swapping")) / float(row["acf_cuckooing"])
                 for row in rows)),
    Sentence("taf-traces-baseline", "telescoping: Figure 3", "increases the baseline FP rate by 2^s",
             "rate of the cyclic filter with three selector bits / with one; 2^2 by that sentence", factor=4, claim="traces",
             judge=columns("acf3", "acf1")),
    Sentence("taf-traces-similar", "telescoping: Figure 3", "The TAF and exAF perform similarly to the Swapping ACF and ACF1",
             "rates of taf and of the cyclic filter with one bit: the smaller / the larger", factor=1, similar=True, claim="traces",
             judge=close_to_acf1("taf")),
    Sentence("exaf-traces-similar", "telescoping: Figure 4", "The TAF and exAF perform similarly to the Swapping ACF and ACF1",
             "rates of exaf and of the cyclic filter with one bit: the smaller / the larger", factor=1, similar=True, claim="traces",
             judge=close_to_acf1("exaf")),
    Sentence("taf-rounds-20", "telescoping: Figure 4", "the TAF does very well up until around",
             "share of the adversary's keys that still err at Q/S = 20, of a static filter / of taf", claim="rounds",
             judge=static_over_taf),
    Sentence("taf-rounds-after", "telescoping: Figure 4", "the adversary is successfully able to force false positives",
             "share of the adversary's keys that still err for taf at Q/S = 50", factor=1, claim="rounds",
             judge=lambda rows: max(0.001, rows.get(last_round(50), "taf"))),
    Sentence("taf-rounds-acf3", "telescoping: Figure 4", "does surprisingly well on adversarial data",
             "share of the adversary's keys that still err at Q/S = 30, of taf / of the cyclic filter with three bits",
             claim="rounds",
             judge=lambda rows: max(0.001, rows.get(last_round(30), "taf")) / max(0.001, rows.get(last_round(30), "acf3"))),
    Sentence("taf-rounds-exaf", "telescoping: Section 1",
             "the TAF outperforms the false-positive performance of the exAF significantly on both practical and adversarial workloads",
             "share of the adversary's keys that still err, of exaf / of taf: geometric mean over Q/S of 10 to 50", claim="rounds",
             judge=lambda rows: geometric_mean(max(0.001, rows.get(last_round(q), "exaf")) / max(0.001, rows.get(last_round(q), "taf"))
                                               for q in (10, 15, 20, 30, 50))),
    Sentence("taf-comparable", "telescoping: Section 7", "our adaptive filters achieve a comparable throughput to their non-adaptive counterparts",
             "speed of taf / of qf: geometric mean of inserts and both streams of queries, 95 % load", factor=1, similar=True,
             claim="throughput", timed=True),
    Sentence("exaf-comparable", "telescoping: Section 7", "our adaptive filters achieve a comparable throughput to their non-adaptive counterparts",
             "speed of exaf / of qf, as for taf", factor=1, similar=True, claim="throughput", timed=True),
    Sentence("taf-inserts", "telescoping: Figure 5", "the TAF achieves similar performance in inserts to the other filters",
             "inserts per second of taf / of qf, at 95 % load", factor=1, similar=True, claim="throughput", timed=True),
    Sentence("taf-queries-lag", "telescoping: Figure 5", "it lags behind in queries at high throughput",
             "queries per second of qf / of taf, active set, 95 % load", claim="throughput", timed=True),
    Sentence("exaf-queries-faster", "telescoping: Figure 5", "The exAF performs significantly better for queries",
             "queries per second of exaf / of taf, active set, 95 % load", claim="throughput", timed=True),
    Sentence("utaf-queries-faster", "telescoping: Figure 5", "The uTAF is noticeably faster than the TAF",
             "queries per second of utaf / of taf, active set, 95 % load", claim="throughput", timed=True),
    Sentence("utaf-queries-exaf", "telescoping: Figure 5", "but is similar in performance to exAF",
             "queries per second of utaf / of exaf, active set, 95 % load", factor=1, similar=True, claim="throughput", timed=True),
    Sentence("taf-0875", "telescoping: Section 3", "hash-selector values using an average 0.875 bits per element",
             "bits per slot that selectors have / 0.875", factor=1, similar=True, claim="selector-bits",
             judge=lambda rows: 0.95 * rows.get("A_per_S=4.0", "available_bits") / 0.875),
    Sentence("taf-3-bits", "telescoping: Section 6", "Because the TAF has three extra bits per element for metadata and adaptivity",
             "bits per slot of taf without heads beyond the 9 of the remainder / 3", factor=1, similar=True, claim="space",
             judge=lambda rows: (rows.get("kind=taf heads=no", "bits_per_slot") - 9) / 3),
    Sentence("taf-bits-812", "telescoping: Theorem 4", "can handle 4n unique queries without running out of space",
             "0.812 bits per key / those that the selectors need after 4n queries", factor=1, claim="selector-bits",
             judge=lambda rows: 0.812 / rows.get("A_per_S=4.0", "optimal_bits")),
    Sentence("taf-sustained", "telescoping: Theorem 4", "maintains a sustained false-positive rate of",
             "2^-8 / the rate of repeated queries after 4n unique ones, repeated in a fixed order: whether the space suffices for them. "
             "Nobody chooses them by the answers, so this is not the game of Theorem 1, in which the rate exceeds eps. With 4n queries "
             "few selectors change, and that game needs all of them to change", factor=1, bound=True, claim="selector-bits",
             judge=lambda rows: 2 ** -8 / max(1e-6, rows.get("A_per_S=4.0", "fpr_later"))),
    Sentence("taf-outperforms-bound", "telescoping: Section 4", "retaining good performance with 0.812 bits per element",
             "rate of first queries / of repeated ones, at A/S = 20", claim="selector-bits",
             judge=lambda rows: rows.get("A_per_S=20.0", "fpr_first") / max(1e-6, rows.get("A_per_S=20.0", "fpr_later"))),
]
