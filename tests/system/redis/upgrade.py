"""Upgrades: every version of the module loads the RDB and AOF files and the replication stream of the versions before
it. tests/system/redis/fixtures has such files, one set per version of the encoding (redis/type.c); `upgrade.py --write` writes
those of the present version, once. BESOM_OLD_MODULE is the module to upgrade from; by default a copy of this one."""

import glob
import os
import shutil
import sys
import tempfile
import unittest

from failover import Load
from servers import ReplyError, Server, digest, fail_over, replica_of, wait_for, wait_for_link, wait_for_replica

VERSION = 1
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
COMMANDS_ONLY = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]
WITH_PREAMBLE = ["--appendonly", "yes", "--aof-use-rdb-preamble", "yes"]
REFUSING = ("qf", "bloom", "blocked-bloom", "cf", "vacuum")  # what 0.2.0 reserved without FORGET
SEED = "5eed5eed5eed5eed5eed5eed5eed5eed"


def fill(r, in_the_middle=lambda: None):
    """Uses every command that is replicated, in the form in which it is replicated."""
    def reserve(key, *words):
        r("AF.RESERVE", key, *words, "SEED", SEED)

    reserve("grown", 0.01, 50, "EXPANSION", 4)
    r("AF.MADD", "grown", *range(1000))
    for item in range(0, 1000, 9):
        r("AF.DEL", "grown", item)
    reserve("values", 1e-9, 20, "VALUEBITS", 5, "HASH", "xxh3")
    for item in range(60):
        r("AF.ADD", "values", item)
        r("AF.SETVAL", "values", item, item % 32)
    reserve("reports", 0.2, 100, "REFUSE", "NONSCALING", "ADAPTRESERVE", 0.4)
    r("AF.MADD", "reports", *range(100))
    r("AF.REPORT", "reports", *["absent-%d" % i for i in range(100)])
    r("AF.NOADD", "reports", "no-1", "no-2")
    r("AF.NODEL", "reports", "no-2")
    in_the_middle()
    reserve("forgets", 0.2, 100, "FORGET", "MAXCAPACITY", 5000)
    r("AF.MADD", "forgets", *range(100))
    r("AF.REPORT", "forgets", *["absent-%d" % i for i in range(1000)])
    r("AF.RESERVE", "like", 0.1, 1, "LIKE", "grown")
    r("AF.INSERT", "like", "NX", "ITEMS", "a", "b", "a")
    r("AF.MERGE", "merged", "grown", "like")
    for kind in ("qf", "bloom", "blocked-bloom", "cf", "vacuum", "cached"):
        reserve(kind, 0.01, 100, "KIND", kind)
        r("AF.MADD", kind, *range(90))


def check(test, r):
    """The filters that fill made hold what they should, and work."""
    rest = [i for i in range(1000) if i % 9]
    test.assertTrue(all(r("AF.MEXISTS", "grown", *rest)))
    test.assertEqual(len(rest), r("AF.CARD", "grown"))
    test.assertGreater(r("AF.INFO", "grown", "layers"), 2)
    test.assertEqual([i % 32 for i in range(60)], [r("AF.GETVAL", "values", i) for i in range(60)])
    test.assertTrue(all(r("AF.MEXISTS", "reports", *range(100))))
    test.assertFalse(any(r("AF.MEXISTS", "reports", *["absent-%d" % i for i in range(100)])))
    test.assertEqual(0, r("AF.EXISTS", "reports", "no-1"))
    test.assertEqual((b"refuse", 0), (r("AF.INFO", "reports", "report-policy"), r("AF.INFO", "reports", "forgotten")))
    test.assertEqual((b"forget", 5000), (r("AF.INFO", "forgets", "report-policy"),
                                         r("AF.INFO", "forgets", "maxcapacity")))
    test.assertGreater(r("AF.INFO", "forgets", "forgotten"), 0)
    test.assertTrue(all(r("AF.MEXISTS", "merged", "a", "b", *rest)))
    for kind in ("qf", "bloom", "blocked-bloom", "cf", "vacuum", "cached"):
        test.assertTrue(all(r("AF.MEXISTS", kind, *range(90))), kind)
    for key in ("grown", "merged", "forgets"):
        test.assertNotIn(ReplyError, map(type, r("AF.MADD", key, *["new-%d" % i for i in range(3000)])))
        test.assertTrue(all(r("AF.MEXISTS", key, *["new-%d" % i for i in range(3000)])), key)


def rewrite(r):
    r("BGREWRITEAOF")
    wait_for(lambda: b"aof_rewrite_in_progress:0" in r("INFO", "persistence"), what="the rewrite")


