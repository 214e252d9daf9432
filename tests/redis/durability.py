"""Filters survive restarts with every kind of file, kill -9 under load, and replication. All copies have equal bytes
(DEBUG DIGEST)."""

import threading
import time
import unittest

from servers import ReplyError, Server, digest, wait_for_replica, replica_of, wait_for

AOF = ["--appendonly", "yes", "--appendfsync", "no"]  # no fsync: enough if only the process is killed
COMMANDS_ONLY = ["--aof-use-rdb-preamble", "no"]
RDB = ["--save", "3600 1"]


def fill(r, key="f"):
    """Makes filters of several kinds, with everything that commands can store in them."""
    r("AF.RESERVE", key, 0.05, 2000, "MAXCAPACITY", 4000)
    r("AF.MADD", key, *range(3000))
    for item in range(0, 3000, 7):
        r("AF.DEL", key, item)
    r("AF.RESERVE", key + "-values", 0.000001, 100, "VALUEBITS", 3)
    r("AF.MADD", key + "-values", 1, 2, 3)
    r("AF.SETVAL", key + "-values", 1, 5)
    absent = ["s%d" % i for i in range(5000)]
    fixed = [s for s, reply in zip(absent, r("AF.REPORT", key, *absent)) if reply == 1]
    r("AF.NOADD", key, "no-1", "no-2", "no-3")
    r("AF.NODEL", key, "no-2")
    r("AF.INSERT", key + "-auto", "NX", "ITEMS", 1, 2, 2, 3)
    r("AF.RESERVE", key + "-like", 0.1, 1, "LIKE", key)
    r("AF.MADD", key + "-like", "a", "b")
    r("AF.MERGE", key + "-merged", key, key + "-like")
    for kind in ("bloom", "scaling", "cf", "cached"):
        r("AF.RESERVE", key + "-" + kind, 0.01, 500, "KIND", kind)
        r("AF.MADD", key + "-" + kind, *range(450))
    r("AF.REPORT", key + "-cached", *absent)
    return fixed


class Restart(unittest.TestCase):
    def survives(self, *options, rewrite=False, kill=False):
        server = Server(*options)
        r = server.client()
        fixed = fill(r)
        self.assertGreater(len(fixed), 5)
        before = digest(r)
        if rewrite:
            r("BGREWRITEAOF")
            wait_for(lambda: b"aof_rewrite_in_progress:0" in r("INFO", "persistence"), what="the rewrite")
            wait_for(lambda: b"aof_rewrite_scheduled:0" in r("INFO", "persistence"), what="the rewrite")
            self.assertIn(b"aof_last_bgrewrite_status:ok", r("INFO", "persistence"))
        server.restart(kill=kill)
        r = server.client()
        self.assertEqual(before, digest(r))
        self.assertFalse(any(r("AF.MEXISTS", "f", *fixed)))
        self.assertEqual(5, r("AF.GETVAL", "f-values", 1))
        fill(r, "g")  # the server works as before
        server.close()

    def test_rdb(self):
        self.survives(*RDB)

    def test_aof(self):
        self.survives(*AOF, kill=True)

    def test_aof_rewritten(self):
        self.survives(*AOF, rewrite=True, kill=True)

    def test_aof_rewritten_as_commands(self):
        self.survives(*AOF, *COMMANDS_ONLY, rewrite=True, kill=True)

    def test_both(self):
        self.survives(*AOF, *RDB, rewrite=True)

    def test_a_filter_with_some_of_its_chunks(self):
        server = Server(*AOF, *COMMANDS_ONLY, *RDB)
        r = server.client()
        r("CONFIG", "SET", "besom.chunk-bytes", 1024)
        r("AF.MADD", "f", *range(5000))
        at, chunks = 0, []
        while True:
            at, data = r("AF.SCANDUMP", "f", at)
            if at == 0:
                break
            chunks.append((at, data))
        for at, data in chunks[:3]:
            r("AF.LOADCHUNK", "g", at, data)
        before = digest(r)
        r("BGREWRITEAOF")
        wait_for(lambda: b"aof_rewrite_in_progress:0" in r("INFO", "persistence"), what="the rewrite")
        replica = replica_of(server)
        wait_for_replica(server, replica)
        self.assertEqual(before, digest(replica.client()))
        server.restart()
        r = server.client()
        self.assertEqual(before, digest(r))
        for at, data in chunks[3:]:
            r("AF.LOADCHUNK", "g", at, data)
        self.assertEqual(r("DEBUG", "DIGEST-VALUE", "f"), r("DEBUG", "DIGEST-VALUE", "g"))
        replica.close()
        server.close()


