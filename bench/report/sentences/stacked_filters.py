"""Stacked Filters: Learning to Filter by Structure (2021)."""

from sentences import Sentence, columns, geometric_mean, ratio

GPU = ("the paper's classifiers are recurrent networks; besom's learned filter is a linear model of the text, which is two orders "
       "of magnitude faster. The factor is shown")


URLS = ("Shalla's lists and Open PageRank are not available, and the paper's classifiers are recurrent networks: how well a linear model "
        "tells our synthetic URLs apart decides the factor, which is shown")


def memory(keys, curve, bits=10, base="bloom"):
    return f"keys={keys},base={base},curve={curve},bits={bits}"


def at(rows, kind, budget, options=None):
    return rows.get(f"lists=synthetic,kind={kind},budget={budget}" + (f",options={options}" if options else ""), "fpr")


def most_skewed(base):
    """How the gain grows with the skew: at exponent 1.25 / at 0.5, 10 bits."""
    return ratio("times", memory("zipf", "stacked 1.25", 10, base), memory("zipf", "stacked 0.5", 10, base))


def better_up_to(rows):
    """The largest number of absent keys per member at which the stacked filter is better. One layer is a Bloom filter."""
    return max([float(row["keys_per_member"]) for row in rows if float(row["to_bloom"]) < 1 and int(row["layers"]) > 1] or [0.001])


def clear_winner(rows):
    """The lowest rate of the other filters / that of stacked: geometric mean over the sizes, of integers or FireHose's packets,
    whichever has the least gain."""
    def gain(keys):
        sizes = dict.fromkeys(row["bits"] for row in rows if row["keys"] == keys)
        return geometric_mean(
            min(rows.get(f"keys={keys},filter={name},bits={bits}", "fpr") for name in ("bloom", "learned", "sandwiched")) /
            rows.get(f"keys={keys},filter=stacked,bits={bits}", "fpr") for bits in sizes)
    return min(gain(keys) for keys in dict.fromkeys(row["keys"] for row in rows) if keys != "urls")


def first_phase(rows, name):
    """The total time of a filter in the first phase, with its reads."""
    return sum(rows.all(f"span=stage,filter={name},phase=1", "total_s"))


def share_lost(rows, exponent):
    """The share of the frequent keys' queries that may be lost before the Bloom filter is better."""
    return 1 - min(float(row["queries_kept"]) for row in rows
                   if row["exponent"] == exponent and float(row["stacked"]) < float(row["bloom"]))


