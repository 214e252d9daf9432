#!/usr/bin/env python3
"""Tests the runner of `make soak` with parts that succeed, fail, hang and are interrupted."""

import fcntl
import json
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import schedule  # noqa: E402
from soak_state import State  # noqa: E402

PARTS = '''
import sys
sys.path.insert(0, {here!r})
from part import Part, Row

def script(text):
    return ("sh", "-c", text, "part")

# Those that fail run one at a time: otherwise a row may have begun its second batch when the first
# one fails, and have two failures.
COUNTS = 'echo "$2" >>{seeds}; echo noise; echo "{{\\\\"units\\\\": $4, \\\\"odd\\\\": 1}}"'
PARTS = (
    Part("good", "Good", script(COUNTS), (Row("a", (), {{"units": 50}}), Row("b", ("--b",), {{"units": 7}})),
         row_title="letter", totals={{"units": 60}}, first_amount=5, most_amount=10),
    Part("slow", "Slow", script('while [ $2 -gt 2 ] && [ -e {hold} ]; do sleep 0.01; done; ' + COUNTS),
         (Row("a", (), {{"units": 8}}),), most_amount=1),
    Part("bad", "Bad", script("echo broken; exit 3"), (Row("a", ("--x", "y z"), {{"units": 9}}),), at_once=1),
    Part("hung", "Hung", script("sleep 60"), (Row("a", (), {{"units": 9}}),), at_once=1, timeout=0.2),
    Part("lost", "Lost", ("build/no such program",), (Row("a", (), {{"units": 9}}),)),
    Part("mute", "Mute", script("true"), (Row("a", (), {{"units": 9}}),), at_once=1),
)
'''

PAGE = "top\n<!-- soak: begin (written by make soak) -->\nold\n<!-- soak: end -->\nbottom\n"


