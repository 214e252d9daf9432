"""Runs claims. Timed claims run one at a time, the others in parallel, one per core.

At full size a claim has a time limit: elapsed time if it is timed, CPU time otherwise. besom-bench starts no seed that would
end too late; a claim whose first seed takes longer is stopped, and the file NAME.cut says so.
"""

import datetime
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import measuring
import records

LIMIT = 15  # minutes of a claim at full size
SPARE = 0.9  # of the limit: the time until which besom-bench starts seeds
CLAIMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "claims")


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


def limit_cpu(seconds):
    """Called in the process of a claim: it ends with SIGXCPU after this CPU time, without a core file."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Run:
    """A running claim. limit: in seconds, or None."""

    def __init__(self, claim, command, scratch, limit=None):
        self.claim, self.start, self.seconds = claim, time.monotonic(), None
        self.busy, self.own, self.other_load = busy_seconds(), own_seconds(), None
        self.printed, self.complained = (tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") for _ in range(2))
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.printed, stderr=self.complained,
                                        env={**os.environ, "TMPDIR": scratch},
                                        preexec_fn=(lambda: limit_cpu(limit)) if limit and not claim["timed"] else None)
        self.end = self.start + limit if limit and claim["timed"] else None
        self.was_cut = False  # by the limit

    def has_ended(self, patience):
        try:
            self.process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            if self.end is None or time.monotonic() < self.end:
                return False
            self.stop()
            self.was_cut = True
        self.was_cut |= self.process.returncode == -signal.SIGXCPU
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


def source_of(claim):
    """Hash of the measuring part of a claim; "unknown" if its source file is not here."""
    path = os.path.join(CLAIMS, f"{claim['name'].replace('-', '_')}.c")
    if not os.path.exists(path):
        return "unknown"
    with open(path, encoding="utf-8") as file:
        return measuring.fingerprint(file.read())


class Bench:
    """besom-bench and the directory of its records. stored: accept records of any program. seeds: instead of the claims'.

    limit: minutes of a claim at full size. A record of a quick run stays valid while the program is the same. A full run takes
    hours, so its records stay valid while the measuring part of the claim is the same (measuring.py); they name the commit of the
    program. A line "# stale: reason" in a record ends that: for a change of the library that changes what was measured.
    """

    def __init__(self, program, directory, full, stored=False, seeds=None, limit=LIMIT):
        self.program, self.directory, self.full, self.stored, self.seeds = program, directory, full, stored, seeds
        self.limit = max(1, round(60 * limit)) if full else None
        self.size = "full" if full else "quick"
        self.fingerprint = records.fingerprint(program)
        self.commit = records.commit(os.path.dirname(os.path.abspath(__file__)))
        os.makedirs(directory, exist_ok=True)

    def path(self, claim):
        return os.path.join(self.directory, f"{claim['name']}.csv")

    def cut_path(self, claim):
        return os.path.join(self.directory, f"{claim['name']}.cut")

    def command(self, claim):
        seeds = str(self.seeds or claim["full_seeds" if self.full else "seeds"])
        limited = ["--full", "--seconds", str(max(1, int(SPARE * self.limit)))] if self.full else []
        return [self.program, "run", claim["name"], "--csv", "--seeds", seeds] + limited

    def is_current(self, claim, about):
        """Whether a run that is described like this need not be repeated."""
        if self.stored:
            return True
        return not self.why_stale(claim, about) if self.full else about.get("program") == self.fingerprint

    def why_stale(self, claim, about):
        """Why a full run that is described like this is not valid any more: its claim, or what it says itself; else None."""
        if self.full and about.get("source") != source_of(claim):
            return "the claim has changed since this run"
        return about.get("stale")

    def known(self, claim):
        """The record of this claim, at this size; None if there is none that is still valid."""
        record = records.read(self.path(claim))
        if not record or record.about["size"] != self.size or record.columns != claim["columns"]:
            return None
        record.stale = self.why_stale(claim, record.about)
        return record if self.is_current(claim, record.about) else None

    def needs_run(self, claim):
        """Whether there is no valid record, or one whose seeds a lower limit has cut."""
        record = self.known(claim)
        if record is None:
            return not self.why_cut(claim)
        return self.full and records.has_fewer_seeds(record) and float(record.about.get("limit", 0)) < self.limit

    def why_cut(self, claim):
        """How the limit stopped this claim, with its first seed; None if it did not."""
        about = records.read_head(self.cut_path(claim)) if self.full else {}
        if not about or not self.is_current(claim, about) or float(about["limit"]) < self.limit:
            return None
        return f"cut: the first seed takes more than {float(about['limit']) / 60:g} minutes (commit {about['commit']})"

    def head(self, run):
        """The lines of a record that describe the run."""
        now = datetime.datetime.now(datetime.timezone.utc)
        about = {"program": self.fingerprint, "commit": self.commit, "source": source_of(run.claim), "machine": records.machine(),
                 "date": now.strftime(records.DATE), "ended": f"{now.timestamp():.1f}", "seconds": f"{run.seconds:.1f}"}
        if self.limit:
            about["limit"] = self.limit
        if run.other_load is not None:
            about["other_load"] = f"{run.other_load:.2f}"
        return "".join(f"# {name}: {value}\n" for name, value in about.items())

    def keep(self, run):
        """Writes the record of a finished run; raises an error if the run gave none."""
        if run.was_cut:
            records.write(self.cut_path(run.claim), self.head(run))
            raise ValueError(self.why_cut(run.claim))
        record = records.Record(self.head(run) + run.output())
        records.write(self.path(run.claim), record.text)
        return record

    def test(self, claims):
        """Tests the claims that have no record yet. Returns {name: reason} of those that failed."""
        failed = {claim["name"]: self.why_cut(claim) for claim in claims if self.known(claim) is None and self.why_cut(claim)}
        untested = [claim for claim in claims if self.needs_run(claim)]
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
                    running.append(Run(claim, self.command(claim), scratch, self.limit))
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
