"""Records: what one run of a claim measured, kept as CSV behind lines "# name: value" that say how it came about."""

import csv
import hashlib
import io
import os
import platform
import subprocess


class Record:
    def __init__(self, text):
        lines = text.splitlines()
        head = [line[2:].partition(": ") for line in lines if line.startswith("# ")]
        self.text = text
        self.about = {name: value for name, _, value in head}
        table = list(csv.reader(io.StringIO("\n".join(line for line in lines if not line.startswith("#")))))
        if not table or "verdict" not in self.about:
            raise ValueError("no record of a claim")
        self.columns, self.rows = table[0], [dict(zip(table[0], row)) for row in table[1:]]
        self.verdict = self.about["verdict"]

    def where(self, condition):
        """The rows with these texts: "span=window", several with commas; all for None."""
        wanted = [part.partition("=")[::2] for part in condition.split(",")] if condition else []
        return [row for row in self.rows if all(row[name] == text for name, text in wanted)]


def read(path):
    """The record of that file; None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return Record(file.read())
    except (FileNotFoundError, ValueError):
        return None


def write(path, text):
    """All of it, or nothing."""
    unfinished = f"{path}.unfinished"
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(unfinished, path)


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
    run = subprocess.run(["git", "-C", directory, "describe", "--always", "--dirty=-changed", "--abbrev=12", "--exclude=*"],
                         capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def fingerprint(path):
    """Of a program: a record is as good as new while the program is the same."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]
