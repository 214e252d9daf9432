#!/usr/bin/env bash
# json.sh PYTHON BENCH CELLS: checks that besom-bench micro --json prints a JSON document with every
# operation of the kinds, and that every cell text survives the conversion to JSON.
set -eu -o pipefail
"$2" micro --kinds qf,aqf,bloom,fuse --slots 16384 --rounds 3 --seed c0ffee --json | "$1" -m json.tool | "$1" -c '
import json, sys
document = json.load(sys.stdin)
assert document["seed"] == "c0ffee" and document["plan"]["slots"] == 16384, document
assert all(document[name] for name in ("machine", "command", "version")), document
rows = {(row["kind"], row["op"]): row for row in document["rows"]}
for kind, op in [("qf", "remove"), ("qf", "merge"), ("qf", "build"), ("qf", "build_sorted"), ("aqf", "count"),
                 ("bloom", "merge"), ("fuse", "build"), ("qf", "negative_batch")]:
    row = rows[kind, op]
    assert row["ns"] > 0 and row["ratio"] > 0 and row["spread"] >= 0 and row["value"] is None, row
assert 0 < rows["qf", "fpr"]["value"] < 0.1
assert ("bloom", "remove") not in rows and ("fuse", "insert") not in rows
'
"$3" | "$1" -c '
import json, re, sys
for row in json.load(sys.stdin):
    text = bytes.fromhex(row["a \"quoted\" column"][1:]).decode()
    number = re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+]?[0-9]+)?", text)
    assert row["cell"] == (float(text) if number else text or None), row
'
