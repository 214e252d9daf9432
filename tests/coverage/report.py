"""The figures, and the uncovered places with the judgement of each."""

import collections
import os
import re
import subprocess
import textwrap
import time

import counts

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


Place = collections.namedtuple("Place", "path number function text lines branches all_branches")


def places_of(source):
    """Lines that no test executes, and lines that are executed but not by all branches."""
    branches = source.branches
    for number in sorted(source.lines):
        executed = source.lines[number] > 0
        listed = branches.get(number, [])
        untaken = listed.count(False)
        if executed and not untaken:
            continue
        yield Place(source.path, number, source.function_at(number), source.line_text(number), int(not executed),
                    untaken, len(listed))


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


def brief_list(places):
    """The files of the places, each with its lines and branches."""
    files = collections.defaultdict(list)
    for p in places:
        files[p.path].append(p)
    return ", ".join("`{}`~{}~+~{}".format(path.removeprefix("src/"), *sums(group)) for path, group in files.items())


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
    done = subprocess.run(["git", "log", "-1", "--format=%h", "--", "../../src", "../../include"], cwd=here,
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
                   + ", ".join(f"`{path}`" for path in left_out) + ".")


def page_text(sources, judgements, names, left_out):
    totals = Totals(sources.values())
    yield from intro(totals, names)
    with open(os.path.join(os.path.dirname(__file__), "page.md")) as file:
        yield file.read()
    yield from exclusions(sources, left_out)
    yield "## Figures\n"
    yield from table(HEAD, [*(Totals(group).row(f"`{name}`") for name, group in sorted(directories(sources).items())),
                            totals.row("all")])
    found = found_reasons(sources, judgements)
    yield "\n## What is not covered, and why\n"
    yield from table(("reason", "lines", "branches"),
                     ((f"{i}. {reason}", *sums(places)) for i, (reason, places) in enumerate(found, 1)))
    yield "\n## Where\n"
    yield wrap("The files under `src/` per reason, with the lines that are not run~+~the branches that are not taken. "
               "[coverage-places.txt](coverage-places.txt) has every line.")
    for i, (_, places) in enumerate(found, 1):
        yield wrap(f"**Reason {i}:** {brief_list(places)}.")


def places_text(sources, judgements):
    """All places. Functions and the text of lines, not line numbers, which the next change would shift."""
    yield "Lines of src/ that no test runs, and lines with branches that no test takes: 1 of 4 means that one of"
    yield "four branches is not taken. Written by make coverage; coverage.md has the figures."
    for i, (reason, places) in enumerate(found_reasons(sources, judgements), 1):
        yield f"\n{i}. {reason}\n"
        for (path, function), group in group_by_function(places).items():
            yield f"{path}, {function}"
            for p in group:
                missing = "not run" if p.lines else f"{p.branches} of {p.all_branches}"
                yield f"  {missing:8} {p.text}"


def group_by_function(places):
    groups = collections.defaultdict(list)
    for p in places:
        groups[p.path, p.function].append(p)
    return groups


def write_lines(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        for line in lines:
            file.write(line + "\n")


def write_page(path, sources, judgements, names, left_out):
    write_lines(path, page_text(sources, judgements, names, left_out))
    write_lines(path.removesuffix(".md") + "-places.txt", places_text(sources, judgements))
