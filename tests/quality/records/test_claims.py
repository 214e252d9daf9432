#!/usr/bin/env python3
"""Tests that the record of a claim is valid while the claim measures the same, and is carried over to its present source."""

import contextlib
import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench/report"))

import carry  # noqa: E402
import measuring  # noqa: E402

CLAIM = """/* Claim one: a comment. */
#include "claims/claims.h"

enum { QUERIES = 3000 };

static findings run(bool full, report *numbers) {
  report_cell(numbers, "%s" " of two", full ? "a" : "b"); /* why */
  return (findings){.tested = QUERIES};
}

static const plot plots[] = {{.title = "Curves", .x = "a", .y = "b"}, {0}};

const claim one_claim = {
    .name = "one",
    .title = "A title",
    .source = "paper: Figure 1, Table 2",
    .statement = "one, two "
                 "and {three}",
    .timed = true,
    .plots = plots,
    .run = run,
};
"""
SAME = (("a comment", "another"), ('"claims/', '"elsewhere/claims/'), ("A title", "Another"), ("Figure 1", "Figure 2"),
        ('one, two "\n                 "and', 'two, "\n "one" " and'), ('"Curves"', '"Plots"'), ('.y = "b"', '.y = "c"'),
        ("/* why */", "// because"), ('"%s" " of two"', '"%s of two"'), ("\n  return", "\n\n    return"),
        ("    .timed = true,\n", "    .differs = \"size\",\n    .timed = true,\n"))
OTHER = (("3000", "3001"), ("of two", "of three"), ("true", "false"), ('"one"', '"other"'), ("full ?", "!full ?"),
         (".run = run", ".seeds = 2, .run = run"))


class MeasuringPart(unittest.TestCase):
    def test_texts_do_not_count(self):
        for old, new in SAME:
            self.assertIn(old, CLAIM)
            self.assertEqual(measuring.fingerprint(CLAIM), measuring.fingerprint(CLAIM.replace(old, new)), (old, new))

    def test_everything_else_counts(self):
        for old, new in OTHER:
            self.assertIn(old, CLAIM)
            self.assertNotEqual(measuring.fingerprint(CLAIM), measuring.fingerprint(CLAIM.replace(old, new)), (old, new))


class Carry(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.claim, self.record = self.root / "bench/claims/one.c", self.root / "bench/records/full/one.csv"
        for path in (self.claim, self.record):
            path.parent.mkdir(parents=True)
        self.git("init", "-q")
        self.commit(CLAIM)

    def git(self, *arguments):
        who = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", self.root, *who, *arguments], check=True, capture_output=True)

    def commit(self, text):
        self.claim.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "claim")

    def write_record(self, source):
        self.record.write_text(f"# program: p\n# source: {source}\nx,y\n1,2\n")

    def carried(self):
        """The source that the record names afterwards, and what was printed."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            carry.carry(str(self.root))
        return carry.SOURCE.search(self.record.read_text())[1], printed.getvalue()

    def test_a_record_of_the_whole_file_is_carried_over_to_new_texts(self):
        self.write_record(hashlib.sha256(CLAIM.encode()).hexdigest()[:16])
        self.commit(CLAIM.replace("A title", "Another"))
        source, printed = self.carried()
        self.assertEqual(source, measuring.fingerprint(CLAIM))
        self.assertIn("carried over", printed)
        self.assertTrue(self.record.read_text().endswith("\nx,y\n1,2\n"))
        self.assertEqual(self.carried(), (source, ""))

    def test_a_record_of_another_measurement_stays(self):
        old = hashlib.sha256(CLAIM.encode()).hexdigest()[:16]
        for source, text, why in ((old, CLAIM.replace("3000", "3001"), "has changed since"), ("0123", CLAIM, "no version")):
            self.write_record(source)
            self.commit(text)
            after, printed = self.carried()
            self.assertEqual(after, source)
            self.assertIn(why, printed)

    def test_claims_are_compared_with_a_revision(self):
        self.claim.write_text(CLAIM.replace("A title", "Another"))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(carry.compare(str(self.root), "HEAD"), [])
            self.claim.write_text(CLAIM.replace("3000", "3001"))
            self.assertEqual(carry.compare(str(self.root), "HEAD"), ["one"])
        self.assertIn("1 of 1 claims measure what they did at HEAD", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
