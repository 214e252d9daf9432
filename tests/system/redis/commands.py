"""Every command, as docs/redis.md documents it, in RESP2 and RESP3."""

import os
import pathlib
import re
import shlex
import time
import unittest

from servers import ReplyError, Server

SEED = "00112233445566778899aabbccddeeff"


class Commands:
    """Runs with RESP2 and RESP3, which differ in the replies for yes and no."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.r = self.server.client(self.protocol)
        self.r("FLUSHALL")

    def tearDown(self):
        self.r.close()

    def fails(self, text, *words):
        with self.assertRaises(ReplyError) as caught:
            self.r(*words)
        self.assertIn(text, str(caught.exception))

    def info(self, key):
        fields = self.r("AF.INFO", key)
        return fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2]))

    def test_the_sessions_of_the_documentation(self):
        root = pathlib.Path(__file__).parents[3]
        for page, heading in (("docs/redis.md", "## First steps"), ("README.md", "## Redis and Valkey")):
            self.r("FLUSHALL")
            self.run_session((root / page).read_text().split(heading)[1].split("```")[1])

    def run_session(self, session):
        for step in session.split("\n> ")[1:]:
            command, *expected = step.strip().split("\n")
            replies = self.r(*shlex.split(command))
            replies = replies if isinstance(replies, list) else [replies]
            self.assertEqual([line.split()[-1] for line in expected],
                             [str(int(reply)) if reply != "OK" else reply for reply in replies], command)

    def test_reserve(self):
        self.assertEqual("OK", self.r("AF.RESERVE", "f", 0.01, 1000))
        info = self.info("f")
        self.assertEqual((b"aqf", b"sip", 0), (info[b"kind"], info[b"hash"], info[b"items"]))
        self.assertGreaterEqual(info[b"capacity"], 1000)
        self.assertEqual((0, 2, 1, b"forget"), tuple(info[name] for name in (b"maxcapacity", b"expansion", b"layers",
                                                                             b"report-policy")))
        self.fails("ERR the key exists", "AF.RESERVE", "f", 0.01, 1000)

    def test_reserve_refuses_bad_arguments(self):
        for bad in (0, 1, -1, "nan", "x", "inf", 1e-20):
            self.fails("ERR the error rate must be at least 1e-19", "AF.RESERVE", "f", bad, 1000)
        for bad in (0, -1, "x", 1 << 45, 1 << 63):
            self.fails("ERR the capacity", "AF.RESERVE", "f", 0.01, bad)
        self.fails("ERR no such KIND", "AF.RESERVE", "f", 0.01, 10, "KIND", "nothing")
        self.fails("ERR this KIND", "AF.RESERVE", "f", 0.01, 10, "KIND", "fuse")
        self.fails("cannot grow", "AF.RESERVE", "f", 0.01, 10, "KIND", "cf", "MAXCAPACITY", 1000)
        self.fails("cannot grow", "AF.RESERVE", "f", 0.01, 10, "KIND", "cf", "EXPANSION", 2)
        self.fails("ERR MAXCAPACITY must not be less", "AF.RESERVE", "f", 0.01, 10, "MAXCAPACITY", 9)
        self.fails("ERR MAXCAPACITY", "AF.RESERVE", "f", 0.01, 10, "MAXCAPACITY", 0)
        for bad in (-1, 32769, "x"):
            self.fails("ERR EXPANSION", "AF.RESERVE", "f", 0.01, 10, "EXPANSION", bad)
        self.fails("leave out VALUEBITS", "AF.RESERVE", "f", 0.01, 10, "KIND", "bloom", "VALUEBITS", 4)
        self.fails("leave out FORGET", "AF.RESERVE", "f", 0.01, 10, "KIND", "cached", "REFUSE")
        self.fails("ERR error_rate is 1e-12", "AF.RESERVE", "f", 1e-12, 10, "KIND", "cf")
        self.fails("ERR SEED", "AF.RESERVE", "f", 0.01, 10, "SEED", "abc")
        self.fails("ERR SEED", "AF.RESERVE", "f", 0.01, 10, "SEED", SEED[:-1] + "x")
        self.fails("ERR HASH", "AF.RESERVE", "f", 0.01, 10, "HASH", "md5")
        self.fails("ERR VALUEBITS", "AF.RESERVE", "f", 0.01, 10, "VALUEBITS", 33)
        for bad in (-1, 0.6, "x"):
            self.fails("ERR ADAPTRESERVE", "AF.RESERVE", "f", 0.01, 10, "ADAPTRESERVE", bad)
        self.fails("ERR syntax", "AF.RESERVE", "f", 0.01, 10, "WHAT")
        self.fails("ERR syntax", "AF.RESERVE", "f", 0.01, 10, "SEED")
        self.fails("exclude each other", "AF.RESERVE", "f", 0.01, 10, "NONSCALING", "MAXCAPACITY", 100)
        self.fails("exclude each other", "AF.RESERVE", "f", 0.01, 10, "NONSCALING", "EXPANSION", 4)
        self.assertEqual(0, self.r("EXISTS", "f"))

    def test_every_kind_that_can_insert(self):
        for kind in ("aqf", "QF", "cf", "vacuum", "Bloom", "blocked-bloom", "scaling", "cached"):
            self.r("AF.RESERVE", kind, 0.01, 1000, "KIND", kind)
            self.assertEqual(self.yes, self.r("AF.ADD", kind, "x"))
            self.assertEqual(self.yes, self.r("AF.EXISTS", kind, "x"))
            self.assertEqual(1, self.r("AF.CARD", kind))

    def test_a_filter_that_is_too_large_is_an_error(self):
        self.fails("OOM", "AF.RESERVE", "f", 0.0001, 1 << 40)
        self.r("CONFIG", "SET", "besom.max-filter-bytes", "2mb")
        self.fails("OOM", "AF.RESERVE", "f", 0.01, 10000000)
        self.r("CONFIG", "SET", "besom.max-filter-bytes", 0)
        self.r("CONFIG", "SET", "maxmemory", "20mb")
        self.fails("OOM", "AF.RESERVE", "f", 0.0001, 20000000)
        self.r("CONFIG", "SET", "maxmemory", 0)
        self.assertEqual(0, self.r("EXISTS", "f"))

    def test_add_and_exists(self):
        self.assertEqual(self.no, self.r("AF.EXISTS", "f", "x"))
        self.assertEqual(self.yes, self.r("AF.ADD", "f", "x"))
        self.assertEqual(self.no, self.r("AF.ADD", "f", "x"))
        self.assertEqual([self.no, self.yes], self.r("AF.MADD", "f", "x", b"\x00\xff"))
        self.assertEqual([self.yes, self.no, self.yes], self.r("AF.MEXISTS", "f", "x", "y", b"\x00\xff"))
        self.assertEqual(4, self.r("AF.CARD", "f"))
        self.assertEqual(3, self.r("AF.COUNT", "f", "x"))
        self.assertEqual(0, self.r("AF.COUNT", "f", "y"))
        self.assertEqual([self.no] * 300, self.r("AF.MEXISTS", "none", *range(300)))

    def test_insert(self):
        self.fails("ERR no such key", "AF.INSERT", "f", "NOCREATE", "ITEMS", "x")
        self.assertEqual([self.yes, self.no], self.r("AF.INSERT", "f", "CAPACITY", 50, "ERROR", 0.0001, "ITEMS", "x", "x"))
        self.assertLess(self.info("f")[b"capacity"], 60)
        self.assertEqual([self.no, self.yes], self.r("AF.INSERT", "f", "NX", "ITEMS", "x", "y"))
        self.assertEqual(3, self.r("AF.CARD", "f"))
        self.fails("ERR syntax", "AF.INSERT", "f", "NX", "ITEMS")
        self.fails("ERR syntax", "AF.INSERT", "f", "x", "y")
        self.fails("ERR the error rate", "AF.INSERT", "f", "ERROR", 2, "ITEMS", "y")
        self.fails("exclude each other", "AF.INSERT", "f", "EXPANSION", 4, "NONSCALING", "ITEMS", "y")

    def test_sets_hold_an_item_once(self):
        self.r("AF.RESERVE", "s", 0.01, 1000, "KIND", "bloom")
        self.assertEqual([self.yes, self.no, self.no], self.r("AF.MADD", "s", "x", "x", "x"))
        self.assertEqual(1, self.r("AF.CARD", "s"))
        self.fails("ERR this kind", "AF.DEL", "s", "x")

    def test_del(self):
        self.r("AF.MADD", "f", "x", "x", "y")
        self.assertEqual(self.yes, self.r("AF.DEL", "f", "x"))
        self.assertEqual(self.yes, self.r("AF.EXISTS", "f", "x"))
        self.assertEqual(self.yes, self.r("AF.DEL", "f", "x"))
        self.assertEqual(self.no, self.r("AF.EXISTS", "f", "x"))
        self.assertEqual(self.no, self.r("AF.DEL", "f", "x"))
        self.assertEqual(1, self.r("AF.CARD", "f"))
        self.fails("ERR no such key", "AF.DEL", "none", "x")

    def false_positives(self, key, least):
        """Finds at least `least` items that were never added and are answered yes."""
        found = []
        for begin in range(0, 10 ** 6, 1000):
            items = ["absent-%d" % i for i in range(begin, begin + 1000)]
            answers = self.r("AF.MEXISTS", key, *items)
            found += [item for item, answer in zip(items, answers) if answer]
            if len(found) >= least:
                return found
        self.fail("no false positives")

    def test_a_reported_false_positive_is_answered_no(self):
        self.r("AF.RESERVE", "f", 0.05, 1000, "NONSCALING")
        members = ["m%d" % i for i in range(1000)]
        self.r("AF.MADD", "f", *members)
        wrong = self.false_positives("f", 5)[:5]
        self.assertEqual([self.yes] * 5, self.r("AF.REPORT", "f", *wrong))
        self.assertEqual([self.no] * 5, self.r("AF.MEXISTS", "f", *wrong))
        self.assertEqual([self.no] * 5, self.r("AF.REPORT", "f", *wrong))
        self.assertEqual([self.yes] * 1000, self.r("AF.MEXISTS", "f", *members))
        info = self.info("f")
        self.assertEqual((10, 5, 0), (info[b"reports"], info[b"fixed"], info[b"refused"]))

    def full_filter(self, *options):
        """Returns the members of a filter, and more false positives than its reserve holds."""
        self.r("AF.RESERVE", "f", 0.3, 1000, "NONSCALING", *options)
        members = ["m%d" % i for i in range(1000)]
        self.r("AF.MADD", "f", *members)
        return members, self.false_positives("f", 200)[:200]

    def forgotten_by_the_server(self):
        return int(re.search(rb"besom_forgotten:(\d+)", self.r("INFO", "besom_filters")).group(1))

    def test_the_oldest_reports_are_forgotten(self):
        members, wrong = self.full_filter("ADAPTRESERVE", 0.2)
        forgotten_before = self.forgotten_by_the_server()
        self.assertEqual([self.yes] * 200, self.r("AF.REPORT", "f", *wrong))
        info = self.info("f")
        forgotten = info[b"forgotten"]
        self.assertEqual((200, 0, 200 - forgotten), tuple(info[n] for n in (b"fixed", b"refused", b"exceptions")))
        self.assertGreater(forgotten, 20)
        answers = self.r("AF.MEXISTS", "f", *wrong)
        self.assertEqual(forgotten, sum(map(bool, answers)))
        self.assertFalse(any(answers[-20:]))  # the newest are not
        self.assertEqual([self.yes] * 1000, self.r("AF.MEXISTS", "f", *members))
        self.assertEqual(forgotten_before + forgotten, self.forgotten_by_the_server())

    def test_a_full_reserve_can_be_an_error_per_item(self):
        members, wrong = self.full_filter("REFUSE")
        self.assertEqual(b"refuse", self.info("f")[b"report-policy"])
        replies = self.r("AF.REPORT", "f", *wrong)
        refused = [r for r in replies if isinstance(r, ReplyError)]
        self.assertTrue(0 < len(refused) < len(wrong))
        self.assertIn("ERR the reserve", str(refused[0]))
        self.assertEqual(len(refused), self.info("f")[b"refused"])
        self.assertEqual([self.yes] * 1000, self.r("AF.MEXISTS", "f", *members))
        for item, reply, answer in zip(wrong, replies, self.r("AF.MEXISTS", "f", *wrong)):
            self.assertEqual(bool(answer), isinstance(reply, ReplyError), item)

    def check_policy(self, kind, growth, policy):
        """Reports more than fits to a filter that was just reserved, and loads it again."""
        members = ["m%d" % i for i in range(1000)]
        self.r("AF.MADD", "f", *members)
        wrong = self.false_positives("f", 100)[:100]
        replies = self.r("AF.REPORT", "f", *wrong)
        self.r("DEBUG", "RELOAD")
        failed = sum(isinstance(reply, ReplyError) for reply in replies)
        info, told = self.info("f"), (kind, growth, policy)
        self.assertEqual((kind.encode(), policy.lower().encode()), (info[b"kind"], info[b"report-policy"]), told)
        self.assertEqual((100, failed), (info[b"exceptions"] + info[b"forgotten"] + failed, info[b"refused"]), told)
        self.assertGreater(failed if policy == "REFUSE" else info[b"forgotten"], 20, told)
        self.assertEqual(100 - info[b"exceptions"], sum(map(bool, self.r("AF.MEXISTS", "f", *wrong))), told)
        self.assertEqual([self.yes] * 1000, self.r("AF.MEXISTS", "f", *members), told)
        self.r("DEL", "f")

    def test_every_kind_that_stores_reports_has_both_policies(self):
        grow = ("aqf", "qf", "bloom", "blocked-bloom")
        for kind in grow + ("cf", "vacuum"):
            for growth in ([], ["NONSCALING"]) if kind in grow else ([],):
                for words in (["FORGET"], ["REFUSE"], []):
                    self.r("AF.RESERVE", "f", 0.2, 1000, "KIND", kind, *growth, *words)
                    self.check_policy(kind, growth, (words or ["FORGET"])[0])
        self.r("CONFIG", "SET", "besom.default-report-policy", "refuse")
        self.r("AF.RESERVE", "f", 0.2, 1000, "KIND", "bloom")
        self.check_policy("bloom", [], "REFUSE")
        self.r("CONFIG", "SET", "besom.default-report-policy", "forget")
        self.assertEqual("OK", self.r("AF.RESERVE", "f", 0.2, 1000, "KIND", "cached"))
        self.assertEqual(b"forget", self.info("f")[b"report-policy"])

    def test_a_full_no_list_is_an_error_per_item(self):
        for policy in ("FORGET", "REFUSE"):
            self.r("AF.RESERVE", policy, 0.3, 1000, policy)
            replies = self.r("AF.NOADD", policy, *range(200))
            refused = [r for r in replies if isinstance(r, ReplyError)]
            self.assertTrue(0 < len(refused) < 200)
            self.assertIn("ERR the reserve", str(refused[0]))
            self.assertEqual(len(refused), self.info(policy)[b"refused"])

    def test_defaults_are_configured(self):
        self.r("CONFIG", "SET", "besom.default-report-policy", "refuse", "besom.default-adapt-reserve-ppm", 200000,
               "besom.default-expansion", 3, "besom.default-capacity", 5000)
        self.r("AF.ADD", "f", "x")
        self.r("AF.NOADD", "f", *range(500))
        info = self.info("f")
        self.assertEqual((b"refuse", 4), (info[b"report-policy"], info[b"expansion"]))
        self.assertGreaterEqual(info[b"capacity"], 5000)
        self.assertAlmostEqual(500 / (0.625 * 0.2 * 5000), float(info[b"reserve-used"]), 1)
        self.r("CONFIG", "SET", "besom.default-report-policy", "forget", "besom.default-adapt-reserve-ppm", 50000,
               "besom.default-expansion", 2, "besom.default-capacity", 1024)

    def test_growth_at_maxmemory(self):
        """With an eviction policy the filter grows, and the server evicts. Without, the rest of a command is refused."""
        self.r("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
        self.r.pipeline([("SET", "v%d" % i, "x" * 1000, "EX", 10000) for i in range(5000)])
        used = int(re.search(rb"used_memory:(\d+)", self.r("INFO", "memory")).group(1))
        self.r("CONFIG", "SET", "maxmemory", used + 1000000)
        self.r("AF.RESERVE", "f", 0.0000001, 200000)  # the second layer has more than 1 MB

        def add(first, last):
            return [reply for i in range(first, last, 5000) for reply in self.r("AF.MADD", "f", *range(i, i + 5000))]

        self.assertFalse([reply for reply in add(0, 300000) if isinstance(reply, ReplyError)])
        self.assertGreater(self.info("f")[b"layers"], 1)
        self.assertLess(self.r("DBSIZE"), 5001)
        self.r("CONFIG", "SET", "maxmemory-policy", "noeviction")
        used = int(re.search(rb"used_memory:(\d+)", self.r("INFO", "memory")).group(1))
        self.r("CONFIG", "SET", "maxmemory", used + 1000000)
        capacity = self.info("f")[b"capacity"]
        replies = add(300000, capacity + 10000)
        refused = [i for i, reply in enumerate(replies) if isinstance(reply, ReplyError)]
        self.assertTrue(refused)
        self.assertEqual(set(refused), set(range(refused[0], len(replies))))
        self.assertIn("OOM", str(replies[-1]))
        self.r("CONFIG", "SET", "maxmemory", 0)

    def test_reports_respect_maxmemory(self):
        self.r("AF.RESERVE", "f", 0.3, 200000, "ADAPTRESERVE", 0.5)
        self.r("AF.MADD", "f", *range(1000))
        self.r("AF.REPORT", "f", "x")
        self.r("CONFIG", "SET", "maxmemory", 1)
        self.fails("OOM", "AF.REPORT", "f", "x")
        self.fails("OOM", "AF.NOADD", "f", "x")
        self.assertEqual([self.no], self.r("AF.NODEL", "f", "x"))  # frees memory: allowed
        self.r("CONFIG", "SET", "maxmemory", 0)
        items, used = ["no-%d" % i for i in range(10000)], self.used_memory()
        for extra in range(200000, 20000000, 50000):  # the least memory in which the server accepts the command
            self.r("CONFIG", "SET", "maxmemory", used + extra)
            self.r.send("AF.NOADD", "f", *items)
            replies = self.r.read()
            if not isinstance(replies, ReplyError):
                break
        self.r("CONFIG", "SET", "maxmemory", 0)
        self.assertNotIsInstance(replies[0], ReplyError)
        self.assertIn("OOM", str(replies[-1]))  # a command with many items stops at the limit
        self.assertEqual(sum(not isinstance(reply, ReplyError) for reply in replies), self.info("f")[b"exceptions"])

    def used_memory(self):
        lines = self.r("INFO", "memory").decode().split()
        return int([line for line in lines if line.startswith("used_memory:")][0].split(":")[1])

    def test_adding_repairs_a_member_that_was_reported(self):
        self.r("AF.ADD", "f", "x")
        self.assertEqual([self.yes], self.r("AF.REPORT", "f", "x"))
        self.assertEqual(self.no, self.r("AF.EXISTS", "f", "x"))
        self.assertEqual(self.yes, self.r("AF.ADD", "f", "x"))
        self.assertEqual(self.yes, self.r("AF.EXISTS", "f", "x"))

    def test_no_list(self):
        self.r("AF.RESERVE", "f", 0.2, 500, "NONSCALING")
        self.assertEqual([self.yes] * 3, self.r("AF.NOADD", "f", "a", "b", "c"))
        self.r("AF.MADD", "f", *range(500))
        self.assertEqual([self.no] * 3, self.r("AF.MEXISTS", "f", "a", "b", "c"))
        self.assertEqual([self.yes, self.no], self.r("AF.NODEL", "f", "b", "z"))
        self.r("AF.DEL", "f", 0)
        self.r("AF.ADD", "f", "c")
        self.assertEqual(self.yes, self.r("AF.EXISTS", "f", "c"))
        self.assertEqual([self.no], self.r("AF.NODEL", "f", "c"))
        self.fails("ERR no such key", "AF.NOADD", "none", "x")

    def test_values(self):
        self.r("AF.RESERVE", "f", 0.0001, 1000, "VALUEBITS", 4)
        self.r("AF.MADD", "f", "x", "y")
        self.assertEqual(0, self.r("AF.GETVAL", "f", "x"))
        self.assertEqual(self.yes, self.r("AF.SETVAL", "f", "x", 15))
        self.assertEqual(15, self.r("AF.GETVAL", "f", "x"))
        self.assertEqual(0, self.r("AF.GETVAL", "f", "y"))
        self.assertIsNone(self.r("AF.GETVAL", "f", "none"))
        self.assertEqual(self.no, self.r("AF.SETVAL", "f", "none", 1))
        self.fails("VALUEBITS", "AF.SETVAL", "f", "x", 16)
        self.fails("ERR the value", "AF.SETVAL", "f", "x", -1)
        self.r("AF.ADD", "g", "x")
        self.fails("has no values", "AF.SETVAL", "g", "x", 1)
        self.fails("has no values", "AF.GETVAL", "g", "x")
        self.r("AF.RESERVE", "b", 0.01, 10, "KIND", "bloom")
        self.fails("ERR this kind", "AF.SETVAL", "b", "x", 1)

    def test_several_values(self):
        self.r("AF.RESERVE", "f", 0.01, 20, "VALUEBITS", 8, "MAPLET", "SEED", SEED)
        for item in range(300):
            self.assertEqual(self.yes, self.r("AF.SETVAL", "f", item, item % 100))
        self.assertEqual(self.yes, self.r("AF.SETVAL", "f", 7, 200))
        self.assertEqual(301, self.r("AF.CARD", "f"))
        for item in range(300):
            self.assertIn(item % 100, self.r("AF.GETVALS", "f", item))
        self.assertTrue({7, 200} <= set(self.r("AF.GETVALS", "f", 7)))
        self.fails("AF.GETVALS", "AF.GETVAL", "f", 7)
        self.fails("AF.DELVAL", "AF.DEL", "f", 7)
        self.assertEqual(self.yes, self.r("AF.DELVAL", "f", 7, 200))
        self.assertEqual(self.no, self.r("AF.DELVAL", "f", "none", 255))
        self.assertIn(7, self.r("AF.GETVALS", "f", 7))
        self.assertEqual([], self.r("AF.GETVALS", "f", "none"))
        reported = 0
        for item in range(1000, 3000):
            for value in self.r("AF.GETVALS", "f", item):
                self.assertEqual(self.yes, self.r("AF.REPORTVAL", "f", item, value))
                reported += 1
            self.assertEqual([], self.r("AF.GETVALS", "f", item))
            self.assertEqual(self.no, self.r("AF.EXISTS", "f", item))
        self.assertTrue(reported > 3)
        self.assertEqual(self.no, self.r("AF.REPORTVAL", "f", 1000, 3))
        self.r("RESTORE", "g", 0, self.r("DUMP", "f"))
        for item in range(300):
            self.assertIn(item % 100, self.r("AF.GETVALS", "g", item))
        self.fails("VALUEBITS", "AF.SETVAL", "f", "x", 256)
        self.fails("needs VALUEBITS", "AF.RESERVE", "h", 0.01, 20, "MAPLET")
        self.r("AF.RESERVE", "one", 0.01, 20, "VALUEBITS", 8, "SEED", SEED)
        self.r("AF.MADD", "one", "x", "y", "y")
        self.r("AF.SETVAL", "one", "x", 5)
        self.assertEqual([5], self.r("AF.GETVALS", "one", "x"))
        self.assertEqual([], self.r("AF.GETVALS", "one", "z"))
        self.fails("cannot be set", "AF.SETVAL", "one", "y", 5)
        self.fails("MAPLET", "AF.DELVAL", "one", "x", 5)
        self.fails("MAPLET", "AF.REPORTVAL", "one", "x", 5)

    def test_merge(self):
        self.r("AF.RESERVE", "a", 0.001, 1000, "NONSCALING")
        self.r("AF.RESERVE", "b", 0.001, 1000, "LIKE", "a")
        self.r("AF.RESERVE", "other", 0.001, 1000, "NONSCALING")
        self.r("AF.MADD", "a", 1, 2)
        self.r("AF.MADD", "b", 3)
        self.assertEqual("OK", self.r("AF.MERGE", "c", "a", "b"))
        self.assertEqual([self.yes] * 3 + [self.no], self.r("AF.MEXISTS", "c", 1, 2, 3, 4))
        self.assertEqual(3, self.r("AF.CARD", "c"))
        self.assertEqual("OK", self.r("AF.MERGE", "b", "a"))
        self.assertEqual(3, self.r("AF.CARD", "b"))
        self.fails("LIKE", "AF.MERGE", "a", "other")
        self.fails("ERR no such key", "AF.MERGE", "a", "none")
        self.fails("ERR no such key", "AF.RESERVE", "d", 0.1, 10, "LIKE", "none")
        self.fails("no further options", "AF.RESERVE", "d", 0.1, 10, "LIKE", "a", "NONSCALING")
        self.r("AF.MADD", "a", *range(10, 1000))
        self.r("AF.MADD", "b", *range(1000, 1900))
        self.fails("would be full", "AF.MERGE", "a", "b")
        self.assertEqual(992, self.r("AF.CARD", "a"))

    def test_merge_respects_max_capacity(self):
        self.r("AF.RESERVE", "a", 0.01, 100, "MAXCAPACITY", 100)
        self.r("AF.RESERVE", "b", 0.01, 100, "LIKE", "a")
        self.r("AF.MADD", "a", *range(100))
        self.r("AF.MADD", "b", *range(100, 200))
        self.fails("would be full", "AF.MERGE", "a", "b")
        self.fails("would be full", "AF.MERGE", "c", "a", "b")
        self.assertEqual([100, 0], [self.r("AF.CARD", "a"), self.r("EXISTS", "c")])

    def test_merge_grows_the_destination(self):
        self.r("AF.RESERVE", "a", 0.001, 500, "SEED", SEED)
        self.r("AF.RESERVE", "b", 0.001, 500, "LIKE", "a")
        self.r("AF.MADD", "a", *range(1400))
        self.r("AF.MADD", "b", *range(1400, 2900))
        self.r("AF.NOADD", "b", "never")
        self.assertEqual("OK", self.r("AF.MERGE", "a", "b"))
        self.assertEqual(2900, self.r("AF.CARD", "a"))
        self.assertTrue(all(self.r("AF.MEXISTS", "a", *range(2900))))
        self.assertEqual(self.no, self.r("AF.EXISTS", "a", "never"))
        self.r("AF.MADD", "a", *range(2900, 9000))
        self.assertTrue(all(self.r("AF.MEXISTS", "a", *range(9000))))
        self.assertEqual(self.yes, self.r("AF.DEL", "a", 1))

    def test_many_filters_are_merged(self):
        self.r("AF.RESERVE", "all", 0.001, 50)
        for i in range(12):
            self.r("AF.RESERVE", "one", 0.001, 50, "LIKE", "all")
            self.r("AF.MADD", "one", *range(1000 * i, 1000 * i + 1000))
            self.assertEqual("OK", self.r("AF.MERGE", "all", "one"))
            self.r("DEL", "one")
        self.assertTrue(all(self.r("AF.MEXISTS", "all", *range(12000))))
        self.assertEqual(12000, self.r("AF.CARD", "all"))
        self.assertLess(self.info("all")[b"layers"], 20)

    def test_merge_with_too_many_reports(self):
        self.r("AF.RESERVE", "a", 0.3, 1000, "NONSCALING")
        self.r("AF.RESERVE", "b", 0.3, 1000, "LIKE", "a")
        self.r("AF.MADD", "a", *range(400))
        self.r("AF.MADD", "b", *range(400, 800))
        for key, prefix in (("a", "x"), ("b", "y")):
            self.r("AF.NOADD", key, *["%s%d" % (prefix, i) for i in range(1000)])
            self.assertGreater(float(self.info(key)[b"reserve-used"]), 0.9)
        self.fails("ERR the reserve of the merged filter", "AF.MERGE", "a", "b")
        self.assertEqual(400, self.r("AF.CARD", "a"))

    def check_growth(self, key, n):
        """A filter that has grown to n items still reports, deletes and counts."""
        for begin in range(0, n, 500):
            self.assertNotIn(ReplyError, map(type, self.r("AF.MADD", key, *range(begin, begin + 500))))
        self.assertTrue(all(self.r("AF.MEXISTS", key, *range(n))))
        self.assertEqual(n, self.r("AF.CARD", key))
        absent = ["a%d" % i for i in range(10000)]
        wrong = [item for item, yes in zip(absent, self.r("AF.MEXISTS", key, *absent)) if yes]
        self.assertTrue(0 < len(wrong) < 150)
        self.assertEqual([self.yes] * len(wrong), self.r("AF.REPORT", key, *wrong))
        self.assertFalse(any(self.r("AF.MEXISTS", key, *absent)))
        self.assertEqual(self.yes, self.r("AF.DEL", key, 3))
        self.assertGreaterEqual(self.r("AF.COUNT", key, 7), 1)
        self.assertGreaterEqual(self.info(key)[b"capacity"], n)

    def test_filters_grow_without_limit(self):
        self.r("AF.RESERVE", "f", 0.01, 100)
        self.check_growth("f", 20000)
        self.r("CONFIG", "SET", "besom.default-capacity", 200)
        self.check_growth("auto", 20000)
        self.r("CONFIG", "SET", "besom.default-capacity", 1024)
        self.assertEqual((8, 2), (self.info("f")[b"layers"], self.info("f")[b"expansion"]))
        self.r("AF.RESERVE", "e", 0.01, 100, "EXPANSION", 5)
        self.check_growth("e", 20000)
        self.assertEqual((4, 8), (self.info("e")[b"layers"], self.info("e")[b"expansion"]))
        self.r("AF.INSERT", "i", "CAPACITY", 100, "EXPANSION", 4, "ITEMS", "x")
        self.assertEqual(4, self.info("i")[b"expansion"])
        self.r("AF.RESERVE", "b", 0.01, 100, "KIND", "bloom")
        self.r("AF.MADD", "b", *range(2000))
        self.assertTrue(all(self.r("AF.MEXISTS", "b", *range(2000))))

    def test_limits_of_growth(self):
        self.r("AF.RESERVE", "m", 0.01, 100, "MAXCAPACITY", 150)
        self.r("AF.RESERVE", "n", 0.01, 100, "NONSCALING")
        self.r("AF.RESERVE", "z", 0.01, 100, "EXPANSION", 0)
        for key in "mnz":
            replies = self.r("AF.MADD", key, *range(200))
            self.assertNotIsInstance(replies[0], ReplyError)
            self.assertIn("MAXCAPACITY", str(replies[-1]))
        self.assertEqual(150, self.r("AF.CARD", "m"))
        self.fails("MAXCAPACITY", "AF.ADD", "m", "x")
        self.r("AF.DEL", "m", 1)
        self.assertIn(self.r("AF.ADD", "m", "x"), (self.yes, self.no))
        # an item with the fingerprint of others may only raise their count, which takes no slot
        self.assertIn(self.r("AF.CARD", "n") - self.info("n")[b"capacity"], range(4))

    def test_a_filter_within_its_capacity_is_as_small_as_one_that_does_not_grow(self):
        for rate in (0.1, 0.01, 0.001):
            self.r("AF.RESERVE", "f%g" % rate, rate, 100000)
            self.r("AF.RESERVE", "n%g" % rate, rate, 100000, "NONSCALING")
            self.assertLess(self.r("AF.INFO", "f%g" % rate, "size"), 1.1 * self.r("AF.INFO", "n%g" % rate, "size"))

    def dump(self, key):
        chunks, at = [], 0
        while True:
            at, data = self.r("AF.SCANDUMP", key, at)
            if at == 0:
                return chunks
            chunks.append((at, data))

    def test_scandump_and_loadchunk(self):
        self.r("CONFIG", "SET", "besom.chunk-bytes", 1024)
        self.r("AF.RESERVE", "f", 0.001, 5000)
        self.r("AF.MADD", "f", *range(3000))
        self.r("AF.REPORT", "f", "x")
        chunks = self.dump("f")
        self.assertGreater(len(chunks), 5)
        for at, data in chunks:
            if at != chunks[0][0]:
                self.fails("incomplete", "AF.EXISTS", "g", 1)
                self.fails("incomplete", "AF.ADD", "g", 1)
            self.assertEqual("OK", self.r("AF.LOADCHUNK", "g", at, data))
        self.assertEqual(self.r("DEBUG", "DIGEST-VALUE", "f"), self.r("DEBUG", "DIGEST-VALUE", "g"))
        self.assertEqual(3000, self.r("AF.CARD", "g"))
        self.fails("exists already", "AF.LOADCHUNK", "g", *chunks[0])
        self.r("CONFIG", "SET", "besom.chunk-bytes", "1mb")

    def test_damaged_chunks_are_refused(self):
        self.r("AF.MADD", "f", *range(500))
        (at, data), = self.dump("f")
        for place in range(0, len(data), 7):
            damaged = bytearray(data)
            damaged[place] ^= 1
            self.fails("ERR", "AF.LOADCHUNK", "g", at, bytes(damaged))  # damaged, or a later version
        self.fails("damaged", "AF.LOADCHUNK", "g", at, data[:-1])
        self.fails("damaged", "AF.LOADCHUNK", "g", at, "")
        self.fails("ERR the iterator", "AF.LOADCHUNK", "g", at + 1, data)
        self.fails("ERR the iterator", "AF.SCANDUMP", "f", -1)
        self.assertEqual(0, self.r("EXISTS", "g"))

    def test_chunks_of_different_dumps_are_refused(self):
        self.r("CONFIG", "SET", "besom.chunk-bytes", 1024)
        self.r("AF.RESERVE", "f", 0.001, 5000, "NONSCALING")
        self.r("AF.MADD", "f", *range(1000))
        before = self.dump("f")
        self.r("AF.MADD", "f", *range(1000, 2000))
        after = self.dump("f")
        mixed = before[:3] + after[3:]
        for at, data in mixed[:-1]:
            self.r("AF.LOADCHUNK", "g", at, data)
        self.fails("key was deleted", "AF.LOADCHUNK", "g", *mixed[-1])
        self.assertEqual(0, self.r("EXISTS", "g"))
        self.fails("not the next chunk", "AF.LOADCHUNK", "g", *before[1])
        self.r("CONFIG", "SET", "besom.chunk-bytes", "1mb")

    def test_dumps_are_dangerous(self):
        """They reveal the seed. Redis 7.0 has no categories for commands of modules."""
        if not {b"besom", "besom"} & set(self.r("ACL", "CAT")):
            self.skipTest("the server has no ACL categories for modules")
        self.r("ACL", "SETUSER", "web", "on", "nopass", "~*", "+@all", "-@dangerous")
        self.assertEqual("OK", self.r("ACL", "DRYRUN", "web", "AF.EXISTS", "f", "x"))
        self.assertNotEqual("OK", self.r("ACL", "DRYRUN", "web", "AF.SCANDUMP", "f", "0"))
        self.r("ACL", "DELUSER", "web")

    def test_info_fields(self):
        self.r("AF.ADD", "f", "x")
        info = self.info("f")
        names = "state kind hash capacity maxcapacity expansion layers items size slots width expected-fpr " \
                "fpr-at-capacity reports fixed refused forgotten exceptions reserve-used report-policy frozen-layers " \
                "frozen-items"
        self.assertEqual(names.split(), [name.decode() for name in info])
        self.assertEqual(b"aqf", self.r("AF.INFO", "f", "KIND"))
        self.fails("ERR no such field", "AF.INFO", "f", "what")
        self.fails("wrong number", "AF.INFO", "f", "kind", "hash")
        self.fails("ERR no such key", "AF.INFO", "none")

    def test_wrong_arity_and_type(self):
        self.r("SET", "text", 1)
        short = {"AF.ADD": 1, "AF.MADD": 1, "AF.INSERT": 2, "AF.EXISTS": 1, "AF.MEXISTS": 1, "AF.DEL": 1,
                 "AF.COUNT": 1, "AF.CARD": 0, "AF.INFO": 0, "AF.REPORT": 1, "AF.NOADD": 1, "AF.NODEL": 1,
                 "AF.GETVAL": 1, "AF.SETVAL": 2, "AF.GETVALS": 1, "AF.DELVAL": 2, "AF.REPORTVAL": 2, "AF.MERGE": 1, "AF.SCANDUMP": 1, "AF.LOADCHUNK": 2,
                 "AF.RESERVE": 2}
        for name, few in short.items():
            self.fails("wrong number of arguments", name, *["text"] * few)
            if name in ("AF.INSERT", "AF.LOADCHUNK"):
                continue
            words = {"AF.RESERVE": ["text", 0.1, 10]}.get(name, ["text"] * (few + 1))
            self.fails("WRONGTYPE", name, *words)
        self.fails("WRONGTYPE", "AF.INSERT", "text", "ITEMS", "x")
        for name in ("AF.ADD", "AF.EXISTS", "AF.DEL", "AF.COUNT", "AF.GETVAL"):
            self.fails("wrong number of arguments", name, "f", "x", "y")

    def test_keys(self):
        self.r("AF.ADD", "f", "x")
        self.assertEqual("besom--af", self.r("TYPE", "f"))
        self.assertEqual(1, self.r("COPY", "f", "g"))
        self.assertEqual(self.r("DEBUG", "DIGEST-VALUE", "f"), self.r("DEBUG", "DIGEST-VALUE", "g"))
        self.r("AF.ADD", "g", "y")
        self.assertNotEqual(self.r("DEBUG", "DIGEST-VALUE", "f"), self.r("DEBUG", "DIGEST-VALUE", "g"))
        self.assertEqual(self.no, self.r("AF.EXISTS", "f", "y"))
        self.r("RESTORE", "h", 0, self.r("DUMP", "f"))
        self.assertEqual(self.yes, self.r("AF.EXISTS", "h", "x"))
        size = self.r("AF.INFO", "f", "size")
        self.assertTrue(size <= self.r("MEMORY", "USAGE", "f") <= size + 512)
        self.assertEqual(1, self.r("UNLINK", "f"))
        self.assertEqual("OK", self.r("RENAME", "g", "f"))
        self.assertEqual(self.yes, self.r("AF.EXISTS", "f", "y"))
        self.assertEqual([b"h", b"f"], self.r("COMMAND", "GETKEYS", "AF.RESERVE", "h", 0.1, 10, "LIKE", "f"))
        self.assertEqual([b"a", b"b", b"c"], self.r("COMMAND", "GETKEYS", "AF.MERGE", "a", "b", "c"))

    def test_multi_and_scripts(self):
        self.r("MULTI")
        self.r("AF.ADD", "f", "x")
        self.r("AF.EXISTS", "f", "x")
        self.assertEqual([self.yes, self.yes], self.r("EXEC"))
        script = "return redis.call('AF.MADD', KEYS[1], 'x', 'y')"
        self.assertEqual([self.lua_no, 1], self.r("EVAL", script, 1, "f"))

    def test_totals(self):
        def totals():
            # Servers free deleted filters in a thread of their own; until then they are counted.
            while b"lazyfree_pending_objects:0" not in self.r("INFO", "memory"):
                time.sleep(0.01)
            lines = self.r("INFO", "besom_filters").decode().split()
            return {k: int(v) for k, v in (l.split(":") for l in lines if ":" in l)}

        before = totals()
        self.r("AF.MADD", "f", "x", "y")
        self.r("AF.REPORT", "f", "x", "z")
        self.r("AF.DEL", "f", "y")
        after = totals()
        self.assertEqual(before["besom_filters"] + 1, after["besom_filters"])
        self.assertEqual(before["besom_items"] + 1, after["besom_items"])
        self.assertEqual(before["besom_reports"] + 2, after["besom_reports"])
        self.assertEqual(before["besom_fixed"] + 1, after["besom_fixed"])
        self.assertGreater(after["besom_bytes"], before["besom_bytes"])
        self.r("DEL", "f")
        self.assertEqual([before[k] for k in ("besom_filters", "besom_items", "besom_bytes")],
                         [totals()[k] for k in ("besom_filters", "besom_items", "besom_bytes")])

    def test_the_version_is_that_of_the_header(self):
        header = pathlib.Path(__file__).parents[3] / "include" / "besom.h"
        major, minor, patch = re.findall(r"define BESOM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text())
        module = self.r("MODULE", "LIST")[0]
        fields = module if isinstance(module, dict) else dict(zip(module[::2], module[1::2]))
        self.assertEqual(10000 * int(major) + 100 * int(minor) + int(patch), fields[b"ver"])

    def test_command_info(self):
        for name, docs in zip(*[iter(self.flat(self.r("COMMAND", "DOCS", "AF.ADD", "AF.RESERVE", "AF.REPORT")))] * 2):
            fields = docs if isinstance(docs, dict) else dict(zip(docs[::2], docs[1::2]))
            self.assertIn(b"summary", fields)
            self.assertIn(b"arguments", fields)
        flags = self.r("COMMAND", "INFO", "AF.REPORT")[0][2]
        self.assertIn("write", flags)
        self.assertIn("readonly", self.r("COMMAND", "INFO", "AF.EXISTS")[0][2])

    @staticmethod
    def flat(reply):
        return [x for pair in reply.items() for x in pair] if isinstance(reply, dict) else reply

    def test_reports_can_be_forbidden(self):
        self.r("ACL", "SETUSER", "guest", "on", "nopass", "~*", "+@all", "-af.report", "-af.noadd", "-af.nodel")
        guest = self.server.client()
        guest("AUTH", "guest", "")
        guest("AF.ADD", "f", "x")
        with self.assertRaises(ReplyError) as caught:
            guest("AF.REPORT", "f", "x")
        self.assertIn("NOPERM", str(caught.exception))
        guest.close()

    def test_a_model_is_only_read(self):
        self.r("AF.RESERVE", "model", 0.1, 10)
        self.r("ACL", "SETUSER", "reader", "on", "nopass", "%R~model", "~own", "+@all")
        like = ("ACL", "DRYRUN", "reader", "AF.RESERVE")
        self.assertEqual("OK", self.r(*like, "own", 0.1, 10, "LIKE", "model"))
        self.assertIn(b"no permissions", self.r(*like, "model", 0.1, 10, "LIKE", "own"))
        self.assertIn(b"no permissions", self.r(*like, "own", 0.1, 10, "LIKE", "other"))
        self.assertIn(b"no permissions", self.r(*like, "model", 0.1, 10))

    def test_reports_have_an_acl_category(self):
        if not {b"besomreport", "besomreport"} & set(self.r("ACL", "CAT")):
            self.skipTest("this server has no ACL categories for modules")
        self.r("ACL", "SETUSER", "guest", "on", "nopass", "~*", "-@all", "+@besom", "-@besomreport")
        for name in ("AF.REPORT", "AF.NOADD", "AF.NODEL"):
            self.assertIn(b"no permissions", self.r("ACL", "DRYRUN", "guest", name, "f", "x"))
        for name in ("AF.ADD", "AF.EXISTS", "AF.DEL"):
            self.assertEqual("OK", self.r("ACL", "DRYRUN", "guest", name, "f", "x"))

    def test_keyspace_events(self):
        self.r("CONFIG", "SET", "notify-keyspace-events", "Kd")
        listener = self.server.client()
        listener("SUBSCRIBE", "__keyspace@0__:f")
        self.r("AF.ADD", "f", "x")
        self.r("AF.REPORT", "f", "x")
        self.r("AF.REPORT", "f", "y")
        self.r("AF.DEL", "f", "x")  # answered no: no event
        self.r("AF.ADD", "f", "z")
        self.r("AF.DEL", "f", "z")
        events = [listener.read()[2] for _ in range(5)]
        self.assertEqual([b"af.reserve", b"af.add", b"af.report", b"af.add", b"af.del"], events)
        listener.close()
        self.r("CONFIG", "SET", "notify-keyspace-events", "")


class Resp2(Commands, unittest.TestCase):
    protocol, yes, no, lua_no = 2, 1, 0, 0


class Resp3(Commands, unittest.TestCase):
    protocol, yes, no, lua_no = 3, True, False, 0


if __name__ == "__main__":
    unittest.main()
