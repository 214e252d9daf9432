"""The data of RedisBloom: RDB files, AOF files, DUMP payloads, chunks and the stream of a master become filters that
answer exactly as RedisBloom did, until false positives are reported. fixtures/redisbloom has filters that RedisBloom
2.8.20 saved; redisbloom_model.py makes random ones: redisbloom.py NUMBER."""

import base64
import json
import os
import random
import socket
import sys
import threading
import unittest

from redisbloom_model import Bloom, Cuckoo
from servers import ReplyError, Server, digest, replica_of, wait_for, wait_for_link, wait_for_replica

DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "redisbloom")
COMPAT = {"module_options": ["compat", "yes"]}
AOF = ["--appendonly", "yes", "--appendfsync", "no"]
RANDOM_FILTERS = 60
HOSTILE = 2000


def content(name):
    with open(os.path.join(DIR, name), "rb") as file:
        return file.read()


FILTERS = json.loads(content("filters.json"))


def members(name):
    last = int(FILTERS[name]["members"].split("..")[1].split(",")[0])
    every = range(last + 1)
    if name == "cf-deleted":
        every = [i for i in every if i % 3 != 0]
    return ["%s:item:%d" % (name, i) for i in every]


def absent(name):
    return ["absent:%s:%d" % (name, i) for i in range(20000)]


def chunks_of(name):
    return [(iterator, base64.b64decode(data)) for iterator, data in FILTERS[name]["chunks"]]


def ask(r, key, items, command="BF.MEXISTS"):
    replies = []
    for i in range(0, len(items), 1000):
        replies += r(command, key, *items[i:i + 1000])
    return replies


def fields(reply):
    return dict(zip(reply[::2], reply[1::2]))


class Test(unittest.TestCase):
    def starts(self, r, text, *words):
        with self.assertRaises(ReplyError) as caught:
            r(*words)
        self.assertTrue(str(caught.exception).startswith(text), (words, str(caught.exception)))

    def answers_as_redisbloom(self, r, name, key=None):
        key = key or name
        family = FILTERS[name]["family"]
        have = members(name)
        if have:
            self.assertTrue(all(ask(r, key, have, family + ".MEXISTS")), name)
            self.assertTrue(all(ask(r, key, have, "AF.MEXISTS")), name)
        wrong = [item for item, yes in zip(absent(name), ask(r, key, absent(name), family + ".MEXISTS")) if yes]
        self.assertEqual(FILTERS[name]["false_positives"], len(wrong), name)
        self.assertEqual(FILTERS[name]["first_false_positives"], wrong[:20], name)
        info, expected = fields(r(family + ".INFO", key)), fields(FILTERS[name]["info"])
        for field in expected:
            if field != "Size":
                self.assertEqual(expected[field], info[field], (name, field))
        return wrong

    def all_answer(self, r):
        for name in FILTERS:
            self.answers_as_redisbloom(r, name)


def load_chunks(r, name, key=None):
    for iterator, data in chunks_of(name):
        assert r(FILTERS[name]["family"] + ".LOADCHUNK", key or name, iterator, data) == "OK"