class KillUnderLoad(unittest.TestCase):
    def test_no_confirmed_item_is_lost(self):
        server = Server(*AOF, "--auto-aof-rewrite-percentage", 1, "--auto-aof-rewrite-min-size", "100kb")
        server.client()("AF.RESERVE", "f", 0.01, 1000, "MAXCAPACITY", 10 ** 6)
        for turn in range(3):
            confirmed, stop = [], time.monotonic() + 0.7

            def load(number):
                r = server.client()
                try:
                    i = 0
                    while True:
                        items = ["%d-%d-%d" % (turn, number, i + j) for j in range(20)]
                        r("AF.MADD", "f", *items)
                        confirmed.extend(items)
                        r("AF.REPORT", "f", *["x" + item for item in items])
                        i += 20
                except (OSError, ReplyError, ValueError):
                    pass

            threads = [threading.Thread(target=load, args=(n,)) for n in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(max(0, stop - time.monotonic()))
            server.restart(kill=True)
            for thread in threads:
                thread.join()
            r = server.client()
            self.assertGreater(len(confirmed), 100)
            self.assertTrue(all(r("AF.MEXISTS", "f", *confirmed)))
        server.close()


class Replication(unittest.TestCase):
    def test_a_replica_has_the_same_bytes_and_takes_over(self):
        master = Server()
        r = master.client()
        early = replica_of(master)
        fill(r)
        late = replica_of(master)  # gets an RDB file first, then commands
        fixed = fill(r, "g")
        r("AF.MADD", "big", *range(30000))  # grows
        for begin in range(0, 20000, 100):
            r("AF.MADD", "small-steps", *range(begin, begin + 100))
        for replica in (early, late):
            wait_for_replica(master, replica)
            self.assertEqual(digest(r), digest(replica.client()))
        master.kill()
        p = early.client()
        p("REPLICAOF", "NO", "ONE")
        self.assertFalse(any(p("AF.MEXISTS", "g", *fixed)))
        self.assertTrue(all(p("AF.MEXISTS", "big", *range(15000))))
        late.client()("REPLICAOF", "127.0.0.1", early.port)
        fill(p, "h")
        wait_for(lambda: b"master_link_status:up" in late.client()("INFO", "replication"), what="the link")
        wait_for_replica(early, late)
        self.assertEqual(digest(p), digest(late.client()))
        for server in (master, early, late):
            server.close()

    def test_failures_are_not_replicated_as_successes(self):
        master = Server()
        r = master.client()
        replica = replica_of(master)
        r("AF.RESERVE", "f", 0.3, 500, "NONSCALING")
        replies = r("AF.MADD", "f", *range(700))
        self.assertTrue(any(isinstance(reply, ReplyError) for reply in replies))
        replies = r("AF.REPORT", "f", *["s%d" % i for i in range(3000)])
        self.assertTrue(any(isinstance(reply, ReplyError) for reply in replies))
        r("CONFIG", "SET", "besom.max-filter-bytes", "1mb")
        r("AF.RESERVE", "g", 0.0000001, 200000, "MAXCAPACITY", 400000)
        for begin in range(0, 210000, 5000):
            replies = r("AF.MADD", "g", *range(begin, begin + 5000))
        self.assertIn("memory to grow", str(replies[-1]))
        wait_for_replica(master, replica)
        self.assertEqual(digest(r), digest(replica.client()))
        replica.close()
        master.close()


class GrowingInSteps(unittest.TestCase):
    """Filters that are too large to grow within one command."""

    def setUp(self):
        self.server = Server()
        self.r = self.server.client()
        self.r("AF.RESERVE", "f", 0.01, 50000, "MAXCAPACITY", 400000)
        capacity = self.r("AF.INFO", "f", "capacity")
        for begin in range(0, capacity, 1000):
            self.r("AF.MADD", "f", *range(begin, min(begin + 1000, capacity)))
        self.capacity = capacity

    def tearDown(self):
        self.server.close()

    def start_growth(self, *words):
        """Returns a client whose command is blocked: growth takes minutes until speed_up is called."""
        self.r("CONFIG", "SET", "besom.grow-step-items", 1, "besom.grow-step-microseconds", 0)
        waiting = self.server.client()
        waiting.send(*words)
        wait_for(lambda: self.r("AF.INFO", "f", "growing") == 1, what="growth")
        return waiting

    def speed_up(self):
        self.r("CONFIG", "SET", "besom.grow-step-items", 100, "besom.grow-step-microseconds", 1000)

    def test_queries_are_answered_and_changes_wait(self):
        replica = replica_of(self.server)
        first = self.start_growth("AF.MADD", "f", "x", "y")
        second = self.server.client()
        second.send("AF.DEL", "f", 7)
        third = self.server.client()
        third.send("AF.REPORT", "f", "what")
        for item in range(100):
            self.assertEqual(1, self.r("AF.EXISTS", "f", item))
        self.assertEqual(1, self.r("AF.INFO", "f", "growing"))
        self.assertEqual(self.capacity, self.r("AF.CARD", "f"))
        self.speed_up()
        self.assertEqual(2, len(first.read()))
        self.assertEqual(1, second.read())
        third.read()
        self.assertEqual(0, self.r("AF.INFO", "f", "growing"))
        self.assertEqual(self.capacity + 1, self.r("AF.CARD", "f"))
        self.assertGreater(self.r("AF.INFO", "f", "capacity"), 1.9 * self.capacity)
        wait_for_replica(self.server, replica)
        self.assertEqual(digest(self.r), digest(replica.client()))
        replica.close()

    def test_the_key_is_deleted_or_moved_during_growth(self):
        for command in (["DEL", "f"], ["UNLINK", "f"], ["RENAME", "f", "g"], ["FLUSHALL", "ASYNC"], ["SET", "f", 1],
                        ["SWAPDB", 0, 1]):
            with self.subTest(command):
                self.tearDown()
                self.setUp()
                waiting = self.start_growth("AF.ADD", "f", "x")
                self.r(*command)
                self.assertIsInstance(waiting.read(), ReplyError)
                self.speed_up()
                if command[0] == "RENAME":
                    self.assertIn(self.r("AF.ADD", "g", "x"), (0, 1))
                    self.assertEqual(self.capacity + 1, self.r("AF.CARD", "g"))
                if command[0] == "SWAPDB":
                    self.r("SELECT", 1)
                    self.assertIn(self.r("AF.ADD", "f", "x"), (0, 1))

    def test_the_client_disconnects_during_growth(self):
        replica = replica_of(self.server)
        self.start_growth("AF.ADD", "f", "x").close()
        self.speed_up()
        wait_for(lambda: self.r("AF.INFO", "f", "growing") == 0, what="the end of growth")
        self.r("AF.ADD", "f", "y")
        wait_for_replica(self.server, replica)
        self.assertEqual(digest(self.r), digest(replica.client()))
        replica.close()

    def test_a_master_becomes_a_replica_during_growth(self):
        other = Server()
        other.client()("AF.ADD", "f", "x")
        waiting = self.start_growth("AF.ADD", "f", "x")
        self.r("REPLICAOF", "127.0.0.1", other.port)
        self.assertIsInstance(waiting.read(), ReplyError)
        wait_for(lambda: digest(self.server.client()) == digest(other.client()), what="the new master's data")
        other.close()

    def test_transactions_do_not_wait_for_growth(self):
        waiting = self.start_growth("AF.ADD", "f", "x")
        self.r("MULTI")
        self.r("AF.ADD", "f", "y")
        self.r("AF.DEL", "f", 3)
        self.assertIn(self.r("EXEC"), ([1, 1], [0, 1]))
        self.assertIn(waiting.read(), (0, 1))
        self.assertEqual(self.capacity + 1, self.r("AF.CARD", "f"))

    def test_grow_waits_too(self):
        waiting = self.start_growth("AF.GROW", "f")
        self.speed_up()
        self.assertEqual("OK", waiting.read())
        self.assertGreater(self.r("AF.INFO", "f", "capacity"), 1.9 * self.capacity)

    def test_a_copy_and_a_file_of_a_growing_filter(self):
        waiting = self.start_growth("AF.ADD", "f", "x")
        self.assertEqual(1, self.r("COPY", "f", "g"))
        self.r("RESTORE", "h", 0, self.r("DUMP", "f"))
        self.assertEqual(self.capacity, self.r("AF.CARD", "g"))
        self.assertEqual(self.r("DEBUG", "DIGEST-VALUE", "g"), self.r("DEBUG", "DIGEST-VALUE", "h"))
        self.speed_up()
        waiting.read()
        self.r("AF.ADD", "g", "x")
        self.assertEqual(self.r("DEBUG", "DIGEST-VALUE", "f"), self.r("DEBUG", "DIGEST-VALUE", "g"))


if __name__ == "__main__":
    unittest.main()
