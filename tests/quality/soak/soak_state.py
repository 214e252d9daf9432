"""The state of `make soak`: what was run, with which libraries and machines, and what failed."""

import fcntl
import json
import os
import platform
import subprocess
import time
from dataclasses import dataclass, field


# Counts that had another name in earlier states: shrinks are counted, too.
RENAMED = {"model": {"growths_and_rekeys": "resizes_and_rekeys"},
           "threads": {"growths": "resizes"}, "threads_tsan": {"growths": "resizes"}}


def last_counts(text):
    """The counts in the last line of a part's output, or None."""
    lines = text.strip().splitlines()
    try:
        counts = json.loads(lines[-1])
    except (IndexError, ValueError):
        return None
    good = isinstance(counts, dict) and all(type(n) is int for n in counts.values())
    return counts if good else None


def lock_directory(directory):
    """A file that is locked until it is closed, or None if another process has the lock."""
    file = open(directory / "lock", "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return None
    return file


def machine():
    """Processor, cores, system."""
    model = platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def sources_of(root):
    """
    The commit of the sources, with "+" if library or tests have uncommitted changes, and the
    identity of the library: the tree of src/, which is the same in a rebased commit.
    """
    git = lambda *words: subprocess.run(["git", "-C", root, *words], capture_output=True,  # noqa: E731
                                        text=True).stdout.strip()
    changed = git("status", "--porcelain", "--", "src", "include", "tests")
    commit = (git("rev-parse", "--short=10", "HEAD") or "unknown") + ("+" if changed else "")
    return commit, git("rev-parse", "--short=10", "HEAD:src") or "unknown"


@dataclass
class RowState:
    """What was run of one row. Failed batches take a seed and count nothing."""

    next_seed: int = 1
    last: list = field(default_factory=lambda: [0, 0])  # amount and seconds of the last batch
    runs: list = field(default_factory=list)  # [number of the library, batches, seconds]
    counts: dict = field(default_factory=dict)

    @property
    def batches(self):
        return sum(batches for _, batches, _ in self.runs)

    @property
    def work(self):
        """All counts together: to compare two states of a row, whose batches differ in length."""
        return sum(self.counts.values())

    @property
    def seconds(self):
        return sum(seconds for _, _, seconds in self.runs)


class State:
    """
    rows: "part/row" -> RowState
    failures: [{part, row, seed, command, reason, output, commit, when, repeated, passed}]: repeated
              is when it was run again last, passed whether it passed then; without them, never
    libraries: [{library, machine, commit, started, last}]: a library on a machine, its last commit,
               with "+" if some batches had uncommitted changes, and when it was run first and last

    The file has these, a line per item; the names of the counts are there once per part.
    """

    def __init__(self, path):
        self.path = path
        self.rows, self.failures, self.libraries = {}, [], []
        self.run = None  # the entry of `libraries` that batches are added to
        self.forgotten = set()  # failures that no other state may bring back
        data = json.loads(path.read_text()) if path.exists() else {}
        if "runs" in data:
            self.read_first_format(data)
        elif data:
            self.read(data)

    # ------------------------------------------------------------------ files

    def read(self, data):
        self.failures, self.libraries = data["failures"], data["libraries"]
        for name, (next_seed, last, runs, numbers) in data["rows"].items():
            names = data["counts"][name.split("/")[0]]
            counts = with_new_names(name, dict(zip(names, numbers)))
            self.rows[name] = RowState(next_seed, last, runs, counts)

    def read_first_format(self, data):
        """It does not tell which run a batch belongs to: all are taken as those of the last one."""
        self.failures = data["failures"]
        runs = [run for run in data["runs"] if run["batches"]]
        if runs:
            self.libraries = [{"library": runs[-1].get("library", ""), "machine": runs[-1]["machine"],
                               "commit": runs[-1]["commit"], "started": runs[0]["started"]}]
        for name, row in data["rows"].items():
            done = [[0, row["batches"], row["seconds"]]] if row["batches"] else []
            counts = with_new_names(name, row["counts"])
            self.rows[name] = RowState(row["next_seed"], row.get("last", [0, 0]), done, counts)

    def text(self, outputs):
        """The file, with or without the output of programs that failed."""
        begun = {name: row for name, row in self.rows.items() if row.next_seed > 1}
        names = {}
        for name, row in begun.items():
            names.setdefault(name.split("/")[0], {}).update(dict.fromkeys(row.counts))
        rows = {name: [row.next_seed, row.last, row.runs,
                       [row.counts.get(count, 0) for count in names[name.split("/")[0]]]]
                for name, row in begun.items()}
        failures = [{key: value for key, value in failure.items() if outputs or key != "output"}
                    for failure in self.failures]
        return lines_of({"libraries": self.libraries, "failures": failures,
                         "counts": {part: list(counts) for part, counts in names.items()},
                         "rows": rows})

    def write(self, path=None):
        """Replaces the file, so that it is whole at any time. A copy elsewhere has no outputs."""
        path, text = path or self.path, self.text(outputs=not path)
        new = path.with_suffix(".new")
        with open(new, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)

    def take_newer(self, other):
        """
        Takes each row of which the other state has counted more (if both have counted the same, more
        seeds: those that failed). The counts of both are not added up: they may be of the same
        seeds. Failures of both are kept.
        """
        for name, row in other.rows.items():
            own = self.rows.get(name, RowState())
            if (row.work, row.next_seed) <= (own.work, own.next_seed):
                continue
            runs = [[self.library_number(other.libraries[n]), batches, seconds]
                    for n, batches, seconds in row.runs]
            self.rows[name] = RowState(row.next_seed, row.last, runs, row.counts)
        self.add_failures(other.failures)

    def add_failures(self, failures):
        """A failure that both states have is as it was when it was repeated last."""
        known = {name_of(failure): failure for failure in self.failures}
        for failure in failures:
            own = known.get(name_of(failure))
            if own and failure.get("repeated", "") > own.get("repeated", ""):
                own.update(repeated=failure["repeated"], passed=failure["passed"])
            elif not own and name_of(failure) not in self.forgotten:
                self.failures.append(failure)

    @property
    def open_failures(self):
        return [failure for failure in self.failures if not failure.get("passed")]

    @property
    def passed_failures(self):
        return [failure for failure in self.failures if failure.get("passed")]

    def repeated(self, failure, passed):
        failure.update(repeated=now(), passed=passed)

    def forget_passed(self):
        self.forgotten |= {name_of(failure) for failure in self.passed_failures}
        self.failures = self.open_failures

    # ------------------------------------------------------------------ libraries

    @property
    def present(self):
        """The library of this run, else the one that was run last; None if nothing was run."""
        last = self.run or max(self.libraries, key=last_run, default=None)
        return last and last["library"]

    def present_seconds(self, entry):
        """How long the present library has run a row, on all machines."""
        present = self.present
        return sum(seconds for number, _, seconds in entry.runs
                   if self.libraries[number]["library"] == present)
    # ------------------------------------------------------------------ batches

    def begin_run(self, root):
        commit, library = sources_of(root)
        self.run = {"library": library, "machine": machine(), "commit": commit, "started": now(),
                    "last": now()}

    def library_number(self, run):
        """The number of the library on the machine of this run, which may be new."""
        for number, known in enumerate(self.libraries):
            if (known["library"], known["machine"]) == (run["library"], run["machine"]):
                changed = "+" if "+" in known["commit"] + run["commit"] else ""
                if last_run(run) >= last_run(known):
                    known.update(commit=run["commit"], last=last_run(run))
                known["commit"] = known["commit"].rstrip("+") + changed
                return number
        self.libraries.append(dict(run))
        return len(self.libraries) - 1

    def row(self, part, row):
        return self.rows.setdefault(f"{part.name}/{row.name}", RowState())

    def take_seed(self, part, row):
        """Seeds are counted up per row, so that no batch is run twice."""
        entry = self.row(part, row)
        entry.next_seed += 1
        return entry.next_seed - 1

    def add(self, part, row, amount, seconds, counts):
        self.run["last"] = now()
        entry, number = self.row(part, row), self.library_number(self.run)
        for name, n in counts.items():
            entry.counts[name] = entry.counts.get(name, 0) + n
        entry.last = [amount, round(seconds, 3)]
        if number not in (run[0] for run in entry.runs):
            entry.runs.append([number, 0, 0.0])
        run = next(run for run in entry.runs if run[0] == number)
        run[1:] = [run[1] + 1, round(run[2] + seconds, 3)]

    def add_failure(self, part, row, seed, command, reason, output):
        self.failures.append({"part": part.name, "row": row.name, "seed": seed, "command": command,
                              "reason": reason, "output": output, "commit": self.run["commit"],
                              "when": now()})


def with_new_names(row, counts):
    new = RENAMED.get(row.split("/")[0], {})
    return {new.get(name, name): n for name, n in counts.items()}


def now():
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime())


def last_run(library):
    """States of earlier versions say only when a library was run first."""
    return library.get("last", library["started"])


def name_of(failure):
    """What tells it from other failures; seeds of two machines may be the same."""
    return tuple(failure[key] for key in ("part", "row", "seed", "command", "commit", "when"))


def lines_of(data):
    """JSON with a line for each item of the members of data."""
    members = []
    for name, items in data.items():
        if isinstance(items, dict):
            lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in items.items()]
            begin, end = "{}"
        else:
            lines, (begin, end) = [json.dumps(item) for item in items], "[]"
        members.append(f"{json.dumps(name)}: {begin}\n" + ",\n".join(lines) + f"\n{end}")
    return "{\n" + ",\n".join(members) + "\n}\n"
