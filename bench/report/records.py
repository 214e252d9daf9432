"""Records: the numbers of one run of a claim as CSV, after header lines "# name: value" that describe the run."""

import csv
import datetime
import hashlib
import os
import platform
import subprocess

NEEDED = {"program", "commit", "machine", "date", "seconds", "claim", "size", "seed", "verdict", "parts"}
DATE = "%Y-%m-%d %H:%M UTC"


def select(rows, condition):
    """The rows with these values: "span=window", several separated by commas; all rows for None."""
    wanted = [part.partition("=")[::2] for part in condition.split(",")] if condition else []
    return [row for row in rows if all(row[name] == text for name, text in wanted)]


class Rows(list):
    """The rows of one seed."""

    def get(self, condition, column):
        """The number in this column of the only row with these values; ValueError if there is none, or several."""
        found = select(self, condition)
        if len(found) != 1:
            raise ValueError(f"{len(found)} rows have {condition}")
        return float(found[0][column])

    def all(self, condition, column):
        """The numbers in this column of all rows with these values."""
        return [float(row[column]) for row in select(self, condition) if row[column] != ""]


class Record:
    def __init__(self, text):
        lines = text.splitlines()
        head = [line[2:].partition(": ") for line in lines if line.startswith("# ")]
        table = list(csv.reader(line for line in lines if not line.startswith("#")))
        self.text = text
        self.about = {name: value for name, _, value in head}
        if not table or not NEEDED <= set(self.about) or any(len(row) != len(table[0]) for row in table):
            raise ValueError("not a complete record of a claim")
        further = list(csv.reader(line[1:] for line in lines if line.startswith("#") and line[1:2].isdigit()))
        self.columns, self.rows = table[0], [dict(zip(table[0], row)) for row in table[1:]]
        # The rows of each seed. Those of further seeds are comments "#2,cell,cell" of the file.
        numbers = dict.fromkeys(row[0] for row in further)
        self.seeds = [Rows(self.rows)] + [Rows(dict(zip(table[0], row[1:])) for row in further if row[0] == number)
                                          for number in numbers]
        self.verdict = self.about["verdict"]
        self.stale = None  # why this full run is not valid any more

    def where(self, condition):
        return select(self.rows, condition)


def seeds_of(record):
    """(seeds that were run, seeds that were wanted)"""
    done = int(record.about.get("seeds", 1))
    return done, int(record.about.get("wanted_seeds", done))


def has_fewer_seeds(record):
    done, wanted = seeds_of(record)
    return done < wanted


def ended(about):
    """When a run ended, in seconds since 1970. Older records have only the minute."""
    if "ended" in about:
        return float(about["ended"])
    return datetime.datetime.strptime(about["date"], DATE).replace(tzinfo=datetime.timezone.utc).timestamp()


def elapsed(runs):
    """Seconds in which at least one of the runs was going on. runs: the header lines of their records."""
    total, until = 0, 0
    for end, seconds in sorted(((ended(about), float(about["seconds"])) for about in runs), key=lambda run: run[0] - run[1]):
        total += max(0, end - max(until, end - seconds))
        until = max(until, end)
    return total


def read_head(path):
    """The header lines of this file as {name: value}; empty if the file does not exist."""
    try:
        with open(path, encoding="utf-8") as file:
            head = [line[2:].rstrip("\n").partition(": ") for line in file if line.startswith("# ")]
    except FileNotFoundError:
        return {}
    return {name: value for name, _, value in head}


def read(path):
    """The record in this file; None if the file does not exist or is incomplete."""
    try:
        with open(path, encoding="utf-8") as file:
            return Record(file.read())
    except (FileNotFoundError, ValueError):
        return None


def write(path, text):
    """Writes the file atomically."""
    unfinished = f"{path}.unfinished"
    try:
        with open(unfinished, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(unfinished, path)
    except OSError as error:  # the error of a full disk does not name the file
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)


def machine():
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
            models = [line.partition(": ")[2].strip() for line in cpuinfo if line.startswith("model name")]
            model = models[0] if models else model
    except FileNotFoundError:
        pass
    return f"{model}, {os.cpu_count()} cores"


def commit(directory):
    """The commit of the work tree; with the suffix "-changed" if it has uncommitted changes."""
    command = ["git", "-C", directory, "describe", "--always", "--dirty=-changed", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (FileNotFoundError, subprocess.CalledProcessError):  # no git, or no history
        return "unknown"


def fingerprint(path):
    """Hash of a file: a record stays valid while the program is the same."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]
