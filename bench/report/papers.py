"""The papers, and which of their figures are tested. A claim names its source as "paper: Figure 1, Table 2"."""

OWN = "besom"


def numbered(word, *numbers):
    return [f"{word} {number}" for number in numbers]


# Short name: title, authors and year, and each figure, table, section or theorem that has a claim.
PAPERS = {
    "adaptiveqf": (
        "Adaptive Quotient Filters",
        "Wen, McCoy, Tench, Tagliavini and others, 2024",
        numbered("Figure", *range(3, 10)) + numbered("Table", *range(1, 6)) + ["Section 6.9"],
    ),
    "telescoping": (
        "Telescoping Filter: A Practical Adaptive Filter",
        "Lee, McCauley, Singh and Stein, 2021",
        numbered("Figure", *range(2, 6)) + ["Theorem 4"],
    ),
    "thesis": (
        "A Practical Adaptive Quotient Filter",
        "Lee, 2021",
        numbered("Figure", *(f"6.{i}" for i in range(1, 10))),
    ),
    "adapt-or-cache": (
        "Mitigating False Positives in Filters: to Adapt or to Cache?",
        "Bender, Das, Farach-Colton, Mo, Tench and Wang, 2021",
        numbered("Figure", *range(1, 6)) + numbered("Table", *range(2, 5)),
    ),
    "stacked-filters": (
        "Stacked Filters: Learning to Filter by Structure",
        "Deeds, Hentschel and Idreos, 2021",
        ["Theorem 3", "Table 2"] + numbered("Figure", *range(2, 7)),
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


def verdict(record):
    return record.verdict if record else "not tested"


def parts(record):
    """How many parts of a claim hold, if it holds partly."""
    return f"{record.about['parts']} parts" if record and record.verdict == "holds partly" else ""


def chapters(results):
    """[(title, authors, results)] of the papers with results. A result is (claim, record or None, error)."""
    shown = [(title, authors, [result for result in results if home(result[0]["source"]) == paper])
             for paper, (title, authors, _) in PAPERS.items()]
    return [chapter for chapter in shown if chapter[2]]


def outline(results):
    """[(title, [(item, results)])] of the papers with results; our own claims have an empty item."""
    lines = []
    for paper, (title, _, items) in PAPERS.items():
        about = {item: [] for item in items}
        for result in results:
            for other, item in references(result[0]["source"]):
                if other == paper:
                    about.setdefault(item, []).append(result)
        own = [("", [result]) for result in results if paper == result[0]["source"] == OWN]
        lines.append((title, [(item, found) for item, found in about.items() if found] + own))
    return [line for line in lines if line[1]]


def check(claims):
    """Errors in the sources of these claims; an empty list if there are none."""
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