def write_fixtures():
    """As files of one server: the stream of commands, the rewritten AOF, and the RDB file."""
    server = Server(*COMMANDS_ONLY)
    r = server.client()
    fill(r)
    r("SAVE")

    def copy(pattern, name):
        path, = glob.glob(os.path.join(server.dir, pattern))
        shutil.copy(path, os.path.join(FIXTURES, "v%d.%s" % (VERSION, name)))

    os.makedirs(FIXTURES, exist_ok=True)
    copy("appendonlydir/*.incr.aof", "stream.aof")
    copy("dump.rdb", "rdb")
    rewrite(r)
    copy("appendonlydir/*.base.aof", "rewritten.aof")
    server.close()


def write_preamble():
    """The directory of an AOF whose first half is an RDB file, and whose second half is commands."""
    server = Server(*WITH_PREAMBLE)
    r = server.client()
    fill(r, lambda: rewrite(r))
    shutil.copytree(os.path.join(server.dir, "appendonlydir"), os.path.join(FIXTURES, "v%d.preamble" % VERSION))
    server.close()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def serve(path):
    """A server that loads a fixture."""
    if path.endswith(".rdb"):
        return Server(files={"dump.rdb": read(path)})
    if path.endswith(".preamble"):
        return Server(*WITH_PREAMBLE, files={"appendonlydir/" + name: read(os.path.join(path, name))
                                             for name in os.listdir(path)})
    return Server(*COMMANDS_ONLY, files={"appendonly.aof": read(path)})


class Fixtures(unittest.TestCase):
    def test_files_of_every_version_load(self):
        """Each is changed, saved in its own form, and loaded again."""
        paths = sorted(glob.glob(os.path.join(FIXTURES, "v*")))
        self.assertGreaterEqual(len(paths), 4 * VERSION)
        digests, others = {}, set()
        for path in paths:
            with self.subTest(path):
                server = serve(path)
                r = server.client()
                digests[os.path.basename(path)] = digest(r)
                others.add(tuple(r("DEBUG", "DIGEST-VALUE", *REFUSING)))
                for kind in REFUSING:
                    self.assertEqual(b"refuse", r("AF.INFO", kind, "report-policy"), kind)
                check(self, r)
                self.change_and_load(server, path)
                server.close()
        self.assertEqual(1, len(others), others)
        # The same commands wrote them. Those that are replayed make exceptions as they are now, which are longer.
        self.assertEqual(digests["v1.rdb"], digests["v1.rewritten.aof"], digests)

    def change_and_load(self, server, path):
        r = server.client()
        r("AF.DEL", "grown", 1)
        r("AF.NOADD", "reports", "no-3")
        r("AF.SETVAL", "values", 7, 21)
        if path.endswith(".rdb"):
            r("SAVE")
        before = digest(r)
        server.restart()
        r = server.client()
        self.assertEqual(before, digest(r))
        self.assertEqual((0, 21), (r("AF.EXISTS", "reports", "no-3"), r("AF.GETVAL", "values", 7)))
        self.assertTrue(all(r("AF.MEXISTS", "grown", *["new-%d" % i for i in range(3000)])))

    def test_the_present_version_is_the_last_fixture(self):
        """A new version of the encoding needs new fixtures."""
        r = Server().client()
        r("AF.ADD", "f", "x")
        payload = r("DUMP", "f")
        type_id = payload[2:10]  # after the type of the value and the kind of length
        self.assertEqual(VERSION, int.from_bytes(type_id, "big") & 1023)


class RollingUpgrade(unittest.TestCase):
    def test_replica_first_then_the_other(self):
        directory = tempfile.mkdtemp(prefix="besom-redis-old-")
        self.addCleanup(shutil.rmtree, directory, True)
        old = os.environ.get("BESOM_OLD_MODULE") or shutil.copy(os.environ["BESOM_MODULE"], directory)
        files = ["--appendonly", "yes", "--appendfsync", "no"]
        first, second = Server(*files, module=old), Server(*files, module=old)
        self.addCleanup(second.close)
        self.addCleanup(first.close)
        second.client()("REPLICAOF", "127.0.0.1", first.port)
        wait_for_link(second)
        fill(first.client())
        load = Load([first.port, second.port], key="load")
        self.addCleanup(load.stop)
        load.wait_for_more()
        second.module = os.environ["BESOM_MODULE"]
        second.options += ["--replicaof", "127.0.0.1 %d" % first.port]
        second.restart()  # loads its files, then gets the rest, or all, from the old version
        wait_for_link(second)
        load.wait_for_more()
        fail_over(first, second)
        wait_for(lambda: second.client()("ROLE")[0] == b"master" and first.client()("ROLE")[0] == b"slave",
                 what="the failover")
        load.wait_for_more()
        first.module = os.environ["BESOM_MODULE"]
        first.options += ["--replicaof", "127.0.0.1 %d" % second.port]
        first.restart()
        wait_for_link(first)
        load.wait_for_more()
        load.stop()
        self.assertEqual([], load.failures)
        self.assertTrue(all(second.client()("AF.MEXISTS", "load", *load.confirmed)))
        check(self, second.client())
        wait_for_replica(second, first)
        self.assertEqual(digest(second.client()), digest(first.client()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write_fixtures()
        write_preamble()
    else:
        unittest.main()
