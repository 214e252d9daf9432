"""The papers, which of their figures are tested, and the verdicts on their sentences.

A claim names its source as "paper: Figure 1, Table 2".
"""

import collections
import os

import sentences
import verdicts

OWN = "besom"

# The texts of the papers, where they are present: the quotes are checked against them.
TEXTS = {"adaptiveqf": "adaptiveqf.txt", "telescoping": "telescoping-filter.txt",
         "thesis": "adaptive-quotient-filter-thesis.txt", "adapt-or-cache": "adapt-or-cache.txt",
         "stacked-filters": "stacked-filters.txt"}


def numbered(word, *numbers):
    return [f"{word} {number}" for number in numbers]


# Short name: title, authors and year, and each figure, table, section or theorem that has a claim.
PAPERS = {
    "adaptiveqf": (
        "Adaptive Quotient Filters",
        "Wen, McCoy, Tench, Tagliavini and others, 2024",
        numbered("Figure", *range(3, 10)) + numbered("Table", *range(1, 6)) + ["Theorem 2", "Section 4.4", "Section 6.1", "Section 6.9"],
    ),
    "telescoping": (
        "Telescoping Filter: A Practical Adaptive Filter",
        "Lee, McCauley, Singh and Stein, 2021",
        numbered("Figure", *range(2, 6)) + ["Theorem 1", "Lemma 2", "Corollary 3", "Theorem 4"],
    ),
    "thesis": (
        "A Practical Adaptive Quotient Filter",
        "Lee, 2021",
        numbered("Figure", *(f"6.{i}" for i in range(1, 10))),
    ),
    "adapt-or-cache": (
        "Mitigating False Positives in Filters: to Adapt or to Cache?",
        "Bender, Das, Farach-Colton, Mo, Tench and Wang, 2021",
        ["Lemma 1"] + numbered("Theorem", 2, 5, 6) + numbered("Figure", *range(1, 6)) + numbered("Table", *range(2, 5)),
    ),
    "stacked-filters": (
        "Stacked Filters: Learning to Filter by Structure",
        "Deeds, Hentschel and Idreos, 2021",
        ["Theorem 1", "Theorem 2", "Theorem 3", "Table 2"] + numbered("Figure", *range(2, 7)),
    ),
    OWN: ("Claims about besom", "targets of this project", []),
}


def references(source):
    """[(paper, item)] of "paper: Figure 1, Table 2; other: Figure 3"; empty for our own claims."""
    if source == OWN:
        return []
    found = []
    for part in source.split("; "):
        paper, _, items = part.partition(": ")
        found += [(paper, item) for item in items.split(", ")]
    return found


def home(source):
    """The paper under which a claim is shown."""
    return source.partition(":")[0]


def own_verdict(record):
    """The verdict on a claim of our own."""
    if not record:
        return verdicts.NOT_TESTED
    return "holds" if record.verdict == "holds" else "does not hold"


def parts(record):
    """How many of our own bars were met, unless all were."""
    return f"{record.about['parts']} parts hold" if record and record.verdict != "holds" else ""


def paper_key(paper):
    """The name of a paper among names of claims, which may be the same."""
    return f"paper-{paper}"


def judge(results, listed):
    """({claim name: [Verdict]}, errors). Sentences without a claim stand under paper_key of their paper."""
    found, wrong = collections.defaultdict(list), []
    known = {claim["name"]: (record, error) for claim, record, error in results}
    shown = {home(claim["source"]) for claim, _, _ in results}
    for sentence in listed:
        if sentence.claim not in known and (sentence.claim or home(sentence.source) not in shown):
            continue  # not chosen for this report
        try:
            verdict = verdicts.judge(sentence, *known.get(sentence.claim, (None, None)))
        except ValueError as error:
            wrong.append(str(error))
            verdict = verdicts.Verdict(sentence, verdicts.NOT_TESTED, remark=str(error))
        found[sentence.claim or paper_key(home(sentence.source))].append(verdict)
    names = {sentence.name for sentence in listed}
    for claim, record, _ in results:
        stray = [name[9:] for name in (record.about if record else ()) if name.startswith("measured ") and name[9:] not in names]
        wrong += [f"{claim['name']} measured '{name}', which is no sentence in bench/report/sentences" for name in stray]
    return found, wrong


def count(found):
    """{verdict: number of sentences}, in the order of verdicts.ALL."""
    counts = collections.Counter(each.verdict for list_ in found.values() for each in list_)
    return {verdict: counts[verdict] for verdict in verdicts.ALL if counts[verdict]}


def place_of(source):
    """Where a claim stands in its paper: sorted by the first figure that it is about."""
    paper, items = home(source), [item for _, item in references(source)]
    known = PAPERS[paper][2]
    return min((known.index(item) for item in items if item in known), default=len(known))


def chapters(results):
    """[(short name, title, authors, results)] of all papers; the results ordered by figure.

    A result is (claim, record or None, error). It stands under one paper, even if it is about two.
    """
    return [(paper, title, authors, sorted((result for result in results if home(result[0]["source"]) == paper),
                                             key=lambda result: place_of(result[0]["source"])))
            for paper, (title, authors, _) in PAPERS.items()]


def by_paper(found):
    """[(short name, title, authors, verdicts)] of the papers with verdicts."""
    every = [verdict for list_ in found.values() for verdict in list_]
    shown = [(paper, title, authors, [each for each in every if home(each.sentence.source) == paper])
             for paper, (title, authors, _) in PAPERS.items()]
    return [chapter for chapter in shown if chapter[3]]


def check_sources(claims):
    wrong, covered = [], set()
    for claim in claims:
        if home(claim["source"]) not in PAPERS:
            wrong.append(f"{claim['name']}: there is no paper '{home(claim['source'])}'")
        for paper, item in references(claim["source"]):
            covered.add((paper, item))
            if paper not in PAPERS:
                wrong.append(f"{claim['name']}: there is no paper '{paper}'")
            elif item not in PAPERS[paper][2] and not item.startswith("Section"):
                wrong.append(f"{claim['name']}: {paper} has no {item} in papers.py")
    for paper, (_, _, items) in PAPERS.items():
        wrong += [f"no claim is about {paper}, {item}" for item in items if (paper, item) not in covered]
    return wrong


def check_sentences(claims, listed):
    """Every sentence has a claim or a reason, and every claim about a paper has a sentence."""
    names, judged, wrong = {claim["name"] for claim in claims}, {each.claim for each in listed}, []
    for sentence in listed:
        if home(sentence.source) not in TEXTS:
            wrong.append(f"sentence {sentence.name}: there is no paper '{home(sentence.source)}'")
        if not sentence.claim and not sentence.by_design and not sentence.not_testable:
            wrong.append(f"sentence {sentence.name} has no verdict: it needs a claim, or a reason why there is none")
        if sentence.claim and sentence.claim not in names:
            wrong.append(f"sentence {sentence.name}: there is no claim '{sentence.claim}'")
    twice = [name for name, number in collections.Counter(each.name for each in listed).items() if number > 1]
    wrong += [f"two sentences are called {name}" for name in twice]
    return wrong + [f"{claim['name']} is about a paper, but no sentence is judged by it"
                    for claim in claims if claim["source"] != OWN and claim["name"] not in judged]


def check(claims, listed, directory):
    """Errors in the sources of the claims and in the sentences; an empty list if there are none.

    directory: the texts of the papers. If it is missing, the quotes are not checked.
    """
    wrong = check_sources(claims) + check_sentences(claims, listed)
    if not wrong and os.path.isdir(directory):
        wrong += sentences.check_quotes(listed, directory, TEXTS)
    return wrong
