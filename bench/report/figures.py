"""Draws the numbers of a record with gnuplot, as SVG for a page."""

import re
import shutil
import subprocess
import textwrap
from html import escape

import maps
import points

# Distinguishable for colour-blind readers (after Okabe and Ito). Frequent names have fixed colours.
BLUE, RED, GREEN, ORANGE, SKY, PURPLE, BLACK, OCHRE = (
    "#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#aa4499", "#333333", "#997700")
COLOURS = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK, OCHRE)
KNOWN = {"aqf": BLUE, "aqf_store": BLUE, "qf": RED, "cf": ORANGE, "taf": GREEN, "exaf": PURPLE, "utaf": SKY, "broom": BLUE,
         "vacuum": OCHRE, "none": BLACK, "bloom": RED, "stacked": BLUE, "learned": ORANGE}
WIDTH, HEIGHT, KEY_LINE = 520, 330, 20


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def curves_of(plot, rows):
    """{label: [(x, y)]} as texts: one curve per value of the series, or per y column."""
    curves = {}
    series = plot["series"].split(",") if plot["series"] else []
    for row in rows:
        for y in plot["y"].split(","):
            label = ", ".join(row[name] if number(row[name]) is None else f"{name} {row[name]}" for name in series) or y
            if number(row[y]) is not None and row[plot["x"]] != "":
                curves.setdefault(label, []).append((row[plot["x"]], row[y]))
    return curves


def merged(curves):
    """Curves with the same values at every x become one, with both names: otherwise one would hide the other."""
    kept = {}
    for label, pairs in curves.items():
        twin = next((other for other, values in kept.items() if coincide(values, pairs)), None)
        if twin is None:
            kept[label] = pairs
        else:
            kept = {f"{name} = {label}" if name == twin else name: values for name, values in kept.items()}
    return kept


def coincide(these, those):
    """Whether two curves have the same x, and y that differ by less than a hundredth."""
    if len(these) < 3 or [x for x, _ in these] != [x for x, _ in those]:
        return False
    pairs = [(number(a), number(b)) for (_, a), (_, b) in zip(these, those)]
    return all(abs(a - b) <= 0.01 * max(abs(a), abs(b)) for a, b in pairs)


def unit_of(values, log):
    """(divisor, suffix): large numbers are shown in thousands or millions, unless the axis is logarithmic."""
    most = max((abs(value) for value in values), default=0)
    if log or most < 20000:
        return 1, ""
    return (1e6, " (millions)") if most >= 1e6 else (1e3, " (thousands)")


def wrapped(label, most):
    """An axis label, wrapped at this many characters."""
    return "\n".join(textwrap.wrap(label, most))


def quoted(text):
    """A gnuplot string. gnuplot data cannot contain double quotes, so they become single ones."""
    return '"' + text.replace("\\", "\\\\").replace('"', "'").replace("\n", "\\n") + '"'


def paint(labels):
    """{label: colour}: fixed colours for known labels, the remaining colours for the others."""
    colours = {}
    for label in labels:
        wanted = KNOWN.get(label.partition(" = ")[0])
        if wanted and wanted not in colours.values():
            colours[label] = wanted
    free = [colour for colour in COLOURS if colour not in colours.values()]
    for label in labels:
        if label not in colours:
            colours[label] = free.pop(0) if free else COLOURS[len(colours) % len(COLOURS)]
    return colours


def look(label, colours):
    return f"lc rgb '{colours[label]}' title {quoted(label.replace('_', ' '))}"


def is_log(plot, axis, values):
    """Whether the axis is logarithmic. It is not if no value is positive."""
    return plot[f"log_{axis}"] and any(value > 0 for value in values)


