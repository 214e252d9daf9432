"""files.py BESOM: whole filters between servers and files, by `besom redis save`, `load` and `import`."""

import os
import subprocess
import sys
import tempfile
import unittest

import redisbloom
from servers import Server

BESOM = sys.argv.pop()


def besom(*words, port=None, keys=None):
    line = [BESOM, *map(str, words)] + (["--server", ":%d" % port] if port else [])
    text = None if keys is None else "".join("%s\n" % key for key in keys)
    run = subprocess.run(line, input=text, capture_output=True, text=True, timeout=600)
    return run.returncode, run.stdout, run.stderr


class Files(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.r = self.server.client()
        self.dir = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.dir.name, "f.besom")

    def tearDown(self):
        self.dir.cleanup()
        self.server.close()

    def redis(self, *words):
        return besom("redis", *words, port=self.server.port)

    def test_a_key_becomes_a_file_and_a_key_again(self):
        r = self.r
        r("CONFIG", "SET", "besom.chunk-bytes", 1024)
        r("AF.RESERVE", "f", 0.01, 100)
        r("AF.MADD", "f", *range(5000))
        wrong = [i for i in range(10000, 12000) if r("AF.EXISTS", "f", i)]
        r("AF.REPORT", "f", *wrong)
        code, out, err = self.redis("save", "f", self.path)
        self.assertEqual((0, "f -> %s: %d bytes\n" % (self.path, os.path.getsize(self.path)), ""), (code, out, err))
        code, out, _ = besom("query", self.path, keys=[1, 4999, *wrong])
        self.assertEqual((0, "1\n4999\n"), (code, out))
        self.assertEqual(0, self.redis("load", self.path, "g")[0])
        self.assertEqual(r("DEBUG", "DIGEST-VALUE", "f"), r("DEBUG", "DIGEST-VALUE", "g"))
        code, _, err = self.redis("load", self.path, "g")
        self.assertEqual(3, code)
        self.assertIn("exists already", err)

    def test_a_file_becomes_a_key(self):
        self.assertEqual(0, besom("build", self.path, "--yes", "-", keys=["a", "b", "c"])[0])
        code, _, err = self.redis("load", self.path, "f")
        if code:  # a kind that does not insert is refused, and leaves no key
            self.assertIn("does not support", err)
            self.assertEqual(0, self.r("EXISTS", "f"))
        else:
            self.assertEqual([1, 1, 1], self.r("AF.MEXISTS", "f", "a", "b", "c"))

    def test_what_is_no_filter(self):
        with open(self.path, "w") as file:
            file.write("no filter")
        self.assertEqual(3, self.redis("load", self.path, "f")[0])
        self.assertEqual(0, self.r("EXISTS", "f"))
        self.assertIn("no such key", self.redis("save", "none", self.path)[2])


class Import(redisbloom.Test):
    def test_from_a_running_server(self):
        """A server that has loaded RedisBloom's RDB file dumps it as RedisBloom does."""
        old = Server(files={"dump.rdb": redisbloom.content("dump.rdb")}, **redisbloom.COMPAT)
        new = Server(**redisbloom.COMPAT)
        names = list(redisbloom.FILTERS)
        code, out, err = besom("redis", "import", *names, "--from", ":%d" % old.port, port=new.port)
        self.assertEqual((0, ""), (code, err))
        self.assertEqual(len(names), len(out.splitlines()))
        self.all_answer(new.client())
        code, _, err = besom("redis", "import", "bf-100", "--from", ":%d" % old.port, port=new.port)
        self.assertEqual(3, code)
        self.assertIn("item exists", err)
        old.client()("SET", "text", "x")
        self.assertIn("of type string", besom("redis", "import", "text", "--from", ":%d" % old.port, port=new.port)[2])
        with tempfile.TemporaryDirectory() as directory:
            code, _, err = besom("redis", "save", "bf-100", os.path.join(directory, "f"), port=new.port)
            self.assertEqual(3, code)
            self.assertIn("layers of RedisBloom", err)
        old.close()
        new.close()


if __name__ == "__main__":
    unittest.main()
