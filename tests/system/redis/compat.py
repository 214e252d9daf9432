"""The commands BF.* and CF.* of the compatibility mode, as docs/redisbloom.md documents them, in RESP2 and RESP3."""

import os
import subprocess
import unittest

from servers import ReplyError, Server, digest, replica_of, wait_for_replica

BF = ["RESERVE", "ADD", "MADD", "INSERT", "EXISTS", "MEXISTS", "CARD", "INFO", "SCANDUMP", "LOADCHUNK",
      "DEBUG", "LOAD"]
CF = ["RESERVE", "ADD", "ADDNX", "INSERT", "INSERTNX", "EXISTS", "MEXISTS", "DEL", "COUNT", "INFO", "SCANDUMP",
      "LOADCHUNK", "DEBUG", "COMPACT"]
COMMANDS = ["BF." + name for name in BF] + ["CF." + name for name in CF]
COMPAT = ("compat", "yes")


class Compat:
    """Runs with RESP2 and RESP3, which differ in the replies for yes and no, and in maps."""

    @classmethod
    def setUpClass(cls):
        # Seeds are random, so a false positive would change the replies that the tests expect.
        cls.server = Server(module_options=[*COMPAT, "--besom.default-error-ppm", "1"])

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
        self.assertEqual(text, str(caught.exception), words)

    def starts(self, text, *words):
        with self.assertRaises(ReplyError) as caught:
            self.r(*words)
        self.assertEqual(text, str(caught.exception)[:len(text)], words)

    def info(self, command, key):
        fields = self.r(command, key)
        return fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2]))

    def dump(self, prefix, key):
        chunks, iterator = [], 0
        while True:
            iterator, data = self.r(prefix + ".SCANDUMP", key, iterator)
            if iterator == 0:
                return chunks
            chunks.append((iterator, data))

    # ------------------------------------------------------------------ BF.*

    def test_bf_items(self):
        self.assertEqual(self.no, self.r("BF.EXISTS", "f", "x"))
        self.assertEqual([self.no, self.no], self.r("BF.MEXISTS", "f", "x", "y"))
        self.assertEqual(0, self.r("BF.CARD", "f"))
        self.assertEqual(self.yes, self.r("BF.ADD", "f", "x"))
        self.assertEqual(self.no, self.r("BF.ADD", "f", "x"))
        self.assertEqual([self.no, self.yes, self.no], self.r("BF.MADD", "f", "x", "y", "y"))
        self.assertEqual([self.yes, self.no], self.r("BF.INSERT", "f", "ITEMS", "z", "x"))
        self.assertEqual(self.yes, self.r("BF.EXISTS", "f", "z"))
        self.assertEqual([self.yes, self.yes, self.no], self.r("BF.MEXISTS", "f", "x", "y", "w"))
        self.assertEqual(3, self.r("BF.CARD", "f"))  # an item counts once
        self.assertEqual(1, self.r("AF.COUNT", "f", "x"))

    def test_bf_reserve(self):
        self.assertEqual("OK", self.r("BF.RESERVE", "f", 0.001, 100))
        self.assertEqual("OK", self.r("BF.RESERVE", "g", 0.001, 100, "expansion", 4))
        self.assertEqual("OK", self.r("BF.RESERVE", "h", 0.001, 100, "nonscaling"))
        self.assertEqual("OK", self.r("BF.RESERVE", "i", 0.9999999, 100, "EXPANSION", 0))
        for bad in ("x", "nan", ""):
            self.fails("ERR bad error rate", "BF.RESERVE", "n", bad, 100)
        for bad in (0, 1, -0.1, 7.7, "inf"):
            self.fails("ERR error rate must be in the range (0.000000, 1.000000)", "BF.RESERVE", "n", bad, 100)
        for growth in (["NONSCALING"], []):  # AF.RESERVE, which is replicated, refuses it, too
            self.fails("ERR the error rate must be at least 1e-19 and less than 1", "BF.RESERVE", "n", "6e-20", 100,
                       *growth)
        self.fails("ERR bad capacity", "BF.RESERVE", "n", 0.01, "blah")
        for bad in (0, -5, 2 ** 44 + 1):
            self.fails("ERR capacity must be in the range [1, 17592186044416]", "BF.RESERVE", "n", 0.01, bad)
        self.fails("ERR no expansion", "BF.RESERVE", "n", 0.01, 100, "EXPANSION")
        self.fails("ERR bad expansion", "BF.RESERVE", "n", 0.01, 100, "EXPANSION", "x")
        self.fails("ERR expansion must be in the range [0, 32768]", "BF.RESERVE", "n", 0.01, 100, "EXPANSION", 32769)
        self.fails("Nonscaling filters cannot expand", "BF.RESERVE", "n", 0.01, 100, "NONSCALING", "EXPANSION", 2)
        self.fails("Unknown argument received", "BF.RESERVE", "n", 0.01, 100, "GROWTH")
        self.starts("ERR wrong number of arguments", "BF.RESERVE", "n", 0.01)
        self.starts("ERR wrong number of arguments", "BF.RESERVE", "n", 0.01, 1, "EXPANSION", 2, "EXPANSION", 2)
        self.assertEqual(0, self.r("EXISTS", "n"))
        self.fails("ERR item exists", "BF.RESERVE", "f", 0.01, 100)
        self.starts("OOM", "BF.RESERVE", "n", 0.0001, 2 ** 40)

    def test_bf_insert(self):
        self.fails("ERR not found", "BF.INSERT", "f", "NOCREATE", "ITEMS", "x")
        self.fails("ERR not found", "BF.INSERT", "f", "NOCREATE", "CAPACITY", 10, "ITEMS", "x")
        self.fails("Bad capacity", "BF.INSERT", "f", "CAPACITY", 0.3, "ITEMS", "x")
        self.fails("Bad error rate", "BF.INSERT", "f", "ERROR", "big", "ITEMS", "x")
        self.fails("ERR the error rate must be at least 1e-19 and less than 1", "BF.INSERT", "f", "NONSCALING",
                   "ERROR", "6e-20", "ITEMS", "x")
        self.fails("Bad expansion", "BF.INSERT", "f", "EXPANSION", "big", "ITEMS", "x")
        self.r("BF.INSERT", "n", "EXPANSION", 2, "NONSCALING", "ITEMS", "x")  # BF.RESERVE refuses it
        self.assertIsNone(self.info("BF.INFO", "n")["Expansion rate"])
        self.fails("Unknown argument received", "BF.INSERT", "f", "DONTEXIST", "NOCREATE")
        self.fails("Unknown argument received", "BF.INSERT", "f", "NOCREATE", "CAPACITY")
        for words in (["NOCREATE", "ITEMS"], ["NOCREATE", "NONSCALING"], []):
            self.starts("ERR wrong number of arguments", "BF.INSERT", "f", *words)
        self.assertEqual(0, self.r("EXISTS", "f"))
        reply = self.r("BF.INSERT", "f", "CAPACITY", 50, "ERROR", 1e-6, "NONSCALING", "ITEMS", "x", "y", "x")
        self.assertEqual([self.yes, self.yes, self.no], reply)
        self.assertEqual(50, self.info("BF.INFO", "f")["Capacity"])
        self.assertEqual([self.no], self.r("BF.INSERT", "f", "NOCREATE", "ITEMS", "x"))

    def test_a_full_filter_ends_the_command(self):
        self.assertEqual([self.yes] * 3, self.r("BF.INSERT", "f", "CAPACITY", 3, "NONSCALING", "ITEMS", "a", "b", "c"))
        *good, error = self.r("BF.MADD", "f", "a", "b", "c", "d", "e")
        self.assertEqual([self.no] * 3, good)
        self.assertEqual("ERR non scaling filter is full", str(error))
        self.assertEqual(self.no, self.r("BF.EXISTS", "f", "e"))
        self.fails("ERR non scaling filter is full", "BF.ADD", "f", "d")
        self.assertEqual(self.no, self.r("BF.ADD", "f", "a"))
        self.assertIsNone(self.info("BF.INFO", "f")["Expansion rate"])
        self.assertEqual(3, self.r("BF.CARD", "f"))

    def test_bf_info(self):
        self.r("BF.RESERVE", "f", 0.001, 1000, "NONSCALING")
        self.r("BF.MADD", "f", "x", "y", "y")
        info = self.info("BF.INFO", "f")
        self.assertEqual(["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"],
                         list(info))
        self.assertEqual([1000, 1, 2, None], [info[name] for name in
                         ("Capacity", "Number of filters", "Number of items inserted", "Expansion rate")])
        self.assertTrue(200 < info["Size"] < 4000)
        for option, name in (("CAPACITY", "Capacity"), ("size", "Size"), ("FILTERS", "Number of filters"),
                             ("Items", "Number of items inserted"), ("EXPANSION", "Expansion rate")):
            value = info[name]
            self.assertEqual({name: value} if self.protocol == 3 else [value], self.r("BF.INFO", "f", option))
        self.fails("Invalid information value", "BF.INFO", "f", "wrong")
        self.starts("ERR wrong number of arguments", "BF.INFO", "f", "capacity", "size")
        self.fails("ERR not found", "BF.INFO", "none")
        self.r("BF.RESERVE", "g", 0.01, 1000)
        self.assertEqual(2, self.info("BF.INFO", "g")["Expansion rate"])

    def capacity(self, key):
        reply = self.r("BF.INFO", key, "CAPACITY")
        return reply["Capacity"] if isinstance(reply, dict) else reply[0]

    def test_debug_and_compact(self):
        self.r("BF.RESERVE", "f", 0.01, 10000)
        for i in range(0, 90000, 1000):
            self.r("BF.MADD", "f", *range(i, i + 1000))
        self.assertEqual(150000, self.capacity("f"))  # three growths
        lines = self.r("BF.DEBUG", "f")
        self.assertEqual(b"size:%d" % self.r("BF.CARD", "f"), lines[0])
        self.assertEqual(5, len(lines))
        self.assertIn(b"capacity:10000 size:10000 ratio:", lines[1])
        self.starts("ERR not found", "BF.DEBUG", "none")
        self.r("CF.RESERVE", "c", 100)
        self.assertEqual([0, None], self.r("CF.SCANDUMP", "c", 0))
        self.r("CF.ADD", "c", 1)
        self.assertRegex(self.r("CF.DEBUG", "c"),
                         rb"^bktsize:1 buckets:\d+ items:1 deletes:0 filters:1 max_iterations:20 expansion:2$")
        self.assertEqual("OK", self.r("CF.COMPACT", "c"))
        self.starts("Cuckoo filter was not found", "CF.COMPACT", "none")
        self.starts("ERR filters of valkey-bloom cannot be loaded", "BF.LOAD", "v", "dump")
        self.r("BF.ADD", "d", 1)
        self.assertEqual(100, self.capacity("d"))

    def test_bf_dump(self):
        self.r("BF.RESERVE", "f", 0.01, 100000)
        for i in range(0, 3000, 500):
            self.r("BF.MADD", "f", *range(i, i + 500))
        self.r("CONFIG", "SET", "besom.chunk-bytes", 1024)
        chunks = self.dump("BF", "f")
        self.assertGreater(len(chunks), 3)
        for iterator, data in chunks:
            self.assertEqual("OK", self.r("BF.LOADCHUNK", "g", iterator, data))
        self.assertEqual([self.yes] * 3000, self.r("BF.MEXISTS", "g", *range(3000)))
        self.assertEqual(self.r("DEBUG", "DIGEST-VALUE", "f"), self.r("DEBUG", "DIGEST-VALUE", "g"))
        self.fails("ERR received bad data", "BF.LOADCHUNK", "h", 1, b"\x03\x00\x00\x00rest of a header")
        self.fails("ERR received bad data", "BF.LOADCHUNK", "h", 1, chunks[0][1])  # the iterator of another chunk
        self.fails("ERR not found", "BF.LOADCHUNK", "h", chunks[1][0] + 1, chunks[1][1])
        self.fails("ERR Second argument must be numeric", "BF.LOADCHUNK", "h", "str", chunks[1][1])
        self.fails("ERR invalid offset - no link found", "BF.LOADCHUNK", "g", 9, b"bytes")
        self.fails("ERR not found", "BF.SCANDUMP", "none", 0)
        self.fails("Second argument must be numeric", "BF.SCANDUMP", "f", "str")
        self.fails("Second argument must be numeric", "BF.SCANDUMP", "f", -1)
        self.r("BF.LOADCHUNK", "i", *chunks[0])
        self.starts("ERR the filter is incomplete", "BF.EXISTS", "i", 1)  # no would be a false negative
        self.starts("ERR the filter is incomplete", "BF.ADD", "i", 1)
        self.starts("ERR the filter is incomplete", "CF.DEL", "i", 1)
        self.r("CONFIG", "SET", "besom.chunk-bytes", "1mb")

    # ------------------------------------------------------------------ CF.*

    def test_cf_items(self):
        self.assertEqual(self.no, self.r("CF.EXISTS", "f", "x"))
        self.assertEqual(0, self.r("CF.COUNT", "f", "x"))
        self.assertEqual(self.yes, self.r("CF.ADD", "f", "x"))
        self.assertEqual(self.yes, self.r("CF.ADD", "f", "x"))  # copies are counted
        self.assertEqual(2, self.r("CF.COUNT", "f", "x"))
        self.assertEqual(self.no, self.r("CF.ADDNX", "f", "x"))
        self.assertEqual(self.yes, self.r("CF.ADDNX", "f", "y"))
        self.assertEqual([self.yes, self.yes], self.r("CF.INSERT", "f", "ITEMS", "x", "z"))
        self.assertEqual([0, 1], [int(n) for n in self.r("CF.INSERTNX", "f", "ITEMS", "x", "w")])
        self.assertNotIsInstance(self.r("CF.INSERTNX", "f", "ITEMS", "x")[0], bool)
        self.assertEqual([self.yes, self.no], self.r("CF.MEXISTS", "f", "x", "v"))
        self.assertEqual(3, self.r("CF.COUNT", "f", "x"))
        for _ in range(3):
            self.assertEqual(self.yes, self.r("CF.DEL", "f", "x"))
        self.assertEqual(self.no, self.r("CF.DEL", "f", "x"))
        self.assertEqual(self.no, self.r("CF.EXISTS", "f", "x"))
        self.fails("Not found", "CF.DEL", "none", "x")

    def test_cf_reserve(self):
        self.assertEqual("OK", self.r("CF.RESERVE", "f", 1000))
        self.assertEqual("OK", self.r("CF.RESERVE", "g", 1000, "BUCKETSIZE", 4, "MAXITERATIONS", 500, "EXPANSION", 2))
        self.fails("ERR item exists", "CF.RESERVE", "f", 1000)
        self.fails("Bad capacity", "CF.RESERVE", "n", "str")
        self.fails("Capacity must be in the range [2 * BUCKETSIZE, 17592186044416]", "CF.RESERVE", "n", 1)
        self.fails("Capacity must be in the range [2 * BUCKETSIZE, 17592186044416]",
                   "CF.RESERVE", "n", 100, "BUCKETSIZE", 51)
        for option, low, high in (("BUCKETSIZE", 1, 255), ("MAXITERATIONS", 1, 65535), ("EXPANSION", 0, 32768)):
            self.fails("Couldn't parse " + option, "CF.RESERVE", "n", 1000, option, "string")
            for bad in (low - 1, high + 1):
                self.fails("%s: value must be in the range [%d, %d]" % (option, low, high),
                           "CF.RESERVE", "n", 1000, option, bad)
        self.fails("Unknown argument received", "CF.RESERVE", "n", 1000, "SIZE", 2)
        self.starts("ERR wrong number of arguments", "CF.RESERVE", "n", 1000, "BUCKETSIZE")
        self.starts("ERR wrong number of arguments", "CF.RESERVE", "n")
        self.assertEqual(0, self.r("EXISTS", "n"))

    def test_cf_insert(self):
        for name in ("CF.INSERT", "CF.INSERTNX"):
            self.fails("ERR not found", name, "f", "NOCREATE", "ITEMS", "x")
            self.fails("Bad capacity", name, "f", "CAPACITY", "str", "ITEMS", "x")
            self.fails("Capacity must be in the range [cf-bucket-size * 2, 17592186044416]",
                       name, "f", "CAPACITY", 3, "ITEMS", "x")
            self.fails("Unknown argument received", name, "f", "NOCREATE", "DONTEXIST")
            self.fails("Unknown argument received", name, "f", "NOCREATE", "CAPACITY")
            self.starts("ERR wrong number of arguments", name, "f", "NOCREATE", "ITEMS")
            self.starts("ERR wrong number of arguments", name, "f", "ITEMS")
            self.assertEqual(1, len(self.r(name, name, "CAPACITY", 10000, "ITEMS", "x")))
            self.assertEqual(1, self.r("CF.COUNT", name, "x"))

    def test_a_full_cuckoo_filter(self):
        self.r("CF.RESERVE", "f", 4, "EXPANSION", 0)
        self.assertEqual([self.yes] * 4, self.r("CF.INSERT", "f", "ITEMS", 1, 2, 3, 4))
        refused = False if self.protocol == 3 else -1
        self.assertEqual([refused, refused], self.r("CF.INSERT", "f", "ITEMS", 5, 6))
        self.assertEqual([0, -1], self.r("CF.INSERTNX", "f", "ITEMS", 1, 6))
        self.fails("Filter is full", "CF.ADD", "f", 5)
        self.fails("Filter is full", "CF.ADDNX", "f", 5)
        self.r("CF.DEL", "f", 4)
        self.assertEqual(self.yes, self.r("CF.ADD", "f", 5))

    def test_cf_info(self):
        self.r("CF.RESERVE", "f", 1000)
        self.r("CF.INSERT", "f", "ITEMS", "x", "x", "y")
        self.r("CF.DEL", "f", "x")
        info = self.info("CF.INFO", "f")
        self.assertEqual(["Size", "Number of buckets", "Number of filters", "Number of items inserted",
                          "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations"], list(info))
        self.assertEqual((1, 2, 1), (info["Number of filters"], info["Number of items inserted"],
                                     info["Number of items deleted"]))
        self.assertGreaterEqual(info["Number of buckets"] * info["Bucket size"], 1000)
        self.fails("ERR not found", "CF.INFO", "none")

    def test_cf_dump(self):
        self.r("CF.INSERT", "f", "ITEMS", *range(500), *range(100))
        for iterator, data in self.dump("CF", "f"):
            self.assertEqual("OK", self.r("CF.LOADCHUNK", "g", iterator, data))
        self.assertEqual([2, 1, 600], [self.r("CF.COUNT", "g", 7), self.r("CF.COUNT", "g", 300), self.r("AF.CARD", "g")])
        self.fails("Invalid position", "CF.SCANDUMP", "f", "str")
        self.fails("Invalid position", "CF.SCANDUMP", "f", -1)
        self.fails("ERR not found", "CF.SCANDUMP", "none", 0)
        self.fails("Couldn't create filter!", "CF.LOADCHUNK", "h", 1, "abcd")
        self.fails("ERR not found", "CF.LOADCHUNK", "h", 4, "abcd")
        self.fails("Couldn't load chunk!", "CF.LOADCHUNK", "g", 4, "abcd")
        self.fails("Invalid position", "CF.LOADCHUNK", "g", 0, "abcd")

    # ------------------------------------------------------------------ both

    def test_filters_grow(self):
        self.r("BF.RESERVE", "b", 0.01, 100)
        for i in range(0, 1500, 100):
            self.assertGreater(sum(self.r("BF.MADD", "b", *range(i, i + 100))), 90)
            self.r("CF.INSERT", "c", "CAPACITY", 100, "ITEMS", *range(i, i + 100))
        for key in "bc":
            self.assertEqual([self.yes] * 1500, self.r("BF.MEXISTS", key, *range(1500)))
        info = self.info("BF.INFO", "b")
        self.assertGreaterEqual(info["Capacity"], info["Number of items inserted"])
        self.assertGreater(info["Number of filters"], 1)
        self.assertEqual((2, 2), (info["Expansion rate"], self.info("CF.INFO", "c")["Expansion rate"]))
        for key, words in (("d", []), ("e", ["EXPANSION", 8])):
            self.r("CF.RESERVE", key, 100, *words)
            self.assertEqual([self.yes] * 1000, self.r("CF.INSERT", key, "ITEMS", *range(1000)))
        self.assertEqual(8, self.info("CF.INFO", "e")["Expansion rate"])
        self.assertEqual("OK", self.r("BF.RESERVE", "g", 0.01, 100, "EXPANSION", 3))
        self.assertEqual(4, self.info("BF.INFO", "g")["Expansion rate"])  # rounded to a power of two

    def test_reports_work_on_filters_of_unchanged_clients(self):
        self.r("BF.RESERVE", "f", 0.2, 500)
        self.r("BF.MADD", "f", *range(500))
        absent = ["absent-%d" % i for i in range(2000)]
        wrong = [item for item, yes in zip(absent, self.r("BF.MEXISTS", "f", *absent)) if yes]
        self.assertGreater(len(wrong), 3)
        self.assertEqual([self.yes] * 3, self.r("AF.REPORT", "f", *wrong[:3]))
        self.assertEqual([self.no] * 3, self.r("BF.MEXISTS", "f", *wrong[:3]))
        self.assertEqual([self.yes] * 500, self.r("BF.MEXISTS", "f", *range(500)))
        self.assertEqual(self.yes, self.r("BF.ADD", "f", wrong[0]))  # a reported item can be added
        self.assertEqual(self.yes, self.r("BF.EXISTS", "f", wrong[0]))

    def test_keys_of_another_type(self):
        self.r("SET", "s", "v")
        for prefix in ("BF", "CF"):
            self.assertEqual(self.no, self.r(prefix + ".EXISTS", "s", "x"))
            self.assertEqual([self.no, self.no], self.r(prefix + ".MEXISTS", "s", "x", "y"))
        self.assertEqual(0, self.r("CF.COUNT", "s", "x"))
        self.fails("Not found", "CF.DEL", "s", "x")
        for words in (["BF.ADD", "s", "x"], ["BF.MADD", "s", "x"], ["BF.INSERT", "s", "ITEMS", "x"], ["BF.INFO", "s"],
                      ["BF.RESERVE", "s", 0.1, 10], ["BF.CARD", "s"], ["BF.SCANDUMP", "s", 0], ["CF.ADD", "s", "x"],
                      ["CF.ADDNX", "s", "x"], ["CF.INSERT", "s", "ITEMS", "x"], ["CF.INSERTNX", "s", "ITEMS", "x"],
                      ["CF.RESERVE", "s", 10], ["CF.INFO", "s"], ["CF.SCANDUMP", "s", 0]):
            self.starts("WRONGTYPE", *words)

    def test_arity(self):
        for name in COMMANDS:
            self.starts("ERR wrong number of arguments", name)
        for name in ("BF.ADD", "BF.EXISTS", "CF.ADD", "CF.ADDNX", "CF.EXISTS", "CF.DEL", "CF.COUNT"):
            self.starts("ERR wrong number of arguments", name, "f")
            self.starts("ERR wrong number of arguments", name, "f", "x", "y")

    def test_command_info(self):
        writes = ("RESERVE", "ADD", "MADD", "INSERT", "ADDNX", "INSERTNX", "DEL", "LOADCHUNK", "LOAD", "COMPACT")
        for name, info in zip(COMMANDS, self.r("COMMAND", "INFO", *COMMANDS)):
            flag = "write" if name.split(".")[1] in writes else "readonly"
            self.assertIn(flag, info[2], name)
            self.assertEqual([1, 1, 1], info[3:6], name)
            self.assertTrue(info[8], name)  # key specs
        docs = self.r("COMMAND", "DOCS", *COMMANDS)
        docs = docs if isinstance(docs, dict) else dict(zip(docs[::2], docs[1::2]))
        self.assertEqual({name.lower().encode() for name in COMMANDS}, set(docs))
        for name, fields in docs.items():
            fields = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2]))
            self.assertLessEqual({b"summary", b"complexity", b"arguments"}, set(fields), name)

    def test_permissions(self):
        self.r("ACL", "SETUSER", "guest", "on", "nopass", "%R~f", "+@all")
        self.assertEqual("OK", self.r("ACL", "DRYRUN", "guest", "BF.EXISTS", "f", "x"))
        self.assertIn(b"no permissions", self.r("ACL", "DRYRUN", "guest", "BF.EXISTS", "g", "x"))
        self.assertIn(b"no permissions", self.r("ACL", "DRYRUN", "guest", "BF.ADD", "f", "x"))
        if not {b"besom", "besom"} & set(self.r("ACL", "CAT")):
            return  # this server has no ACL categories for modules
        self.r("ACL", "SETUSER", "guest", "reset", "on", "nopass", "~*", "+@all", "-@write")
        self.assertEqual("OK", self.r("ACL", "DRYRUN", "guest", "CF.COUNT", "f", "x"))
        self.assertIn(b"no permissions", self.r("ACL", "DRYRUN", "guest", "CF.ADD", "f", "x"))
        self.r("ACL", "SETUSER", "guest", "reset", "on", "nopass", "~*", "+@bloom")
        self.assertEqual("OK", self.r("ACL", "DRYRUN", "guest", "BF.ADD", "f", "x"))
        self.assertIn(b"no permissions", self.r("ACL", "DRYRUN", "guest", "CF.ADD", "f", "x"))


