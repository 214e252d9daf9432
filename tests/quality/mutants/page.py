"""docs/trust/mutants.md: what became of the mutants, for mutants.py."""

import collections
import textwrap

KILLED = ("killed", "timeout")
VERDICTS = {"killed by": "killed", "new test": "not killed"}  # a new test: run it again
TEXT = """# Mutants

Would the tests have found a bug? `make mutants` plants small ones: another comparison, operator or
constant, or one statement less, in the quotient filters, the core, the guard and the stores. It draws
{count} places at random (seed {seed}), builds the library with one change each, and runs the tests
that are relevant to the file, the fastest first, for at most {budget:g} seconds of processor time. A
mutant is killed if a test fails, crashes or does not end. A mutant that does not compile, or whose
machine code is that of the original, is replaced by the next of the draw: {same} had the same code,
{broken} did not compile. The build is portable code; the laws that compare instruction sets
(`tests/laws`) are not counted here.

A survivor is equivalent if no caller can tell the difference; otherwise a test is missing.
`tests/quality/mutants/judged.txt` has the judgement of each, `tests/quality/mutants/results.tsv`
the result of each run. `make mutants MUTANTS="--one ID"` repeats one.

{before}

"killed by" in the list below names a test that was run by hand: with a sanitizer or a memory
checker, which `make mutants` does not use, or one that it does not run for this file.

{state}

| directory | mutants | killed | by a timeout | equivalent | not killed | open | killed of the others |
|---|---|---|---|---|---|---|---|
{rows}

{kinds}

## Survivors

{survivors}
"""

BEFORE = """A survivor that is not equivalent gets a test, and is run again. So the table has the tests
as they are now, and not the share of new bugs that they would find. The tests as they were before
killed less: {share}"""
EARLY = 91  # of the draw: their first results are lost, but not how many survived
EARLY_SURVIVORS, EARLY_OTHERS, EARLY_KILLED = 11, 84, 83  # the others were judged as equivalent


def read_judged(path):
    """(function, line's text, change) -> verdict. Entries are separated by empty lines."""
    judged = {}
    for entry in path.read_text().split("\n\n"):
        lines = [line for line in entry.strip().split("\n") if line and not line.startswith("#")]
        if not lines:
            continue
        fields = dict(line.split(": ", 1) for line in lines)
        judged[fields["function"], fields["line"], fields["change"]] = fields["verdict"]
    return judged


def judged_of(result, judged):
    return judged.get((result["function"], result["text"], result["change"]), "")


def verdict_of(result, judged):
    """killed, timeout, equivalent, or not killed; and the reason."""
    if result["outcome"] in KILLED:
        return result["outcome"], ""
    text = judged_of(result, judged)
    if result["outcome"] == "open" and (not text or text.startswith("new test")):
        return "open", "open: not all tests have run"
    text = text or "not killed: not judged"
    for known in ("equivalent", "killed by", "not killed", "new test"):
        if text.startswith(known):
            return VERDICTS.get(known, known), text
    raise SystemExit(f"judged.txt: unknown verdict: {text}")


def percent(killed, others):
    return f"{100 * killed / others:.1f} %" if others else ""


def row(name, verdicts):
    n = collections.Counter(verdicts)
    killed = n["killed"] + n["timeout"]
    others = len(verdicts) - n["equivalent"]
    return (f"| {name} | {len(verdicts)} | {killed} | {n['timeout']} | {n['equivalent']} | "
            f"{n['not killed']} | {n['open']} | {percent(killed, others)} |")


def wrapped(text, indent=""):
    return textwrap.wrap(text, 100, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)


def list_of(survivors):
    lines = []
    for name, result, (_, reason) in survivors:
        lines += wrapped(f"- {name}, `{result['function']}`: {reason}", "  ")
        lines += ["", "  ```", f"  {result['text']}", f"  {result['change']}", "  ```"]
    return "\n".join(lines) or "None."