class Soak(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name)
        self.seeds, self.page = self.path / "seeds", self.path / "page.md"
        self.page.write_text(PAGE)
        self.hold = self.path / "hold"  # while it exists, "slow" waits after two batches
        parts = PARTS.format(here=str(HERE), seeds=self.seeds, hold=self.hold)
        (self.path / "parts.py").write_text(parts)

    def tearDown(self):
        self.directory.cleanup()

    def command(self, *options):
        return [sys.executable, HERE / "soak.py", "--parts", self.path / "parts.py", "--jobs=2",
                "--state", self.path / "state", "--docs", self.page, *options]

    def run_soak(self, *options):
        done = subprocess.run(self.command(*options), capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done

    def state(self):
        return State(self.path / "state/state.json")

    def lose_state(self):
        """As on another machine, which has the documentation only."""
        (self.path / "state/state.json").unlink()

    def test_targets_are_reached_and_counted(self):
        self.assertEqual(self.run_soak("--part=good").returncode, 0)
        rows = self.state().rows
        units = [rows[f"good/{name}"].counts["units"] for name in "ab"]
        self.assertGreaterEqual(units[0], 50)
        self.assertGreaterEqual(units[1], 7)
        self.assertGreaterEqual(sum(units), 60)
        seeds = self.seeds.read_text().split()
        self.assertEqual(len(seeds), sum(rows[f"good/{name}"].batches for name in "ab"))
        text = self.page.read_text()
        self.assertTrue(text.startswith("top\n") and text.endswith("bottom\n"))
        self.assertIn(f"| `a` | {units[0]} |", text)
        self.assertIn("No failure is open.", text)

    def test_failures_are_kept_and_the_rest_goes_on(self):
        done = self.run_soak("--part=bad,hung,mute,good")
        self.assertEqual(done.returncode, 1)
        failures = {f["part"]: f for f in self.state().failures}
        self.assertEqual(failures["bad"]["reason"], "exit code 3")
        self.assertIn("still running", failures["hung"]["reason"])
        self.assertIn("no JSON", failures["mute"]["reason"])
        self.assertEqual(set(failures), {"bad", "hung", "mute"})
        self.assertIn("broken", failures["bad"]["output"])
        self.assertIn(failures["bad"]["command"], done.stdout)
        self.assertTrue(failures["bad"]["command"].endswith("--seed 1 --amount 1 --x 'y z'"))
        again = subprocess.run(failures["bad"]["command"], shell=True, stdout=subprocess.DEVNULL)
        self.assertEqual(again.returncode, 3)
        self.assertIn("| bad a | exit code 3 |", self.page.read_text())
        self.assertGreaterEqual(self.state().rows["good/a"].counts["units"], 50)

    def test_a_failure_that_passes_is_listed_until_it_is_forgotten(self):
        self.run_soak("--part=mute,bad")  # the command of mute ends with 0
        self.assertEqual(self.run_soak("--repeat-failures").returncode, 1)
        passed = {f["part"]: f["passed"] for f in self.state().failures}
        self.assertEqual(passed, {"mute": True, "bad": False})
        opened, repeated = self.page.read_text().split("## Failures that passed when repeated")
        self.assertIn("| bad a |", opened)
        self.assertRegex(repeated, r"\| mute a \| .* \| 20..-..-.. ..:.. \|")
        self.lose_state()
        self.assertEqual(self.run_soak("--forget").returncode, 1)
        self.assertEqual([f["part"] for f in self.state().failures], ["bad"])
        self.run_soak("--write-docs")  # the copy beside the page does not bring it back
        self.assertNotIn("mute a", self.page.read_text())

    def test_a_failure_that_passed_is_no_error(self):
        self.run_soak("--part=mute", "--jobs=1")
        self.assertEqual(self.run_soak("--repeat-failures").returncode, 0)
        self.assertEqual(self.run_soak("--part=good").returncode, 0)
        self.assertEqual(len(self.state().failures), 1)

    def test_no_state_takes_the_failures_of_another(self):
        """The documentation has counted more of the row, by another machine."""
        self.run_soak("--part=bad", "--jobs=1")
        other = State(self.path / "page.json")
        other.failures[0]["commit"] = "another"
        other.rows["bad/a"].counts = {"units": 1000}
        other.rows["bad/a"].next_seed = 100
        other.write(self.path / "page.json")
        self.run_soak("--write-docs")
        done = self.run_soak("--part=good")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(self.state().failures), 2)
        self.assertEqual(len(State(self.path / "page.json").failures), 2)
        self.assertEqual(self.state().rows["bad/a"].next_seed, 100)

    def test_the_later_repetition_counts(self):
        one, two = State(self.path / "none"), State(self.path / "none")
        failure = dict.fromkeys(("part", "row", "seed", "command", "commit", "when"), "x")
        one.failures = [{**failure, "repeated": "2026-01-02 00:00", "passed": False}]
        two.failures = [{**failure, "repeated": "2026-01-01 00:00", "passed": True}]
        one.add_failures(two.failures)
        self.assertEqual(len(one.open_failures), 1)
        two.add_failures(one.failures)
        self.assertEqual((len(two.failures), len(two.open_failures)), (1, 1))

    def test_an_interrupted_run_is_resumed(self):
        self.hold.touch()
        process = subprocess.Popen(self.command("--part=slow"), stdout=subprocess.DEVNULL)
        file = self.path / "state/state.json"
        while not file.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)
        before = self.state().rows["slow/a"]
        self.assertLess(before.counts["units"], 8)
        self.hold.unlink()
        self.assertEqual(self.run_soak("--part=slow").returncode, 0)
        row = self.state().rows["slow/a"]
        self.assertGreaterEqual(row.counts["units"], 8)
        self.assertGreater(row.next_seed, before.next_seed)
        seeds = self.seeds.read_text().split()
        self.assertEqual(len(seeds), len(set(seeds)))
        self.assertEqual(len(self.state().libraries), 1)

    def test_a_program_that_was_not_built_is_left_out(self):
        done = self.run_soak("--part=lost,good")
        self.assertEqual(done.returncode, 0)
        self.assertIn("lost is left out", done.stdout)
        alone = subprocess.run(self.command("--part=lost"), capture_output=True, text=True)
        self.assertEqual((alone.returncode, alone.stderr), (1, "soak: none of these programs was built\n"))

    def test_another_machine_goes_on_from_the_documentation(self):
        self.run_soak("--part=slow,bad")
        before, page = self.state(), self.page.read_text()
        self.lose_state()
        self.run_soak("--write-docs")
        self.assertEqual(self.page.read_text(), page)
        (self.path / "parts.py").write_text((self.path / "parts.py").read_text().replace(": 8}", ": 11}"))
        self.run_soak("--part=slow")
        after = self.state()
        units = after.rows["slow/a"].counts["units"]  # one per batch
        self.assertGreaterEqual(units, 11)
        self.assertEqual(after.rows["slow/a"].batches, units)
        self.assertGreater(after.rows["slow/a"].next_seed, before.rows["slow/a"].next_seed)
        self.assertEqual(sorted(map(int, self.seeds.read_text().split())), list(range(1, units + 1)))
        self.assertEqual([f["seed"] for f in after.failures], [1])  # still open, still known
        self.assertIn(f"| `a` | {units} |", self.page.read_text())

    def test_of_each_row_the_state_that_has_counted_more_is_used(self):
        self.run_soak("--part=good,slow")
        long = self.state()
        self.lose_state()
        (self.path / "page.json").rename(self.path / "long.json")
        self.run_soak("--part=good", "--row=b")
        short = self.state()
        short.rows["good/b"].runs[0][1] += 1000  # many batches that did little
        short.write()
        (self.path / "long.json").rename(self.path / "page.json")
        self.run_soak("--write-docs")
        written = State(self.path / "page.json")
        for name, row in long.rows.items():
            own = short.rows.get(name)
            expected = own if own and own.counts["units"] > row.counts["units"] else row
            self.assertEqual(written.rows[name].counts, expected.counts)
        batches = sum(row.batches for row in written.rows.values())
        self.assertRegex(self.page.read_text(), fr"UTC.*\n.*\n.* \| {batches:,} \| [^|]* \|\n\n")

    def test_the_first_format_of_the_state_is_read(self):
        run = {"commit": "c", "library": "l", "machine": "m", "jobs": 1, "started": "2026-01-01 00:00"}
        row = {"next_seed": 4, "batches": 2, "amount": 9, "seconds": 3.5, "counts": {"units": 49}, "last": [4, 1.5]}
        never = {"next_seed": 1, "batches": 0, "amount": 0, "seconds": 0.0, "counts": {}}
        (self.path / "state").mkdir()
        (self.path / "state/state.json").write_text(json.dumps({
            "rows": {"good/a": row, "good/b": never}, "failures": [],
            "runs": [{**run, "seconds": 3.5, "batches": 2}, {**run, "seconds": 0.0, "batches": 0}]}))
        self.run_soak("--part=good")
        self.assertEqual(self.seeds.read_text().split().count("4"), 1)
        self.assertGreaterEqual(self.state().rows["good/a"].counts["units"], 50)
        self.assertIn("| l | c | m | 2026-01-01 00:00 | 2 | 4 s |", self.page.read_text())

    def test_counts_that_were_renamed_are_read(self):
        (self.path / "old.json").write_text(json.dumps({
            "libraries": [], "failures": [], "counts": {"model": ["operations", "growths_and_rekeys"],
                                                        "guards": ["growths"]},
            "rows": {"model/aqf": [2, [1, 1.0], [], [10, 3]], "guards/aqf": [2, [1, 1.0], [], [4]]}}))
        rows = State(self.path / "old.json").rows
        self.assertEqual(rows["model/aqf"].counts, {"operations": 10, "resizes_and_rekeys": 3})
        self.assertEqual(rows["guards/aqf"].counts, {"growths": 4})

    def test_wrong_options(self):
        for options in (["--jobs=0"], ["--part=none"], ["--part=good", "--row=c"]):
            done = subprocess.run(self.command(*options), capture_output=True, text=True, timeout=60)
            self.assertIn(done.returncode, (1, 2), options)
            self.assertNotIn("Traceback", done.stderr)

    def test_with_minutes_finished_rows_are_run_again(self):
        self.run_soak("--part=good")
        before = self.state()
        self.run_soak("--part=good")
        self.assertEqual(self.state().rows, before.rows)
        self.assertEqual(self.run_soak("--part=good", "--row=b", "--minutes=0.01").returncode, 0)
        self.assertGreater(self.state().rows["good/b"].batches, before.rows["good/b"].batches)
        self.assertEqual(self.state().rows["good/a"], before.rows["good/a"])

    def test_the_order_of_rows_with_minutes(self):
        """Unfinished rows, then those that the present library has run for the least time."""
        state = State(self.path / "none")
        part = schedule.load_parts(self.path / "parts.py")[0]
        rows = [(part, row) for row in part.rows]
        a, b = (state.row(part, row) for row in part.rows)
        run = {"machine": "m", "commit": "c", "started": "2026-01-01 00:00"}
        state.libraries = [{**run, "library": "old"}, {**run, "library": "new", "last": "2026-01-01 00:01"}]
        a.counts, a.runs = {"units": 60}, [[0, 1, 50.0], [1, 1, 1.0]]
        b.counts, b.runs = {"units": 8}, [[0, 1, 20.0], [1, 1, 2.0]]
        choose = lambda again: schedule.next_row(state, rows, set(), [], [], again)  # noqa: E731
        self.assertEqual(choose(False), None)
        self.assertEqual(choose(True)[1].name, "a")
        state.run = {**run, "library": "newest"}  # no row was run with it
        self.assertEqual([state.present_seconds(entry) for entry in (a, b)], [0, 0])
        state.run = None
        b.counts, b.runs = {"units": 6}, [[1, 1, 90.0]]
        self.assertEqual([choose(again)[1].name for again in (False, True)], ["b", "b"])

    def test_the_tables_tell_what_the_present_library_has_run(self):
        self.run_soak("--part=good")
        old = self.state()
        old.libraries[0].update(library="old", started="2020-01-01 00:00", last="2020-01-01 00:00")
        old.write()
        old.write(self.path / "page.json")
        self.run_soak("--part=good", "--row=b", "--minutes=0.01")
        page = self.page.read_text()
        self.assertRegex(page, r"\| `a` .* \| – \|\n")
        self.assertRegex(page, r"\| `b` .* \|\n")
        self.assertNotRegex(page, r"\| `b` .* \| – \|\n")
        self.assertNotIn("present library is old", page)

    def test_a_commit_with_changes_stays_one(self):
        state = State(self.path / "none")
        run = {"library": "l", "machine": "m", "commit": "c+", "started": "2026-01-01 00:00"}
        state.library_number(run)
        state.library_number({**run, "commit": "d", "started": "2026-01-02 00:00"})
        self.assertEqual([entry["commit"] for entry in state.libraries], ["d+"])

    def test_no_minutes_are_no_batch(self):
        self.assertEqual(self.run_soak("--part=good", "--minutes=0").returncode, 0)
        self.assertFalse(self.seeds.exists())

    def test_one_run_at_a_time(self):
        (self.path / "state").mkdir()
        with open(self.path / "state/lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            second = subprocess.run(self.command("--part=good"), capture_output=True, text=True)
        self.assertIn("another run", second.stderr)
        self.assertEqual(second.returncode, 1)


class Parts(unittest.TestCase):
    """The real parts.py, with the path of soak_model as the first argument of this test."""

    def test_every_kind_has_a_row(self):
        parts = {part.name: part for part in runpy.run_path(str(HERE / "parts.py"))["PARTS"]}
        done = subprocess.run([MODEL], capture_output=True, text=True)
        kinds = done.stderr.split(":")[1].split()
        self.assertGreater(len(kinds), 20)
        self.assertEqual(kinds, [row.name for row in parts["model"].rows])


if __name__ == "__main__":
    MODEL = sys.argv.pop(1)
    unittest.main()
