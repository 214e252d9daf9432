"""Puts the claims of besom-bench to the test and writes what came of it: a page, docs/results.md, the README's figures."""

import argparse
import collections
import datetime
import json
import os
import subprocess
import sys

import figures
import measure
import page
import papers
import records
import results


def parse_arguments():
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    parser.add_argument("--bench", default="build/besom-bench", metavar="PROGRAM", help="besom-bench")
    parser.add_argument("--out", default="build/report", metavar="DIRECTORY", help="for the page and the records")
    parser.add_argument("--full", action="store_true", help="at the sizes of the papers: hours, not minutes")
    parser.add_argument("--only", metavar="A,B", help="only these claims")
    parser.add_argument("--docs", metavar="DIRECTORY", help="write results.md and the records there, and the README beside it")
    return parser.parse_args()


def list_claims(program, only):
    listing = subprocess.run([program, "run", "--json"], capture_output=True, text=True, check=True)
    claims = json.loads(listing.stdout)
    wrong = papers.check(claims)
    for claim in claims:
        for plot in claim["plots"]:
            wrong += [f"{claim['name']}: '{plot['title']}' needs a column {name}"
                      for name in figures.missing_columns(plot, claim["columns"])]
    if wrong:
        raise SystemExit("report: " + "\nreport: ".join(wrong))
    if not only:
        return claims
    wanted = only.split(",")
    unknown = set(wanted) - {claim["name"] for claim in claims}
    if unknown:
        raise SystemExit(f"report: there is no claim {', '.join(sorted(unknown))}")
    return [claim for claim in claims if claim["name"] in wanted]


def summarize(tested, bench):
    counts = collections.Counter(record.verdict if record else "not tested" for _, record, _ in tested)
    found = [record for _, record, _ in tested if record]
    dates = sorted(record.about["date"] for record in found)
    commits = sorted({record.about["commit"] for record in found})
    seconds = sum(float(record.about["seconds"]) for record in found)
    return [
        f"{len(tested)} claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) + ".",
        f"Measured from {dates[0]} to {dates[-1]} in {seconds / 60:.1f} minutes of claims, {'full' if bench.full else 'quick'} size, "
        f"commit {', '.join(commits)}, on: {records.machine()}." if found else "Nothing was measured.",
    ]


def write_docs(directory, tested, summary):
    os.makedirs(os.path.join(directory, "results"), exist_ok=True)
    for claim, record, _ in tested:
        if record:
            records.write(os.path.join(directory, "results", f"{claim['name']}.csv"), record.text)
    records.write(os.path.join(directory, "results.md"), results.make(tested, summary))
    readme = os.path.join(directory, "..", "README.md")
    with open(readme, encoding="utf-8") as file:
        text = results.update_readme(file.read(), tested)
    records.write(readme, text)


def main():
    arguments = parse_arguments()
    claims = list_claims(arguments.bench, arguments.only)
    bench = measure.Bench(arguments.bench, os.path.join(arguments.out, "records"), arguments.full)
    try:
        failed = bench.test(claims)
    except KeyboardInterrupt:
        raise SystemExit("\nreport: stopped; the same command goes on from here") from None
    tested = [(claim, bench.known(claim), failed.get(claim["name"])) for claim in claims]
    summary = summarize(tested, bench)
    path = os.path.join(arguments.out, "index.html")
    records.write(path, page.make(tested, summary))
    if arguments.docs:
        write_docs(arguments.docs, tested, summary)
    print("\n".join(summary))
    for name, why in failed.items():
        print(f"{name} was not tested: {why}", file=sys.stderr)
    print(f"The page: {path}")


main()
