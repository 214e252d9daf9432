"""Tests the claims of besom-bench and writes the results: a page, docs/results.md, the README's figures."""

import argparse
import collections
import json
import os
import signal
import subprocess
import sys

import figures
import full
import measure
import page
import papers
import points
import records
import results
import sentences
import verdicts


def parse_arguments():
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    parser.add_argument("--bench", default="build/besom-bench", metavar="PROGRAM", help="the besom-bench program")
    parser.add_argument("--out", default="build/report", metavar="DIRECTORY",
                        help="directory of the page and the records (with --full and --docs, the records are only in bench/records)")
    parser.add_argument("--full", action="store_true", help="run at the sizes of the papers: hours instead of minutes")
    parser.add_argument("--limit", type=float, default=measure.LIMIT, metavar="MINUTES",
                        help=f"with --full: the time of a claim (default {measure.LIMIT})")
    parser.add_argument("--only", metavar="A,B",
                        help="test only these claims; with --full the page still has all that have a record")
    parser.add_argument("--seeds", type=int, metavar="N", help="run every claim with N seeds (default: as the claim states)")
    parser.add_argument("--docs", metavar="DIRECTORY", help="write results.md there, the rest in ../bench/records, and update the README")
    parser.add_argument("--stored", metavar="DIRECTORY",
                        help="measure nothing: render the records of this directory, whichever program wrote them")
    project = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    parser.add_argument("--papers", default=os.path.join(project, "..", "shared", "papers"), metavar="DIRECTORY",
                        help="texts of the papers, to check the quotes; not checked if it is missing")
    return parser.parse_args()


def list_claims(program):
    try:
        listing = subprocess.run([program, "run", "--json"], capture_output=True, text=True, check=True)
        claims = json.loads(listing.stdout)
    except OSError as error:
        raise SystemExit(f"report: cannot run {program} ({error.strerror}); run make to build it") from None
    except (subprocess.CalledProcessError, ValueError) as error:
        raise SystemExit(f"report: {program} does not list its claims: {error}") from None
    for claim in claims:
        claim["title"] = claim["title"] or claim["name"].replace("-", " ").capitalize()
    return claims


def check_claims(claims, listed, texts):
    wrong = papers.check(claims, listed, texts) + points.check(claims)
    for claim in claims:
        for plot in claim["plots"]:
            wrong += [f"{claim['name']}: '{plot['title']}' needs a column {name}"
                      for name in figures.missing_columns(plot, claim["columns"])]
    if wrong:
        raise SystemExit("report: " + "\nreport: ".join(wrong))


def choose_claims(claims, only):
    """The claims of a comma-separated list of names; all claims without a list."""
    if not only:
        return claims
    wanted = only.split(",")
    unknown = set(wanted) - {claim["name"] for claim in claims}
    if unknown:
        raise SystemExit(f"report: there is no claim {', '.join(sorted(unknown))}")
    return [claim for claim in claims if claim["name"] in wanted]


def loaded(about):
    """A warning if other programs used the machine while times were measured; empty if not."""
    busy = max((float(each.get("other_load", 0)) for each in about), default=0)
    return f" Warning: other programs used up to {busy:.1f} cores meanwhile; times are in doubt." if busy > verdicts.BUSY else ""


def duration(about, size):
    """How long the claims took; those that only count run side by side. Full runs wait for other programs: CPU time."""
    if size == "full":
        return f"{sum(float(each.get('cpu_seconds', each['seconds'])) for each in about) / 60:.1f} CPU minutes"
    claims = sum(float(each["seconds"]) for each in about) / 60
    return f"{records.elapsed(about) / 60:.1f} minutes ({claims:.1f} minutes of claims, up to {os.cpu_count()} at once)"


def summarize(tested, found, size):
    """Sentences about the whole run."""
    counts = papers.count(found)
    own = [papers.own_verdict(record) for claim, record, _ in tested if claim["source"] == papers.OWN and record]
    lines = [f"Of {sum(counts.values())} sentences of the papers: " +
             ", ".join(f"{number} {verdict}" for verdict, number in counts.items()) + "."] if counts else []
    if own:
        lines.append(f"Claims of our own that hold: {own.count('holds')} of {len(own)}{' that were run' if size == 'full' else ''}.")
    about = [record.about for _, record, _ in tested if record]
    if not about:
        return lines + ["Nothing was measured."]
    dates = sorted(each["date"] for each in about)
    commits, machines = (sorted({each[name] for each in about}) for name in ("commit", "machine"))
    return lines + [
        f"Measured from {dates[0]} to {dates[-1]} in {duration(about, size)}, {size} size, "
        f"commit {', '.join(commits)}, on: {'; '.join(machines)}." +
        loaded([record.about for claim, record, _ in tested if record and claim["timed"]])]


