#!/usr/bin/env python3
"""plot_savings.py [--check] NUMBERS SVG: draws the picture of the README: reads under attack, from runs of NUMBERS, the
program build/web/playground/playground-numbers (`make picture`), and sizes of an exact list, from the record of the claim
real-lists. A second picture, SVG-narrow.svg, has the panels one above the other, for phones. With --check, nothing is
written, and the exit code is 1 if a picture is not what would be drawn. The numbers do not depend on the machine."""

import csv
import json
import pathlib
import subprocess
import sys

SEED, MEMBERS, ABSENT, SKEW, BITS, PAST, QUERIES = 3, 50000, 200000, 1, 13, 100000, 1000000
ATTACK = 0.05
LINES = {"bloom": "Bloom filter", "cached": "filter with a cache", "aqf": "adaptive filter"}
STEPS = 10
# A kind of the record, its colour, its name, and what it is. The names that are blocked by mistake stand behind.
BARS = [("cascade", "bloom", "cascade of Bloom filters"), ("bloom", "cached", "Bloom filter"),
        ("cascade over ribbon", "aqf", "cascade of besom")]
LISTS = pathlib.Path(__file__).parent.parent / "bench/records/quick/real-lists.csv"

WIDTH, HEIGHT, NARROW = 860, 310, 410
PANEL, PLOT, LEFT, TOP, BOTTOM = 430, 210, 58, 86, 276

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #333b45 }
  .title { font-size: 15px; font-weight: 600 }
  .quiet { fill: #66707c }
  .grid { stroke: #d7dce2 }
  path { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  rect.bloom { fill: #b45309 } rect.cached { fill: #64748b } rect.aqf { fill: #0a7f5a } rect { stroke: none }
  .bloom { stroke: #b45309 } text.bloom { stroke: none; fill: #b45309 }
  .cached { stroke: #64748b } text.cached { stroke: none; fill: #64748b }
  .aqf { stroke: #0a7f5a } text.aqf { stroke: none; fill: #0a7f5a; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e3e7ec } .quiet { fill: #9aa5b1 } .grid { stroke: #3a424c }
    .bloom { stroke: #f0a35e } text.bloom { fill: #f0a35e }
    .cached { stroke: #9fb0c4 } text.cached { fill: #9fb0c4 }
    .aqf { stroke: #3ecf9a } text.aqf { fill: #3ecf9a }
    rect.bloom { fill: #f0a35e } rect.cached { fill: #9fb0c4 } rect.aqf { fill: #3ecf9a }
  }"""


def false_positives(program, queries):
    """The false positives of each filter after so many queries."""
    words = (SEED, MEMBERS, ABSENT, SKEW, ATTACK, BITS, PAST, queries)
    output = subprocess.run([program, "race", *map(str, words)], check=True, capture_output=True).stdout
    return {race["kind"]: race["numbers"][1] for race in json.loads(output)}


def round_up(value):
    """The next number for the end of an axis."""
    power = 10 ** (len(str(value)) - 1)
    return next(n * power for n in (1, 1.5, 2, 3, 5, 10) if n * power >= value)


def labels(ends):
    """The height of each label: at the end of its line, at least 32 apart."""
    heights, last = {}, BOTTOM + 32
    for kind in sorted(ends, key=ends.get, reverse=True):
        last = heights[kind] = min(ends[kind], last - 34)
    return heights


def headings(left, title, subtitle):
    return [f'<text class="title" x="{left}" y="24">{title}</text>', f'<text class="quiet" x="{left}" y="44">{subtitle}</text>']


def reads(points):
    """Lines: reads of the store for absent keys, over the queries."""
    left, right = LEFT, LEFT + PLOT
    top = round_up(max(points[-1][kind] for kind in LINES))

    def y(value):
        return BOTTOM - (BOTTOM - TOP) * value / top

    def x(step):
        return left + PLOT * step / STEPS

    svg = headings(left, "Reads of the store for absent keys", f"{ATTACK:.0%} of these queries are hostile; {BITS} bits per key")
    for share in (0, 0.5, 1):
        height = y(share * top)
        svg += [f'<path class="grid" style="stroke-width:1" d="M{left} {height:.1f}H{right}"/>',
                f'<text class="quiet" text-anchor="end" x="{left - 8}" y="{height + 4:.1f}">{share * top:,.0f}</text>']
    svg += [f'<text class="quiet" x="{left}" y="{BOTTOM + 20}">0</text>',
            f'<text class="quiet" text-anchor="end" x="{right}" y="{BOTTOM + 20}">1,000,000 queries</text>']
    heights = labels({kind: y(points[-1][kind]) for kind in LINES})
    for kind, name in LINES.items():
        line = "L".join(f"{x(i):.1f} {y(values[kind]):.1f}" for i, values in enumerate(points))
        svg += [f'<path class="{kind}" d="M{line}"/>',
                f'<text class="{kind}" x="{right + 8}" y="{heights[kind]:.1f}">{name}</text>',
                f'<text class="{kind}" x="{right + 8}" y="{heights[kind] + 15:.1f}">{points[-1][kind]:,}</text>']
    return svg


def sizes(rows):
    """Bars: the bytes of a list, and how many good names it blocks."""
    left, longest = PANEL + LEFT, max(int(rows[kind]["bytes"]) for kind, _, _ in BARS)
    first = rows[BARS[0][0]]
    svg = headings(left, "Bytes of a blocklist",
                   f'{int(first["yes"]):,} bad domains; {int(first["no"]) / 1e6:.1f} million good names')
    for i, (kind, colour, name) in enumerate(BARS):
        row, top = rows[kind], TOP + i * (BOTTOM - TOP + 12) / len(BARS)
        wrong = int(row["no_blocked"])
        svg += [f'<text class="{colour}" x="{left}" y="{top + 12:.1f}">{name}: {int(row["bytes"]):,}</text>',
                f'<rect class="{colour}" x="{left}" y="{top + 19:.1f}" width="{1.5 * PLOT * int(row["bytes"]) / longest:.1f}" height="14"/>',
                f'<text class="quiet" x="{left}" y="{top + 49:.1f}">{wrong:,} good names blocked</text>']
    return svg


def panels(program):
    """Both panels, as lines of SVG; the second is to the right of the first."""
    points = [{kind: 0 for kind in LINES}]
    points += [false_positives(program, QUERIES * i // STEPS) for i in range(1, STEPS + 1)]
    with LISTS.open(encoding="utf-8") as file:
        rows = {row["kind"]: row for row in csv.DictReader(line for line in file if not line.startswith("#"))}
    return reads(points), sizes(rows)


def picture(first, second, narrow=False):
    width, height = (NARROW, 2 * HEIGHT - 30) if narrow else (WIDTH, HEIGHT)
    if narrow:
        second = [f'<g transform="translate({-PANEL} {HEIGHT})">', *second, "</g>"]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img">', "<title>Reads under attack, and the size of an exact blocklist</title>",
                      f"<style>{STYLE}\n</style>", *first, *second, "</svg>\n"])


if __name__ == "__main__":
    check = sys.argv[1] == "--check"
    program, path = sys.argv[1 + check:]
    drawn = panels(program)
    for name, narrow in ((pathlib.Path(path), False), (pathlib.Path(path.removesuffix(".svg") + "-narrow.svg"), True)):
        if not check:
            name.write_text(picture(*drawn, narrow))
        elif not name.exists() or name.read_text() != picture(*drawn, narrow):
            sys.exit(f"{name}: not what `make picture` draws")
