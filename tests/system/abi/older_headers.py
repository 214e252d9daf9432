#!/usr/bin/env python3
"""older_headers.py FROM TO: the headers as an older version could have had them.

Every struct that may grow loses its last member; those of besom_types.h, and those marked "Frozen",
do not. A program that is compiled against these headers must run with the current library
(client.c).
"""
import pathlib
import re
import sys

STRUCT = re.compile(r"(?P<comment>/\*(?:[^*]|\*(?!/))*\*/\n)?"
                    r"(?P<open>typedef struct (?P<name>besom_\w+) \{\n)"
                    r"(?P<body>.*?)(?P<close>\} (?P=name);\n)", re.S)
MEMBER = re.compile(r"  [^;]*;[^\n]*\n", re.S)

# Its two members are what every caller needs; client.c tests a longer one instead.
KEPT = {"besom_match"}


def shorter(match):
    if "Frozen." in (match["comment"] or "") or match["name"] in KEPT | {"besom_u64_key"}:
        return match[0]
    members = MEMBER.findall(match["body"])
    print(f"{match['name']}: without {' '.join(members[-1].split(';')[0].split())}")
    return (match["comment"] or "") + match["open"] + "".join(members[:-1]) + match["close"]


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    for header in sorted(source.glob("*.h")):
        text = header.read_text()
        if header.name != "besom_types.h":
            text = STRUCT.sub(shorter, text)
        (target / header.name).write_text(text)


main()
