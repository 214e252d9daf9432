#!/usr/bin/env python3
"""make soak: runs long tests until their targets are reached. It can be interrupted and resumed.

    tests/quality/soak/soak.py [--part=A,B] [--row=A,B] [--minutes=M] [--jobs=J] [--batch-seconds=S]
                       [--list] [--write-docs] [--repeat-failures] [--forget]

Parts are programs (part.py says what they must do); parts.py lists them with their targets. A batch
is one run of such a program, of 10 to 60 seconds, with the next seed of its row. After every batch
the state, build/soak/state.json, is replaced. The next run goes on from there. On another machine
it goes on from docs/trust/soak.json: of each row, the state that has counted more is used.

It ends when all targets are reached. With --minutes it goes on with finished rows until the time is
over: first with those that the present library has run for the least time.

A failure is printed with one command that repeats it, and kept in the state. Its row is not run
again before the next start; all others are. The exit code is 1 if the state has open failures.
--repeat-failures runs them again. Those that pass are not open any more, but they are kept: threads,
kills and failovers do not repeat exactly. --forget removes the failures that passed.

When a run ends, it writes docs/trust/soak.json and, from that, the tables in docs/trust/soak.md.
--write-docs does only this; with --state=DIRECTORY, for the state of another run.
"""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(Path(__file__).resolve().parent))

import schedule  # noqa: E402
import soak_docs  # noqa: E402
from soak_state import State, last_counts, lock_directory  # noqa: E402


