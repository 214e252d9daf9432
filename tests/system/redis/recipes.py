"""The recipes in examples/redis_recipes.py, that of docs/redis.md, and redis_recipe.js if BESOM_NODE_MODULES has the
package."""

import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from servers import Server

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
NODE = """
const { createClient } = require('redis');
%s
(async () => {
  const client = createClient({ url: 'redis://127.0.0.1:%d' });
  await client.connect();
  let reads = 0;
  const db = { get: async (name) => { reads++; return name === 'ann' ? 1 : undefined; } };
  const found = await findUser(client, db, 'ann');
  for (let i = 0; i < 2000; i++) await findUser(client, db, 'absent' + i);
  const first = reads;
  for (let i = 0; i < 2000; i++) await findUser(client, db, 'absent' + i);
  console.log(found, first > 1, reads === first);
  await client.close();
})();
"""


def text_of(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


class Redis:
    """execute_command of the package redis."""

    def __init__(self, client):
        self.execute_command = client


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.r = self.server.client()
        self.r("FLUSHALL")
        self.names = {}
        exec(text_of("examples/redis_recipes.py"), self.names)
        self.names.update(r=Redis(self.r), db=sqlite3.connect(":memory:"))
        for table in ("users(name TEXT PRIMARY KEY)", "events(day TEXT, id TEXT)", "used_tokens(token TEXT PRIMARY KEY)",
                      "seen(user INTEGER, article TEXT)"):
            self.names["db"].execute("CREATE TABLE " + table)

    def tearDown(self):
        self.names["db"].close()

    def test_the_documentation_has_the_code_of_the_example(self):
        (shown,) = re.findall(r"```python\n(.*?)```", text_of("docs/redis.md"), re.DOTALL)
        self.assertIn(shown.replace("\n\ndef", "\n\n\ndef"), text_of("examples/redis_recipes.py"))

    def test_a_database(self):
        reads = []
        self.r("AF.RESERVE", "users", 0.01, 1000, "SEED", "42" * 16)
        for i in range(1000):
            self.names["add_user"]("user%d" % i)
        self.names["db"].set_trace_callback(reads.append)
        self.assertTrue(all(self.names["find_user"]("user%d" % i) for i in range(1000)))
        self.assertEqual(1000, len(reads))
        for _ in range(2):
            self.assertFalse(any(self.names["find_user"]("absent%d" % i) for i in range(1000)))
            first = len(reads) if _ == 0 else first
        self.assertGreater(first, 1000)
        self.assertEqual(first, len(reads))  # no false positive is repeated

    def test_a_stream(self):
        self.assertEqual([True, False, True], [self.names["is_new"]("monday", event) for event in "aab"])
        self.assertTrue(self.names["is_new"]("tuesday", "a"))
        self.assertGreater(self.r("TTL", "events:monday"), 86400)

    def assert_false_positives_read_once(self, answer):
        """answer(i) is asked for 1000 absent items, twice. It must be right, and read the database once per item."""
        reads = []
        self.names["db"].set_trace_callback(reads.append)
        for i in range(1000):
            self.assertFalse(answer(i))
        first = len(reads)
        self.assertGreater(first, 0)
        for i in range(1000):
            self.assertFalse(answer(i))
        self.assertEqual(first, len(reads))

    def test_a_stream_with_an_archive(self):
        self.r("AF.RESERVE", "events:monday", 0.1, 100, "ADAPTRESERVE", 0.5, "SEED", "42" * 16)
        self.r("AF.MADD", "events:monday", *range(100))
        self.names["db"].execute("INSERT INTO events VALUES ('monday', '7')")
        self.assertTrue(self.names["is_archived"]("monday", "7"))
        self.assert_false_positives_read_once(lambda i: self.names["is_archived"]("monday", "absent%d" % (i % 300)))

    def test_an_item_that_is_added_between_the_look_and_the_report_stays(self):
        """The row is committed and its item added after the first look of another client, before its report."""
        def report_late(*words):
            if words[0] == "AF.REPORT":
                self.names["r"].execute_command = self.r
                self.names["add_user"]("late")
            return self.r(*words)

        self.r("AF.RESERVE", "users", 0.01, 100)
        self.r("AF.ADD", "users", "late")  # stands for a false positive
        self.names["r"].execute_command = report_late
        self.assertIsNone(self.names["find_user"]("late"))
        self.assertIsNotNone(self.names["find_user"]("late"))

    def test_a_table_accepts_a_token_once(self):
        self.assertEqual([True, False], [self.names["use_token_of_table"]("t1") for _ in range(2)])
        self.assertTrue(self.names["was_used"]("t1"))

    def test_tokens_with_a_table(self):
        self.r("AF.RESERVE", "used-tokens", 0.1, 100, "ADAPTRESERVE", 0.5, "SEED", "42" * 16)
        self.r("AF.MADD", "used-tokens", *range(100))
        self.names["db"].execute("INSERT INTO used_tokens VALUES ('7')")
        self.assertTrue(self.names["was_used"]("7"))
        self.assert_false_positives_read_once(lambda i: self.names["was_used"]("absent%d" % (i % 300)))

    def test_seen_lists_with_a_table(self):
        self.r("AF.RESERVE", "seen:7", 0.1, 100, "ADAPTRESERVE", 0.5, "SEED", "42" * 16)
        self.r("AF.MADD", "seen:7", *range(100))
        self.names["db"].execute("INSERT INTO seen VALUES (7, '8')")
        self.assertEqual(["a"], self.names["not_read"](7, ["8", "a"]))
        self.assert_false_positives_read_once(
            lambda i: self.names["not_read"](7, ["absent%d" % (i % 300)]) != ["absent%d" % (i % 300)])

    def test_tokens(self):
        self.assertEqual([True, False], [self.names["use_token"]("t1") for _ in range(2)])

    def test_seen_lists(self):
        self.assertEqual(["a", "b"], self.names["unseen"](7, ["a", "b"]))
        self.names["mark_seen"](7, "a")
        self.assertEqual(["b"], self.names["unseen"](7, ["a", "b"]))
        self.assertEqual(["a"], self.names["unseen"](8, ["a"]))

    def test_node(self):
        modules = os.environ.get("BESOM_NODE_MODULES")
        if not modules or not shutil.which("node"):
            self.skipTest("the npm package redis is missing")
        self.r("AF.RESERVE", "users", 0.01, 1000, "SEED", "42" * 16)
        self.r("AF.MADD", "users", "ann", *range(999))
        code = text_of("examples/redis_recipe.js")
        with tempfile.NamedTemporaryFile("w", suffix=".js") as file:
            file.write(NODE % (code, self.server.port))
            file.flush()
            environment = dict(os.environ, NODE_PATH=modules)
            run = subprocess.run(["node", file.name], env=environment, capture_output=True, text=True, timeout=600)
        self.assertEqual(("1 true true\n", ""), (run.stdout, run.stderr))


if __name__ == "__main__":
    unittest.main()
