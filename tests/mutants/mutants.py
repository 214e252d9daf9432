#!/usr/bin/env python3
"""mutants.py [--count N] [--budget S]  draw mutants, run the tests on each, write the page
mutants.py --survivors                  run survivors again, after new tests: those not judged
mutants.py --one ID                     run one mutant again, with the output of the tests
mutants.py --report                     only write docs/trust/mutants.md

A mutant is the library with one small change: another comparison, operator or constant, or one
statement less. The tests that are relevant to its file run on it, the fastest first, for at most S
seconds of processor time (30). If none fails, it survives: either nobody can tell the difference, or a
test is missing. tests/mutants/judged.txt says which, for each survivor.

The draw depends on the seed and on the sources alone. A mutant that does not compile, or whose
machine code is that of the original, is replaced by the next one. Everything happens in
build/mutants; state.json there has the results so far, so an interrupted run goes on.
"""

import argparse
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import build
import page
import places
import relevant

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIRECTORIES = ("quotient", "core", "guard", "store")
FIRST_OBJECTS = 5  # of a header: the others are only compiled if these tests pass
MEMORY = 24 << 30  # limit of a test: a mutant may allocate without end


def say(text):
    print(text, flush=True)


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class State:
    """What is known, written after each mutant."""

    def __init__(self, path):
        self.path = path
        self.data = {"base": {}, "results": {}}
        if path.exists():
            self.data = json.loads(path.read_text())
        self.base, self.results = self.data["base"], self.data["results"]

    def save(self):
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.data, indent=1))
        os.replace(new, self.path)


class Tests:
    """Runs tests with the libraries of a directory."""

    def __init__(self, made, state, budget):
        self.made, self.state, self.budget = made, state, budget

    def run(self, command, libraries, cpu, wall, output=subprocess.DEVNULL):
        """Returns (outcome, seconds of processor time): passed, failed or timeout."""
        name, *arguments = command.split()
        before = children_seconds()
        with tempfile.TemporaryDirectory(dir=self.made.dir) as place:
            environment = dict(os.environ, LD_LIBRARY_PATH=str(libraries), TMPDIR=place)
            process = subprocess.Popen(
                [self.made.programs[name], *arguments], cwd=place, env=environment, stdout=output,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=lambda: limit(cpu))
            try:
                code = process.wait(wall)
            except subprocess.TimeoutExpired:
                code = -signal.SIGXCPU
            finally:
                stop_group(process)
        outcome = "passed" if code == 0 else "timeout" if code == -signal.SIGXCPU else "failed"
        return outcome, children_seconds() - before

    def measure(self, commands):
        """The time of each test with the library as it is; it must pass."""
        for command in sorted(commands):
            program = self.made.programs[command.split()[0]]
            stamp = f"{command} {program.stat().st_mtime}"
            if self.state.base.get(command, {}).get("stamp") == stamp:
                continue
            outcome, cpu = self.run(command, self.made.dir, 120, 600)
            say(f"{command}: {outcome}, {cpu:.2f} s")
            self.state.base[command] = {"stamp": stamp, "cpu": cpu, "passed": outcome == "passed"}
            self.state.save()

    def kill(self, file, libraries, output=subprocess.DEVNULL):
        """Returns (test or None, outcome, seconds)."""
        base = self.state.base
        usable = [c for c in relevant.tests_of(file) if base[c]["passed"]]
        spent = 0
        for command in sorted(usable, key=lambda c: base[c]["cpu"]):
            own = base[command]["cpu"]
            if spent + own > self.budget:
                break
            outcome, cpu = self.run(command, libraries, int(3 * own + 3), 60 + 40 * own, output)
            spent += cpu
            if outcome != "passed":
                return command, outcome, spent
        return None, "passed", spent


