"""The numbers that the papers print, for our plots: beside our own points, never instead of them."""

from typing import NamedTuple, Optional


class Points(NamedTuple):
    """What a paper prints, for one plot: {label: [(x, y)]}. A line connects them if `line`."""
    claim: str
    plot: str                    # how the title of the plot begins
    curves: object               # {label: [(x, y)]}, or a function of the rows of the panel
    panel: Optional[str] = None  # only on the panel with this value
    line: bool = True


EPS = ("0.0009766", "0.001953", "0.003906", "0.007812", "0.01562")  # 2^-10 to 2^-6


def corrections(direct, serendipitous):
    """A table of the paper on serendipitous corrections: corrections per round."""
    return {"paper, Chicago A: direct": list(zip(EPS, direct)), "paper, Chicago A: serendipitous": list(zip(EPS, serendipitous))}


def shares(trace, direct, serendipitous):
    return {f"paper: {trace}": [(eps, 100 * s / (d + s)) for eps, d, s in zip(EPS, direct, serendipitous)]}


def horizontal(rows, x, label, y):
    """A horizontal line over the range of x."""
    values = sorted(float(row[x]) for row in rows if row[x])
    return {label: [(values[0], y), (values[-1], y)]}


def zipf_reference(rows):
    """The average of qf over all hash seeds, and a hundredth of it."""
    average = float(next(row["qf_all_seeds"] for row in rows.whole if row["qf_all_seeds"]))
    return {**horizontal(rows, "until_query", "qf, average of all hash seeds", average),
            **horizontal(rows, "until_query", "paper: a hundredth of that", average / 100)}


def qf_losses(rows):
    """The speed of qf that is left according to the paper: a half at 1.5 %, a third at 3 %, a tenth at 10 %."""
    alone = float(next(row["queries_per_second"] for row in rows if row["kind"] == "qf" and row["adversarial_percent"] == "0"))
    return {"paper: qf": [(1.5, alone / 2), (3, alone / 3), (10, alone / 10)]}


def linear_scaling(rows):
    one = float(next(row["million_per_second"] for row in rows if row["operation"] == "insert" and row["threads"] == "1"))
    most = max(float(row["threads"]) for row in rows)
    return {"paper: inserts, linear": [(1, one), (most, most * one)]}


def five_and_hundred(rows):
    alone = [(row["bits"], float(row["fpr"])) for row in rows if row["curve"] == "alone"]
    return {"paper: 5 times lower": [(x, y / 5) for x, y in alone], "paper: 100 times lower": [(x, y / 100) for x, y in alone]}


def of_vacuum(rows):
    return {"paper: taf": [(0.95, 0.75 * float(row["vacuum"])) for row in rows if row["load"] == "0.95"]}


def slower_by_a_fifth(rows):
    aqf = {row["queries"]: float(row["million_per_second"]) for row in rows if row["filter"] == "aqf"}
    return {"paper: cf + 1 bit": [(queries, 0.8 * speed) for queries, speed in aqf.items()]}


def slower_puts(rows):
    """The AQF has 5 times the puts of the ACF and 30 times those of the TQF, between 85 and 90 % load."""
    aqf = float(next(row["puts_per_second"] for row in rows if row["kind"] == "aqf" and row["load_percent"] == "90"))
    return {"paper: acf-cyclic": [(90, aqf / 5)], "paper: taf": [(90, aqf / 30)]}


def below(label, of, *percents):
    """Curves of the paper that lie by these percentages below the column `of`."""
    return lambda rows: {f"paper: {label}, {percent} % below {of}": [(row["eps"], (1 - percent / 100) * float(row[of])) for row in rows]
                         for percent in percents}


def of_bloom(column, label, *factors):
    """Curves of the paper: the column of bloom, divided by these factors."""
    def curves(rows):
        bloom = [(row["bits"], float(row[column])) for row in rows if row["filter"] == "bloom"]
        return {f"paper: {label.format(factor)}": [(bits, value / factor) for bits, value in bloom] for factor in factors}
    return curves