class Routes(Test):
    def test_an_rdb_file(self):
        server = Server(files={"dump.rdb": content("dump.rdb")}, **COMPAT)
        r = server.client()
        self.assertEqual("MBbloom--", r("TYPE", "bf-100"))
        self.all_answer(r)
        before = digest(r)
        server.options += ["--save", "3600 1"]
        r("CONFIG", "SET", "save", "3600 1")
        r("SET", "x", 1)
        r("DEL", "x")
        server.restart()  # the module reads what it has saved under these types
        r = server.client()
        self.assertEqual(before, digest(r))
        self.all_answer(r)
        server.close()

    def test_an_aof_file(self):
        # an AOF file of Redis before 7 has this name; the server converts it
        server = Server(*AOF, files={"appendonly.aof": content("rewritten.aof")}, **COMPAT)
        self.all_answer(server.client())
        for preamble in ("yes", "no"):
            r = server.client()
            r("CONFIG", "SET", "aof-use-rdb-preamble", preamble)
            before = digest(r)
            r("BGREWRITEAOF")
            for field in (b"aof_rewrite_in_progress:0", b"aof_rewrite_scheduled:0"):
                wait_for(lambda: field in r("INFO", "persistence"), what="the rewrite")
            server.restart()
            self.assertEqual(before, digest(server.client()))
        self.all_answer(server.client())
        server.module_options = []  # what is rewritten needs no compatibility mode
        server.restart()
        self.assertEqual(before, digest(server.client()))
        server.close()

    def test_dump_payloads_and_chunks(self):
        server = Server(**COMPAT)
        replica = replica_of(server)  # without the mode
        r = server.client()
        for name in FILTERS:
            load_chunks(r, name)
        self.all_answer(r)
        wait_for_replica(server, replica)
        self.assertEqual(digest(r), digest(replica.client()))
        replica.close()
        for name in FILTERS:
            key = name + "-restored"
            r("RESTORE", key, 0, base64.b64decode(FILTERS[name]["dump"]))
            self.answers_as_redisbloom(r, name, key)
            self.assertEqual(r("DEBUG", "DIGEST-VALUE", name), r("DEBUG", "DIGEST-VALUE", key))
            r("COPY", key, "copy", "REPLACE")
            r("RESTORE", "again", 0, r("DUMP", key), "REPLACE")
            for other in ("copy", "again"):
                self.assertEqual(r("DEBUG", "DIGEST-VALUE", name), r("DEBUG", "DIGEST-VALUE", other))
        server.close()

    def test_a_master_with_redisbloom(self):
        """A replica of a server with RedisBloom gets its RDB file and its commands."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = Server(**COMPAT)
        rdb = content("dump.rdb")

        def serve():
            connection, _ = listener.accept()
            stream = connection.makefile("rb")
            while True:
                line = stream.readline()
                if not line:
                    return
                words = []
                for _ in range(int(line[1:])):
                    size = int(stream.readline()[1:])
                    words.append(stream.read(size + 2)[:-2])
                if words[0].upper() == b"PING":
                    connection.sendall(b"+PONG\r\n")
                elif words[0].upper() == b"PSYNC":
                    connection.sendall(b"+FULLRESYNC %s 0\r\n$%d\r\n" % (b"a" * 40, len(rdb)) + rdb)
                    for command in (("SELECT", 0), ("BF.ADD", "bf-100", "new"), ("BF.ADD", "bf-100", "new"),
                                    ("BF.MADD", "bf-made", "a", "b"), ("CF.ADD", "cf-1000", "new"),
                                    ("CF.DEL", "cf-dups", "cf-dups:item:1")):
                        parts = [b"$%d\r\n%s\r\n" % (len(str(w)), str(w).encode()) for w in command]
                        connection.sendall(b"*%d\r\n" % len(parts) + b"".join(parts))
                elif words[0].upper() == b"REPLCONF" and words[1].upper() == b"ACK":
                    pass
                else:
                    connection.sendall(b"+OK\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        r = server.client()
        r("REPLICAOF", "127.0.0.1", listener.getsockname()[1])
        wait_for_link(server)
        wait_for(lambda: r("CF.COUNT", "cf-dups", "cf-dups:item:1") == 1, what="the commands")
        for name in FILTERS:
            if name not in ("bf-100", "cf-1000", "cf-dups"):
                self.answers_as_redisbloom(r, name)
        self.assertEqual([1, 1], r("BF.MEXISTS", "bf-made", "a", "b"))
        self.assertEqual(1, r("BF.EXISTS", "bf-100", "new"))
        self.assertEqual(1, r("CF.EXISTS", "cf-1000", "new"))
        r("REPLICAOF", "NO", "ONE")
        listener.close()
        server.close()

    def test_the_way_back(self):
        """SCANDUMP of an unchanged filter is what RedisBloom dumped."""
        server = Server(**COMPAT)
        r = server.client()
        for name in FILTERS:
            load_chunks(r, name)
            at, found = 0, []
            while True:
                at, data = r(FILTERS[name]["family"] + ".SCANDUMP", name, at)
                if at == 0:
                    break
                found.append((at, data))
            self.assertEqual(chunks_of(name), found, name)
        server.close()


class Changes(Test):
    def setUp(self):
        self.server = Server(*AOF, "--aof-use-rdb-preamble", "no", **COMPAT)
        self.replica = replica_of(self.server)
        self.r = self.server.client()

    def tearDown(self):
        self.replica.close()
        self.server.close()

    def copies_are_equal(self):
        wait_for_replica(self.server, self.replica)
        before = digest(self.r)
        self.assertEqual(before, digest(self.replica.client()))
        self.server.restart()
        self.r = self.server.client()
        self.assertEqual(before, digest(self.r))
        self.r("BGREWRITEAOF")
        for field in (b"aof_rewrite_in_progress:0", b"aof_rewrite_scheduled:0"):
            wait_for(lambda: field in self.r("INFO", "persistence"), what="the rewrite")
        self.server.restart()
        self.r = self.server.client()
        self.assertEqual(before, digest(self.r))
        wait_for_link(self.replica)

    def test_reports(self):
        r = self.r
        for name in ("bf-100", "bf-grown", "cf-1000", "cf-grown"):
            load_chunks(r, name)
            wrong = self.answers_as_redisbloom(r, name)
            reported = wrong[:50]
            self.assertEqual([1] * len(reported), r("AF.REPORT", name, *reported))
            self.assertEqual([0] * len(reported), r("AF.REPORT", name, *reported))
            self.assertFalse(any(ask(r, name, reported)))
            self.assertTrue(all(ask(r, name, members(name))))
            left = [i for i, yes in zip(absent(name), ask(r, name, absent(name))) if yes]
            self.assertEqual(wrong[50:], left)
            self.assertEqual(len(reported), fields(r("AF.INFO", name))[b"exceptions"])
        self.copies_are_equal()
        for name in ("bf-100", "cf-grown"):
            self.assertTrue(all(ask(self.r, name, members(name))))

    def test_the_no_list(self):
        r = self.r
        load_chunks(r, "bf-100")
        wrong = self.answers_as_redisbloom(r, "bf-100")[:3]
        self.assertEqual([1] * 3, r("AF.NOADD", "bf-100", *wrong))
        self.assertEqual([0] * 3, ask(r, "bf-100", wrong))
        self.assertEqual([1], r("AF.NODEL", "bf-100", wrong[0]))
        self.assertEqual([1, 0, 0], ask(r, "bf-100", wrong))
        self.assertEqual(1, r("BF.ADD", "bf-100", wrong[1]))
        self.assertEqual([1, 1, 0], ask(r, "bf-100", wrong))
        self.copies_are_equal()

    def test_new_items_go_to_layers_of_besom(self):
        r = self.r
        for name in FILTERS:
            family = FILTERS[name]["family"]
            load_chunks(r, name)
            before = fields(r("AF.INFO", name))
            have = members(name)[:50]
            if family == "BF" and have:
                self.assertEqual([0] * len(have), r("BF.MADD", name, *have))
                self.assertEqual(before, fields(r("AF.INFO", name)))  # nothing changed
            new = ["new:%d" % i for i in range(5 if name == "bf-fixed" else 2000)]
            add = ["BF.MADD", name] if family == "BF" else ["CF.INSERT", name, "ITEMS"]
            replies = r(*add, *new)
            self.assertFalse([reply for reply in replies if isinstance(reply, ReplyError)], name)
            self.assertTrue(all(ask(r, name, new)))
            self.assertTrue(not members(name) or all(ask(r, name, members(name))))
            after = fields(r("AF.INFO", name))
            self.assertEqual(before[b"items"] + sum(replies), after[b"items"])
            self.assertGreater(after[b"layers"], before[b"layers"])
        self.copies_are_equal()

    def test_a_fixed_filter_becomes_full(self):
        r = self.r
        load_chunks(r, "bf-fixed")
        replies = r("BF.MADD", "bf-fixed", *["new:%d" % i for i in range(100)])
        self.assertEqual("ERR non scaling filter is full", str(replies[-1]))
        self.assertEqual(2000, r("BF.CARD", "bf-fixed"))
        self.copies_are_equal()

    def test_removal(self):
        r = self.r
        for name in ("cf-1000", "cf-b4", "cf-grown"):
            load_chunks(r, name)
            for item in members(name)[::7]:
                self.assertEqual(1, r("CF.DEL", name, item))
            left = [item for i, item in enumerate(members(name)) if i % 7]
            self.assertTrue(all(ask(r, name, left)))
            self.assertEqual(len(left), r("AF.CARD", name))
        load_chunks(r, "cf-dups")
        self.assertEqual(2, r("CF.COUNT", "cf-dups", "cf-dups:item:7"))
        self.assertEqual(1, r("CF.DEL", "cf-dups", "cf-dups:item:7"))
        self.assertEqual(1, r("CF.COUNT", "cf-dups", "cf-dups:item:7"))
        r("CF.ADD", "cf-dups", "cf-dups:item:7")
        self.assertEqual(2, r("CF.COUNT", "cf-dups", "cf-dups:item:7"))
        for expected in (1, 1, 0):
            self.assertEqual(expected, r("CF.DEL", "cf-dups", "cf-dups:item:7"))
        load_chunks(r, "bf-1000")
        self.starts(r, "ERR this kind of filter does not support", "AF.DEL", "bf-1000", "bf-1000:item:1")
        self.assertEqual(0, r("AF.DEL", "bf-1000", "certainly absent"))
        self.copies_are_equal()

    def test_commands_that_frozen_layers_cannot_do(self):
        r = self.r
        load_chunks(r, "bf-100")
        for words in (("AF.MERGE", "x", "bf-100"), ("AF.MERGE", "bf-100", "bf-100"), ("AF.GETVAL", "bf-100", 1),
                      ("AF.SETVAL", "bf-100", 1, 1), ("AF.RESERVE", "x", 0.1, 10, "LIKE", "bf-100")):
            self.starts(r, "ERR a filter with layers of RedisBloom", *words)
        self.starts(r, "ERR the key exists", "AF.RESERVE", "bf-100", 0.1, 10)
        self.starts(r, "ERR item exists", "BF.LOADCHUNK", "bf-100", *chunks_of("bf-100")[0])

    def test_chunks_that_do_not_fit(self):
        r = self.r
        chunks = chunks_of("bf-grown")
        self.starts(r, "ERR not found", "BF.LOADCHUNK", "f", *chunks[1])
        r("BF.LOADCHUNK", "f", *chunks[0])
        self.starts(r, "ERR the filter is incomplete", "BF.EXISTS", "f", 1)
        self.starts(r, "ERR invalid offset", "BF.LOADCHUNK", "f", *chunks[2])
        self.starts(r, "ERR invalid offset", "BF.LOADCHUNK", "f", chunks[1][0], chunks[1][1] + b"x")
        self.starts(r, "Couldn't load chunk!", "CF.LOADCHUNK", "f", *chunks[1])
        self.starts(r, "ERR item exists", "BF.LOADCHUNK", "f", *chunks[0])
        self.copies_are_equal()  # in the middle of a load
        for chunk in chunks[1:]:
            self.r("BF.LOADCHUNK", "f", *chunk)
        self.answers_as_redisbloom(self.r, "bf-grown", "f")


class RandomFilters(Test):
    def test_random_filters(self):
        server = Server(**COMPAT)
        r = server.client()
        for seed in range(RANDOM_FILTERS):
            dice = random.Random(seed)
            self.check(r, dice, "f%d" % seed)
            r("DEL", "f%d" % seed)
        server.close()

    def check(self, r, dice, key):
        n = dice.choice((0, 1, 7, 60, 150))
        items = [b"%d-%s" % (i, b"x" * dice.randrange(20)) for i in range(n)]
        others = [b"other-%d" % i for i in range(150)]
        if dice.random() < 0.5:
            family = "BF"
            f = Bloom(dice.choice((0.3, 0.05, 0.001)), dice.randrange(1, 80), dice.choice((1, 2, 3, 4)),
                      dice.random() < 0.2, dice.random() < 0.2)
            items = [item for item in items if f.add(item)]
        else:
            family = "CF"
            f = Cuckoo(dice.randrange(8, 200), dice.choice((1, 2, 3, 4)), dice.choice((1, 2, 4)))
            for item in items:
                f.add(item)
        for chunk in f.chunks(dice.choice((50, 1 << 24))):
            self.assertEqual("OK", r(family + ".LOADCHUNK", key, *chunk))
        everything = items + others
        self.assertEqual([int(f.has(item)) for item in everything], r(family + ".MEXISTS", key, *everything))
        if family == "CF":
            self.remove(r, dice, key, f, items, everything)

    def remove(self, r, dice, key, f, items, everything):
        for item in items[:dice.randrange(len(items) + 1)]:
            self.assertEqual(int(f.remove(item)), r("CF.DEL", key, item))
        self.assertEqual([f.count(item) for item in everything], [r("CF.COUNT", key, item) for item in everything])
        self.assertEqual(f.items, r("AF.CARD", key))


class Hostile(Test):
    def test_damaged_headers(self):
        """Each is refused, or becomes a filter that can be used."""
        server = Server(**COMPAT)
        r = server.client()
        dice = random.Random(1)
        loaded = 0
        for i in range(HOSTILE):
            name = dice.choice(list(FILTERS))
            family = FILTERS[name]["family"]
            chunks = chunks_of(name)
            header = bytearray(chunks[0][1])
            for _ in range(dice.randrange(1, 4)):
                at = dice.randrange(len(header))
                header[at] = dice.choice((0, 1, 255, header[at] ^ 1 << dice.randrange(8), dice.randrange(256)))
            if dice.random() < 0.1:
                header = header[:dice.randrange(len(header))]
            r("DEL", "f")
            r.pipeline([(family + ".LOADCHUNK", "f", 1, bytes(header))] +
                       [(family + ".LOADCHUNK", "f", *chunk) for chunk in chunks[1:]] +
                       [(family + ".EXISTS", "f", 1), (family + ".INFO", "f"), ("AF.ADD", "f", 1), ("CF.DEL", "f", 1),
                        ("AF.REPORT", "f", "y"), ("AF.INFO", "f")])
            loaded += r("EXISTS", "f")
        self.assertGreater(loaded, 0)
        self.assertIsNone(server.process.poll())
        server.close()


class Registration(Test):
    def test_without_the_mode_the_types_are_unknown(self):
        server = Server()
        self.starts(server.client(), "ERR", "RESTORE", "f", 0, base64.b64decode(FILTERS["bf-100"]["dump"]))
        server.close()


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        RANDOM_FILTERS = int(sys.argv[1])
        HOSTILE = 20 * RANDOM_FILTERS
        del sys.argv[1]
    unittest.main()
