"""Runs the tests in a build that counts executed lines and branches of src/, and reports them.

The build directory is one of `cmake -DBESOM_COVERAGE=ON`. The data of all test runs add up there. A
test runs again only if a file of its command changed (its program, its script), so that an
interrupted run continues and a new test costs only itself. --fresh forgets all data first.
"""

import argparse
import os
import sys

import counts
import report
import runs


def parse_arguments():
    parser = argparse.ArgumentParser(prog="coverage", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD", help="the build directory")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="tests that run at once")
    parser.add_argument("--only", metavar="REGEX", help="run only the tests whose name matches")
    parser.add_argument("--no-run", action="store_true", help="run no tests: report what earlier runs counted")
    parser.add_argument("--fresh", action="store_true", help="forget the data of earlier runs")
    parser.add_argument("--page", metavar="FILE", help="write this page (docs/trust/coverage.md)")
    parser.add_argument("--list", metavar="PATTERN", help="print the uncovered places of these files and end")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    build = os.path.realpath(arguments.build)
    tests = runs.find_tests(build)
    if not arguments.no_run and not arguments.list:
        runs.run_tests(tests, build, arguments.jobs, arguments.only, arguments.fresh)
    sources = counts.read_counts(build, root)
    judgements = report.read_judgements(os.path.join(os.path.dirname(__file__), "judged.txt"))
    if arguments.list:
        report.print_places(sources, judgements, arguments.list)
        return 0
    report.print_summary(sources, judgements)
    names = runs.by_outcome(tests, build)
    if arguments.page:
        left_out = counts.files_without_lines(sources, root)
        report.write_page(arguments.page, sources, judgements, names, left_out)
    for name in names["failed"]:
        print(f"coverage: the test {name} failed: its output is in {build}/coverage/{name.replace('/', '_')}.log")
    return 1 if names["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
