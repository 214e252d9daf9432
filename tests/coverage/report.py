"""The figures, and the uncovered places with the judgement of each."""

import collections
import os
import re
import textwrap

GOAL_LINES, GOAL_BRANCHES = 95, 90


class Totals:
    """Lines and branches, executed and all, of some sources."""

    def __init__(self, sources):
        sources = list(sources)
        self.lines = sum(len(s.lines) for s in sources)
        self.run = sum(1 for s in sources for n in s.lines.values() if n)
        branches = [taken for s in sources for taken in s.branches.values()]
        self.branches = sum(len(b) for b in branches)
        self.taken = sum(sum(b) for b in branches)

    def row(self, name):
        return (name, self.lines, self.lines - self.run, percent(self.run, self.lines), self.branches,
                self.branches - self.taken, percent(self.taken, self.branches))


def percent(part, whole):
    return f"{100 * part / whole:.1f}" if whole else "-"


Place = collections.namedtuple("Place", "path number function text lines branches")


def places_of(source):
    """Lines that no test executes, and lines that are executed but not by all branches."""
    branches = source.branches
    for number in sorted(source.lines):
        executed = source.lines[number] > 0
        untaken = branches.get(number, []).count(False)
        if executed and not untaken:
            continue
        yield Place(source.path, number, source.function_at(number), source.line_text(number), int(not executed),
                    untaken)


# ---------------------------------------------------------------- judgements


class Judgement:
    """A reason, and patterns of places: PATH, FUNCTION, the text of the line; * stands for anything."""

    def __init__(self, reason):
        self.reason = reason
        self.patterns = []
        self.used = collections.Counter()

    def add(self, line):
        parts = [p.strip() for p in line.split("|", 2)] + ["*", "*"]
        self.patterns.append((line, [re.compile(".*".join(map(re.escape, p.split("*")))) for p in parts[:3]]))

    def fits(self, place):
        for line, (path, function, text) in self.patterns:
            if path.fullmatch(place.path) and function.fullmatch(place.function) and text.fullmatch(place.text):
                self.used[line] += 1
                return True
        return False


def read_judgements(path):
    """A reason is a line that begins with "= "; the lines after it are patterns. # begins a comment."""
    judgements = []
    if os.path.exists(path):
        with open(path) as file:
            for line in file.read().split("\n"):
                if line.startswith("= "):
                    judgements.append(Judgement(line[2:]))
                elif line.strip() and not line.startswith("#"):
                    judgements[-1].add(line)
    return judgements


def judge(sources, judgements):
    """The places per judgement, in its order; None for those without."""
    judged = {j: [] for j in [*judgements, None]}
    for source in sources.values():
        for place in places_of(source):
            fitting = [j for j in judgements if j.fits(place)]
            judged[fitting[0] if fitting else None].append(place)
    return judged


def sums(places):
    return sum(p.lines for p in places), sum(p.branches for p in places)


# ---------------------------------------------------------------- output

HEAD = ("", "lines", "not run", "%", "branches", "not taken", "%")


def directories(sources):
    groups = collections.defaultdict(list)
    for source in sources.values():
        groups[os.path.dirname(source.path) + "/"].append(source)
    return groups


def print_row(row):
    print(f"{row[0]:40}" + "".join(f"{c:>10}" for c in row[1:]))


def print_summary(sources, judgements):
    print_row(HEAD)
    for source in sources.values():
        print_row(Totals([source]).row(source.path))
    for name, group in sorted(directories(sources).items()):
        print_row(Totals(group).row(name))
    print_row(Totals(sources.values()).row("all"))
    judged = judge(sources, judgements)
    lines, branches = sums(judged[None])
    print(f"not judged (tests/coverage/judged.txt): {lines} lines, {branches} branches in {len(judged[None])} places")
    for judgement in judgements:
        for line, _ in judgement.patterns:
            if not judgement.used[line]:
                print(f"judged, but covered or gone: {line}")


def print_places(sources, judgements, pattern):
    """For the author of tests: what is not judged, in the files whose path contains the pattern."""
    for place in judge(sources, judgements)[None]:
        if pattern in place.path:
            missing = "line" if place.lines else f"{place.branches} br"
            print(f"{place.path}:{place.number}: {missing:6} {place.function}: {place.text}")


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---" if i == 0 else "--:" for i in range(len(head))) + "|"
    for row in rows:
        yield "| " + " | ".join(str(c) for c in row) + " |"


def write_places(places):
    """One row per function: the lines of the places that are not covered."""
    functions = collections.defaultdict(list)
    for p in places:
        functions[p.path, p.function].append(p)
    yield from table(("place", "lines not run", "branches not taken", "line numbers"),
                     ((f"`{path}`, `{function}`", *sums(group), ", ".join(str(p.number) for p in group))
                      for (path, function), group in functions.items()))


def page_text(sources, judgements, tests, missing):
    totals = Totals(sources.values())
    judged = judge(sources, judgements)
    yield "# Coverage\n"
    yield textwrap.fill(
        f"Written by `make coverage`. {tests - len(missing)} of {tests} tests run {totals.run} of {totals.lines} lines of `src/` "
        f"({percent(totals.run, totals.lines)} %) and take {totals.taken} of {totals.branches} branches "
        f"({percent(totals.taken, totals.branches)} %). The goals are {GOAL_LINES} % of the lines and "
        f"{GOAL_BRANCHES} % of the branches.", 99) + "\n"
    if missing:
        yield textwrap.fill("Not part of these figures, because they had no time to run: "
                            + ", ".join(f"`{name}`" for name in missing) + ".", 99) + "\n"
    with open(os.path.join(os.path.dirname(__file__), "page.md")) as file:
        yield file.read()
    yield from table(HEAD, [*(Totals(group).row(f"`{name}`") for name, group in sorted(directories(sources).items())),
                            totals.row("all")])
    found = [(j.reason if j else "Not judged", places) for j, places in judged.items() if places]
    yield "\n## What is not covered, and why\n"
    yield from table(("reason", "lines", "branches"),
                     ((f"{i}. {reason}", *sums(places)) for i, (reason, places) in enumerate(found, 1)))
    for i, (reason, places) in enumerate(found, 1):
        yield f"\n### Reason {i}\n"
        yield textwrap.fill(f"{reason}.", 99) + "\n"
        yield from write_places(places)


def write_page(path, sources, judgements, tests, missing):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        for line in page_text(sources, judgements, tests, missing):
            file.write(line + "\n")
