#!/usr/bin/env python3
"""make planted: shows that the parts of `make soak` can fail.

    tests/quality/soak/planted.py [--check] [--only=NAME,...] [--seconds=S] [--docs=FILE] [--no-copy]

Each file of tests/quality/soak/planted is a patch that plants one bug. Its first two lines say what the bug
is, the third which parts should find it, with further arguments of these. After an empty line come
the changes, each below a line "@@ FUNCTION @@" (tests/quality/records/functions.py has the names): lines that
begin with a space or with - are in that function once, and lines that begin with a space or with +
replace them. Where the lines break does not matter, nor does the file of the function. One patch
after the other is applied to a copy of the sources, build/planted, the programs of these parts are built, and the parts
run in turn until one of them fails, for at most S seconds of each. Before that all of them must pass
without a bug. The results are written to docs/trust/planted.md. Bugs that were not run keep the rows
that they have there; if one has no row yet, the page stays as it is.

--check only tests that all patches still apply.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(Path(__file__).resolve().parent))

sys.path.insert(0, str(ROOT / "tests/quality/records"))

import functions  # noqa: E402
import schedule  # noqa: E402

PATCHES = ROOT / "tests/quality/soak/planted"
PLANTED_IN = ("src", "cli", "redis", "sqlite")  # the directories of the functions
TREE = ROOT / "build/planted"  # the copy; it is built in TREE/build and TREE/build/asan
HUNG = "it does not end"
SEEDS = 1000  # the first seed: others than those of a soak that has just begun
FIRST_SHARE = 8  # of a part's first amount: the first run is the shortest
SANITIZED = ("-DBESOM_SANITIZE=address,undefined", "-DBESOM_TEST_PREFIX=asan/",
             "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1 -g")
# What a part needs besides its own program.
NEEDS = {"updates": ("besom-command",), "redis-kills": ("besom_redis_module",), "failovers": ("besom_redis_module",),
         "restore": ("asan:besom_redis_module", "mutate_dumps")}

PAGE = """\
# Planted bugs

To show that the [long tests](../trust.md) can fail, each of these bugs was planted in a copy of the
sources, and the parts of `make soak` that should find it ran until one failed. `make planted` does
it again and writes this page; the patches are in tests/quality/soak/planted. The time does not
include building. Without a bug the same parts pass.

{found} of {all} bugs were found, {hung} of them only because a part did not end: it was stopped
after a minute or more, and the table says so. The table joins several runs: it has the last result
of each bug. "at most" is the work that was begun when the part failed.

## Bugs that were not found at first

Each bug was written with the part in mind that should find it, and yet the first versions of five
bugs were not found. The parts were improved until they found them:

| bug | not found by | what the parts do since |
|---|---|---|
| a batch of inserts leaves something out | `model` | inserts of many keys per call |
| migration-ends-without-lock | 125 seconds of `kills` | eight threads on one guard, with the thread sanitizer. Without it the bug is not found: 30 seconds of `threads release-guard` pass |
| wrong-byte-order-of-hand | 64 seconds of `model aqf` | any limit of exceptions, and filters that forget at that limit |
| forgetting-saves-nothing | 64 seconds of `model aqf` | the same |
| list-before-signature | 129 seconds of `updates` | kills just after the update has made, renamed or removed a file, not only at random moments; on a disk, where a sync takes time, not in memory |

So {found} of {all} is not the share of all bugs that the tests would find: the parts were made to find
these. [mutants.md](mutants.md) has bugs that nobody chose.

## Bugs that were found