class Resp2(Compat, unittest.TestCase):
    protocol, yes, no = 2, 1, 0


class Resp3(Compat, unittest.TestCase):
    protocol, yes, no = 3, True, False


class Loading(unittest.TestCase):
    def names(self, server):
        return {name.upper() for name in server.client()("COMMAND", "LIST")} & {name.encode() for name in COMMANDS}

    def test_the_mode_is_off_by_default(self):
        for options in ([], ["compat", "no"]):
            server = Server(module_options=options)
            self.assertEqual(set(), self.names(server))
            self.assertEqual([b"besom.compat", b"no"], server.client()("CONFIG", "GET", "besom.compat"))
            server.close()

    def test_argument_and_parameter_turn_it_on(self):
        server = Server(module_options=["compat", "YES"])
        self.assertEqual(len(COMMANDS), len(self.names(server)))
        self.assertEqual([b"besom.compat", b"yes"], server.client()("CONFIG", "GET", "besom.compat"))
        server.close()
        server = Server(module_options=["--besom.compat", "yes"])
        self.assertEqual(len(COMMANDS), len(self.names(server)))
        server.close()

    def refused(self, *options, **more):
        """Starts a server that must not load the module, and returns its log."""
        server = Server.__new__(Server)
        with self.assertRaises(RuntimeError) as caught:
            server.__init__(*options, tries=1, **more)
        server.close()
        return str(caught.exception)

    def test_unknown_arguments_are_refused(self):
        for options in (["compat"], ["compat", "maybe"], ["speed", "fast"]):
            self.assertIn("unknown module argument '%s'" % options[0], self.refused(module_options=options))

    def test_commands_of_another_module_are_named(self):
        other = os.environ.get("BESOM_OTHER_MODULE")
        if not other:
            self.skipTest("BESOM_OTHER_MODULE is not set")
        log = self.refused("--loadmodule", other, module_options=COMPAT)
        self.assertIn("the command cf.add exists already", log)
        server = Server("--loadmodule", other)  # without the mode there is no conflict
        self.assertEqual({b"CF.ADD"}, self.names(server))
        server.close()


