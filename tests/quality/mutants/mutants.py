#!/usr/bin/env python3
"""mutants.py [--count N] [--budget S]  draw mutants, run the tests on each, write the page
mutants.py --from I                     the same, first those from number I of the draw on
mutants.py --stale                      the same, and again those whose function has changed since
mutants.py --survivors                  run survivors again, after new tests: those not judged
mutants.py --one ID                     run one mutant again, with the output of the tests
mutants.py --try "ID=TEST|TEST" ...     run mutants with some tests only: killed, or open
mutants.py --diff ID                    print one mutant as a patch of the sources
mutants.py --report                     only write docs/trust/mutants.md

A mutant is the library with one small change: another comparison, operator or constant, or one
statement less. The tests that are relevant to its file run on it, the fastest first, for at most S
seconds of processor time (30; with less, mutants that no test kills stay open, and a run with 30
tries the other tests). If none fails, it survives: either nobody can tell the difference, or a
test is missing. tests/quality/mutants/judged.txt says which, for each survivor.

Everything is built in build/mutants. The results are in tests/quality/mutants/results.tsv, one line per run
of a mutant, so an interrupted run goes on, in any copy of the repository. Of several lines about a
mutant the last one counts; the first one tells whether it survived the tests of that time. Without
this file, all run again.

A line names a mutant by its function, the text of its line and the change, and has a hash of the
function: files may move, and code around the function may change. `number` is its place in the
draw. The mutants of this file are the first of the draw, in this order, while their functions have
these lines. After them the seed and the sources decide. A mutant that does not compile, or whose
machine code is that of the original, is replaced by the next one.
"""

import argparse
import collections
import difflib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import build
import page
import places
import relevant
from functions import Sources  # places.py says where it is

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIRST_OBJECTS = 5  # of a header: the others are only compiled if these tests pass
IDLE = 20  # seconds without processor time: the test waits for what never happens
WHOLE_BUDGET = 30  # seconds of processor time; a mutant that survives less stays open
MEMORY = 24 << 30  # limit of a test: a mutant may allocate without end


def say(text):
    print(text, flush=True)


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Results:
    """The lines of results.tsv, one per run of a mutant."""

    FIELDS = ("id", "number", "outcome", "wall", "cpu", "test", "version", "function", "nth", "change",
              "text")

    def __init__(self, path):
        self.path = path
        self.last, self.first = {}, {}
        lines = path.read_text().split("\n") if path.exists() else []
        whole = [line for line in lines[:-1] if line and not line.startswith("#")]
        for line in whole:
            self.take(dict(zip(self.FIELDS, line.split("\t"))))

    def take(self, result):
        self.last[result["id"]] = result
        if result["outcome"] != "open":
            self.first.setdefault(result["id"], result)

    def add(self, result):
        self.take(result)
        with open(self.path, "a") as file:
            file.write("\t".join(str(result[field]) for field in self.FIELDS) + "\n")

    def kills(self, is_near):
        """How many mutants each test has killed, of functions for which is_near(key)."""
        return collections.Counter(
            r["test"] for r in self.last.values()
            if r["outcome"] in page.KILLED and is_near(r["function"]))

    def mean_wall(self):
        walls = [float(r["wall"]) for r in list(self.last.values())[-60:]]
        return sum(walls) / len(walls) if walls else 10


class Times:
    """The processor time of each test program that ran to its end, and whether it passes."""

    def __init__(self, path, programs):
        self.path, self.programs = path, programs
        self.of = json.loads(path.read_text()) if path.exists() else {}

    def stamp(self, command):
        return self.programs[command.split()[0]].stat().st_mtime

    def known(self, command):
        return self.of.get(command, {}).get("stamp") == self.stamp(command)

    def seconds(self, command):
        """As measured, also with an earlier version of the test; a guess at first."""
        guess = 3 if " */" in command or "/*" in command else 1 if command.startswith("guard") else 0.5
        return self.of.get(command, {}).get("cpu", guess)

    def passes(self, command):
        return self.of[command]["passed"] if self.known(command) else True

    def add(self, command, cpu, passed):
        self.of[command] = {"stamp": self.stamp(command), "cpu": round(cpu, 2), "passed": passed}
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.of, indent=1))
        os.replace(new, self.path)


