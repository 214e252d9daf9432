"""Maps of winners: a cell for each pair of values of two columns, named and coloured by the design that wins there."""

from html import escape

WIDTH, LEFT, TOP, LINE, FONT = 520, 92, 30, 20, 15

# Light, so that dark text is legible on each of them. The name in the cell says the same.
COLOURS = ("#dddddd", "#99ddff", "#eedd88", "#ee8866", "#bbcc33", "#44bb99", "#ccaaee", "#c8b090", "#77aadd", "#ffaabb", "#aaaa00",
           "#f5c9a0", "#88ccaa", "#d4b8b8", "#b8d4f0", "#e0e0a0", "#c0a0c0", "#a0c0c0", "#ffd0d0", "#d0ffd0")
MOST_TIES = 2  # that are named


def spoken(name):
    return name.replace("_", " ")


def cells_of(plot, rows):
    """{y: {x: (winner, [ties], value)}}, in the order of the rows. A cell without a winner is an error."""
    cells = {}
    for row in rows:
        cells.setdefault(row[plot["y"]], {}).setdefault(row[plot["x"]], []).append(row)
    return {y: {x: cell_of(plot, here, f"{plot['y']} {y}, {plot['x']} {x}") for x, here in line.items()} for y, line in cells.items()}


def cell_of(plot, rows, where):
    winners = [row for row in rows if row[plot["map"]] == "yes"]
    if len(winners) != 1:
        raise SystemExit(f"report: {plot['title']}: {len(winners)} winners at {where}")
    ties = [row[plot["series"]] for row in rows if row[plot["map"]] == "tie"]
    return winners[0][plot["series"]], ties, winners[0][plot["map_value"]] if plot["map_value"] else ""


def text(x, y, words, anchor="middle", weight="normal"):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def short(value):
    """A number with two digits."""
    return f"{float(value):.2g}" if value else ""


def named(ties):
    """The designs that may win as well, or how many they are."""
    return ties if len(ties) <= MOST_TIES else [f"{len(ties)} others"]


def lines_of(cell):
    winner, ties, value = cell
    return [spoken(winner), short(value)] + [f"or {spoken(tie)}" for tie in named(ties)]


def draw(plot, rows):
    """The map as SVG."""
    cells = cells_of(plot, rows)
    across = list(dict.fromkeys(x for line in cells.values() for x in line))
    width = (WIDTH - LEFT) / len(across)
    names = dict.fromkeys(row[plot["series"]] for row in rows)  # all of them: a design has one colour in all maps of a claim
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    shapes, y = [text(LEFT + (i + 0.5) * width, TOP - 9, name) for i, name in enumerate(across)], TOP
    for name, line in cells.items():
        height = LINE * max(len(lines_of(cell)) for cell in line.values()) + 16
        shapes.append(text(LEFT - 10, y + height / 2 + 5, name, "end"))
        for x, cell in line.items():
            left = LEFT + across.index(x) * width
            shapes.append(f'<rect class="cell" x="{left + 1:g}" y="{y + 1}" width="{width - 2:g}" height="{height - 2}" rx="4" '
                          f'fill="{colours[cell[0]]}" data-winner="{escape(cell[0])}"/>')
            shapes += [text(left + width / 2, y + LINE * (k + 1) + 3, words, weight="normal" if k else "bold")
                       for k, words in enumerate(lines_of(cell))]
        y += height
    middle = (TOP + y) / 2
    shapes.append(text(LEFT + (WIDTH - LEFT) / 2, y + 22, plot["x_label"] or spoken(plot["x"])))
    shapes.append(f'<g transform="rotate(-90 20 {middle:g})">{text(20, middle, plot["y_label"] or spoken(plot["y"]))}</g>')
    return (f'<svg viewBox="0 0 {WIDTH} {y + 32}" xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
            f'font-size="{FONT}" fill="#1d2125">{"".join(shapes)}</svg>')


def table(plot, rows):
    """(columns, rows) of the map as texts."""
    cells = cells_of(plot, rows)
    across = list(dict.fromkeys(x for line in cells.values() for x in line))
    head = [f"{plot['y_label'] or plot['y']}, by {plot['x_label'] or plot['x']}"] + across
    return head, [[y] + [in_words(line[x]) if x in line else "" for x in across] for y, line in cells.items()]


def in_words(cell):
    winner, ties, value = cell
    return " or ".join([winner] + named(ties)) + (f" ({short(value)})" if value else "")
