"""docs/trust/mutants.md: what became of the mutants, for mutants.py."""

import collections
import textwrap

KILLED = ("killed", "timeout")
TEXT = """# Mutants

Would the tests have found a bug? `make mutants` plants small ones: another comparison, operator or
constant, or one statement less, in `src/quotient`, `src/core`, `src/guard` and `src/store`. It draws
{count} places at random (seed {seed}), builds the library with one change each, and runs the tests
that are relevant to the file, the fastest first, for at most {budget:g} seconds of processor time. A
mutant is killed if a test fails, crashes or does not end. A mutant that does not compile, or whose
machine code is that of the original, is replaced by the next of the draw: {same} had the same code,
{broken} did not compile. The build is portable code; the laws that compare instruction sets
(`tests/contract`) are not counted here.

A survivor is equivalent if no caller can tell the difference; otherwise a test is missing.
`tests/mutants/judged.txt` has the judgement of each. `make mutants MUTANTS="--one ID"` repeats one.

A survivor that is not equivalent gets a test, and is run again. So the table has the tests as they
are now, and not the share of new bugs that they would find. Of the first 91 mutants at least 11
survived the tests as they were before, of 84 that are not equivalent: those tests killed at most
87 %. "killed by" in the list below names a test that `make mutants` does not run for this file.

{state}

| directory | mutants | killed | by a timeout | equivalent | not killed | killed of the others |
|---|---|---|---|---|---|---|
{rows}

{kinds}

## Survivors

{survivors}
"""


def read_judged(path):
    """(file, line's text, change) -> verdict. Entries are separated by empty lines."""
    judged = {}
    for entry in path.read_text().split("\n\n"):
        lines = [line for line in entry.strip().split("\n") if line and not line.startswith("#")]
        if not lines:
            continue
        fields = dict(line.split(": ", 1) for line in lines)
        judged[fields["file"], fields["line"], fields["change"]] = fields["verdict"]
    return judged


def verdict_of(result, judged):
    """killed, timeout, equivalent, or not killed; and the reason."""
    if result["outcome"] in KILLED:
        return result["outcome"], ""
    text = judged.get((result["file"], result["text"], result["change"]), "not killed: not judged")
    for known in ("equivalent", "killed by", "not killed"):
        if text.startswith(known):
            return ("killed" if known == "killed by" else known), text
    raise SystemExit(f"judged.txt: unknown verdict: {text}")


def percent(killed, others):
    return f"{100 * killed / others:.1f} %" if others else ""


def row(name, verdicts):
    n = collections.Counter(verdicts)
    killed, others = n["killed"] + n["timeout"], len(verdicts) - n["equivalent"]
    return (f"| {name} | {len(verdicts)} | {killed} | {n['timeout']} | {n['equivalent']} | "
            f"{n['not killed']} | {percent(killed, others)} |")


def wrapped(text, indent=""):
    return textwrap.wrap(text, 100, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)


def list_of(survivors):
    lines = []
    for name, result, (_, reason) in survivors:
        lines += wrapped(f"- {name}, `{result['file']}`: {reason}", "  ")
        lines += ["", "  ```", f"  {result['text']}", f"  {result['change']}", "  ```"]
    return "\n".join(lines) or "None."


def write(root, drawn, state, given):
    judged = read_judged(root / "tests/mutants/judged.txt")
    run = {name: result for name, result in drawn.items() if result}
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
                       key=lambda s: (s[1]["file"], s[1]["line"]))
    outcomes = collections.Counter(r["outcome"] for r in state.results.values())
    text = TEXT.format(
        count=given.count, seed=given.seed, budget=max(r.get("budget", 30) for r in run.values()),
        same=outcomes["same code"], broken=outcomes["does not compile"], rows="\n".join(rows),
        state=f"Run so far: the first {len(run)} of {given.count} mutants of the draw. "
              f"`make mutants` runs the rest." if len(run) < given.count else "All of them ran.",
        kinds="\n".join(wrapped("By change: " + ", ".join(kinds) + ".")), survivors=list_of(survivors))
    page = root / "docs/trust/mutants.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    title, first, rest = text.split("\n\n", 2)
    page.write_text("\n\n".join([title, "\n".join(wrapped(first)), rest]))
    print(f"{page.relative_to(root)}: {rows[-1]}")
