"""A part of a filter that is refused while the server loads an AOF file, or replicates, never becomes a silent loss: the
key is marked incomplete, and every command says so."""

import glob
import os
import unittest

from servers import ReplyError, Server, digest, replica_of, wait_for, wait_for_replica

AOF = ["--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", "no"]
MARK = "ERR the filter is incomplete, because a part of it was refused"
ITEMS = ["item-%d" % i for i in range(500)]
LATER = ["later-%d" % i for i in range(100)]


def rewrite(r):
    r("BGREWRITEAOF")
    for field in (b"aof_rewrite_in_progress:0", b"aof_rewrite_scheduled:0"):
        wait_for(lambda: field in r("INFO", "persistence"), what="the rewrite")
    assert b"aof_last_bgrewrite_status:ok" in r("INFO", "persistence")


def command(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


def edit_aof(server, kind, edit):
    """Stops the server, changes its AOF file, and starts it again."""
    server.stop()
    (path,) = glob.glob(os.path.join(server.dir, "appendonlydir", "*.%s.aof" % kind))
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(edit(data))
    if not server.start():
        raise RuntimeError("the server does not start again:\n" + server.read_log())
    return server.client()


def flip(data):
    """Changes a byte inside of the last chunk."""
    at = data.rindex(b"BAF1") + 40
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def later_version(data):
    return data.replace(b"BAF1", b"BAF7")


class Refused(unittest.TestCase):
    def fails(self, r, begin, *words):
        with self.assertRaises(ReplyError) as caught:
            r(*words)
        self.assertTrue(str(caught.exception).startswith(begin), (words, str(caught.exception)))

    def is_marked(self, r, key="f"):
        for words in (("AF.EXISTS", key, ITEMS[0]), ("AF.MEXISTS", key, ITEMS[0]), ("AF.ADD", key, "x"),
                      ("AF.MADD", key, "x", "y"), ("AF.INSERT", key, "ITEMS", "x"), ("AF.DEL", key, "x"),
                      ("AF.COUNT", key, "x"), ("AF.CARD", key), ("AF.REPORT", key, "x"), ("AF.NOADD", key, "x"),
                      ("AF.NODEL", key, "x"), ("AF.GETVAL", key, "x"), ("AF.SETVAL", key, "x", 1),
                      ("AF.SCANDUMP", key, 0), ("AF.MERGE", key, key), ("AF.RESERVE", "new", 0.01, 100, "LIKE", key)):
            self.fails(r, MARK, *words)
        self.fails(r, "ERR the key exists already", "AF.RESERVE", key, 0.01, 100)
        self.assertEqual(b"incomplete", r("AF.INFO", key, "state"))

    def damaged(self, *options, edit=flip):
        """A server that has loaded a damaged chunk and further items of the same filter."""
        server = Server(*AOF, *options)
        r = server.client()
        r("AF.MADD", "f", *ITEMS)
        rewrite(r)
        r("AF.MADD", "f", *LATER)
        return server, edit_aof(server, "base", edit)

    def test_a_damaged_chunk(self):
        server, r = self.damaged()
        self.is_marked(r)
        self.assertIn("the filter 'f' is marked incomplete, because a command of the AOF file was refused",
                      server.read_log())
        self.assertIn(b"besom_incomplete:1", r("INFO", "besom_filters"))
        server.close()

    def test_a_chunk_of_a_later_version(self):
        server, r = self.damaged(edit=later_version)
        self.is_marked(r)
        self.assertIn("upgrade the module", server.read_log())
        server.close()

    def test_one_of_many_chunks(self):
        server = Server(*AOF)
        r = server.client()
        r("CONFIG", "SET", "besom.chunk-bytes", 1024)
        r("AF.MADD", "f", *range(5000))
        rewrite(r)

        def drop_second(data):
            begin = data.index(b"*4\r\n", data.index(b"BAF1"))
            end = data.index(b"*4\r\n", data.index(b"BAF1", begin))
            return data[:begin] + data[end:]

        r = edit_aof(server, "base", drop_second)
        self.is_marked(r)
        server.close()

    def test_the_mark_survives(self):
        server, r = self.damaged("--save", "3600 1")
        before = digest(r)
        r("COPY", "f", "g")
        r("RESTORE", "h", 0, r("DUMP", "f"))
        replica = replica_of(server)
        replica.client()("CONFIG", "SET", "replica-read-only", "no")
        for s in (server, replica):
            for key in "fgh":
                self.is_marked(s.client(), key)
        for preamble in ("no", "yes"):
            r("CONFIG", "SET", "aof-use-rdb-preamble", preamble)
            rewrite(r)
            after = digest(r)
            server.restart()
            r = server.client()
            self.assertEqual(after, digest(r))
            for key in "fgh":
                self.is_marked(r, key)
        r("DEL", "g", "h")
        self.assertEqual(before, digest(r))
        replica.close()
        server.close()

    def test_what_clears_the_mark(self):
        server, r = self.damaged()
        r("AF.MADD", "source", *ITEMS)
        dump = r("DUMP", "source")
        chunks, at = [], 0
        while True:
            at, data = r("AF.SCANDUMP", "source", at)
            if at == 0:
                break
            chunks.append((at, data))

        def load():
            for chunk in chunks:
                r("AF.LOADCHUNK", "g", *chunk)

        def expire():
            r("PEXPIRE", "g", 1)
            wait_for(lambda: r("EXISTS", "g") == 0, what="the expiry")

        for clear, items in ((lambda: r("DEL", "g"), 0), (lambda: r("UNLINK", "g"), 0), (expire, 0), (load, 500),
                             (lambda: r("RESTORE", "g", 0, dump, "REPLACE"), 500), (lambda: r("FLUSHALL"), 0)):
            r("COPY", "f", "g", "REPLACE")
            self.is_marked(r, "g")
            clear()
            self.assertEqual(items, r("AF.CARD", "g"))
            self.assertEqual(items > 0, bool(r("AF.EXISTS", "g", ITEMS[0])))
        wait_for(lambda: b"besom_incomplete:0" in r("INFO", "besom_filters"), what="a thread that frees the values")
        server.close()

    def test_adds_of_a_file_create_no_filter(self):
        server = Server(*AOF)
        r = server.client()
        r("SET", "x", 1)
        for words in (("AF.ADD", "f", 1), ("AF.MADD", "f", 1, 2), ("AF.INSERT", "f", "ITEMS", 1),
                      ("AF.RESERVE", "f", 0.01, 100, "OPTION", "of-a-later-version"),
                      ("AF.MERGE", "f", "missing")):
            r = edit_aof(server, "incr", lambda data: data + command("DEL", "f") + command(*words))
            self.is_marked(r)
        server.close()

    def test_a_command_of_a_master(self):
        """A replica whose module refuses a chunk: here because the replica has the key already."""
        master = Server()
        replica = replica_of(master)
        r = master.client()
        r("AF.MADD", "source", *ITEMS)
        at, data = r("AF.SCANDUMP", "source", 0)
        p = replica.client()
        p("CONFIG", "SET", "replica-read-only", "no")
        p("AF.MADD", "f", "other")
        r("AF.LOADCHUNK", "f", at, data)
        wait_for_replica(master, replica)
        self.is_marked(p)
        self.assertIn("a command of the master was refused", replica.read_log())
        r("DEL", "f")
        wait_for_replica(master, replica)
        self.assertEqual(0, p("AF.CARD", "f"))
        replica.close()
        master.close()

    def test_lengths_that_are_marks(self):
        """A chunk with such a length would become an RDB file that no server loads."""
        server = Server("--save", "3600 1")
        r = server.client()
        for total in ((1 << 64) - 1, (1 << 64) - 2, (1 << 64) - 3, 1 << 63, 1 << 60):
            data = b"BAF1" + total.to_bytes(8, "little") + bytes(8) + b"x"
            check = 0xcbf29ce484222325
            for byte in data:
                check = (check ^ byte) * 0x100000001b3 % (1 << 64)
            r.send("AF.LOADCHUNK", "f%d" % total, 1, data + check.to_bytes(8, "little"))
            r.read()
        self.assertEqual(2, r("DBSIZE"))  # one is incomplete, one waits for its chunks
        server.restart()
        self.assertEqual(2, server.client()("DBSIZE"))
        server.close()

    def test_a_client_that_sends_a_bad_chunk_changes_nothing(self):
        server = Server()
        r = server.client()
        r("AF.MADD", "f", *ITEMS)
        at, data = r("AF.SCANDUMP", "f", 0)
        self.fails(r, "ERR the chunk is damaged", "AF.LOADCHUNK", "g", at, data[:-1])
        self.assertEqual(0, r("EXISTS", "g"))
        self.fails(r, "ERR the key exists already", "AF.LOADCHUNK", "f", at, data)
        self.assertEqual(500, r("AF.CARD", "f"))
        server.close()


class RedisBloomFile(unittest.TestCase):
    def test_a_refused_chunk_and_adds(self):
        server = Server(*AOF, module_options=["compat", "yes"])
        r = server.client()
        r("SET", "x", 1)
        r = edit_aof(server, "incr", lambda data: data + command("BF.LOADCHUNK", "f", 1, b"no header") +
                     command("BF.ADD", "f", 1) + command("CF.LOADCHUNK", "c", 1, b"no header") +
                     command("CF.ADD", "c", 1) + command("BF.MADD", "g", 1, 2) + command("CF.ADD", "h", 1) +
                     command("BF.RESERVE", "r", "1e-30", 100) + command("BF.ADD", "r", 1))
        for name, words in (("f", ("BF.EXISTS", "f", 1)), ("f", ("BF.ADD", "f", 1)), ("f", ("BF.INFO", "f")),
                            ("f", ("BF.MEXISTS", "f", 1)), ("f", ("BF.CARD", "f")), ("f", ("BF.SCANDUMP", "f", 0)),
                            ("c", ("CF.EXISTS", "c", 1)), ("c", ("CF.ADD", "c", 1)), ("c", ("CF.DEL", "c", 1)),
                            ("c", ("CF.COUNT", "c", 1)), ("c", ("CF.INFO", "c")), ("r", ("BF.EXISTS", "r", 1))):
            with self.assertRaises(ReplyError) as caught:
                r(*words)
            self.assertTrue(str(caught.exception).startswith(MARK), words)
            self.assertEqual(b"incomplete", r("AF.INFO", name, "state"))
        self.assertEqual([1, 1], r("BF.MEXISTS", "g", 1, 2))
        self.assertEqual(1, r("CF.EXISTS", "h", 1))
        server.close()


if __name__ == "__main__":
    unittest.main()
