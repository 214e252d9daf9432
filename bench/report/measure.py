"""Runs claims: those whose numbers are times alone, others as many at once as there are cores."""

import datetime
import os
import subprocess
import sys
import tempfile
import time

import records


class Progress:
    """A bar on a terminal; elsewhere a line for each claim that is done."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.terminal = sys.stderr.isatty()

    def show(self, running):
        if not self.terminal or not self.total:
            return
        filled = 30 * self.done // self.total
        elapsed = int(time.monotonic() - self.start)
        print(f"\r\033[K[{'#' * filled}{'.' * (30 - filled)}] {self.done} of {self.total}, {elapsed // 60}:{elapsed % 60:02}"
              f" {', '.join(running)}", end="", file=sys.stderr, flush=True)

    def finished(self, name, what, seconds):
        self.done += 1
        if not self.terminal:
            print(f"{self.done} of {self.total}: {name} {what}, {seconds:.1f} s", file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr)


class Run:
    """A claim that is being tested."""

    def __init__(self, claim, command):
        self.claim, self.start = claim, time.monotonic()
        self.output, self.error = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdout=self.output, stderr=self.error)

    def result(self):
        """(seconds, output, error): the error is "" if all went well."""
        seconds = time.monotonic() - self.start
        self.output.seek(0)
        self.error.seek(0)
        if self.process.returncode == 0:
            return seconds, self.output.read(), ""
        return seconds, "", self.error.read().strip() or f"ended with exit code {self.process.returncode}"


class Bench:
    """besom-bench, and where its records are kept."""

    def __init__(self, program, directory, full):
        self.program, self.directory, self.full = program, directory, full
        self.about = f"# program: {records.fingerprint(program)}\n# commit: {records.commit(os.path.dirname(__file__))}\n"
        self.about += f"# machine: {records.machine()}\n"
        os.makedirs(directory, exist_ok=True)

    def path(self, claim):
        return os.path.join(self.directory, f"{claim['name']}.csv")

    def command(self, claim):
        return [self.program, "run", claim["name"], "--csv"] + (["--full"] if self.full else [])

    def known(self, claim):
        """The record of this claim by this very program, at this size; None if it is still to be tested."""
        record = records.read(self.path(claim))
        if record is None or record.about.get("size") != ("full" if self.full else "quick"):
            return None
        return record if record.about.get("program") == records.fingerprint(self.program) else None

    def keep(self, claim, output, seconds):
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        text = f"{self.about}# date: {date}\n# seconds: {seconds:.1f}\n{output}"
        records.write(self.path(claim), text)

    def test(self, claims):
        """Tests all of these that have no record yet. Gives {name: why} of those that could not be tested."""
        failed = {}
        open_claims = [claim for claim in claims if self.known(claim) is None]
        progress = Progress(len(open_claims))
        for timed, at_once in ((False, os.cpu_count() or 1), (True, 1)):
            waiting = [claim for claim in open_claims if claim["timed"] == timed]
            self.work_off(waiting, at_once, progress, failed)
        progress.end()
        return failed

    def work_off(self, waiting, at_once, progress, failed):
        running = []
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    claim = waiting.pop(0)
                    running.append(Run(claim, self.command(claim)))
                progress.show([run.claim["name"] for run in running])
                ended = wait_for_one(running, progress)
                running.remove(ended)
                seconds, output, error = ended.result()
                name = ended.claim["name"]
                if error:
                    failed[name] = error
                else:
                    self.keep(ended.claim, output, seconds)
                progress.finished(name, error or records.Record(output).verdict, seconds)
        finally:
            for run in running:
                run.process.kill()


def wait_for_one(running, progress):
    while True:
        for run in running:
            try:
                run.process.wait(timeout=0.2)
                return run
            except subprocess.TimeoutExpired:
                progress.show([run.claim["name"] for run in running])
