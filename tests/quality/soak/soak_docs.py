"""Writes the tables of docs/trust/soak.md between two markers, from the state of `make soak`."""

import textwrap
from pathlib import Path

import schedule
from soak_state import State

BEGIN = "<!-- soak: begin (written by make soak) -->"
END = "<!-- soak: end -->"


def state_path(docs):
    """docs/trust/soak.md -> docs/trust/soak.json: the state that the tables are made from."""
    return Path(docs).with_suffix(".json")


def write(docs, parts, state):
    """
    Writes the state beside the page, and the tables. Rows of which the state there has counted more
    stay as they are. Does nothing if there is no such page, for example in a source archive without
    docs.
    """
    if not docs.exists():
        return
    text = docs.read_text()
    if BEGIN not in text or END not in text:
        raise SystemExit(f"soak: {docs} has no markers '{BEGIN}' and '{END}'")
    state.take_newer(State(state_path(docs)))
    state.write(state_path(docs))
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    docs.write_text(f"{before}{BEGIN}\n\n{tables(parts, state)}\n\n{END}{after}")


def tables(parts, state):
    sections = [run_table(state)]
    sections += [part_table(part, state) for part in parts]
    sections.append(failure_list(state))
    return "\n\n".join(sections)


def run_table(state):
    """What was run where: a line for each library on each machine."""
    sums = {}
    for row in state.rows.values():
        for number, batches, seconds in row.runs:
            before = sums.get(number, (0, 0))
            sums[number] = before[0] + batches, before[1] + seconds
    if not sums:
        return "Nothing was run yet."
    lines = ["| library | last commit | machine | from (UTC) | batches | elapsed |",
             "|---|---|---|---|---|---|"]
    for number in sorted(sums, key=lambda number: state.libraries[number]["started"]):
        run, (batches, seconds) = state.libraries[number], sums[number]
        lines.append(f"| {run['library'] or '–'} | {run['commit']} | {run['machine']} | "
                     f"{run['started']} | {batches:,} | {schedule.clock(seconds)} |")
    lines += ["", "Library: `git rev-parse --short=10 HEAD:src`. If the commit has a +, some of its "
              "batches ran with", "changes that were not committed.", "",
              f"The present library is {state.present}, that of the last run. The tables below say how "
              "much of the", "elapsed time of each row it has run."]
    return "\n".join(lines)


def columns_of(part, state):
    """The counts with targets first, then the others, in the order in which they appear."""
    names = dict.fromkeys(name for row in part.rows for name in row.targets)
    names.update(dict.fromkeys(part.totals))
    for row in part.rows:
        names.update(dict.fromkeys(state.row(part, row).counts))
    return list(names)


def cell(count, target):
    """The count; if it is below its target, with its percentage."""
    if not target:
        return f"{count:,}" if count else "–"
    if count >= target:
        return f"{count:,}"
    return f"{count:,} ({share(count, target)})"


def share(count, target):
    """Rounded down, so that 100 % means all of it."""
    percent = int(1000 * count / target) / 10
    return f"{percent:.0f} %" if percent >= 10 or not count else f"{percent:.1f} %"


def part_table(part, state):
    names = columns_of(part, state)
    heads = [name.replace("_", " ") for name in names]
    lines = [f"## {part.title}", "", f"| {part.row_title} | {' | '.join(heads)} | elapsed | present library |",
             "|---" * (len(names) + 3) + "|"]
    for row in part.rows:
        entry = state.row(part, row)
        cells = [cell(entry.counts.get(name, 0), row.targets.get(name)) for name in names]
        lines.append(f"| `{row.name}` | {' | '.join(cells)} | {times([entry], state)} |")
    if len(part.rows) > 1:
        lines.append(total_line(part, state, names))
    return "\n".join(lines + ["", wanted(part)])


def total_line(part, state, names):
    entries = [state.row(part, row) for row in part.rows]
    cells = [cell(sum(e.counts.get(name, 0) for e in entries), part.totals.get(name))
             for name in names]
    return f"| all | {' | '.join(cells)} | {times(entries, state)} |"


def times(entries, state):
    """The last two cells of a line."""
    present = sum(state.present_seconds(entry) for entry in entries)
    return f"{schedule.clock(sum(e.seconds for e in entries))} | {schedule.clock(present) if present else '–'}"


def wanted(part):
    """The targets in one sentence: those of most rows, and the totals."""
    most = {}
    for row in part.rows:
        for name, n in row.targets.items():
            most[name] = max(n, most.get(name, 0))
    each = [f"{n:,} {name.replace('_', ' ')}" for name, n in most.items()]
    text = f"Wanted{' per row' if len(part.rows) > 1 else ''}: {', '.join(each)}"
    if part.totals:
        total = [f"{n:,} {name.replace('_', ' ')}" for name, n in part.totals.items()]
        text += f"; in all {', '.join(total)}"
    text += "."
    if any(len(row.targets) < len(most) for row in part.rows):
        text += f" A {part.row_title} has only the targets that apply to it; other counts have no target."
    return textwrap.fill(text, 100)


def failure_list(state):
    text = "No failure is open."
    if state.open_failures:
        text = failure_table("open failure", state.open_failures)
    if state.passed_failures:
        text += "\n\n## Failures that passed when repeated\n\nThreads, kills and failovers do not " \
                "repeat exactly: the defect may still be there.\n\n"
        text += failure_table("failure", state.passed_failures)
    return text


def failure_table(title, failures):
    lines = [f"| {title} | reason | commit | repeated (UTC) | command |", "|---|---|---|---|---|"]
    for f in failures:
        lines.append(f"| {f['part']} {f['row']} | {f['reason']} | {f['commit']} | "
                     f"{f.get('repeated', '–')} | `{f['command']}` |")
    return "\n".join(lines)