def stage_of(rows, kind, stage):
    return next(row for row in rows if row["filter"] == kind and row["stage"] == stage)


def asf_time(rows):
    """After its third layer the ASF is 3 times as fast as a Bloom filter."""
    bloom, asf = stage_of(rows, "bloom", "unchanging"), stage_of(rows, "asf", "complete")
    return {"paper: complete": [("asf", float(bloom["total_s"]) / float(bloom["queries"]) * float(asf["queries"]) / 3)]}


def asf_total(rows):
    """Both phases take the ASF 1 / 1.6 of the time of a Bloom filter."""
    x, y = max((float(row["million_queries"]), float(row["cumulative_seconds"])) for row in rows if row["filter"] == "bloom")
    return {"paper: asf, 1.6 times faster": [(x, y / 1.6)]}


def asf_rate(rows):
    """With its third layer the ASF has a quarter of the false positives that it had before."""
    return {"paper: complete": [("asf", float(stage_of(rows, "asf", "learning")["fpr"]) / 4)]}


def uniform_limit(rows):
    """Better than a Bloom filter up to 25 absent keys per member."""
    return {"paper: stacked is better up to here": [(25, next(row["bloom"] for row in rows if row["keys_per_member"] == "25"))]}


CHICAGO_A = ((1017, 677, 514, 374, 197), (403, 421, 361, 248, 206))
CHICAGO_B = ((908, 570, 352, 186, 172), (301, 282, 255, 206, 198))
SAN_JOSE = ((454, 323, 198, 188, 107), (222, 228, 182, 190, 134))

