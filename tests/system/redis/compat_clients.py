"""compat_clients.py: unchanged clients of RedisBloom against the compatibility mode.

- The interfaces bf() and cf() of python3-redis (Debian: apt-get install python3-redis).
- client.bf and client.cf of the npm package redis, if BESOM_NODE_MODULES names the directory with that package.

A client that is not there is skipped; if both are missing, the exit code is 77."""

import os
import subprocess
import sys
import unittest

from servers import Server

try:
    import redis
except ImportError:
    redis = None
modules = os.environ.get("BESOM_NODE_MODULES")


@unittest.skipUnless(redis, "python3-redis is not installed")
class PythonRedis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(module_options=["compat", "yes"])

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.client = redis.Redis(port=self.server.port)
        self.client.flushall()
        self.bf, self.cf = self.client.bf(), self.client.cf()

    def tearDown(self):
        self.client.close()

    def test_bloom(self):
        self.assertTrue(self.bf.create("bloom", 0.01, 1000))
        self.assertTrue(self.bf.create("bloom_e", 0.01, 1000, expansion=1))
        self.assertTrue(self.bf.create("bloom_ns", 0.01, 1000, noScale=True))
        self.assertEqual(1, self.bf.add("bloom", "foo"))
        self.assertEqual(0, self.bf.add("bloom", "foo"))
        self.assertEqual([0, 1], self.bf.madd("bloom", "foo", "bar"))
        self.assertEqual([1, 0], self.bf.mexists("bloom", "bar", "noexist"))
        self.assertEqual(1, self.bf.exists("bloom", "foo"))
        self.assertEqual(0, self.bf.exists("bloom", "noexist"))
        self.assertEqual([1], self.bf.insert("captest", ["foo"], capacity=10, error=0.1))
        with self.assertRaises(redis.ResponseError):
            self.bf.insert("none", ["foo"], noCreate=True)
        info = self.bf.info("bloom")
        self.assertEqual((2, 1), (info.insertedNum, info.filterNum))
        self.assertIsNone(self.bf.info("bloom_ns").expansionRate)
        self.assertEqual(1000, self.bf.info("bloom_ns").capacity)

    def test_an_error_in_a_full_filter(self):
        self.bf.create("f", 1e-6, 2, noScale=True)
        self.bf.madd("f", "a", "b")
        with self.assertRaisesRegex(redis.ResponseError, "^non scaling filter is full$"):
            self.bf.add("f", "c")

    def copy(self, commands):
        iterator = 0
        while True:
            iterator, data = commands.scandump("from", iterator)
            if iterator == 0:
                return
            self.assertTrue(commands.loadchunk("to", iterator, data))

    def test_dumps(self):
        self.bf.madd("from", *range(1000))
        self.copy(self.bf)
        self.assertEqual([1] * 1000, self.bf.mexists("to", *range(1000)))
        self.client.flushall()
        self.cf.insert("from", list(range(1000)))
        self.copy(self.cf)
        self.assertEqual([1] * 1000, self.cf.mexists("to", *range(1000)))

    def test_cuckoo(self):
        self.assertTrue(self.cf.create("cuckoo", 1000))
        self.assertTrue(self.cf.create("cuckoo_e", 1000, expansion=1))
        self.assertTrue(self.cf.create("cuckoo_bs", 1000, bucket_size=4))
        self.assertTrue(self.cf.create("cuckoo_mi", 1000, max_iterations=10))
        self.assertTrue(self.cf.add("cuckoo", "filter"))
        self.assertFalse(self.cf.addnx("cuckoo", "filter"))
        self.assertEqual(1, self.cf.addnx("cuckoo", "newItem"))
        self.assertEqual([1], self.cf.insert("captest", ["foo"]))
        self.assertEqual([1], self.cf.insert("captest", ["foo"], capacity=1000))
        self.assertEqual([1], self.cf.insertnx("captest", ["bar"]))
        self.assertEqual([0, 0, 1], self.cf.insertnx("captest", ["foo", "bar", "baz"]))
        self.assertEqual([0], self.cf.insertnx("captest", ["bar"], nocreate="1"))
        self.assertEqual(2, self.cf.count("captest", "foo"))
        self.assertEqual(0, self.cf.count("captest", "nothing"))
        self.assertEqual([1, 0], self.cf.mexists("captest", "foo", "nothing"))
        self.assertTrue(self.cf.delete("captest", "foo"))
        self.assertTrue(self.cf.exists("captest", "foo"))
        info = self.cf.info("captest")
        self.assertEqual((3, 1, 1), (info.insertedNum, info.deletedNum, info.filterNum))

    def test_a_report_on_a_filter_that_the_client_made(self):
        self.bf.create("f", 0.1, 1000)
        self.bf.madd("f", *range(1000))
        absent = ["absent-%d" % i for i in range(2000)]
        wrong = [item for item, yes in zip(absent, self.bf.mexists("f", *absent)) if yes]
        self.assertGreater(len(wrong), 0)
        self.assertEqual([1], self.client.execute_command("AF.REPORT", "f", wrong[0]))
        self.assertEqual(0, self.bf.exists("f", wrong[0]))


@unittest.skipUnless(modules, "the npm package redis is not installed")
class NodeRedis(unittest.TestCase):
    def test_session(self):
        server = Server(module_options=["compat", "yes"])
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compat_node.js")
        for protocol in ("2", "3"):
            run = subprocess.run(["node", script, str(server.port), protocol], capture_output=True, text=True,
                                 env=dict(os.environ, NODE_PATH=modules), timeout=600)
            self.assertEqual((0, "ok\n"), (run.returncode, run.stdout), run.stderr)
        server.close()


if __name__ == "__main__":
    if not redis and not modules:
        sys.exit(77)
    unittest.main()