def script_head(plot, curves, log_axes, x_unit="", y_unit="", below=0):
    """below: extra height for the names below the axis."""
    longest = max(map(len, curves))
    columns = 3 if longest <= 10 else 2 if longest <= 19 else 1
    key_lines = -(-len(curves) // columns) if len(curves) > 1 else 0
    return [
        f'set terminal svg size {WIDTH},{HEIGHT + KEY_LINE * key_lines + below} dynamic font "sans-serif,14"',
        "set encoding utf8",
        "set border 3 lc rgb '#666666'",
        "set tics nomirror",
        "set grid lc rgb '#dddddd' lw 1 lt 1",
        f"set xlabel {quoted(wrapped((plot['x_label'] or plot['x']) + x_unit, 56))} noenhanced",
        f"set ylabel {quoted(wrapped((plot['y_label'] or plot['y']) + y_unit, 38))} noenhanced",
        f"set key outside top center horizontal Left reverse samplen 2 maxcols {columns} noenhanced font ',13'" if key_lines else "set key off",
    ] + [f"set logscale {axis}\nset format {axis} '%.4g'" for axis in log_axes]


# Filled markers for our curves, hollow ones for the papers'. Later curves are thinner, so that those below them show.
MARKERS, HOLLOW = (7, 5, 9, 11, 13), (6, 4, 8, 10, 12)


def style_of(i, count, label, papers, colours):
    """How curve number i of count is drawn."""
    if label not in papers:
        width = 2 + 3 * (count - 1 - i) / max(1, count - 1) if count > 1 else 2
        return f"with linespoints lw {width:.1f} pt {MARKERS[i % 5]} ps 0.6 dt {1 + i // 5} {look(label, colours)}"
    kind = "linespoints lw 1.5 dt 3" if papers[label] else "points"
    return f"with {kind} pt {HOLLOW[i % 5]} ps {0.7 if papers[label] else 1.4} {look(label, colours)}"


def line_script(plot, curves, papers):
    sorted_curves = {label: sorted([(number(x), number(y)) for x, y in pairs if number(x) is not None], key=lambda point: point[0])
              for label, pairs in curves.items()}
    values = {"x": [x for pairs in sorted_curves.values() for x, _ in pairs], "y": [y for pairs in sorted_curves.values() for _, y in pairs]}
    log_axes = [axis for axis in "xy" if is_log(plot, axis, values[axis])]
    x_divisor, x_unit = unit_of(values["x"], "x" in log_axes)
    y_divisor, y_unit = unit_of(values["y"], "y" in log_axes)
    blocks, parts, colours = [], [], paint(curves)
    for i, (label, pairs) in enumerate(sorted_curves.items()):
        lines = [f"{x / x_divisor} {y / y_divisor}" for x, y in pairs]
        blocks.append(f"$curve{i} << EOD\n" + "\n".join(lines) + "\nEOD")
        parts.append(f"$curve{i} using 1:2 {style_of(i, len(sorted_curves), label, papers, colours)}")
    from_zero = "y" not in log_axes and min(values["y"], default=0) >= 0
    return (blocks + script_head(plot, curves, log_axes, x_unit, y_unit) +
            (["set yrange [0:*]"] if from_zero else []) + ["plot " + ", \\\n  ".join(parts)])


def bar_script(plot, curves, papers):
    names = list(dict.fromkeys(x for pairs in curves.values() for x, _ in pairs))
    heights = [{x: number(y) for x, y in pairs} for pairs in curves.values()]
    values = [y for each in heights for y in each.values()]
    log = is_log(plot, "y", values)
    divisor, unit = unit_of(values, log)
    rows = [f"{quoted(name)} " + " ".join(str(each[name] / divisor) if name in each else "?" for each in heights) for name in names]
    slanted = sum(len(name) + 2 for name in names) > 44
    colours, hatched = paint(curves), "fs pattern 4 border rgb '#333333' "
    parts = [f"$bars using {i + 2}:xtic(1) {hatched if label in papers else ''}{look(label, colours)}"
             for i, label in enumerate(curves)]
    return (["$bars << EOD\n" + "\n".join(rows) + "\nEOD"] +
            script_head(plot, curves, "y" if log else "", y_unit=unit, below=4 * max(map(len, names)) if slanted else 0) +
            ["set style data histograms", "set style histogram clustered gap 1", "set style fill solid 0.85 noborder",
             "set boxwidth 0.9", "set datafile missing '?'",
             "set xtics noenhanced" + (f" rotate by -30\nset rmargin {2 + len(names[-1]) // 2}" if slanted else "")] +
            ([] if log else ["set yrange [0:*]"]) + ["plot " + ", \\\n  ".join(parts)])


def check_gnuplot():
    if not shutil.which("gnuplot"):
        raise SystemExit("report: gnuplot is needed (Debian: apt-get install gnuplot-nox)")


def gnuplot(script):
    run = subprocess.run(["gnuplot"], input=script, capture_output=True, encoding="utf-8", check=False)
    if run.returncode != 0 or "</svg>" not in run.stdout:
        raise SystemExit(f"report: gnuplot could not draw:\n{run.stderr}\n{script}")
    return run.stdout


def embed(svg, name, title):
    """Prepares SVG for a page with other figures: unique ids, and a text alternative."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"""\bid=(["'])""", rf"id=\1{name}-", svg)
    svg = re.sub(r"""href=(["'])#""", rf"href=\1#{name}-", svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    svg = re.sub(r"<title>.*?</title>\s*", "", svg, flags=re.S)
    svg = re.sub(r"<desc>.*?</desc>\s*", "", svg, flags=re.S)
    svg = re.sub(r"""^<svg\s+width="\d+%?" height="\d+%?\"""", "<svg", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)


def add_papers(curves, found):
    """Our curves and those of the papers: points of a curve with one of our labels join it."""
    for label, (pairs, _) in found.items():
        curves.setdefault(label, [])
        curves[label] = curves[label] + pairs
    return curves


def draw_panel(claim, plot, panel, rows, every, name):
    """(title, svg) of one plot; None if there is nothing to draw."""
    title = plot["title"] if panel is None else f"{plot['title']}: {plot['panels'].replace('_', ' ')} {panel.replace('_', ' ')}"
    if plot["map"]:
        return title, embed(maps.draw(plot, rows), name, title)
    curves = curves_of(plot, rows)
    if not curves:
        return None
    found = points.curves_for(claim, plot, panel, rows, every)
    papers = {label: line for label, (_, line) in found.items() if label not in curves}
    curves = add_papers(curves if plot["bars"] else merged(curves), found)
    heights = [number(y) for pairs in curves.values() for _, y in pairs]
    if is_log(plot, "y", heights) and 0 in heights:
        title += " (0 is below the axis)"
    script = (bar_script if plot["bars"] else line_script)(plot, curves, papers)
    return title, embed(gnuplot("\n".join(script) + "\n"), name, title)


def draw(plot, record, name, claim=None):
    """[(title, svg)]: one plot, or one per panel."""
    rows = record.where(plot["where"])
    panels = dict.fromkeys(row[plot["panels"]] for row in rows) if plot["panels"] else [None]
    pictures = []
    for i, panel in enumerate(panels):
        here = rows if panel is None else [row for row in rows if row[plot["panels"]] == panel]
        pictures.append(draw_panel(claim, plot, panel, here, record.rows, f"{name}-{i}"))
    pictures = [picture for picture in pictures if picture]
    if not pictures:
        raise SystemExit(f"report: {plot['title']}: there is nothing to draw")
    return pictures


def missing_columns(plot, columns):
    """The columns that a plot uses and the claim does not have."""
    named = [plot["x"], plot["panels"], plot["map"], plot["map_value"]] + plot["y"].split(",") + (plot["series"] or "").split(",")
    named += [part.partition("=")[0] for part in (plot["where"] or "").split(",")]
    return [name for name in named if name and name not in columns]
