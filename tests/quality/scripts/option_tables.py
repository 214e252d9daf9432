#!/usr/bin/env python3
"""option_tables.py BESOM DOCS [--update]: the option tables of kinds.md and papers.md agree with
"besom kinds --options". Every kind with options of its own has them in a table of its section, unless
the same row is in that of every kind: names, values and defaults are the same, and the meaning begins
with the same words. With --update, writes the rows that differ."""
import json
import re
import subprocess
import sys
from pathlib import Path

# Kinds whose table is in the section of others.
COMMON = "Options of every kind"
SECTIONS = {"acf-cyclic": ["acf-cyclic, acf-swapping, acf-cuckooing"], "taf": ["exaf"], "utaf": ["exaf"], None: [COMMON]}
HEAD = "| option | values | default | meaning |"


def options_of(besom):
    kinds = {}
    printed = subprocess.run([besom, "kinds", "--options", "--json"], stdout=subprocess.PIPE, check=True)
    for line in printed.stdout.decode().splitlines():
        option = json.loads(line)
        kinds.setdefault(option["kind"], []).append(option)
    return kinds


def sections_of(text):
    """The text of each section by its heading, and the lines before the first one."""
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def row_of(option):
    return f"| `{option['option']}` | {option['values']} | {option['default']} | {option['meaning']}"


def check(kind, options, section, wrong):
    """The section, with the rows as they should be."""
    for option in options:
        row = row_of(option)
        found = re.search(rf"^\| `{option['option']}` \|.*$", section, flags=re.M)
        if not found:
            wrong.append(f"{kind or 'every kind'}: no row: {row} |")
        elif not found[0].startswith(row):
            wrong.append(f"{kind or 'every kind'}: {found[0]}\n  should begin with {row}")
            section = section.replace(found[0], row + " |")
    named = set(re.findall(r"^\| `([a-z_]+)` \|", section.partition(HEAD)[2].partition("\n\n")[0], flags=re.M))
    return section, named - {option["option"] for option in options}


def main(besom, folder, update=None):
    wrong, kinds = [], options_of(besom)
    texts = {name: (Path(folder) / name).read_text() for name in ("kinds.md", "papers.md")}
    rows = sections_of(texts["kinds.md"])[COMMON]
    common = set(re.findall(r"^\| `([a-z_]+)` \|", rows, flags=re.M))
    for kind, options in kinds.items():
        if kind:
            options = [option for option in options if row_of(option) + " |" not in rows]
        for heading in SECTIONS.get(kind, [kind]):
            name = next((n for n, text in texts.items() if heading in sections_of(text)), None)
            if not name:
                wrong.append(f"{kind}: no section")
                continue
            section = sections_of(texts[name])[heading]
            fixed, others = check(kind, options, section, wrong)
            if kind and others - common:
                wrong.append(f"{kind}: the table has {', '.join(sorted(others - common))}, too")
            texts[name] = texts[name].replace(section, fixed)
    if update == "--update":
        for name, text in texts.items():
            (Path(folder) / name).write_text(text)
    for line in wrong:
        print(line)
    return 1 if wrong and update != "--update" else 0


sys.exit(main(*sys.argv[1:]))
