"""Verdicts: one per sentence of a paper, computed from the factors that a claim measured."""

import math
from typing import NamedTuple, Optional

REPRODUCED, WEAKER, CONTRADICTED, UNDECIDED = "reproduced", "weaker", "contradicted", "not decided"
FASTER_BASELINE = "differs: baseline is faster"
BY_DESIGN, NOT_TESTABLE, NOT_TESTED = "differs by design", "not testable here", "not tested"
ALL = (REPRODUCED, WEAKER, CONTRADICTED, UNDECIDED, FASTER_BASELINE, BY_DESIGN, NOT_TESTABLE, NOT_TESTED)

MEANINGS = {
    REPRODUCED: "our factor is at least 0.8 of the paper's, and its 95 % interval excludes the other direction; if the paper only "
                "gives a direction, the interval excludes the other one; if it says that two things are similar, the whole interval "
                "is within 0.8 to 1.25; a bound is not exceeded",
    WEAKER: "the same direction, but less than 0.8 of the paper's factor; or no clear difference; or an interval that is partly "
            "outside 0.8 to 1.25, for things that are similar by the paper",
    CONTRADICTED: "the 95 % interval excludes the paper's direction, or is outside 0.8 to 1.25 for things that are similar by the "
                  "paper, or a bound is exceeded",
    UNDECIDED: "the 95 % interval is wider than a factor of 2 and contains the threshold: more seeds would decide; or a ratio of "
               "times was measured once",
    FASTER_BASELINE: "the factor is smaller because what the paper divides by takes less time here; both times are given",
    BY_DESIGN: "besom does something else here on purpose",
    NOT_TESTABLE: "it needs hardware, data or a program that is not here",
    NOT_TESTED: "the claim could not be run, or was not run at this size",
}

REACHED = 0.8        # of the paper's factor; things are similar within this and its reciprocal
TOO_WIDE = 2         # an interval of this factor or more decides nothing about what is inside of it
LEAST_ROUNDS = 3     # of a factor of times
BUSY = 0.25          # cores busy with other work, from which a time is in doubt

# Two-sided 95 % quantiles of Student's t, by degrees of freedom; 1.96 beyond.
STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
           2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


class Verdict(NamedTuple):
    sentence: object
    verdict: str
    factor: Optional[float] = None  # the geometric mean over seeds or rounds
    low: Optional[float] = None     # the 95 % interval; None with a single seed
    high: Optional[float] = None
    count: int = 0                  # seeds or rounds
    remark: str = ""


def interval(factors):
    """(geometric mean, low, high): 95 % interval of the mean of the logarithms. One factor is its own interval."""
    logs = [math.log(factor) for factor in factors]
    mean, n = sum(logs) / len(logs), len(logs)
    if n == 1:
        return factors[0], factors[0], factors[0]
    deviation = math.sqrt(sum((each - mean) ** 2 for each in logs) / (n - 1))
    half = (STUDENT[n - 2] if n - 2 < len(STUDENT) else 1.96) * deviation / math.sqrt(n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def decide(wanted, mean, low, high, bound=False, similar=False):
    """The verdict of a mean and its 95 % interval. wanted: the paper's factor; None for a direction only."""
    thresholds = (REACHED, 1 / REACHED) if similar else (1 if wanted is None else REACHED * wanted,)
    if high >= TOO_WIDE * low and any(low < threshold < high for threshold in thresholds) and not bound:
        return UNDECIDED
    if bound:
        return CONTRADICTED if high < 1 else REPRODUCED
    if similar:
        if high < REACHED or low > 1 / REACHED:
            return CONTRADICTED
        return REPRODUCED if low >= REACHED and high <= 1 / REACHED else WEAKER
    if wanted is None:
        return REPRODUCED if low > 1 else CONTRADICTED if high < 1 else WEAKER
    if high < 1 and high < REACHED * wanted:
        return CONTRADICTED
    clear = low > 1 or wanted <= 1  # an interval that includes 1 does not show a factor above 1
    return REPRODUCED if mean >= REACHED * wanted and clear else WEAKER


def measured(sentence, record):
    """The factors of a sentence; raises ValueError if the record of its claim has none."""
    if sentence.judge:
        try:
            return [float(sentence.judge(rows)) for rows in record.seeds]
        except (ArithmeticError, LookupError, ValueError) as error:
            raise ValueError(f"the sentence {sentence.name} cannot be judged by the record of {sentence.claim}: {error}") from None
    text = record.about.get(f"measured {sentence.name}")
    if text is None:
        raise ValueError(f"claim {sentence.claim} measured no factor for the sentence {sentence.name}")
    return [float(factor) for factor in text.split()]


def remarks_of(sentence, factors, record):
    found = []
    if record.stale:
        found.append(f"stale: {record.stale}")
    if len(factors) == 1:
        found.append("one measurement, no interval")
    try:
        busy = float(record.about.get("other_load", 0))
    except ValueError:
        busy = 0
    done = record.about.get("seeds", "1")
    if done != record.about.get("wanted_seeds", done):
        found.append(f"{done} of {record.about['wanted_seeds']} seeds, because of the time limit")
    if sentence.timed and busy > BUSY:
        found.append(f"warning: the machine was loaded, other programs used {busy:.1f} cores")
    return "; ".join(found)


def judge(sentence, record, error=None):
    """The verdict of a sentence. record: of its claim, or None with the error of the claim."""
    if sentence.not_testable:
        return Verdict(sentence, NOT_TESTABLE, remark=sentence.not_testable)
    if sentence.by_design and not sentence.claim:
        return Verdict(sentence, BY_DESIGN, remark=sentence.by_design)
    if record is None:
        return Verdict(sentence, NOT_TESTED, remark=error or "the claim was not run")
    factors = measured(sentence, record)
    if min(factors) <= 0 or not all(map(math.isfinite, factors)):
        raise ValueError(f"the sentence {sentence.name} has the factors {factors}: they must be positive and finite")
    few_times = sentence.timed and len(factors) < LEAST_ROUNDS
    if few_times and not sentence.once:
        raise ValueError(f"the sentence {sentence.name} is about times: it needs {LEAST_ROUNDS} rounds, not {len(factors)}")
    mean, low, high = interval(factors)
    if sentence.by_design:
        return Verdict(sentence, BY_DESIGN, mean, low, high, len(factors), sentence.by_design)
    verdict, remark = decide(sentence.factor, mean, low, high, sentence.bound, sentence.similar), remarks_of(sentence, factors, record)
    if few_times:
        verdict = UNDECIDED
    if sentence.faster_baseline and verdict in (WEAKER, CONTRADICTED):
        verdict, remark = FASTER_BASELINE, "; ".join(filter(None, (sentence.faster_baseline, remark)))
    return Verdict(sentence, verdict, mean, low, high, len(factors), remark)
