"""Small filters are packed: they take little memory, and do what all filters do. What a server packs, and another one
does not, stays equal to the byte."""

import os
import random
import re
import unittest

from servers import ReplyError, Server, digest, replica_of, wait_for_replica

# used_memory per key of RedisBloom 8, measured by `bench/redis_load.py` with its module
REDISBLOOM = {("BF.RESERVE", 10): 200, ("BF.RESERVE", 100): 344, ("BF.RESERVE", 1000): 1720,
              ("NONSCALING", 100): 312, ("NONSCALING", 1000): 1464}


def used(r):
    return int(re.search(rb"used_memory:(\d+)", r("INFO", "memory")).group(1))


class Small(unittest.TestCase):
    @unittest.skipIf("BESOM_PRELOAD" in os.environ, "the sanitizer has an allocator of its own")
    def test_memory(self):
        server = Server(module_options=["compat", "yes"])
        r = server.client()
        for (form, capacity), most in REDISBLOOM.items():
            r("FLUSHALL", "SYNC")
            keys = 1000 if capacity == 1000 else 5000  # the server resizes its buffers of 16 KB meanwhile

            def fill(key):
                r("BF.RESERVE", key, 0.01, capacity, *([form] if form == "NONSCALING" else []))
                r("BF.MADD", key, *range(capacity))

            fill("first")  # buffers, and what filters share
            before = used(r)
            for i in range(keys):
                fill("key:%06d" % i)
            per_key = (used(r) - before) / keys
            self.assertLess(per_key, most + 100, (form, capacity))
            self.assertAlmostEqual(per_key, r("MEMORY", "USAGE", "key:000000"), delta=max(0.05 * per_key, 20))
        server.close()

    def test_loaded_filters_are_small(self):
        server = Server(module_options=["compat", "yes"])
        r = server.client()
        keys = []
        for options in ([], ["NONSCALING"]):
            for items in (0, 1, 90):
                keys.append("%d%s" % (items, "".join(options)))
                r("BF.RESERVE", keys[-1], 0.01, 100, *options)
                r("BF.MADD", keys[-1], *range(items or 1))
                items or r("AF.DEL", keys[-1], 0)
        r("AF.RESERVE", "reported", 0.05, 100)
        r("AF.MADD", "reported", *range(90))
        fixed = [item for item in range(1000, 2000) if r("AF.REPORT", "reported", item) == [1]]
        self.assertGreater(len(fixed), 3)
        self.assertEqual(len(fixed), r("AF.INFO", "reported", "exceptions"))
        keys.append("reported")
        sizes = [r("AF.INFO", key, "size") for key in keys]
        self.assertLess(max(sizes), 1000)
        before = r("DEBUG", "DIGEST-VALUE", "reported")
        for key in keys:
            r("COPY", key, key + " copied")
            r("RESTORE", key + " restored", 0, r("DUMP", key))
        r("DEBUG", "RELOAD")
        for key, size in zip(keys, sizes):
            for copy in (key, key + " copied", key + " restored"):
                self.assertLessEqual(r("AF.INFO", copy, "size"), size, copy)
        for copy in ("reported", "reported copied", "reported restored"):
            self.assertEqual(before, r("DEBUG", "DIGEST-VALUE", copy))
            self.assertFalse(any(r("AF.MEXISTS", copy, *fixed)))
            self.assertEqual([0, 0], [r("AF.DEL", copy, fixed[0]), r("AF.COUNT", copy, fixed[0])])
            self.assertEqual([1, 1], [r("AF.ADD", copy, fixed[0]), r("AF.EXISTS", copy, fixed[0])])
        server.close()

    def test_what_a_packed_filter_cannot_do_itself(self):
        """Every change gives the same bytes on a server that has just loaded the filter, and on one that has not."""
        server = Server("--save", "3600 1")
        r = server.client()
        replica = replica_of(server)
        p = replica.client()
        dice = random.Random(7)
        for i, options in enumerate(([], ["NONSCALING"], ["EXPANSION", 4], ["MAXCAPACITY", 150], ["REFUSE"])):
            r("AF.RESERVE", "f%d" % i, 0.2, 100, *options)
        for step in range(400):
            key = "f%d" % dice.randrange(5)
            items = [dice.randrange(200) for _ in range(3)]
            command = dice.choice([("AF.ADD", 1), ("AF.MADD", 3), ("AF.INSERT", 0), ("AF.DEL", 1), ("AF.REPORT", 0)])
            if command[0] == "AF.INSERT":
                words = ["AF.INSERT", key, "NX", "ITEMS", *items]
            elif command[0] == "AF.REPORT":
                words = ["AF.REPORT", key, "absent%d" % step]
            else:
                words = [command[0], key, *items[:command[1]]]
            r.send(*words)
            r.read()
            if step % 100 == 50:
                wait_for_replica(server, replica)
                self.assertEqual(digest(r), digest(p))
                p("DEBUG", "RELOAD")
                self.assertEqual(digest(r), digest(p))
        wait_for_replica(server, replica)
        for i in range(5):
            key = "f%d" % i
            for command in ("AF.CARD", "AF.INFO"):
                mine, other = r(command, key), p(command, key)
                if command == "AF.INFO":
                    mine, other = (dict(zip(x[::2], x[1::2])) for x in (mine, other))
                    for field in (b"size", b"reports", b"refused", b"fixed"):
                        mine.pop(field), other.pop(field)
                self.assertEqual(mine, other)
            for item in range(0, 200, 7):
                self.assertEqual(r("AF.COUNT", key, item), p("AF.COUNT", key, item))
        replica.close()
        server.close()

    def test_copies_of_all_sorts(self):
        server = Server()
        r = server.client()
        r("AF.RESERVE", "f", 0.01, 500, "SEED", "42" * 16)  # with some seeds AF.COUNT is too high
        r("AF.MADD", "f", *range(400), *range(100))
        r("AF.RESERVE", "like", 0.01, 1, "LIKE", "f")
        before = r("DEBUG", "DIGEST-VALUE", "f")
        r("COPY", "f", "copy")
        r("RESTORE", "restored", 0, r("DUMP", "f"))
        r("AF.MERGE", "like", "f")
        r("AF.MERGE", "merged", "f")
        at = 0
        while True:
            at, chunk = r("AF.SCANDUMP", "f", at)
            if not at:
                break
            r("AF.LOADCHUNK", "loaded", at, chunk)
        for key in ("copy", "restored", "like", "merged", "loaded"):
            self.assertEqual(before, r("DEBUG", "DIGEST-VALUE", key), key)
            self.assertEqual([1] * 400, r("AF.MEXISTS", key, *range(400)))
            for field in ("items", "layers", "capacity", "slots", "expected-fpr", "report-policy"):
                self.assertEqual(r("AF.INFO", "f", field), r("AF.INFO", key, field))
            self.assertEqual(1, r("AF.DEL", key, 1))
            self.assertEqual(1, r("AF.COUNT", key, 1))
            self.assertEqual(499, r("AF.CARD", key))
        with self.assertRaises(ReplyError):
            r("AF.GETVAL", "f", 1)
        with self.assertRaises(ReplyError):
            r("AF.SETVAL", "f", 1, 1)
        r("FLUSHALL", "ASYNC")
        server.close()


if __name__ == "__main__":
    unittest.main()
