"""The sentences of the papers that have a number or a comparison. Each gets one verdict (verdicts.py).

One module per paper, or per subject, with a list SENTENCES. A sentence states:

    Sentence("aqf-zipf-100",                  its id, unique
             "adaptiveqf: Figure 7",          the paper (papers.py) and where the sentence stands
             "reduce their FPR by up to 100", a quote, short, as the paper prints it
             "false positives of qf / of aqf",the factor: what is divided by what, so that above 1 is the paper's direction
             factor=100,                      the paper's factor; None if it only gives the direction; 1 for "at least as"
             claim="zipf")                    the claim that measures it

and one of these:

- The claim, in C, calls add_factor(&found, "aqf-zipf-100", factor) once per seed; one of time, once per round.
- judge=function: the factor of one seed, from the rows that the claim printed for it (records.Rows): judge(rows) -> factor.
  The claim states how many seeds the report runs (.seeds).
- by_design="reason": besom differs here on purpose. With a claim, its factor is shown beside the reason.
- not_testable="reason": why it cannot be tested here.

faster_baseline="times": if the factor is not reached, that is because what the paper divides by is faster here; with the
  absolute times of both, in the paper and here, as far as the paper gives them.

similar=True: the paper says that two things are equal, similar, comparable or close; factor=1. Neither may be much larger.
bound=True: a bound that a theorem proves, or the word "never"; factor=1. It may not be exceeded, not even by a little.
timed=True: the factors are ratios of times. They need at least three rounds, and a warning is shown if the machine was loaded.
once=True: a ratio of times that the claim measures once, beside others. Its factor is shown, and is not decided.
A sentence that has a count and a time becomes two sentences, so that no time can change the verdict of a count.
"""

import importlib
import math
import os
import re
from typing import Callable, NamedTuple, Optional


class Sentence(NamedTuple):
    name: str
    source: str
    quote: str
    says: str  # what the factor compares
    factor: Optional[float] = None
    claim: Optional[str] = None
    timed: bool = False
    bound: bool = False
    similar: bool = False
    judge: Optional[Callable] = None
    by_design: Optional[str] = None
    not_testable: Optional[str] = None
    faster_baseline: Optional[str] = None
    once: bool = False


def collect():
    """All sentences, by module."""
    here, found = os.path.dirname(os.path.abspath(__file__)), []
    for name in sorted(os.listdir(here)):
        module, extension = os.path.splitext(name)
        if extension == ".py" and module != "__init__":
            found += importlib.import_module(f"sentences.{module}").SENTENCES
    return found


def letters(text):
    """The letters and digits of a text: hyphens, line breaks and formulas differ between prints of a paper."""
    text = re.sub(r"\\(?:times|approx|sim|text\w*|math\w*|left|right|%)", "", text)
    return re.sub(r"[^a-z0-9]", "", text.lower().replace("ﬁ", "fi").replace("ﬂ", "fl"))


def check_quotes(sentences, directory, files):
    """Errors of quotes that are not in the text of their paper. files: {paper: name of its text}."""
    texts, wrong = {}, []
    for sentence in sentences:
        paper = sentence.source.partition(":")[0]
        path = os.path.join(directory, files[paper])
        if path not in texts:
            with open(path, encoding="utf-8") as file:
                texts[path] = letters(file.read())
        if letters(sentence.quote) not in texts[path]:
            wrong.append(f"sentence {sentence.name}: the paper does not say '{sentence.quote}'")
    return wrong


# ------------------------------------------------------------------ judges

def ratio(column, over, under, scale=1):
    """The factor scale * (column of the row `over`) / (column of the row `under`)."""
    return lambda rows: scale * rows.get(over, column) / rows.get(under, column)


def columns(over, under, where=None, choose=None):
    """The factor (column over) / (column under), over the rows chosen: geometric mean, or choose (min, max)."""
    def judge(rows):
        pairs = zip(rows.all(where, over), rows.all(where, under))
        return (choose or geometric_mean)([a / b for a, b in pairs])
    return judge


def geometric_mean(numbers):
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers))