class Batch:
    """One run of a part's program."""

    def __init__(self, part, row, seed, amount):
        self.part, self.row, self.seed, self.amount = part, row, seed, amount
        self.started = time.monotonic()
        self.output = tempfile.TemporaryFile()
        self.files = tempfile.TemporaryDirectory(dir=part.environment.get("TMPDIR"), prefix="besom-soak-",
                                                 ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            self.arguments(), cwd=ROOT, stdout=self.output, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, **self.part.environment, "TMPDIR": self.files.name})

    def arguments(self):
        return [*self.part.command, "--seed", str(self.seed), "--amount", str(self.amount),
                *self.row.arguments]

    def command(self):
        """One line for a shell in the root of the sources."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.part.environment.items()]
        return " ".join([*settings, shlex.join(self.arguments())])

    def seconds(self):
        return time.monotonic() - self.started

    def stop(self):
        """Ends the program and all that it has started, and removes its files."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.files.cleanup()

    def ended(self):
        """None while it runs, else (counts, reason of failure or None)."""
        code = self.process.poll()
        if code is None:
            if self.seconds() < self.part.timeout:
                return None
            self.stop()
            return {}, f"still running after {self.part.timeout} seconds"
        self.stop()  # what a failed program has started may still run
        counts = last_counts(self.text())
        if code:
            return {}, f"signal {-code}" if code < 0 else f"exit code {code}"
        if counts is None:
            return {}, "the last line of its output is no JSON object of counts"
        return counts, None

    def text(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")


class Runner:
    def __init__(self, state, rows, options):
        self.state, self.rows, self.options = state, rows, options
        self.running = []
        self.stopped = set()  # rows that failed in this run
        self.deadline = None if options.minutes is None else time.monotonic() + options.minutes * 60
        self.last_report = 0

    def run(self):
        """Until nothing is left to do, the time is over, or an interrupt. Returns True if interrupted."""
        interrupts = []  # an exception may be lost: Python ignores those that a finalizer raises
        for number in INTERRUPTS:
            signal.signal(number, lambda *_: interrupts.append(True))
        try:
            while not interrupts and not self.is_late() and (self.fill() or self.running):
                self.collect()
                self.report()
                time.sleep(0.02)
        finally:
            for batch in self.running:
                batch.stop()
        if self.running or interrupts:
            print(f"\n{'Interrupted' if interrupts else 'Time is over'}: the state is kept, the next run goes on from there.")
        return bool(interrupts)

    def is_late(self):
        """After the deadline nothing is started; batches that run get a minute."""
        return self.deadline and time.monotonic() > self.deadline + 60

    def fill(self):
        """Starts batches. Returns False if there is nothing to start."""
        if self.deadline and time.monotonic() > self.deadline:
            return False
        while len(self.running) < self.options.jobs:
            busy = [batch.part.name for batch in self.running]
            choice = schedule.next_row(self.state, self.rows, self.stopped, busy,
                                       [(b.part, b.row) for b in self.running],
                                       again=self.deadline is not None)
            if not choice:
                return bool(self.running)
            part, row = choice
            amount = schedule.next_amount(self.state.row(part, row), part, row,
                                          self.options.batch_seconds)
            self.running.append(Batch(part, row, self.state.take_seed(part, row), amount))
        return True

    def collect(self):
        for batch in list(self.running):
            result = batch.ended()
            if result is None:
                continue
            self.running.remove(batch)
            counts, reason = result
            if reason:
                self.fail(batch, reason)
            else:
                self.state.add(batch.part, batch.row, batch.amount, batch.seconds(), counts)
            self.state.write()

    def fail(self, batch, reason):
        self.stopped.add((batch.part.name, batch.row.name))
        tail = "\n".join(batch.text().splitlines()[-20:])
        self.state.add_failure(batch.part, batch.row, batch.seed, batch.command(), reason, tail)
        print(f"\nFAILED {batch.part.name} {batch.row.name}, seed {batch.seed}: {reason}\n{tail}\n"
              f"To repeat it: {batch.command()}", flush=True)

    def report(self):
        """One line of progress: every 10 seconds, or every second on a terminal."""
        terminal = sys.stdout.isatty()
        now = time.monotonic()
        if now - self.last_report < (1 if terminal else 10):
            return
        self.last_report = now
        line = schedule.progress(self.state, self.rows, self.options.jobs)
        busy = ", ".join(f"{b.part.name} {b.row.name}" for b in self.running)
        print(f"\r{line}; running {busy}"[:160].ljust(120) if terminal else f"{line}; running {busy}",
              end="" if terminal else "\n", flush=True)


def repeat_failures(state):
    """Runs every failure of the state again, and notes which pass."""
    for failure in state.failures:
        print(failure["command"], flush=True)
        try:
            code = subprocess.run(failure["command"], shell=True, cwd=ROOT, timeout=3600,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        except subprocess.TimeoutExpired:
            code = "timeout"
        print("  passes now" if code == 0 else f"  still fails: {code}", flush=True)
        state.repeated(failure, code == 0)
        state.write()


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--part", type=names, help="only these parts, separated by commas")
    parser.add_argument("--row", type=names, help="only these rows (kinds, stores)")
    parser.add_argument("--minutes", type=float,
                        help="start nothing after this time; until then, also run finished rows")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="batches at once")
    parser.add_argument("--batch-seconds", type=float, default=20, help="length of a batch")
    parser.add_argument("--list", action="store_true", help="show the parts and how far they are")
    parser.add_argument("--write-docs", action="store_true", help="only write the state and the tables")
    parser.add_argument("--repeat-failures", action="store_true", help="run known failures again")
    parser.add_argument("--forget", action="store_true", help="remove failures that passed when repeated")
    parser.add_argument("--parts", type=Path, default=ROOT / "tests/quality/soak/parts.py")
    parser.add_argument("--state", type=Path, default=ROOT / "build/soak")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs/trust/soak.md")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def chosen_rows(parts, options):
    known = {part.name for part in parts}
    for name in options.part or ():
        if name not in known:
            sys.exit(f"soak: no part {name}; there are {', '.join(sorted(known))}")
    rows = [(part, row) for part in parts for row in part.rows
            if (not options.part or part.name in options.part)
            and (not options.row or row.name in options.row)]
    if not rows:
        sys.exit("soak: no part has such a row")
    return rows


def without_missing(rows):
    """Only rows whose program was built: some need a database or a server that is not installed."""
    missing = [part for part in dict.fromkeys(part for part, _ in rows)
               if not shutil.which(str(ROOT / part.command[0])) and not shutil.which(part.command[0])]
    for part in missing:
        print(f"{part.name} is left out: there is no {part.command[0]} (make soak builds it)")
    return [(part, row) for part, row in rows if part not in missing]


def main():
    options = parse_options()
    parts = schedule.load_parts(options.parts)
    rows = chosen_rows(parts, options)
    for number in INTERRUPTS:  # a shell's background jobs ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    options.state.mkdir(parents=True, exist_ok=True)
    state = State(options.state / "state.json")
    state.take_newer(State(soak_docs.state_path(options.docs)))
    if options.list:
        return print(schedule.overview(state, rows))
    if options.write_docs:
        return soak_docs.write(options.docs, parts, state)
    lock = lock_directory(options.state)
    if not lock:
        sys.exit(f"soak: another run uses {options.state}")
    rows = without_missing(rows)
    if not rows:
        sys.exit("soak: none of these programs was built")
    interrupted = False
    if options.repeat_failures or options.forget:
        if options.repeat_failures:
            repeat_failures(state)
        if options.forget:
            state.forget_passed()
    else:
        state.begin_run(ROOT)
        interrupted = Runner(state, rows, options).run()
    state.write()
    soak_docs.write(options.docs, parts, state)
    print(schedule.overview(state, rows))
    for failure in state.failures:
        passed = f", passed when repeated, {failure['repeated']}" if failure.get("passed") else ""
        print(f"FAILED {failure['part']} {failure['row']}, seed {failure['seed']}: "
              f"{failure['reason']}{passed}\n  {failure['command']}")
    sys.exit(130 if interrupted else 1 if state.open_failures else 0)


if __name__ == "__main__":
    main()