def before(run, verdicts, judged):
    """What the tests killed when they met the mutants first."""
    later = [m for name, m in run.items()
             if m["number"] >= EARLY and verdicts[name][0] != "equivalent"]
    survived = sum(m["first"] == "survived" or "new test" in judged_of(m, judged) for m in later)
    still_open = sum(m["first"] == "open" and "new test" not in judged_of(m, judged) for m in later)
    equivalent = sum(m["number"] < EARLY and verdicts[name][0] == "equivalent"
                     for name, m in run.items())
    others = max(EARLY - equivalent, EARLY_OTHERS)  # some were judged wrongly at first
    early_survivors = EARLY_SURVIVORS + others - EARLY_OTHERS
    share = f"of the first {EARLY} mutants at least {early_survivors} survived, of {others} " \
            f"that are not equivalent: at most " \
            f"{percent(others - early_survivors, others)} were killed."
    if later:
        share += f" Of {len(later)} others, {survived} survived the tests that came from these: at " \
                 f"most {percent(len(later) - survived, len(later))} were killed"
        share += f", and at least {percent(len(later) - survived - still_open, len(later))}: the " \
                 f"first result of {still_open} is open." if still_open else "."
    return "\n".join(wrapped(" ".join(BEFORE.format(share=share).split())))


def progress(run, verdicts, count):
    text = "All of them ran."
    not_done = sum(v[0] == "open" for v in verdicts.values())
    if len(run) < count:
        text = f"Run so far: {len(run)} of {count} mutants of the draw, not in its order: those with " \
               f"fast tests came first. `make mutants` runs the rest."
    old = sum(not m["current"] for m in run.values())
    if old:
        text += f" {old} ran with an earlier version of their function, by its hash: " \
                f"`make mutants MUTANTS=--stale` runs them again."
    else:
        text += " Each result is of the present version of its function, by its hash."
    if not_done:
        text += f" {not_done} of them are open: their fastest tests do not kill them, and the others " \
                f"have not run yet. The last column counts them as not killed."
    if not any(m["number"] < EARLY for m in run.values()):
        text += f" The table does not have the first {EARLY} of the draw, which ran with earlier " \
                f"sources: {EARLY_KILLED} were killed then, 1 is killed by a law that is new, and " \
                f"{EARLY - EARLY_OTHERS} are equivalent."
    return text


def write(root, run, replaced, given):
    """run: the mutants that count; replaced: the outcomes of those that the draw has skipped."""
    judged = read_judged(root / "tests/quality/mutants/judged.txt")
    if not run:
        raise SystemExit("mutants: none was run yet")
    verdicts = {name: verdict_of(result, judged) for name, result in run.items()}
    by_directory, by_kind = collections.defaultdict(list), collections.defaultdict(list)
    for name, result in run.items():
        by_directory["/".join(result["file"].split("/")[:2])].append(verdicts[name][0])
        by_kind[result["kind"]].append(verdicts[name][0])
    rows = [row(f"`{d}`", v) for d, v in sorted(by_directory.items())]
    rows.append(row("all", [v[0] for v in verdicts.values()]))
    kinds = [f"{kind} {len(v)} ({v.count('not killed')} not killed)"
             for kind, v in sorted(by_kind.items())]
    survivors = sorted(((name, run[name], v) for name, v in verdicts.items() if v[1]),
                       key=lambda s: (s[1]["function"], s[1]["text"], s[0]))
    outcomes = collections.Counter(replaced)
    text = TEXT.format(
        count=given.count, seed=given.seed, budget=given.budget,
        same=outcomes["same code"], broken=outcomes["does not compile"], rows="\n".join(rows),
        before=before(run, verdicts, judged), state="\n".join(wrapped(progress(run, verdicts, given.count))),
        kinds="\n".join(wrapped("By change: " + ", ".join(kinds) + ".")), survivors=list_of(survivors))
    page = root / "docs/trust/mutants.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    title, first, rest = text.split("\n\n", 2)
    page.write_text("\n\n".join([title, "\n".join(wrapped(first)), rest]))
    print(f"{page.relative_to(root)}: {rows[-1]}")
