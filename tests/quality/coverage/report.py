"""The figures, and the uncovered places with the judgement of each."""

import collections
import os
import re
import subprocess
import textwrap
import time

import counts
from counts import functions

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


# key: how records call the function (tests/quality/records/functions.py).
Place = collections.namedtuple("Place", "path number function key text lines branches all_branches")


def places_of(source, key_of):
    """Lines that no test executes, and lines that are executed but not by all branches."""
    branches = source.branches
    for number in sorted(source.lines):
        executed = source.lines[number] > 0
        listed = branches.get(number, [])
        untaken = listed.count(False)
        if executed and not untaken:
            continue
        function = source.function_at(number)
        yield Place(source.path, number, function, key_of(source.path, function), source.line_text(number),
                    int(not executed), untaken, len(listed))


# ---------------------------------------------------------------- judgements


class Judgement:
    """A reason, and patterns of places: the function, the text of the line; * stands for anything."""

    def __init__(self, reason):
        self.reason = reason
        self.patterns = []
        self.used = collections.Counter()

    def add(self, line):
        parts = [p.strip() for p in line.split("|", 1)] + ["*"]
        self.patterns.append((line, [re.compile(".*".join(map(re.escape, p.split("*")))) for p in parts[:2]]))

    def fits(self, place):
        names = (place.function, f"{functions.stem_of(place.path)}:{place.function}")
        for line, (function, text) in self.patterns:
            if any(map(function.fullmatch, names)) and text.fullmatch(place.text):
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
    names = functions.Sources(files={path: "\n".join(source.text) for path, source in sources.items()})
    for source in sources.values():
        for place in places_of(source, names.key_of):
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
    print(f"not judged (tests/quality/coverage/judged.txt): {lines} lines, {branches} branches in {len(judged[None])} places")
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


def wrap(text):
    """Lines of 100 columns. ~ is a space at which no line ends: a line must not begin with "+ " or "%"."""
    return textwrap.fill(text, 99, break_on_hyphens=False).replace("~", " ") + "\n"


def found_reasons(sources, judgements):
    """Pairs of a reason and its places, without reasons that have none. The last is for those not judged."""
    judged = judge(sources, judgements)
    return [(j.reason if j else "Not judged", places) for j, places in judged.items() if places]


def last_change():
    """The commit that last changed the sources; empty outside of a repository."""
    here = os.path.dirname(os.path.realpath(__file__))
    done = subprocess.run(["git", "log", "-1", "--format=%h", "--", "../../../src", "../../../include"], cwd=here,
                          capture_output=True, text=True)
    return f", with the sources of commit {done.stdout.strip()}" if done.returncode == 0 and done.stdout else ""


OUTCOMES = {
    "failed": "These failed. What they ran until then is part of the figures: ",
    "not run": "These did not run, or have not run since they changed: ",
    "skipped": "These skipped themselves, because this machine lacks something: ",
}


def intro(totals, names):
    ran = sum(len(names[outcome]) for outcome in ("passed", "failed"))
    yield "# Coverage\n"
    yield wrap(
        f"Written by `make coverage` on {time.strftime('%Y-%m-%d', time.gmtime())}{last_change()}. {ran} of "
        f"{sum(map(len, names.values()))} tests run {totals.run} of {totals.lines} lines of `src/` "
        f"({percent(totals.run, totals.lines)}~%) and take {totals.taken} of {totals.branches} branches "
        f"({percent(totals.taken, totals.branches)}~%). The goals are {GOAL_LINES}~% of the lines and "
        f"{GOAL_BRANCHES}~% of the branches.")
    for outcome, text in OUTCOMES.items():
        if names[outcome]:
            yield wrap(text + ", ".join(f"`{name}`" for name in names[outcome]) + ".")


def exclusions(sources, left_out):
    """What the figures leave out, as found in the sources."""
    yield wrap(f"The sources have {counts.count_markers(sources)} markers that make coverage tools leave out a line "
               "or a function. A line with a marker of lcov or gcovr would count as any other.")
    if left_out:
        yield wrap("No object has a line of these files, because they only include others or are not compiled: "
                   + ", ".join(f"`{os.path.basename(path)}`" for path in left_out) + ".")


def page_text(sources, judgements, names, left_out):
    totals = Totals(sources.values())
    yield from intro(totals, names)
    with open(os.path.join(os.path.dirname(__file__), "page.md")) as file:
        yield file.read()
    yield from exclusions(sources, left_out)
    yield "## Figures\n"
    yield wrap("By the directories of that commit.")
    yield from table(HEAD, [*(Totals(group).row(f"`{name}`") for name, group in sorted(directories(sources).items())),
                            totals.row("all")])
    found = found_reasons(sources, judgements)
    yield "\n## What is not covered, and why\n"
    yield from table(("reason", "lines", "branches"),
                     ((f"{i}. {reason}", *sums(places)) for i, (reason, places) in enumerate(found, 1)))
    yield "\n" + wrap("[coverage-places.txt](coverage-places.txt) has every line, by reason and function.")


def places_text(sources, judgements):
    """All places: functions and the text of lines. Files may move, and other changes shift line numbers."""
    yield "Lines of src/ that no test runs, and lines with branches that no test takes: 1 of 4 means that one of"
    yield "four branches is not taken. Written by make coverage; coverage.md has the figures."
    for i, (reason, places) in enumerate(found_reasons(sources, judgements), 1):
        yield f"\n{i}. {reason}\n"
        for key, group in group_by_function(places).items():
            yield key
            for p in group:
                missing = "not run" if p.lines else f"{p.branches} of {p.all_branches}"
                yield f"  {missing:8} {p.text}"


def group_by_function(places):
    groups = collections.defaultdict(list)
    for p in places:
        groups[p.key].append(p)
    return groups


def write_lines(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        for line in lines:
            file.write(line + "\n")


def write_page(path, sources, judgements, names, left_out):
    write_lines(path, page_text(sources, judgements, names, left_out))
    write_lines(path.removesuffix(".md") + "-places.txt", places_text(sources, judgements))