class Replication(unittest.TestCase):
    """Replicas, and servers that load an AOF, have only the commands AF.*."""

    def change(self, r):
        r("BF.RESERVE", "b", 0.01, 100)
        r("BF.MADD", "b", *range(300))
        r("BF.ADD", "b", 1)
        r("CF.INSERT", "c", "CAPACITY", 50, "ITEMS", *range(100), *range(50))
        r("CF.DEL", "c", 1)
        r("CF.ADDNX", "c", 1)
        r("CF.ADDNX", "c", "new")
        for iterator, data in [r("BF.SCANDUMP", "b", 0)]:
            r("BF.LOADCHUNK", "d", iterator, data)
        r("AF.REPORT", "b", *range(1000, 1100))
        r("EVAL", "return redis.call('BF.ADD', KEYS[1], 'scripted')", 1, "b")

    def test_a_replica_without_the_mode(self):
        master = Server(module_options=COMPAT)
        replica = replica_of(master)
        self.change(master.client())
        wait_for_replica(master, replica)
        self.assertEqual(digest(master.client()), digest(replica.client()))
        self.assertEqual([1] * 300, replica.client()("AF.MEXISTS", "b", *range(300)))
        replica.close()
        master.close()

    def test_an_aof_without_the_mode(self):
        for preamble in ("yes", "no"):
            server = Server("--appendonly", "yes", "--aof-use-rdb-preamble", preamble, module_options=COMPAT)
            self.change(server.client())
            before = digest(server.client())
            server.module_options = []
            server.restart()
            self.assertEqual(before, digest(server.client()))
            server.close()


if __name__ == "__main__":
    unittest.main()