| bug | function | what it does | found by | after | work |
|---|---|---|---|---|---|
{rows}
"""


@dataclass
class Bug:
    name: str
    text: str  # what the bug is
    finders: list  # (part, row)
    changes: list  # (function, lines)


@dataclass
class Result:
    name: str  # of the bug
    finder: str = ""
    seconds: float = 0
    work: str = ""
    message: str = ""


def read_bug(path, parts):
    lines = path.read_text().split("\n")
    if not lines[2].startswith("Found by: ") or lines[3]:
        sys.exit(f"{path}: two lines on the bug, 'Found by: PART/ROW, ...' and an empty line must come first")
    finders = []
    for name in lines[2][len("Found by: "):].split(", "):
        (part, row), *more = name.split()[0].split("/"), *name.split()[1:]
        found = [(p, replace(r, arguments=(*r.arguments, *more))) for p in parts for r in p.rows
                 if (p.name, r.name) == (part, row)]
        finders += found or [None]
    return Bug(path.stem, " ".join(lines[:2]), finders, read_changes(path, lines[4:]))


# ---------------------------------------------------------------------- patches


def read_changes(path, lines):
    changes = []
    for line in lines[:-1]:
        head = re.fullmatch(r"@@ (\S+) @@", line)
        if head:
            changes.append((head[1], []))
        elif line[:1] not in (" ", "-", "+") or not changes:
            sys.exit(f"{path}: not a line of a change: {line!r}")
        else:
            changes[-1][1].append(line)
    return changes


def find_once(wanted, tokens):
    """Where these words are among the tokens; ValueError if they are not there, or several times."""
    words = [t.text for t in tokens]
    found = [i for i in range(len(words) - len(wanted) + 1) if words[i:i + len(wanted)] == wanted]
    if len(found) != 1 or not wanted:
        raise ValueError(f"the lines to change are there {len(found)} times")
    return found[0]


def change_function(text, function, lines):
    """The text of a file with one change of one function."""
    old = [t.text for t in functions.all_tokens("\n".join(line[1:] for line in lines if line[0] != "+"))]
    tokens = functions.all_tokens(text[function.start:function.end])
    first = find_once(old, tokens)
    start, end = tokens[first].start, tokens[first + len(old) - 1].end
    new = "\n".join(line[1:] for line in lines if line[0] != "-").strip()
    return text[:function.start + start] + new + text[function.start + end:]


def plant(bug, files):
    """The changed files: {path: text}. ValueError if the patch does not apply."""
    files = dict(files)
    changed = {}
    for key, lines in bug.changes:
        found = functions.Sources(files={p: t for p, t in files.items() if key.split(":")[-1] in t}).find(key)
        if len(found) != 1:
            raise ValueError(f"{len(found)} functions are called {key}")
        try:
            files[found[0].file] = changed[found[0].file] = change_function(files[found[0].file], found[0], lines)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return changed


def read_sources(tree):
    return functions.Sources(tree, PLANTED_IN).files


def why_not(bug, files):
    """Why a patch does not apply; None if it does."""
    try:
        return None if plant(bug, files) else "it changes nothing"
    except ValueError as error:
        return str(error)


# ---------------------------------------------------------------------- the copy and its programs


def copy_sources():
    """Files that have not changed keep their times, so that little is compiled again. Files that are
    gone or have moved are removed: their functions would be there twice."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split("\n")
    for name in PLANTED_IN:
        for copy in [p for p in (TREE / name).rglob("*") if p.is_file()]:
            if not (ROOT / copy.relative_to(TREE)).is_file():
                copy.unlink()
    for name in filter(None, listed):
        source, copy = ROOT / name, TREE / name
        if not source.is_file() or copy.is_file() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


def configure(directory, options):
    ccache = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    subprocess.run(["cmake", "-S", str(TREE), "-B", str(directory), "-DBESOM_TESTS=ON", "-DBESOM_BENCH=OFF",
                    *options, *ccache], check=True, stdout=subprocess.DEVNULL)


def targets(part, row):
    """What must be built for a part; in the build with sanitizers if it begins with "asan:"."""
    named = list(NEEDS.get(part.name, ()))
    if "build" in row.arguments:  # --build build: without sanitizers
        named = [name.replace("asan:", "") for name in named]
    for word in part.command:
        if word.startswith("build/") and "." not in word:
            named.append(("asan:" if word.startswith("build/asan/") else "") + Path(word).name)
    return named