def limit(cpu):
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def stop_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Run:
    def __init__(self, seed, budget):
        self.budget = budget
        self.dir = ROOT / "build/mutants"
        self.dir.mkdir(parents=True, exist_ok=True)
        self.state = State(self.dir / "state.json")
        self.made = build.Build(ROOT, self.dir)
        self.files = {}
        for directory in DIRECTORIES:
            for path in sorted((ROOT / "src" / directory).glob("*.[ch]")):
                self.files[path.relative_to(ROOT).as_posix()] = path.read_text()
        self.places = places.draw(self.files, seed)
        self.ids = {self.id_of(p): p for p in self.places}

    def id_of(self, place):
        change = places.change_of(place, self.files[place.file])
        name = f"{place.file} {place.text} {place.nth} {change}"
        return hashlib.sha256(name.encode()).hexdigest()[:8]

    def prepare(self):
        self.made.prepare(say)
        self.tests = Tests(self.made, self.state, self.budget)
        self.tests.measure({c for file in self.files for c in relevant.tests_of(file)})

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

    def try_one(self, place, output=subprocess.DEVNULL):
        """Returns what became of a mutant."""
        path = self.made.tree / place.file
        text = self.files[place.file]
        names = sorted(self.made.holders(path), key=relevant.order_of_objects)
        to = self.dir / "mutant"
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        old = path.stat()
        try:
            path.write_text(text[:place.start] + place.replacement + text[place.end:])
            changed = self.compile(names[:FIRST_OBJECTS], to)
            result = self.judge(place, changed, to, output) if changed else None
            if (not result or result["outcome"] == "survived") and names[FIRST_OBJECTS:]:
                more = self.compile(names[FIRST_OBJECTS:], to)
                if more:
                    result = self.judge(place, {**changed, **more}, to, output)
            return result or {"outcome": "same code"}
        except build.BuildError:
            return {"outcome": "does not compile"}
        finally:
            path.write_text(text)
            os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

    def judge(self, place, changed, to, output):
        self.made.link_library(to, changed)
        test, outcome, seconds = self.tests.kill(place.file, to, output)
        found = {"passed": "survived", "failed": "killed", "timeout": "timeout"}[outcome]
        return {"outcome": found, "test": test, "seconds": round(seconds, 2),
                "budget": self.budget}

    def record(self, name, place):
        started, before = time.time(), children_seconds()
        result = self.try_one(place)
        result.update(file=place.file, line=place.line, text=place.text, kind=place.kind,
                      change=places.change_of(place, self.files[place.file]),
                      cpu=round(children_seconds() - before, 2))
        self.state.results[name] = result
        self.state.save()
        return result, time.time() - started

    def drawn(self, count):
        """The first mutants of the draw that count, with their results so far."""
        found = {}
        for name, place in self.ids.items():
            result = self.state.results.get(name)
            if len(found) == count:
                break
            if not result or result["outcome"] not in ("does not compile", "same code"):
                found[name] = result
        return found

    def run_all(self, count):
        walls = []
        while True:
            drawn = self.drawn(count)
            open_ones = [name for name, result in drawn.items() if not result]
            if not open_ones:
                return
            name = open_ones[0]
            place = self.ids[name]
            result, wall = self.record(name, place)
            walls.append(wall)
            left = sum(walls[-40:]) / len(walls[-40:]) * (len(open_ones) - 1) / 60
            say(f"{count - len(open_ones) + 1}/{count} {name} {place.file}:{place.line} "
                f"{result['change']}: {result['outcome']} {result.get('test') or ''} "
                f"{result['cpu']} s; {left:.0f} min left")

    def run_survivors(self, count):
        judged = page.read_judged(ROOT / "tests/mutants/judged.txt")
        for name, result in self.drawn(count).items():
            if result and page.verdict_of(result, judged)[0] == "not killed":
                result, _ = self.record(name, self.ids[name])
                say(f"{name} {result['file']}:{result['line']} {result['change']}: "
                    f"{result['outcome']} {result.get('test') or ''}")


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--seed", type=int, default=29)
    options.add_argument("--budget", type=float, default=30)
    options.add_argument("--survivors", action="store_true")
    options.add_argument("--one")
    options.add_argument("--report", action="store_true")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted: the next run goes on"))
    run = Run(given.seed, given.budget)
    if given.one and given.one not in run.ids:
        sys.exit(f"mutants: no mutant {given.one}")
    if not given.report:
        run.prepare()
    if given.one:
        say(json.dumps(run.try_one(run.ids[given.one], None), indent=1))
        return
    if given.survivors:
        run.run_survivors(given.count)
    elif not given.report:
        run.run_all(given.count)
    page.write(ROOT, run.drawn(given.count), run.state, given)


if __name__ == "__main__":
    main()
