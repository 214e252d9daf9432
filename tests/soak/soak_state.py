"""The state of `make soak`: what was run, with which commits and machines, and what failed."""

import fcntl
import json
import os
import platform
import subprocess
import time


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


class State:
    """
    rows: "part/row" -> {next_seed, batches, amount, seconds, counts}
    failures: [{part, row, seed, command, reason, output, commit, when}]
    runs: [{commit, library, machine, jobs, started, seconds, batches}]; seconds are those of all batches
    """

    def __init__(self, path, root):
        self.path, self.root = path, root
        data = json.loads(path.read_text()) if path.exists() else {}
        self.rows = data.get("rows", {})
        self.failures = data.get("failures", [])
        self.runs = data.get("runs", [])

    def write(self):
        """Replaces the file, so that it is whole at any time."""
        data = {"rows": self.rows, "failures": self.failures, "runs": self.runs}
        new = self.path.with_suffix(".new")
        with open(new, "w") as file:
            json.dump(data, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)

    def begin_run(self, jobs):
        commit, library = sources_of(self.root)
        self.runs.append({"commit": commit, "library": library, "machine": machine(), "jobs": jobs,
                          "started": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
                          "seconds": 0.0, "batches": 0})

    def batches(self):
        """Of all runs."""
        return sum(run["batches"] for run in self.runs)

    def row(self, part, row):
        empty = {"next_seed": 1, "batches": 0, "amount": 0, "seconds": 0.0, "counts": {}}
        return self.rows.setdefault(f"{part.name}/{row.name}", empty)

    def take_seed(self, part, row):
        """Seeds are counted up per row, so that no batch is run twice."""
        entry = self.row(part, row)
        entry["next_seed"] += 1
        return entry["next_seed"] - 1

    def add(self, part, row, amount, seconds, counts):
        entry, run = self.row(part, row), self.runs[-1]
        for name, n in counts.items():
            entry["counts"][name] = entry["counts"].get(name, 0) + n
        entry["batches"] += 1
        entry["amount"] += amount
        entry["last"] = [amount, round(seconds, 3)]
        entry["seconds"] = round(entry["seconds"] + seconds, 3)
        run["seconds"] = round(run["seconds"] + seconds, 3)
        run["batches"] += 1

    def take_rows(self, other):
        """
        Rows of another state that were not run here, with its runs and failures. Rows that both
        have run would count the same seeds twice: they stay as they are. Returns what was taken.
        """
        taken = [name for name, row in other.rows.items()
                 if row["batches"] and not self.rows.get(name, {}).get("batches")]
        for name in taken:
            self.rows[name] = other.rows[name]
        if taken:
            self.runs = other.runs + self.runs
            self.failures += [f for f in other.failures if f"{f['part']}/{f['row']}" in taken]
        return taken

    def add_failure(self, part, row, seed, command, reason, output):
        self.failures.append({"part": part.name, "row": row.name, "seed": seed, "command": command,
                              "reason": reason, "output": output, "commit": self.runs[-1]["commit"],
                              "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime())})
