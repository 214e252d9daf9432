"""The report of besom-bench: report.py SOURCE BENCH [PAGE]. Of a few quick claims; of PAGE, made by make report, the browser's part."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from browser import check_in_both_sizes

QUICK = ["asf", "lists", "repeats"]


def make(source, bench, out, *more, only=QUICK):
    command = [sys.executable, os.path.join(source, "bench", "report"), "--bench", bench, "--out", out, "--only", ",".join(only)]
    return subprocess.run(command + list(more), capture_output=True, text=True, check=False)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def claims_of(bench):
    return json.loads(subprocess.run([bench, "run", "--json"], capture_output=True, text=True, check=True).stdout)


def test_goes_on_where_it_stopped(source, bench, out):
    first = make(source, bench, out, only=QUICK[:1])
    assert first.returncode == 0, first.stderr
    again = make(source, bench, out)
    assert again.returncode == 0, again.stderr
    assert "2 of 2" in again.stderr and QUICK[0] not in again.stderr, again.stderr
    assert make(source, bench, out).stderr == "", "it measured what it knew"
    for name in QUICK:
        record = read(out, "records", f"{name}.csv")
        for line in ("# seed: be50\n", "# commit: ", "# date: ", "# machine: ", f"# claim: {name}\n"):
            assert line in record, record


def test_stops_when_told(source, bench, out):
    command = [sys.executable, os.path.join(source, "bench", "report"), "--bench", bench, "--out", out, "--only", "zipf"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    _, error = run.communicate(timeout=20)
    assert run.returncode != 0 and "goes on from here" in error, error
    assert not os.listdir(os.path.join(out, "records")), "half a record"


def test_tells_what_failed(source, bench, out):
    """Real lists are read from the directory in which it runs: there are none in this one."""
    os.makedirs(out)
    here = os.getcwd()
    os.chdir(out)
    try:
        run = make(source, bench, out, only=["real-lists"])
    finally:
        os.chdir(here)
    assert run.returncode == 0 and "real-lists was not tested" in run.stderr, run.stderr
    page = read(out, "index.html")
    assert "not tested" in page and "fetch_data.sh" in page


def test_writes_docs(source, bench, out, docs):
    os.makedirs(docs)
    readme = os.path.join(docs, "..", "README.md")
    with open(readme, "w", encoding="utf-8") as file:
        file.write("before\n<!-- make report -->\nold\n<!-- end -->\nafter\n")
    run = make(source, bench, out, "--docs", docs)
    assert run.returncode == 0, run.stderr
    assert read(docs, "results", "lists.csv") == read(out, "records", "lists.csv")
    assert "### lists" in read(docs, "results.md")
    assert "old" not in read(readme) and read(readme).endswith("after\n")


def check_report(bench, page):
    pictures = check_in_both_sizes(page)
    text = read(page)
    for claim in claims_of(bench):
        if f'id="{claim["name"]}"' in text and claim["plots"] and "not tested" not in text:
            for plot in claim["plots"]:
                assert any(picture["name"].startswith(plot["title"]) for picture in pictures), f"{plot['title']} is not drawn"
    return pictures


def main(source, bench):
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out")
        test_goes_on_where_it_stopped(source, bench, out)
        test_writes_docs(source, bench, out, os.path.join(work, "project", "docs"))
        test_stops_when_told(source, bench, os.path.join(work, "stopped"))
        test_tells_what_failed(source, bench, os.path.join(work, "failed"))
        assert check_report(bench, os.path.join(out, "index.html")), "no picture at all"


if len(sys.argv) == 4:
    print(f"{len(check_report(sys.argv[2], sys.argv[3]))} pictures, drawn and legible on a phone and on a desktop")
else:
    main(sys.argv[1], sys.argv[2])