def build(finders):
    for prefix, directory, options in (("", TREE / "build", ()), ("asan:", TREE / "build/asan", SANITIZED)):
        names = sorted({name[len(prefix):] for part, row in finders for name in targets(part, row)
                        if name.startswith("asan:") == bool(prefix)})
        if not names:
            continue
        if not (directory / "CMakeCache.txt").exists():
            configure(directory, options)
        done = subprocess.run(["cmake", "--build", str(directory), f"-j{os.cpu_count()}", "--target", *names],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(done.stdout[-3000:])


# ---------------------------------------------------------------------- running


def run(part, row, seed, amount, seconds):
    """Returns None if the part passes, else what it said."""
    command = [*part.command, "--seed", str(seed), "--amount", str(amount), *row.arguments]
    environment = {**os.environ, **part.environment}
    with tempfile.TemporaryDirectory(prefix="besom-planted-", dir=environment.get("TMPDIR")) as files:
        process = subprocess.Popen(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", env={**environment, "TMPDIR": files}, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            output = None
        try:  # what a failed part has started may still run
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    if output is None:
        return HUNG
    return None if process.returncode == 0 else last_message(output) or f"exit code {process.returncode}"


def last_message(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"seed \d|ERROR|Error|WARNING|runtime error|expected", line)]
    return (telling or lines or [""])[0 if telling else -1][:160]


def hunt(bug, seconds):
    """Runs the parts in turn, with more and more seeds, until one fails."""
    begun = {id(row): 0.0 for _, row in bug.finders}
    done = {id(row): 0 for _, row in bug.finders}
    start, seed, share = time.monotonic(), SEEDS, FIRST_SHARE
    while True:
        left = [(part, row) for part, row in bug.finders if begun[id(row)] < seconds]
        if not left:
            return Result(bug.name, seconds=time.monotonic() - start, message="NOT FOUND")
        for part, row in left:
            now, amount = time.monotonic(), max(1, part.first_amount // share)
            message = run(part, row, seed, amount, max(60, 2 * seconds))
            begun[id(row)] += time.monotonic() - now
            done[id(row)] += amount
            if message:
                unit = next(iter(row.targets), "units")
                return Result(bug.name, f"{part.name} {row.name}", time.monotonic() - start,
                              f"at most {done[id(row)]:,} {unit}", message)
        seed += 1
        share = max(1, share // 2)


def check_clean(bugs):
    """Without a bug, every part that is used must pass."""
    used = {(part.name, row.name, row.arguments): (part, row) for bug in bugs for part, row in bug.finders}
    build(used.values())
    for part, row in used.values():
        message = run(part, row, SEEDS, max(1, part.first_amount // FIRST_SHARE), 600)
        if message:
            sys.exit(f"{part.name} {row.name} fails without a bug: {message}")


def find_all(bugs, seconds, copy):
    if copy:
        copy_sources()
    check_clean(bugs)
    results, files = [], read_sources(TREE)
    for bug in bugs:
        try:
            for path, text in plant(bug, files).items():
                (TREE / path).write_text(text)
            build(bug.finders)
            results.append(hunt(bug, seconds))
        except ValueError as error:
            sys.exit(f"{bug.name}: {error}")
        finally:
            for path, text in files.items():
                if (TREE / path).read_text() != text:
                    (TREE / path).write_text(text)
        r = results[-1]
        print(f"{bug.name:30} {r.finder:20} {r.seconds:6.1f} s  {r.work:24} {r.message}", flush=True)
    return results


# ---------------------------------------------------------------------- the table


def place_of(bug):
    return ", ".join(f"`{key}`" for key, _ in bug.changes)


def row_of(bug, result):
    how = ", does not end" if result.message == HUNG else ""
    return (f"| {bug.name} | {place_of(bug)} | {bug.text} | {result.finder or 'none'} | "
            f"{result.seconds:.1f} s{how} | {result.work} |")


def rows_of(page):
    """The rows of the table by bug."""
    table = page.read_text().split("## Bugs that were found")[-1] if page.exists() else ""
    return {line.split("|")[1].strip(): line for line in table.split("\n") if line.count("|") == 7}


def write_docs(path, bugs, results):
    """Returns the bugs that have no row; if there is one, nothing is written."""
    rows = rows_of(path)
    rows.update({r.name: row_of(bug, r) for bug in bugs for r in results if r.name == bug.name})
    missing = [bug.name for bug in bugs if bug.name not in rows]
    if not missing:
        lines = [rows[bug.name] for bug in bugs]
        found = sum("| none |" not in line for line in lines)
        hung = sum(", does not end |" in line for line in lines)
        path.write_text(PAGE.format(found=found, hung=hung, all=len(bugs), rows="\n".join(lines)))
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="only test that the patches apply")
    parser.add_argument("--only", type=lambda text: text.split(","), help="these bugs")
    parser.add_argument("--no-copy", action="store_true", help="use the copy of the last run as it is")
    parser.add_argument("--seconds", type=float, default=120, help="for each part, before it gives up")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs/trust/planted.md")
    options = parser.parse_args()
    parts = schedule.load_parts(ROOT / "tests/quality/soak/parts.py")
    known = [read_bug(path, parts) for path in sorted(PATCHES.glob("*.patch"))]
    unknown = set(options.only or ()) - {bug.name for bug in known}
    if unknown:
        sys.exit(f"planted: no bug {', '.join(sorted(unknown))}; there are {', '.join(b.name for b in known)}")
    bugs = [bug for bug in known if not options.only or bug.name in options.only]
    files = read_sources(ROOT)
    bad = [f"{b.name}: {why}" for b in bugs for why in [why_not(b, files)] if why]
    bad += [f"{b.name}: a part that should find it does not exist" for b in bugs if None in b.finders]
    if bad or options.check:
        print("\n".join(bad) if bad else f"{len(bugs)} patches apply")
        sys.exit(1 if bad else 0)
    results = find_all(bugs, options.seconds, not options.no_copy)
    missing = write_docs(options.docs, known, results)
    if missing:
        print(f"{options.docs} stays as it is: not run yet are {', '.join(missing)}")
    missed = [r.name for r in results if not r.finder]
    print(f"{len(results) - len(missed)} of {len(results)} bugs were found" + "".join(f"\nNOT FOUND: {m}" for m in missed))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
