"""The sentences of the papers that have a number or a comparison. Each gets one verdict (verdicts.py).

One module per paper, or per subject, with a list SENTENCES. A sentence states:

    Sentence("aqf-zipf-100",                  its id, unique
             "adaptiveqf: Figure 7",          the paper (papers.py) and where the sentence stands
             "reduce their FPR by up to 100", a quote, short, as the paper prints it
             "false positives of qf / of aqf",the factor: what is divided by what, so that above 1 is the paper's direction
             factor=100,                      the paper's factor; None if it only gives the direction; 1 for "about the same"
             claim="zipf")                    the claim that measures it

and one of these:

- The claim, in C, calls add_factor(&found, "aqf-zipf-100", factor) once per seed; one of time, once per round.
- judge=function: gives the factors, one per seed or round, from the record of the claim: judge(record) -> [factor].
- by_design="reason": besom differs here on purpose. not_testable="reason": why it cannot be tested here. Neither has a claim.

timed=True: the factors are ratios of times. They need at least three rounds, and a warning is shown if the machine was loaded.
A sentence that has a count and a time becomes two sentences, so that no time can change the verdict of a count.
"""

import importlib
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
    judge: Optional[Callable] = None
    by_design: Optional[str] = None
    not_testable: Optional[str] = None


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
