"""Runs claims. Timed claims run one at a time, the others in parallel, one per core."""

import datetime
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import records


class Progress:
    """A progress bar on a terminal; otherwise one line per finished claim."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.terminal = sys.stderr.isatty()

    def show(self, running):
        if not self.terminal:
            return
        filled = 30 * self.done // self.total
        elapsed = int(time.monotonic() - self.start)
        line = (f"[{'#' * filled}{'.' * (30 - filled)}] {self.done} of {self.total}, {elapsed // 60}:{elapsed % 60:02} "
                f"{', '.join(run.claim['name'] for run in running)}")
        width = shutil.get_terminal_size().columns - 1  # a wrapped line could not be overwritten
        print(f"\r\033[K{line[:width]}", end="", file=sys.stderr, flush=True)

    def finished(self, name, what, seconds):
        self.done += 1
        if not self.terminal:
            print(f"{self.done} of {self.total}: {name} {what}, {seconds:.1f} s", file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr)


def busy_seconds():
    """Processor time that all programs of the machine have used so far; None if the system does not tell."""
    try:
        with open("/proc/stat", encoding="utf-8") as file:
            user, nice, system, _idle, _wait, irq, soft, steal = map(int, file.readline().split()[1:9])
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """Processor time of this program and of its children that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Run:
    """A running claim."""

    def __init__(self, claim, command, scratch):
        self.claim, self.start, self.seconds = claim, time.monotonic(), None
        self.busy, self.own, self.other_load = busy_seconds(), own_seconds(), None
        self.printed, self.complained = (tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") for _ in range(2))
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.printed, stderr=self.complained,
                                        env={**os.environ, "TMPDIR": scratch})

    def has_ended(self, patience):
        try:
            self.process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            return False
        self.seconds = time.monotonic() - self.start
        if self.claim["timed"] and self.busy is not None:  # the others run side by side, and count
            others = busy_seconds() - self.busy - (own_seconds() - self.own)
            self.other_load = max(0, others / self.seconds)
        return True

    def output(self):
        """The output; raises an error if the run failed."""
        for file in (self.printed, self.complained):
            file.seek(0)
        code = self.process.returncode
        if code == 0:
            return self.printed.read()
        how = f"ended by signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"ended with exit code {code}"
        complaint = self.complained.read().strip()
        raise ValueError(f"{complaint} ({how})" if complaint else how)

    def stop(self):
        self.process.kill()
        self.process.wait()


def wait_for_one(running, progress):
    while True:
        for run in running:
            progress.show(running)
            if run.has_ended(patience=0.2):
                return run


class Bench:
    """besom-bench and the directory of its records. stored: accept records of any program. seeds: instead of the claims'."""

    def __init__(self, program, directory, full, stored=False, seeds=None):
        self.program, self.directory, self.full, self.stored, self.seeds = program, directory, full, stored, seeds
        self.size = "full" if full else "quick"
        self.fingerprint = records.fingerprint(program)
        self.commit = records.commit(os.path.dirname(os.path.abspath(__file__)))
        os.makedirs(directory, exist_ok=True)

    def path(self, claim):
        return os.path.join(self.directory, f"{claim['name']}.csv")

    def command(self, claim):
        seeds = str(self.seeds or claim["seeds"])
        return [self.program, "run", claim["name"], "--csv", "--seeds", seeds] + (["--full"] if self.full else [])

    def known(self, claim):
        """The record of this claim, at this size, by the same program; None if there is none."""
        record = records.read(self.path(claim))
        if not record or record.about["size"] != self.size or record.columns != claim["columns"]:
            return None
        return record if self.stored or record.about["program"] == self.fingerprint else None

    def keep(self, run):
        """Writes the record of a finished run; raises an error if the run gave none."""
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        load = "" if run.other_load is None else f"# other_load: {run.other_load:.2f}\n"
        record = records.Record(f"# program: {self.fingerprint}\n# commit: {self.commit}\n# machine: {records.machine()}\n"
                                f"# date: {date}\n# seconds: {run.seconds:.1f}\n{load}{run.output()}")
        records.write(self.path(run.claim), record.text)
        return record

    def test(self, claims):
        """Tests the claims that have no record yet. Returns {name: reason} of those that failed."""
        failed = {}
        untested = [claim for claim in claims if self.known(claim) is None]
        progress = Progress(len(untested))
        # Databases are created in TMPDIR, and a program that is stopped leaves its own there.
        with tempfile.TemporaryDirectory(prefix="besom-report-", dir=os.environ.get("TMPDIR") or "/var/tmp") as scratch:
            for timed, at_once in ((False, os.cpu_count() or 1), (True, 1)):
                waiting = [claim for claim in untested if claim["timed"] == timed]
                self.run_all(waiting, at_once, scratch, progress, failed)
        progress.end()
        return failed

    def run_all(self, waiting, at_once, scratch, progress, failed):
        running = []
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    claim = waiting.pop(0)
                    running.append(Run(claim, self.command(claim), scratch))
                run = wait_for_one(running, progress)
                running.remove(run)
                try:
                    outcome = self.keep(run).verdict
                except ValueError as error:
                    outcome = failed[run.claim["name"]] = str(error)
                progress.finished(run.claim["name"], outcome, run.seconds)
        finally:
            for run in running:
                run.stop()
