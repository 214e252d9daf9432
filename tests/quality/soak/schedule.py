"""Which row of which part is run next, for how long, and how much is left."""

import runpy


def load_parts(path):
    return runpy.run_path(str(path))["PARTS"]


def row_done(entry, row):
    """How much of the row's targets is reached: 0 to 1, by the one that lags most."""
    fractions = [min(1, entry.counts.get(name, 0) / n) for name, n in row.targets.items()]
    return min(fractions, default=0)


def part_done(state, part):
    """How much of the totals of the part is reached. 1 if it has none."""
    sums = {name: sum(state.row(part, row).counts.get(name, 0) for row in part.rows)
            for name in part.totals}
    return min((min(1, sums[name] / n) for name, n in part.totals.items()), default=1)


def next_row(state, rows, stopped, busy_parts, busy_rows, again=False):
    """
    The unfinished row that has run for the least time, or None: so all rows advance, also beside
    one whose target is far. A row whose own targets are reached goes on while the part's totals are
    not. If again, finished rows come after the unfinished ones: first the row that the present
    library has run for the least time, so that a changed library is run again.
    """
    best, best_key = None, None
    for part, row in rows:
        if (part.name, row.name) in stopped:
            continue
        if part.at_once and busy_parts.count(part.name) >= part.at_once:
            continue
        entry = state.row(part, row)
        finished = row_done(entry, row) >= 1 and part_done(state, part) >= 1
        if finished and not again:
            continue
        seconds = state.present_seconds(entry) if finished else entry.seconds
        key = finished, seconds + 60 * busy_rows.count((part, row))
        if best_key is None or key < best_key:
            best, best_key = (part, row), key
    return best


def next_amount(entry, part, row, batch_seconds):
    """The amount that should take batch_seconds, by the speed of the last batch."""
    amount, seconds = entry.last
    if not amount:
        return part.first_amount
    wanted = min(amount * batch_seconds / max(seconds, 0.001), 8 * amount)
    if part.most_amount:
        wanted = min(wanted, part.most_amount)
    return max(1, int(wanted))


def seconds_left(state, rows):
    """Seconds of one core until all targets are reached; None as long as a row has never run."""
    total = 0
    for part in dict.fromkeys(part for part, _ in rows):
        entries = [(state.row(part, row), row) for owner, row in rows if owner is part]
        if any(row_done(entry, row) == 0 for entry, row in entries):
            return None
        left = sum(entry.seconds * (1 / row_done(entry, row) - 1) for entry, row in entries)
        done = part_done(state, part)
        spent = sum(entry.seconds for entry, _ in entries)
        total += max(left, spent * (1 / done - 1) if done else left)
    return total


def clock(seconds):
    if 0 < seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds / 60 + 0.5)
    return f"{minutes // 60} h {minutes % 60:02} min"


def all_done(state, rows):
    """The mean of what is reached, over rows and totals."""
    values = [row_done(state.row(part, row), row) for part, row in rows]
    values += [part_done(state, part) for part in dict.fromkeys(p for p, _ in rows) if part.totals]
    return sum(values) / len(values) if values else 1


def progress(state, rows, jobs):
    left = seconds_left(state, rows)
    text = "time left unknown until each row has run" if left is None else \
        f"{clock(left / jobs)} left"
    failures = f"; {len(state.open_failures)} FAILURES" if state.open_failures else ""
    return f"{100 * all_done(state, rows):.1f} % done, {text}{failures}"


def overview(state, rows):
    """A line per row: part, row, percentage, time run, counts."""
    lines = []
    for part, row in rows:
        entry = state.row(part, row)
        counts = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in entry.counts.items())
        lines.append(f"{part.name:12} {row.name:20} {100 * row_done(entry, row):5.1f} % "
                     f"{clock(entry.seconds):>12}  {counts}")
    return "\n".join(lines)
