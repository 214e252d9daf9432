#!/usr/bin/env python3
"""Tests that records of mutants, coverage and planted bugs stay valid when files of the sources move."""

import collections
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
for part in ("records", "mutants", "coverage", "soak"):
    sys.path.insert(0, str(TESTS / part))

import counts  # noqa: E402
import functions  # noqa: E402
import mutants  # noqa: E402
import places  # noqa: E402
import planted  # noqa: E402
import report  # noqa: E402

ONE = """static int add(int a, int b) {
  if (a > 3) return b;
  return a + b;
}

int only_here(int a) {
  return add(a, 2);
}
"""
OTHER = """static long add(long a) {
  return a + 1;
}
"""
HERE = {"src/quotient/one.c": ONE, "src/quotient/other.c": OTHER}
MOVED = {"src/quotient/deep/one.c": "/* A line more. */\n" + ONE, "src/quotient/other.c": OTHER}


def moved(files):
    """The same files, each in another directory."""
    return {f"src/elsewhere/{path[4:]}": text for path, text in files.items()}


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


class Names(unittest.TestCase):
    def test_a_name_that_two_files_have_gets_the_name_of_its_file(self):
        for files, path in ((HERE, "src/quotient/one.c"), (MOVED, "src/quotient/deep/one.c")):
            sources = functions.Sources(files=files)
            self.assertEqual(sources.key_of(path, "add"), "one:add")
            self.assertEqual(sources.key_of(path, "only_here"), "only_here")
            self.assertEqual(sources.file_of("one:add"), path)
            self.assertEqual(sources.file_of("one:only_here"), path)
            self.assertIsNone(sources.file_of("add"))

    def test_a_version_is_that_of_the_words_of_a_function(self):
        version = functions.Sources(files=HERE).version_of("one:add")
        spaced = ONE.replace("return a + b", "return a +\n         b /* why */")
        for text, same in ((spaced, True), (ONE.replace("a, 2", "a, 3"), True), (ONE.replace("> 3", "> 4"), False)):
            other = functions.Sources(files={"src/x/one.c": text, "src/x/other.c": OTHER})
            self.assertEqual(other.version_of("one:add") == version, same, text)


class Mutants(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        for name in ("ROOT", "say"):
            self.addCleanup(setattr, mutants, name, getattr(mutants, name))
        mutants.say = lambda _: None
        mutants.ROOT = pathlib.Path(self.scratch.name)
        (mutants.ROOT / "tests/quality/mutants").mkdir(parents=True)
        write(mutants.ROOT, HERE)
        run = mutants.Run(29, 30)
        for name in list(run.ids)[:3]:
            run.try_one = lambda *_: {"outcome": "killed", "test": "t"}
            run.record(name)

    def test_a_moved_file_leaves_results_and_draw(self):
        before = mutants.Run(29, 30)
        (mutants.ROOT / "src/quotient/one.c").unlink()
        write(mutants.ROOT, MOVED)
        after = mutants.Run(29, 30)
        self.assertEqual(list(before.ids), list(after.ids))
        self.assertEqual(set(after.drawn(3)), set(after.results.last))
        self.assertFalse([n for n, r in after.drawn(3).items() if after.is_stale(n, r)])

    def test_a_changed_function_makes_its_results_stale(self):
        write(mutants.ROOT, {path: text.replace("{\n", "{\n  ;\n") for path, text in HERE.items()})
        run = mutants.Run(29, 30)
        self.assertEqual([run.is_stale(n, r) for n, r in run.drawn(3).items()], [True] * 3)

    def test_a_line_that_is_gone_leaves_the_draw(self):
        write(mutants.ROOT, {path: text.replace("b", "c").replace(" a", " d") for path, text in HERE.items()})
        run = mutants.Run(29, 30)
        self.assertTrue(run.ids)
        self.assertFalse(set(run.results.last) & set(run.ids))


class Coverage(unittest.TestCase):
    def text(self, files, line):
        source = counts.Source(next(iter(files)))
        source.text = files[source.path].split("\n")
        first = source.text.index("static int add(int a, int b) {") + 1
        source.functions["add"] = (first, first + 3)
        source.lines = collections.Counter({first: 1, first + 1: 0})
        other = counts.Source("src/quotient/other.c")
        other.text = OTHER.split("\n")
        reason = report.Judgement("a reason")
        reason.add(line)
        return list(report.places_text({source.path: source, other.path: other}, [reason]))

    def test_a_moved_file_leaves_places_and_reasons(self):
        for line, found in (("one:add | *a > 3*", "1. a reason"), ("add", "1. a reason"), ("*:add", "1. a reason"),
                            ("other:add", "1. Not judged"), ("only_here", "1. Not judged")):
            text = self.text(HERE, line)
            self.assertIn(f"\n{found}\n", text)
            self.assertIn("one:add", text)
            self.assertEqual(text, self.text(MOVED, line))


class Planted(unittest.TestCase):
    def bug(self, *lines, key="one:add"):
        return planted.Bug("bug", "text", [], [(key, list(lines))])

    def test_a_change_finds_its_function(self):
        bug = self.bug("-  if (a > 3) return b;", "+  if (a > 4) return b;", "   return a + b;")
        for files in (HERE, MOVED, moved(HERE)):
            (path, text), = planted.plant(bug, files).items()
            self.assertEqual(text, files[path].replace("> 3", "> 4"))

    def test_line_breaks_do_not_matter(self):
        broken = {**HERE, "src/quotient/one.c": ONE.replace(") return b", ")\n    return b")}
        bug = self.bug("-  if (a > 3) return b;", "+  if (a > 4) return b;")
        self.assertIn("if (a > 4) return b;", planted.plant(bug, broken)["src/quotient/one.c"])

    def test_what_is_not_there_once_is_refused(self):
        for bug in (self.bug("-  return c;"), self.bug("-return", "+"), self.bug("-  return a + b;", key="add"),
                    self.bug("-  return a + b;", key="none"), self.bug("+  return a + b;")):
            self.assertIsNotNone(planted.why_not(bug, HERE))


class Committed(unittest.TestCase):
    """The records of this repository, if every file of src/ is elsewhere."""

    def test_results_of_mutants_stay(self):
        root = TESTS.parents[1]
        results = mutants.Results(root / "tests/quality/mutants/results.tsv")
        names = {r["function"] for r in results.last.values()}
        self.assertGreater(len(names), 100)
        files = functions.Sources(root).files
        found = []
        for tree in (files, moved(files)):
            sources = functions.Sources(files=tree)
            here = {f.file for name in names for f in sources.find(name)}
            spots = {(spot, nth) for spot, nth in places.all_places(sources, sorted(here)) if spot[0] in names}
            found.append((spots, {name: sources.version_of(name) for name in names}))
        self.assertTrue(found[0] == found[1])


if __name__ == "__main__":
    unittest.main()