class Tests:
    """Runs tests with the libraries of a directory."""

    def __init__(self, made, results, sources, budget):
        self.made, self.results, self.sources, self.budget = made, results, sources, budget
        self.times = Times(made.dir / "times.json", made.programs)

    def run(self, command, libraries, cpu, wall, show=False):
        """Returns (outcome, seconds of processor time): passed, failed or timeout."""
        name, *arguments = command.split()
        before = children_seconds()
        with tempfile.TemporaryDirectory(dir=self.made.dir) as place:
            environment = dict(os.environ, LD_LIBRARY_PATH=str(libraries), TMPDIR=place)
            process = subprocess.Popen(
                [self.made.programs[name], *arguments], cwd=place, env=environment,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                start_new_session=True, preexec_fn=lambda: limit(cpu))
            seen = Output(process, show)
            try:
                code = wait_while_busy(process, wall)
            finally:
                stop_group(process)
                seen.end()
        outcome = "passed" if code == 0 else "failed"
        if code == -signal.SIGXCPU and not seen.failed:
            outcome = "timeout"
        return outcome, children_seconds() - before

    def run_limited(self, command, libraries, show=False):
        own = self.times.seconds(command)
        return self.run(command, libraries, int(3 * own + 3), 60 + 40 * own, show)

    def measure(self, command):
        """With the library as it is: the test must pass."""
        outcome, cpu = self.run(command, self.made.dir, 120, 900)
        if outcome != "passed":
            say(f"{command}: {outcome} without a mutant, and is not used")
        self.times.add(command, cpu, outcome == "passed")
        return outcome == "passed"

    def order(self, file):
        """The fast tests first, and those that killed many mutants of the same directory or file, or
        are named like the file."""
        near, same = self.kills_below(file.rsplit("/", 1)[0] + "/"), self.kills_below(file)
        words = set(file[4:].split(".")[0].replace("/", "_").split("_"))

        def cost(c):
            alike = len(words & set(re.split(r"\W|_", c)))
            weight = 1 + near[c] + 5 * same[c] + 5 * alike
            return (self.times.seconds(c) + 0.05) / weight

        return sorted([c for c in relevant.tests_of(file) if self.times.passes(c)], key=cost)

    def kills_below(self, start):
        return self.results.kills(lambda key: (self.sources.file_of(key) or "").startswith(start))

    def kill(self, commands, libraries, show=False):
        """Returns (outcome, tests). killed or timeout: the test that did it. survived or open: those
        that passed; open if others would exceed the budget. A test that was never measured is, if
        it kills."""
        spent, passed, outcome = 0, [], "survived"
        for command in commands:
            if spent + self.times.seconds(command) > self.budget:
                outcome = "open" if self.budget < WHOLE_BUDGET else outcome
                continue
            found, cpu = self.run_limited(command, libraries, show)
            if found != "passed" and not self.times.known(command):
                if not self.measure(command):
                    continue
                if found == "timeout":
                    found, cpu = self.run_limited(command, libraries, show)
            elif not self.times.known(command):
                self.times.add(command, cpu, True)
            spent += cpu
            if found != "passed":
                return ("killed" if found == "failed" else found), [command]
            passed.append(command)
        return outcome, passed


class Output:
    """Reads what a test program says. After the first failure the other tests need not run."""

    def __init__(self, process, show):
        self.process, self.show, self.failed = process, show, False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            if self.show:
                say(line.decode(errors="replace").rstrip())
            if line.startswith(b"[  FAILED  ]") and not self.failed:
                self.failed = True
                kill_group(self.process)

    def end(self):
        self.thread.join(10)


def limit(cpu):
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def ticks_used(pid):
    """Processor time of a process and of the children that it waits for, but not of servers."""
    try:
        name, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    if name.endswith("redis-server"):
        return 0
    return sum(map(int, rest.split()[11:15])) + sum(map(ticks_used, children))


def wait_while_busy(process, wall):
    """Returns the exit code. SIGXCPU stands for a test that takes too long, or only waits."""
    started = changed = time.time()
    ticks = -1
    while time.time() - started < wall and time.time() - changed < IDLE:
        try:
            return process.wait(0.5 if ticks > 0 else 0.02)
        except subprocess.TimeoutExpired:
            now = ticks_used(process.pid)
            if now != ticks:
                ticks, changed = now, time.time()
    return -signal.SIGXCPU


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stop_group(process):
    kill_group(process)
    process.wait()


def is_open(result, budget):
    """Whether tests remain that a run with this budget would try."""
    return result and result["outcome"] == "open" and budget >= WHOLE_BUDGET


