"""Records: what one run of a claim measured, kept as CSV behind lines "# name: value" that say how it came about."""

import csv
import hashlib
import os
import platform
import subprocess

NEEDED = {"program", "commit", "machine", "date", "seconds", "claim", "size", "seed", "verdict", "parts"}


class Record:
    def __init__(self, text):
        lines = text.splitlines()
        head = [line[2:].partition(": ") for line in lines if line.startswith("# ")]
        table = list(csv.reader(line for line in lines if not line.startswith("#")))
        self.text = text
        self.about = {name: value for name, _, value in head}
        if not table or not NEEDED <= set(self.about) or any(len(row) != len(table[0]) for row in table):
            raise ValueError("no whole record of a claim")
        self.columns, self.rows = table[0], [dict(zip(table[0], row)) for row in table[1:]]
        self.verdict = self.about["verdict"]

    def where(self, condition):
        """The rows with these texts: "span=window", several with commas; all for None."""
        wanted = [part.partition("=")[::2] for part in condition.split(",")] if condition else []
        return [row for row in self.rows if all(row[name] == text for name, text in wanted)]


def read(path):
    """The record of that file; None if there is none, or not all of one."""
    try:
        with open(path, encoding="utf-8") as file:
            return Record(file.read())
    except (FileNotFoundError, ValueError):
        return None


def write(path, text):
    """All of it, or nothing."""
    unfinished = f"{path}.unfinished"
    try:
        with open(unfinished, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(unfinished, path)
    except OSError as error:  # a full disk does not tell for which file
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
    """Of the work tree; "-changed" behind it if that has changes that are not committed."""
    command = ["git", "-C", directory, "describe", "--always", "--dirty=-changed", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (FileNotFoundError, subprocess.CalledProcessError):  # no git, or the source without its history
        return "unknown"


def fingerprint(path):
    """Of a program: a record is as good as new while the program is the same."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]