POINTS = [
    # Table 2 has megabytes for 2^27 slots, although its caption says 2^26: no filter of 9-bit remainders takes 24 bits per slot.
    Points("space", "Space", {"paper": [("aqf", 12.136), ("taf", 13.000), ("acf-cyclic", 12.004), ("qf heads=no", 11.135), ("cf", 12.004)]}),
    Points("reverse-map", "Store calls", {
        "paper: inserts": [("aqf", 943718), ("taf_by_slot", 943718), ("acf-cyclic", 947815)],
        "paper: updates": [("aqf", 0), ("taf_by_slot", 3608887), ("acf-cyclic", 584829)],
        "paper: reads": [("aqf", 0), ("taf_by_slot", 3356560), ("acf-cyclic", 584829)]}),
    Points("real-speed", "Queries of public data", {
        "aqf": [("CAIDA (paper)", 31.6), ("Shalla (paper)", 15.8)], "taf": [("CAIDA (paper)", 8.4), ("Shalla (paper)", 6.7)],
        "acf-cyclic": [("CAIDA (paper)", 34.1), ("Shalla (paper)", 18.3)], "qf": [("CAIDA (paper)", 24.1), ("Shalla (paper)", 16.8)],
        "cf": [("CAIDA (paper)", 119.2), ("Shalla (paper)", 62.2)]}),
    Points("store-layouts", "Operations of both layouts", {
        "paper: merged": [("put", 232000), ("get_absent", 18430000)], "paper: split": [("put", 112000), ("get_absent", 18190000)]}),
    Points("building", "Time per key", {"paper": [
        ("insert", 0.520092), ("insert half-size", 0.353332), ("merge half-size", 0.039147),
        ("sort (qsort)", 0.348060), ("bulk insert", 0.019569)]}),
    Points("zipf", "False positives of Zipf", zipf_reference),
    Points("zipf", "Space used", lambda rows: horizontal(rows, "until_query", "paper: less than this", 0.001)),
    Points("store-adversary", "Queries while", qf_losses, panel="0.25", line=False),
    Points("store-puts", "Puts into a database", slower_puts, line=False),
    Points("fixed-dataset", "False positives relative", {
        "aqf": [("paper", 1)], "qf": [("paper", 10)], "cf": [("paper", 10)]}),
    Points("exaf-speed", "Time of a query", lambda rows: horizontal(rows, "load_factor", "paper: factor 2", 2)),
    Points("adapt-or-cache", "False positives on Zipf", below("broom", "caf_3n", 18), panel="0.5"),
    Points("adapt-or-cache", "False positives on Zipf", below("caf", "qf", 52, 91), panel="1.2"),
    Points("adapt-or-cache", "False positives on Zipf", below("broom", "qf", 95), panel="1.2"),
    Points("cache-traces", "False positives on recorded", below("caf", "qf", 52, 82), panel="repeated"),
    Points("cache-traces", "False positives on recorded", below("broom", "qf", 90, 97), panel="repeated"),
    Points("threads", "Threads that share", linear_scaling),
    Points("same-space", "Speed in front", slower_by_a_fifth),
    Points("throughput", "Operations by load", of_vacuum, panel="power_law", line=False),
    Points("selector-bits", "Bits used", {"paper: 0.812 for 4n queries": [(4, 0.812)]}, line=False),
    Points("serendipity", "Corrections per round", corrections(*CHICAGO_A), panel="repeated"),
    Points("serendipity", "Share of", {**shares("Chicago A", *CHICAGO_A), **shares("Chicago B", *CHICAGO_B),
                                       **shares("San Jose", *SAN_JOSE)}, panel="repeated"),
    Points("stacked-plan", "Time to plan", {
        "paper: bloom, equal": [(1e-2, 0.775), (1e-3, 0.781), (1e-4, 1.01), (1e-5, 3.7)],
        "paper: bloom, varied": [(1e-2, 47), (1e-3, 328), (1e-4, 2900), (1e-5, 26700)],
        "paper: cf": [(1e-2, 12), (1e-3, 13), (1e-4, 44), (1e-5, 367)]}),
    Points("stacked-plan", "Planned FPR", {
        "paper: bloom": [(1e-2, 0.00175), (1e-3, 0.00173), (1e-4, 0.00172), (1e-5, 0.00172)],
        "paper: cf": [(1e-2, 0.00203), (1e-3, 0.00190), (1e-4, 0.00184), (1e-5, 0.00184)]}),
    Points("stacked-theory", "The same for several", {"paper: FPR 0.01": [(1, 7)], "paper: FPR 0.05": [(0.5, 25)]}, line=False),
    Points("stacked-theory", "Bits saved", {"paper: up to": [(100, 7)]}, line=False),
    Points("stacked-shift", "Frequent keys", {"paper: better until": [(0.4, 1)], "paper: never above": [(0, 1.5)]}, line=False),
    Points("stacked-memory", "Bloom filters", five_and_hundred),
    Points("stacked-total", "Total cost of a negative query in front of a hard disk", of_bloom("hdd_us", "stacked, {} times lower", 1.4, 130)),
    Points("stacked-total", "Total cost of a negative query in front of an NVMe SSD", of_bloom("ssd_us", "stacked, {} times lower", 1.4, 130)),
    Points("stacked-uniform", "All absent keys", uniform_limit, line=False),
    Points("asf", "One workload", asf_time),
    Points("asf", "Popularity is reversed", asf_total, line=False),
    Points("asf", "False positives in the first", asf_rate),
    Points("stacked-speed", "Speed of stacked", {"paper: positive": [("bloom", 1 / 1.5)], "paper: negative": [("bloom", 1)]}),
]


class PanelRows(list):
    """The rows of a panel; whole: all rows of the record."""
    whole = ()


def curves_for(claim, plot, panel, rows, every):
    """{label: ([(x, y)], line)} that the paper prints for this panel of this plot."""
    found = {}
    for each in POINTS:
        if each.claim != claim or not plot["title"].startswith(each.plot) or each.panel not in (None, panel):
            continue
        here = PanelRows(rows)
        here.whole = every
        curves = each.curves(here) if callable(each.curves) else each.curves
        found.update({label: ([(str(x), str(y)) for x, y in pairs], each.line) for label, pairs in curves.items()})
    return found


def check(claims):
    """Errors: points for a plot that does not exist."""
    titles = [(claim["name"], plot["title"]) for claim in claims for plot in claim["plots"]]
    return [f"points of {each.claim}: there is no plot '{each.plot}'" for each in POINTS
            if not any(name == each.claim and title.startswith(each.plot) for name, title in titles)]
