"""Filters survive restarts with every kind of file, kill -9 under load, and replication. All copies have equal bytes
(DEBUG DIGEST)."""

import threading
import unittest

from servers import ReplyError, Server, digest, wait_for_replica, replica_of, wait_for

AOF = ["--appendonly", "yes", "--appendfsync", "no"]  # no fsync: enough if only the process is killed
COMMANDS_ONLY = ["--aof-use-rdb-preamble", "no"]
RDB = ["--save", "3600 1"]


def fill(r, key="f"):
    """Makes filters of several kinds, with everything that commands can store in them."""
    r("AF.RESERVE", key, 0.05, 1000, "MAXCAPACITY", 4000, "ADAPTRESERVE", 0.3)
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
    for kind in ("bloom", "qf", "cf", "cached"):
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
        server.client()("AF.RESERVE", "f", 0.01, 1000)
        for turn in range(3):
            confirmed = []

            def load(number, r):
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

            threads = [threading.Thread(target=load, args=(n, server.client())) for n in range(3)]
            for thread in threads:
                thread.start()
            wait_for(lambda: len(confirmed) > 5000 * (turn + 1), what="items")
            server.restart(kill=True)
            for thread in threads:
                thread.join()
            r = server.client()
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

    def test_queries_do_not_decide_which_report_a_cache_forgets(self):
        master = Server(*AOF)
        r = master.client()
        replica = replica_of(master)
        r("AF.RESERVE", "made", 0.3, 500, "KIND", "cached")  # the cache has 8 slots
        r("AF.MADD", "made", *range(450))
        r("RESTORE", "loaded", 0, r("DUMP", "made"))
        absent = ["s%d" % i for i in range(500)]
        wrong = [s for s, reply in zip(absent, r("AF.MEXISTS", "made", *absent)) if reply == 1][:9]
        for key in ("made", "loaded"):
            r("AF.REPORT", key, *wrong[:8])
            r("AF.EXISTS", key, wrong[0])
            r("AF.REPORT", key, wrong[8])
            r("AF.INSERT", key, "NX", "ITEMS", *wrong)
        before = digest(r)
        wait_for_replica(master, replica)
        self.assertEqual(before, digest(replica.client()))
        master.restart(kill=True)
        self.assertEqual(before, digest(master.client()))
        for server in (master, replica):
            for key in ("made", "loaded"):
                self.assertEqual([1] * 9, server.client()("AF.MEXISTS", key, *wrong))
            server.close()

    def test_failures_are_not_replicated_as_successes(self):
        master = Server()
        r = master.client()
        replica = replica_of(master)
        r("AF.RESERVE", "f", 0.3, 500, "NONSCALING", "REFUSE")
        replies = r("AF.MADD", "f", *range(700))
        self.assertTrue(any(isinstance(reply, ReplyError) for reply in replies))
        replies = r("AF.REPORT", "f", *["s%d" % i for i in range(3000)])
        self.assertTrue(any(isinstance(reply, ReplyError) for reply in replies))
        r("CONFIG", "SET", "besom.max-filter-bytes", "1mb")
        r("AF.RESERVE", "g", 0.0000001, 200000)
        for begin in range(0, 210000, 5000):
            replies = r("AF.MADD", "g", *range(begin, begin + 5000))
        self.assertIn("OOM", str(replies[-1]))
        wait_for_replica(master, replica)
        self.assertEqual(digest(r), digest(replica.client()))
        replica.close()
        master.close()


class Pause(unittest.TestCase):
    """While clients are paused, nothing may be replicated: Redis and Valkey abort otherwise."""

    def test_a_pause_while_a_filter_grows(self):
        server = Server(*AOF)
        replica = replica_of(server)
        writer, control = server.client(), server.client()
        for key in ("WRITE", "ALL"):
            control("AF.RESERVE", key, 0.01, 40000)
            capacity = control("AF.INFO", key, "capacity")
            for begin in range(0, capacity, 1000):
                control("AF.MADD", key, *range(begin, min(begin + 1000, capacity)))
            writer.send("AF.MADD", key, *range(capacity, capacity + 500))  # the filter is full, and grows
            control("CLIENT", "PAUSE", 300, key)
            writer.send("AF.REPORT", key, "x", "y")
            if key == "WRITE":
                self.assertEqual(1, control("AF.EXISTS", key, 1))
            self.assertNotIn(ReplyError, map(type, writer.read()))
            self.assertEqual(2, len(writer.read()))
            self.assertEqual(capacity + 500, control("AF.CARD", key))
        wait_for_replica(server, replica)
        self.assertEqual(digest(control), digest(replica.client()))
        self.assertIsNone(server.process.poll())
        replica.close()
        server.close()


if __name__ == "__main__":
    unittest.main()
