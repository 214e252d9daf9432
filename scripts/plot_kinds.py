#!/usr/bin/env python3
"""plot_kinds.py [--measure BENCH] RECORD SVG: draws the chart of docs/benchmarks.md, the false-positive rate of every kind
against its bits per key and against the time of a query, from RECORD, a CSV file. With --measure, BENCH (build/besom-bench)
measures the kinds first and writes the record: two minutes (`make chart`)."""

import csv
import io
import math
import pathlib
import subprocess
import sys

SLOTS, WIDTHS = 1 << 20, (7, 8, 10, 14)
COLUMNS = ("kind", "width", "bits_per_key", "fpr", "negative")
KINDS = ("ribbon", "fuse", "bloom", "blocked-bloom", "cf", "pqf", "aqf")  # named in the legend; the others are grey

WIDTH, PLOT, LEFT, LEGEND, PANEL, HIGH = 400, 320, 64, 52, 250, 190
PANELS = (("bits per key", "bits_per_key", 32, 4), ("nanoseconds per query of an absent key", "negative", 20, 4))
EXPONENTS = (8, 10, 12, 14, 16)
FIRST, LAST = 6, 17  # where the axis begins and ends

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #333b45 }
  .title { font-weight: 600 } .quiet { fill: #66707c }
  path { fill: none; stroke-width: 2; stroke-linejoin: round }
  .grid { stroke: #d7dce2; stroke-width: 1 } .other { stroke: #c3cad2; stroke-width: 1 }
  .ribbon, .fuse { stroke: #1d62c4 } .bloom, .blocked-bloom { stroke: #b45309 } .cf { stroke: #8b3fc0 } .pqf { stroke: #c0266b }
  .aqf { stroke: #0a7f5a; stroke-width: 3 } .fuse, .blocked-bloom, .pqf { stroke-dasharray: 5 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e3e7ec } .quiet { fill: #9aa5b1 } .grid { stroke: #3a424c } .other { stroke: #56606c }
    .ribbon, .fuse { stroke: #7db0ff } .bloom, .blocked-bloom { stroke: #f0a35e } .cf { stroke: #c99bf0 }
    .pqf { stroke: #ff8fbf } .aqf { stroke: #3ecf9a }
  }"""


def measure(bench, path):
    """One row per kind and width of remainders, or for kinds without them the rate of these."""
    rows = []
    for width in WIDTHS:
        command = [bench, "micro", "--slots", str(SLOTS), "--width", str(width), "--rounds", "1", "--csv"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = {}
        for line in csv.DictReader(io.StringIO(output)):
            if line["op"] in COLUMNS:
                found.setdefault(line["kind"], {})[line["op"]] = line["ns"] or line["value"]
        rows += [{"kind": kind, "width": width, **values} for kind, values in found.items() if len(values) == 3]
    with open(path, "w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path):
    """The points of each kind: bits per key, exponent of the rate, nanoseconds. Equal rates of two widths are one point."""
    kinds = {}
    for row in csv.DictReader(open(path)):
        point = {name: float(row[name]) for name in COLUMNS[2:]}
        kinds.setdefault(row["kind"], {})[point["fpr"]] = {**point, "rate": -math.log2(point["fpr"])}
    return {kind: sorted(points.values(), key=lambda p: p["rate"]) for kind, points in kinds.items()}


def x_of(value, end):
    return LEFT + PLOT * value / end


def y_of(exponent, bottom):
    return bottom - HIGH * (exponent - FIRST) / (LAST - FIRST)


def panel(kinds, top, title, column, end, step):
    """The lines of one axis. What lies beyond its end is cut off."""
    bottom = top + HIGH + 6
    out = [f'<text x="{LEFT}" y="{top}" class="title">{title}</text>']
    for exponent in EXPONENTS:
        y = y_of(exponent, bottom)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f}h{PLOT}"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" class="quiet">1/{2 ** exponent}</text>')
    for value in range(0, end + 1, step):
        x = x_of(value, end)
        out.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" class="quiet">{value}</text>')
    out.append(f'<path class="grid" d="M{LEFT} {bottom}h{PLOT}"/>')
    for kind in sorted(kinds, key=lambda k: (k in KINDS, k)):
        points = [p for p in kinds[kind] if p[column] <= end]
        line = "L".join(f"{x_of(p[column], end):.1f} {y_of(p['rate'], bottom):.1f}" for p in points)
        if line:
            out.append(f'<path class="{kind if kind in KINDS else "other"}" d="M{line}"><title>{kind}</title></path>')
    return out


def legend():
    out = []
    for i, kind in enumerate((*KINDS, "other")):
        x, y = (4, 104, 186, 286)[i % 4], 16 + i // 4 * 20
        out.append(f'<path class="{kind}" d="M{x} {y - 4}h20"/><text x="{x + 25}" y="{y}">{kind}</text>')
    return out


def draw(kinds):
    height = LEGEND + len(PANELS) * PANEL
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
           "<title>False-positive rate of every kind against bits per key, and against the time of a query</title>",
           f"<style>{STYLE}\n</style>", *legend()]
    for i, axis in enumerate(PANELS):
        out += panel(kinds, LEGEND + 16 + i * PANEL, *axis)
    return "\n".join([*out, "</svg>", ""])


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 4 and arguments[0] == "--measure":
        measure(arguments[1], arguments[2])
        arguments = arguments[2:]
    if len(arguments) != 2:
        sys.exit(__doc__)
    pathlib.Path(arguments[1]).write_text(draw(read(arguments[0])))


if __name__ == "__main__":
    main()