def kept_records(docs, is_full):
    """The directory of the records that are committed."""
    return os.path.normpath(os.path.join(docs, results.records_place(is_full)))


def write_docs(directory, tested, found, summary, more, is_full):
    """Writes the verdicts, the page of the claims and the records. The README has figures of quick runs only."""
    kept = kept_records(directory, is_full)
    os.makedirs(kept, exist_ok=True)
    for claim, record, _ in tested:
        if record:
            records.write(os.path.join(kept, f"{claim['name']}.csv"), record.text)
    records.write(os.path.join(directory, results.place(is_full)), results.make(tested, found, summary, more))
    records.write(f"{kept}.md", results.claims(tested, found, is_full))
    if is_full:
        return
    readme = os.path.join(directory, "..", "README.md")
    with open(readme, encoding="utf-8") as file:
        text = results.update_readme(file.read(), tested)
    records.write(readme, text)


def records_directory(arguments):
    """Where the records are. Those of full runs are kept in the repository, because they take hours."""
    if arguments.stored:
        return arguments.stored
    if arguments.full and arguments.docs:
        return kept_records(arguments.docs, True)
    return os.path.join(arguments.out, "records")


def differences_from_quick(arguments, claims, listed, tested, found):
    """Rows of the verdicts that differ from those of the quick runs that are committed."""
    directory = kept_records(arguments.docs or "docs", False)
    if not os.path.isdir(directory):
        return []
    quick = measure.Bench(arguments.bench, directory, False, stored=True)
    quick_tested = [(claim, quick.known(claim), None) for claim in claims]
    return full.differences(tested, found, quick_tested, papers.judge(quick_tested, listed)[0])


def run_claims(arguments, bench, claims):
    """[(claim, record or None, reason or None)] of the claims of the page."""
    chosen = choose_claims(claims, arguments.only)
    if arguments.stored and not arguments.full:
        chosen = [claim for claim in chosen if bench.known(claim)]
    failed = {} if arguments.stored else bench.test(chosen)
    for name, why in failed.items():
        print(f"{name} was not tested: {why}", file=sys.stderr)
    return [(claim, bench.known(claim), failed.get(claim["name"]) or bench.why_cut(claim))
            for claim in (claims if arguments.full else chosen)]


def report(arguments):
    figures.check_gnuplot()  # fail before measuring, not after
    claims = list_claims(arguments.bench)
    listed = sentences.collect()
    check_claims(claims, listed, arguments.papers)
    bench = measure.Bench(arguments.bench, records_directory(arguments), arguments.full, bool(arguments.stored), arguments.seeds,
                          arguments.limit)
    tested = run_claims(arguments, bench, claims)
    found, wrong = papers.judge(tested, listed)
    summary, more = summarize(tested, found, bench.size), ""
    if arguments.full:
        differing = differences_from_quick(arguments, claims, listed, tested, found)
        summary += full.summary(tested, differing)
        more = results.full_runs(tested, differing)
    path = os.path.join(arguments.out, "index.html")
    os.makedirs(arguments.out, exist_ok=True)
    records.write(path, page.make(tested, found, summary))
    if arguments.docs:
        write_docs(arguments.docs, tested, found, summary, more, arguments.full)
    print("\n".join(summary))
    print(f"Page: {path}")
    if wrong and (arguments.stored or arguments.full):  # an older program measured less; the limit left too few rounds
        print("\n".join(f"report: {each}" for each in wrong), file=sys.stderr)
    elif wrong:
        raise SystemExit("report: sentences without a verdict:\nreport: " + "\nreport: ".join(wrong))


def main():
    for stopping in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(stopping) == signal.SIG_DFL:  # keep the SIGHUP setting of nohup
            signal.signal(stopping, signal.default_int_handler)
    try:
        report(parse_arguments())
    except KeyboardInterrupt:
        raise SystemExit("\nreport: stopped; run the same command to continue") from None
    except OSError as error:
        raise SystemExit(f"report: {error}") from None


main()