class Run:
    def __init__(self, seed, budget):
        self.budget = budget
        self.dir = ROOT / "build/mutants"
        self.dir.mkdir(parents=True, exist_ok=True)
        self.results = Results(ROOT / "tests/quality/mutants/results.tsv")
        self.made = build.Build(ROOT, self.dir)
        self.sources = Sources(ROOT)
        self.files = self.sources.files
        self.draw(seed)

    def draw(self, seed):
        """The mutants by id, in the order of the draw: first those of the results."""
        found = places.all_places(self.sources, self.files)
        self.ids, self.numbers = {}, {}
        for result in sorted(self.results.last.values(), key=lambda r: int(r["number"])):
            spot = places.spot_of(*(result[field] for field in ("function", "text", "change")))
            place = found.pop((spot, int(result["nth"])), None)
            if place:
                self.ids[result["id"]] = place._replace(replacement=places.replacement_of(result["change"]))
                self.numbers[result["id"]] = int(result["number"])
        next_number = max(self.numbers.values(), default=-1) + 1
        others = [place for place in found.values() if relevant.tests_of(place.file)]
        for number, place in enumerate(places.shuffle(self.sources, others, seed), next_number):
            name = self.id_of(place)
            self.ids[name], self.numbers[name] = place, number

    def change_of(self, place):
        return places.change_of(place, self.files[place.file])

    def id_of(self, place):
        name = f"{place.function} {place.text} {place.nth} {self.change_of(place)}"
        return hashlib.sha256(name.encode()).hexdigest()[:8]

    def lock(self):
        self.locked = open(self.dir / "lock", "w")
        try:
            fcntl.flock(self.locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.exit(f"mutants: another run uses {self.dir}: wait until it ends")

    def prepare(self):
        self.made.prepare(say)
        self.tests = Tests(self.made, self.results, self.sources, self.budget)

    def compile(self, names, to):
        """Returns the objects that differ from those of the original."""
        changed = {}
        everything = {**self.made.objects, **self.made.database_objects}
        for name in names:
            source, more = everything[name]
            self.made.compile(source, to / name, more)
            if (to / name).read_bytes() != (self.made.dir / "objects" / name).read_bytes():
                changed[name] = to / name
        return changed

    def holders(self, place):
        """The objects that contain the function: of a header, not all that include it."""
        names = self.made.holders(self.made.tree / place.file)
        if not names:  # else each of its mutants would have the same code
            sys.exit(f"mutants: no object in {self.dir}/objects depends on {place.file}")
        inside = [n for n, start, end in places.functions(self.files[place.file])
                  if start <= place.start < end]
        if not place.file.endswith(".h") or not inside:
            return names
        headers = [p.read_text() for p in (self.made.tree / "src").rglob("*.h")]
        users = places.users(headers, inside[0])
        return [n for n in names if users & self.made.words_of(n)]

    def try_one(self, name, only=None, show=False):
        """Returns what became of a mutant. One that is open is only tried with the other tests."""
        place = self.ids[name]
        path = self.made.tree / place.file
        text = self.files[place.file]
        names = sorted(self.holders(place), key=relevant.order_of_objects)
        known = self.results.last.get(name, {})
        passed = known["test"].split("; ") if known.get("outcome") == "open" else []
        killer = known["test"] if known.get("outcome") in page.KILLED else None
        order = sorted(self.tests.order(place.file), key=lambda t: t != killer)
        if not order:  # else the mutant would survive
            sys.exit(f"mutants: relevant.py has no tests for {place.file}")
        tests = only.split("|") if only else [t for t in order if t not in passed]
        stages = [names] if passed or only else [names[:FIRST_OBJECTS], names[FIRST_OBJECTS:]]
        to = self.dir / "mutant"
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        old = path.stat()
        try:
            before = [self.made.preprocessed(name) for name in names[:1]]
            path.write_text(text[:place.start] + place.replacement + text[place.end:])
            if [self.made.preprocessed(name) for name in names[:1]] == before:
                return {"outcome": "same code", "test": ""}
            return self.try_stages([s for s in stages if s], tests, passed, to, show)
        except build.BuildError:
            return {"outcome": "does not compile", "test": ""}
        finally:
            path.write_text(text)
            os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

    def try_stages(self, stages, tests, passed, to, show):
        """The objects of a later stage are only compiled if the tests pass without."""
        changed, result = {}, {"outcome": "same code", "test": ""}
        for names in stages:
            more = self.compile(names, to)
            changed.update(more)
            if not more:
                continue
            self.made.link_library(to, changed)
            outcome, found = self.tests.kill(tests, to, show)
            if outcome in page.KILLED:
                return {"outcome": outcome, "test": found[0]}
            result = {"outcome": outcome, "test": "; ".join(passed + found)}
        return result

    def record(self, name, only=None):
        place = self.ids[name]
        started, before = time.time(), children_seconds()
        result = self.try_one(name, only)
        result.update(id=name, number=self.numbers[name], wall=f"{time.time() - started:.1f}",
                      cpu=f"{children_seconds() - before:.1f}", function=place.function,
                      version=self.sources.version_of(place.function), nth=place.nth,
                      change=self.change_of(place), text=place.text)
        if only and result["outcome"] == "survived":
            result["outcome"] = "open"
        self.results.add(result)
        test = result["test"] if result["outcome"] in page.KILLED else ""
        say(f"{name} {place.file}:{place.line} {result['change']}: {result['outcome']} {test} {result['cpu']} s")

    def drawn(self, count):
        """The first mutants of the draw that count, with their results so far."""
        found = {}
        for name in self.ids:
            result = self.results.last.get(name)
            if len(found) == count:
                break
            if not result or result["outcome"] not in ("does not compile", "same code"):
                found[name] = result
        return found

    def replaced(self, count):
        """The outcomes of those among them that do not count."""
        drawn = self.drawn(count)
        last = list(self.ids).index(list(drawn)[-1])
        return [self.results.last[n]["outcome"] for n in list(self.ids)[:last] if n not in drawn]

    def is_stale(self, name, result):
        return result["version"] != self.sources.version_of(self.ids[name].function)

    def run_all(self, count, start, stale):
        while True:
            drawn = self.drawn(count)
            remaining = [n for n, result in drawn.items() if not result]
            remaining += [n for n, result in drawn.items() if is_open(result, self.budget)]
            if stale:
                remaining += [n for n, r in drawn.items() if r and self.is_stale(n, r)]
            minutes = len(remaining) * self.results.mean_wall() / 60
            say(f"{len(remaining)} of {count} mutants remain: about {minutes:.0f} min")
            if not remaining:
                return
            self.record(next((n for n in remaining if self.numbers[n] >= start), remaining[0]))

    def run_survivors(self, count):
        judged = page.read_judged(ROOT / "tests/quality/mutants/judged.txt")
        again = [name for name, m in self.described(count).items()
                 if page.verdict_of(m, judged)[0] == "not killed"]
        for i, name in enumerate(again):
            say(f"{len(again) - i} of {len(again)} survivors remain")
            self.record(name)

    def described(self, count):
        """The mutants that ran, as the page needs them."""
        found = {}
        for number, (name, result) in enumerate(self.drawn(count).items()):
            place = self.ids[name]
            if result:
                found[name] = {
                    "number": number, "outcome": result["outcome"], "file": place.file,
                    "function": place.function, "text": place.text, "kind": place.kind,
                    "change": self.change_of(place),
                    "first": self.results.first.get(name, result)["outcome"],
                    "current": not self.is_stale(name, result)}
        return found

    def diff(self, place):
        """A patch of the sources."""
        text = self.files[place.file]
        changed = text[:place.start] + place.replacement + text[place.end:]
        lines = difflib.unified_diff(text.splitlines(True), changed.splitlines(True),
                                     "a/" + place.file, "b/" + place.file)
        return "".join(lines)


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--seed", type=int, default=29)
    options.add_argument("--budget", type=float, default=WHOLE_BUDGET)
    options.add_argument("--stale", action="store_true")
    options.add_argument("--survivors", action="store_true")
    options.add_argument("--from", type=int, default=0, dest="start")
    options.add_argument("--one")
    options.add_argument("--try", nargs="+", dest="tried", default=[])
    options.add_argument("--diff")
    options.add_argument("--report", action="store_true")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted: the next run goes on"))
    run = Run(given.seed, given.budget)
    pairs = [pair.split("=", 1) for pair in given.tried]
    for name in [given.one, given.diff, *(pair[0] for pair in pairs)]:
        if name and name not in run.ids:
            sys.exit(f"mutants: no mutant {name}")
    if given.diff:
        print(run.diff(run.ids[given.diff]), end="")
        return
    if not given.report:
        run.lock()
        run.prepare()
    if given.one:
        say(json.dumps(run.try_one(given.one, show=True), indent=1))
        return
    for name, test in pairs:
        run.record(name, test)
    if given.survivors:
        run.run_survivors(given.count)
    elif not given.report and not pairs:
        run.run_all(given.count, given.start, given.stale)
    page.write(ROOT, run.described(given.count), run.replaced(given.count), given)


if __name__ == "__main__":
    main()