SENTENCES = [
    # ---------------------------------------------------------------- false positives against size
    Sentence("stacked-5-zipf", "stacked-filters: Figure 3", "improve upon the FPR of query-agnostic Bloom Filters by 5-100×",
             "rate of bloom / of stacked, integers, Zipf 0.75, 10 bits", factor=5, claim="stacked-memory",
             judge=ratio("fpr", memory("zipf", "alone"), memory("zipf", "stacked 0.75"))),
    Sentence("stacked-5-urls", "stacked-filters: Figure 3", "improve upon the FPR of query-agnostic Bloom Filters by 5-100×",
             "rate of bloom / of stacked, synthetic URLs, 10 bits", factor=5, claim="stacked-memory",
             judge=ratio("fpr", memory("urls", "alone"), memory("urls", "stacked 0.9"))),
    Sentence("stacked-100", "stacked-filters: Section 1", "provide improvements in FPR of up to 100×",
             "rate of bloom / of stacked, the largest factor of all keys, sizes and exponents", factor=100, claim="stacked-memory",
             judge=lambda rows: max(rows.all("base=bloom", "times"))),
    Sentence("stacked-clear-winner", "stacked-filters: Figure 3", "Stacked Bloom Filters is the clear winner across all workloads",
             "lowest rate of the other filters / of stacked: geometric mean over the sizes, of integers or FireHose's packets, whichever "
             "has the least gain; URLs have a sentence of their own",
             claim="stacked-total", judge=clear_winner),
    Sentence("stacked-skew-bloom", "stacked-filters: Figure 4",
             "achieve lower false positive rates compared to their queryagnostic counter-parts as workloads are more skewed",
             "the gain of a stack of Bloom filters at Zipf 1.25 / at Zipf 0.5, 10 bits", claim="stacked-memory",
             judge=most_skewed("bloom")),
    Sentence("stacked-cuckoo", "stacked-filters: Figure 4", "Stacked Filters benefits generalize across diverse filter types",
             "rate of cf / of a stack of cf, Zipf 0.75, 10 bits", claim="stacked-memory",
             judge=ratio("fpr", memory("zipf", "alone", 10, "cf"), memory("zipf", "stacked 0.75", 10, "cf"))),
    Sentence("stacked-quotient", "stacked-filters: Figure 4", "the performance of Stacked Cuckoo and Stacked Quotient Filters",
             "rate of qf / of a stack of qf, Zipf 0.75, 10 bits", claim="stacked-memory",
             judge=ratio("fpr", memory("zipf", "alone", 10, "qf"), memory("zipf", "stacked 0.75", 10, "qf"))),
    Sentence("stacked-urls-learned", "stacked-filters: Figure 3", "still Stacked Filters provide a better FPR for most memory budgets",
             "rate of the sandwiched learned filter / of stacked, URLs; median of the budgets", claim="learned", by_design=URLS,
             judge=lambda rows: sorted(at(rows, "learned", b, "form=sandwiched") / at(rows, "stacked", b) for b in (6, 10, 14))[1]),
    Sentence("stacked-urls-similar", "stacked-filters: Figure 3", "Learned and Stacked filters achieve similar results",
             "rate of the plain learned filter / of stacked, URLs; median of the budgets", factor=1, similar=True, claim="learned", by_design=URLS,
             judge=lambda rows: sorted(at(rows, "learned", b, "form=plain") / at(rows, "stacked", b) for b in (6, 10, 14))[1]),
    Sentence("stacked-learned-worse", "stacked-filters: Figure 3", "becomes worse than a standard Bloom Filter",
             "rate of learned / of bloom, FireHose, 10 bits", claim="stacked-total",
             judge=ratio("fpr", "keys=firehose,filter=learned,bits=10", "keys=firehose,filter=bloom,bits=10")),
    # ---------------------------------------------------------------- speed
    Sentence("stacked-learned-90", "stacked-filters: Figure 3", "with the difference between 90-190×",
             "time of a negative query of learned / of bloom, URLs, 10 bits", factor=90, claim="stacked-total", timed=True,
             judge=ratio("negative_ns", "keys=urls,filter=learned,bits=10", "keys=urls,filter=bloom,bits=10"), by_design=GPU),
    Sentence("stacked-speed-2", "stacked-filters: Figure 3", "with the difference between 1-2×",
             "twice the time of a query of bloom / that of stacked, the slower of positive and negative", factor=1,
             claim="stacked-speed", timed=True,
             judge=lambda rows: 2 * min(rows.all("base=bloom", "speed"))),
    Sentence("stacked-speed-bases", "stacked-filters: Section 8.2",
             "the computational costs of Stacked Cuckoo and Stacked Quotient Filters follow the same patterns",
             "twice the time of a query of cf or qf / that of its stack, the slowest of all", factor=1, claim="stacked-speed", timed=True,
             judge=lambda rows: 2 * min(rows.all("base=cf", "speed") + rows.all("base=qf", "speed"))),
    Sentence("stacked-speed-about-2", "stacked-filters: Section 4.4", "The cost of querying positive elements is about 2× the cost of a single filter",
             "twice the time of a positive query of bloom / that of stacked", factor=1, claim="stacked-speed", timed=True,
             judge=lambda rows: 2 * rows.get("base=bloom,queries=positive", "speed")),
    Sentence("stacked-speed-negative", "stacked-filters: Figure 3", "have essentially identical computational cost",
             "time of a negative query of bloom / of stacked", factor=1, similar=True, claim="stacked-speed", timed=True,
             judge=lambda rows: rows.get("base=bloom,queries=negative", "speed")),
    Sentence("stacked-speed-positive", "stacked-filters: Figure 3", "about 1.5× the cost of the Bloom Filter probe",
             "1.5 times the time of a positive query of bloom / that of stacked", factor=1, similar=True, claim="stacked-speed", timed=True,
             judge=lambda rows: 1.5 * rows.get("base=bloom,queries=positive", "speed")),
    Sentence("stacked-sandwiched-3", "stacked-filters: Figure 3", "they are at least 3× more expensive",
             "time of a negative query of sandwiched / of bloom, URLs, 10 bits", factor=3, claim="stacked-total", timed=True,
             judge=ratio("negative_ns", "keys=urls,filter=sandwiched,bits=10", "keys=urls,filter=bloom,bits=10"), by_design=GPU),
    Sentence("stacked-sandwiched-90", "stacked-filters: Figure 3", "can be as much as 90× more computationally expensive",
             "time of a negative query of sandwiched / of bloom, the largest factor of all keys and sizes", factor=90,
             claim="stacked-total", timed=True, by_design=GPU,
             judge=lambda rows: max(a / b for a, b in zip(rows.all("filter=sandwiched", "negative_ns"),
                                                          rows.all("filter=bloom", "negative_ns")))),
    Sentence("stacked-170", "stacked-filters: Figure 3", "while maintaining a 170x throughput advantage",
             "time of a negative query of learned / of stacked, URLs, 10 bits", factor=170, claim="stacked-total", timed=True,
             judge=ratio("negative_ns", "keys=urls,filter=learned,bits=10", "keys=urls,filter=stacked,bits=10"), by_design=GPU),
    Sentence("stacked-total-130", "stacked-filters: Figure 3", "total workload costs which are 1.4-130× lower",
             "total cost of bloom / of stacked on a hard disk, the largest factor", factor=130, claim="stacked-total", timed=True,
             judge=lambda rows: max(b / s for b, s in zip(rows.all("filter=bloom", "hdd_us"), rows.all("filter=stacked", "hdd_us")))),
    Sentence("stacked-total-14", "stacked-filters: Figure 3", "total workload costs which are 1.4-130× lower",
             "total cost of bloom / of stacked on a hard disk, the smallest factor", factor=1.4, claim="stacked-total", timed=True,
             judge=lambda rows: min(b / s for b, s in zip(rows.all("filter=bloom", "hdd_us"), rows.all("filter=stacked", "hdd_us")))),
    Sentence("stacked-total-1028", "stacked-filters: Figure 3", "resulting in 1.5-1028× lower total workload costs",
             "total cost of sandwiched / of stacked on a hard disk, the largest factor", factor=1028, claim="stacked-total", timed=True,
             judge=lambda rows: max(b / s for b, s in zip(rows.all("filter=sandwiched", "hdd_us"), rows.all("filter=stacked", "hdd_us")))),
    Sentence("stacked-throughput-100", "stacked-filters: Section 1", "offer throughput up to 100× better than classifier-based filters",
             "time of a negative query of learned / of stacked, FireHose, the largest factor", factor=100, claim="stacked-total", timed=True,
             by_design=GPU, judge=lambda rows: max(a / b for a, b in zip(rows.all("keys=firehose,filter=learned", "negative_ns"),
                                                                        rows.all("keys=firehose,filter=stacked", "negative_ns")))),
    Sentence("stacked-total-learned", "stacked-filters: Figure 3", "resulting in 1.5-1028× lower total workload costs",
             "total cost of sandwiched / of stacked on a hard disk, the smallest factor, which is that of URLs", factor=1.5,
             claim="stacked-total", timed=True, by_design=URLS,
             judge=lambda rows: min(b / s for b, s in zip(rows.all("filter=sandwiched", "hdd_us"),
                                                          rows.all("filter=stacked", "hdd_us")))),
    # ---------------------------------------------------------------- planning and building
    Sentence("stacked-plan-ms", "stacked-filters: Table 2", "10^-5 0.00172 3.7 ms", "3.7 ms / time to plan with equal rates, epsilon 1e-5",
             factor=1, claim="stacked-plan", timed=True, judge=lambda rows: 3.7 / rows.get("epsilon=1e-05", "bloom_equal_ms")),
    Sentence("stacked-plan-first", "stacked-filters: Table 2", "10^-2 0.00175 775µs", "0.775 ms / time to plan with equal rates, epsilon 1e-2",
             factor=1, claim="stacked-plan", timed=True, judge=lambda rows: 0.775 / rows.get("epsilon=0.01", "bloom_equal_ms")),
    Sentence("stacked-plan-cuckoo", "stacked-filters: Table 2", "0.00172 26.7 s 0.00184 367 ms", "367 ms / time to plan a stack of cf, epsilon 1e-5",
             factor=1, claim="stacked-plan", timed=True, judge=lambda rows: 367 / rows.get("epsilon=1e-05", "cf_ms")),
    Sentence("stacked-plan-cuckoo-first", "stacked-filters: Table 2", "0.00175 47 ms 0.00203 12 ms",
             "12 ms / time to plan a stack of cf, epsilon 1e-2", factor=1, claim="stacked-plan", timed=True,
             judge=lambda rows: 12 / rows.get("epsilon=0.01", "cf_ms")),
    Sentence("stacked-plan-cuckoo-close", "stacked-filters: Table 2", "0.00175 47 ms 0.00203 12 ms",
             "planned rate of a stack of cf with epsilon 1e-2 / with 1e-5; the paper: 0.00203 / 0.00184 = 1.1, at most", factor=1,
             similar=True, claim="stacked-plan", judge=lambda rows: rows.get("epsilon=0.01", "cf_fpr") / rows.get("epsilon=1e-05", "cf_fpr")),
    Sentence("stacked-plan-varied-slow", "stacked-filters: Table 2", "10^-5 0.00172 3.7 ms 0.00172 26.7 s",
             "time to plan with varied rates / with equal ones, epsilon 1e-5", factor=7200, claim="stacked-plan", timed=True,
             judge=columns("bloom_varied_ms", "bloom_equal_ms", "epsilon=1e-05"),
             by_design="besom searches varied rates with bounds instead of a gradient-free polish, so that it is almost as fast"),
    Sentence("stacked-plan-varied", "stacked-filters: Table 2", "While this method very occasionally achieves improvements",
             "planned rate with varied rates / with equal ones, epsilon 1e-4", factor=1, similar=True, claim="stacked-plan",
             judge=columns("bloom_varied_fpr", "bloom_equal_fpr", "epsilon=0.0001")),
    Sentence("stacked-plan-close", "stacked-filters: Table 2", "10^-2 0.00175 775µs",
             "planned rate with epsilon 1e-2 / with 1e-5, equal rates; the paper: 0.00175 and 0.00172", factor=1, similar=True,
             claim="stacked-plan", judge=lambda rows: rows.get("epsilon=0.01", "bloom_equal_fpr") / rows.get("epsilon=1e-05", "bloom_equal_fpr")),
    Sentence("stacked-build-slowly", "stacked-filters: Figure 5", "the construction cost grows slowly with the number of the frequently queried negatives",
             "40, the growth of the number of frequent keys / the growth of the time to build", claim="stacked-build", timed=True,
             judge=lambda rows: 40 * rows.get("frequent_per_member=0.1", "stacked_ns") / rows.get("frequent_per_member=4", "stacked_ns")),
    Sentence("stacked-build-learned", "stacked-filters: Figure 5", "is significantly faster than classifier-based filters",
             "time to build learned / stacked, one frequent key per member", claim="stacked-build", timed=True,
             judge=columns("learned_ns", "stacked_ns", "frequent_per_member=1")),
    Sentence("stacked-build-bloom", "stacked-filters: Figure 5", "and is comparable to query-agnostic filters",
             "time to build bloom / stacked, 0.1 frequent keys per member", factor=1, similar=True, claim="stacked-build", timed=True,
             judge=columns("bloom_ns", "stacked_ns", "frequent_per_member=0.1")),
    # ---------------------------------------------------------------- robustness
    Sentence("stacked-shift-60", "stacked-filters: Figure 5", "loses more than 60% of its initial set",
             "share of the frequent keys' queries that may be lost before bloom is better / 60 %, Zipf 0.75", factor=1,
             claim="stacked-shift", judge=lambda rows: share_lost(rows, "0.75") / 0.6),
    Sentence("stacked-shift-50", "stacked-filters: Figure 5", "never more than 50% worse than a query-agnostic filter",
             "1.5 times the rate of bloom / the rate of stacked, all frequent keys lost, the worst exponent", factor=1,
             bound=True, claim="stacked-shift", judge=lambda rows: 1.5 / max(rows.all("queries_kept=0.0", "to_bloom"))),
    Sentence("stacked-misspecified-wins", "stacked-filters: Figure 5", "retains most of its performance and outperforms query-agnostic filters",
             "rate of bloom / of stacked, planned for the worst of the wrong exponents", claim="stacked-misspecified",
             judge=lambda rows: 1 / max(rows.all(None, "to_bloom"))),
    Sentence("stacked-uniform-25", "stacked-filters: Figure 5", "anywhere up to 25",
             "largest number of absent keys per member at which a stack of several layers is better / 25, uniform queries", factor=1,
             claim="stacked-uniform", judge=lambda rows: better_up_to(rows) / 25),
    # ---------------------------------------------------------------- theory
    Sentence("stacked-theorem-3", "stacked-filters: Theorem 3", "then only 7% of negative queries need to be at values in",
             "7 % / the share by the formula of Theorem 3, alpha = 0.01, as many frequent keys as members",
             factor=1, similar=True, claim="stacked-theory",
             judge=lambda rows: 7 / rows.get("figure=2ab,by=theorem,fpr=0.01,frequent_per_member=1", "share_percent")),
    Sentence("stacked-theory-25", "stacked-filters: Figure 2", "contain 25% of all negative queries",
             "25 % / the share by the formula of Theorem 3, alpha = 0.05, half as many frequent keys as members", factor=1, similar=True,
             claim="stacked-theory",
             judge=lambda rows: 25 / rows.get("figure=2ab,by=theorem,fpr=0.05,frequent_per_member=0.5", "share_percent")),
    Sentence("stacked-theory-7-bits", "stacked-filters: Figure 2", "going up to 7 bits per element saved",
             "largest saving of the theory / 7 bits per key", factor=1, claim="stacked-theory",
             judge=lambda rows: max(rows.all("figure=2c", "saved_bits")) / 7),
    Sentence("stacked-example-space", "stacked-filters: Section 3", "has 2% higher space costs than a traditional filter",
             "1.02 times the bytes of one Bloom filter / of three layers with that rate, as many frequent absent keys as members",
             factor=1, similar=True, claim="stacked-theory"),
    Sentence("stacked-example-rate", "stacked-filters: Section 3", "a full 100× lower",
             "rate of one Bloom filter / of three layers, for the frequent absent keys, all rates 0.01", factor=100,
             claim="stacked-theory"),
    # ---------------------------------------------------------------- adaptive stacked filters
    Sentence("asf-16", "stacked-filters: Figure 6", "ASFs process the workload 1.6× faster than query-agnostic filters",
             "total time of bloom / of the published adaptive stacked filter, both phases", factor=1.6, claim="asf", timed=True),
    Sentence("asf-phase-1", "stacked-filters: Figure 6", "the ASF results in better performance over the workload compared with the query-agnostic filter",
             "total time of bloom / of the published adaptive stacked filter, first phase", claim="asf", timed=True,
             judge=lambda rows: first_phase(rows, "bloom") / first_phase(rows, "asf")),
    Sentence("asf-quarter", "stacked-filters: Figure 6", "its FPR drops to nearly 1/4 of its previous value",
             "rate before / after the third layer is built", factor=4, claim="asf"),
    Sentence("asf-3", "stacked-filters: Figure 6", "is 3× more performant than the query-agnostic",
             "time per query of bloom / of the adaptive stacked filter after its third layer", factor=3, claim="asf", timed=True),
    Sentence("asf-static", "stacked-filters: Figure 6", "compared to a static Stacked Filter on phase 1, ASF is about $1.6 \\times$ worse",
             "1.6 times the total time of a stacked filter that knew the workload / that of the published adaptive one, first phase",
             factor=1, similar=True, claim="asf", timed=True,
             judge=lambda rows: 1.6 * first_phase(rows, "stacked") / first_phase(rows, "asf")),
]
