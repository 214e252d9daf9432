"""What gcov counted in src/, merged over the objects that contain a source line.

A line compiled several times (for several instruction sets, widths and kinds, or in a header) counts
once: it is executed if one object executes it. Branches are those that gcov lists for the line, in
its order. A branch is taken if it is taken in one object. An object in which the compiler removed
branches of a line (a constant condition) lists fewer of them: such lists are merged only with lists
of the same length, and the longest list that was executed counts.
"""

import collections
import glob
import json
import os
import re
import subprocess
import sys

import runs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "records"))
import functions  # noqa: E402

# What makes other tools leave out a line or a function. gcov itself ignores the first two.
MARKER = re.compile(r"(LCOV|GCOVR?)_EXCL|no_profile_instrument_function")


class Source:
    """One file of src/: lines maps a number to the executions; branches to a list of booleans (taken)."""

    def __init__(self, path):
        self.path = path
        self.lines = collections.Counter()
        self.shapes = collections.defaultdict(dict)  # line -> number of branches -> taken
        self.functions = {}  # name -> first and last line
        self.text = []

    def add_line(self, line):
        number, branches = line["line_number"], line["branches"]
        self.lines[number] += line["count"]
        if not branches:
            return
        taken = [b["count"] > 0 for b in branches]
        old = self.shapes[number].get(len(taken), [False] * len(taken))
        self.shapes[number][len(taken)] = [a or b for a, b in zip(old, taken)]

    @property
    def branches(self):
        best = {}
        for number, shapes in self.shapes.items():
            executed = {n: taken for n, taken in shapes.items() if any(taken)}
            best[number] = max((executed or shapes).items())[1]
        return best

    def function_at(self, number):
        """Its name; "-" outside of functions, as in one that a macro makes."""
        inside = [(first, name) for name, (first, last) in self.functions.items() if first <= number <= last]
        return max(inside)[1] if inside else "-"

    def line_text(self, number):
        return self.text[number - 1].strip() if number <= len(self.text) else ""


def run_gcov(build, notes):
    """All objects at once: gcov prints one line of JSON per object."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *notes], cwd=build,
                          check=True, capture_output=True)
    for line in done.stdout.splitlines():
        if line.startswith(b"{"):
            yield json.loads(line)


def read_counts(build, root):
    prefix = os.path.join(root, "src") + os.sep
    sources = {}
    for unit in run_gcov(build, sorted(runs.data_files(build, ".gcno"))):
        for file in unit["files"]:
            path = os.path.normpath(os.path.join(unit["current_working_directory"], file["file"]))
            if not path.startswith(prefix):
                continue
            name = os.path.relpath(path, root)
            source = sources.setdefault(name, Source(name))
            for function in file["functions"]:
                source.functions[function["name"]] = (function["start_line"], function["end_line"])
            for line in file["lines"]:
                source.add_line(line)
    for source in sources.values():
        with open(os.path.join(root, source.path)) as file:
            source.text = file.read().split("\n")
    return dict(sorted(sources.items()))


def count_markers(sources):
    return sum(1 for s in sources.values() for line in s.text if MARKER.search(line))


def files_without_lines(sources, root):
    """The C files of src/ that have no line in any object of the build: nothing of them is counted."""
    found = glob.glob(os.path.join(root, "src", "**", "*.c"), recursive=True)
    return sorted(set(os.path.relpath(path, root) for path in found) - set(sources))
