"""shards.py BESOM: one filter in 64 shards of a cluster of three nodes, by `besom redis`, while slots migrate."""

import os
import subprocess
import sys
import threading
import time
import unittest

from cluster import ClusterClient, make_cluster
from servers import Server, fail_over_in_cluster, wait_for

BESOM = sys.argv.pop()
SHARDS = 64
LESS = 5 if "BESOM_PRELOAD" in os.environ else 1  # sanitizers are slow
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "scale.md")


def besom(*words, keys=None, port=None, shards=SHARDS):
    """Runs besom redis; returns exit code, output and messages."""
    line = [BESOM, "redis", *words, "--shards", str(shards)] + (["--server", ":%d" % port] if port else [])
    text = None if keys is None else "".join("%s\n" % key for key in keys)
    run = subprocess.run(line, input=text, capture_output=True, text=True, timeout=600)
    return run.returncode, run.stdout, run.stderr


class Sharding(unittest.TestCase):
    """The convention of docs/scale.md, which other clients implement, too."""

    def test_vectors(self):
        with open(DOCS) as file:
            lines = file.read().split("## Test vectors")[1].split("```")[1].strip().split("\n")
        self.assertGreater(len(lines), 8)
        for line in lines:
            times, text, hash_value, *shards = line.split()
            key = "" if text == '""' else text * int(times)
            for k, shard in zip((1, 64, 1000), shards):
                expected = "f:%s\t%s\t%s\n" % (shard, hash_value, key)
                self.assertEqual((0, expected, ""), besom("shard", "f", key, shards=k))
                self.assertEqual(int(shard), int(hash_value, 16) * k >> 64)

    def test_wrong_arguments(self):
        for name in ("{f}", "f}", "a{b"):
            code, _, message = besom("load", name, keys=[])
            self.assertEqual(2, code)
            self.assertIn("braces", message)
        for shards in (0, 65537, "x"):
            self.assertEqual(2, besom("load", "f", keys=[], shards=shards)[0])
        self.assertEqual(2, besom("store", "f", keys=[])[0])
        self.assertEqual(2, besom("load", "f", "a", "b", keys=[])[0])


class OneServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.r = self.server.client()
        self.r("FLUSHALL")

    def run_besom(self, *words, **more):
        return besom(*words, port=self.server.port, **more)

    def test_load_has_report(self):
        keys = ["key-%d" % i for i in range(20000)]
        code, out, _ = self.run_besom("load", "f", "--capacity", "20000", "--fpr", "0.1", keys=keys)
        self.assertEqual((0, "f: 20000 keys"), (code, out.split(",")[0]))
        self.assertEqual(20000, sum(self.r("AF.CARD", "f:%d" % i) for i in range(SHARDS)))
        self.assertEqual((0, "".join(key + "\n" for key in keys), ""), self.run_besom("has", "f", keys=keys))
        absent = ["absent-%d" % i for i in range(20000)]
        code, out, _ = self.run_besom("has", "f", keys=absent)
        wrong = out.split()
        self.assertTrue(0 < len(wrong) < 0.12 * len(absent), len(wrong))
        code, out, _ = self.run_besom("report", "f", keys=wrong)
        self.assertEqual((0, "f: %d keys: %d fixed, 0 answered no already, 0 refused\n" % (len(wrong), len(wrong))),
                         (code, out))
        self.assertEqual((1, "0\n", ""), self.run_besom("has", "f", "--count", keys=absent))
        self.assertEqual((0, "20000\n", ""), self.run_besom("has", "f", "--count", keys=keys))
        code, out, _ = self.run_besom("load", "f", "--nx", keys=keys)  # a second run
        self.assertEqual((0, "f: 20000 keys, 0 new, 64 shards\n"), (code, out))
        self.assertEqual(20000, sum(self.r("AF.CARD", "f:%d" % i) for i in range(SHARDS)))

    def test_the_hash_is_independent_of_the_filters(self):
        """The keys of a shard are as random to its filter as any others: the shards do not change the rate."""
        for name in ("sip", "xxh3"):
            self.r("CONFIG", "SET", "besom.default-hash", name)
            self.run_besom("load", name, "--capacity", "60000", "--fpr", "0.1", keys=range(10 ** 9, 10 ** 9 + 60000))
            rates = [float(self.r("AF.INFO", "%s:%d" % (name, i), "expected-fpr")) for i in range(SHARDS)]
            expected = 60000 * sum(rates) / SHARDS
            wrong = int(self.run_besom("has", name, "--count", keys=range(2 * 10 ** 9, 2 * 10 ** 9 + 60000))[1])
            self.assertLess(abs(wrong - expected), 6 * expected ** 0.5, (name, wrong, expected))
        self.r("CONFIG", "SET", "besom.default-hash", "sip")

    def test_binary_and_empty_keys(self):
        data = b"\0\0\0\0" + b"\x03\0\0\0a\nb" + b"\x01\0\0\0\xff"
        for action in ("load", "has"):
            line = [BESOM, "redis", action, "f", "--shards", "3", "--server", ":%d" % self.server.port,
                    "--length-prefixed"]
            run = subprocess.run(line, input=data, capture_output=True, timeout=600)
            self.assertEqual(0, run.returncode, run.stderr)
        self.assertEqual(data, run.stdout)

    def test_shards_have_their_share(self):
        self.run_besom("load", "f", keys=range(64000))
        sizes = [self.r("AF.CARD", "f:%d" % i) for i in range(SHARDS)]
        self.assertTrue(all(abs(size - 1000) < 6 * 1000 ** 0.5 for size in sizes), sizes)

    def test_the_number_of_shards_is_checked(self):
        self.run_besom("load", "f", keys=range(100))
        for shards, text in ((63, "f:63 exists"), (65, "f:64 is missing")):
            for action in ("load", "has", "report"):
                code, _, message = self.run_besom(action, "f", keys=[1], shards=shards)
                self.assertEqual(3, code)
                self.assertIn(text, message)
        self.r("DEL", "f:7")
        self.assertIn("f:7 is missing", self.run_besom("has", "f", keys=[1])[2])
        self.assertIn("no such filter", self.run_besom("has", "g", keys=[1])[2])
        self.run_besom("load", "h", keys=range(100))
        self.r("DEL", "h:0")
        for action in ("load", "has", "report"):  # a new shard 0 would lack the keys of the old one
            self.assertIn("h:0 is missing", self.run_besom(action, "h", keys=[1])[2])

    def test_an_interrupted_creation_is_completed(self):
        self.r("AF.RESERVE", "f:5", 0.01, 100)  # shard 0 is created last
        self.assertEqual(0, self.run_besom("load", "f", keys=range(1000))[0])
        self.assertEqual((0, "1000\n", ""), self.run_besom("has", "f", "--count", keys=range(1000)))

    def test_errors(self):
        self.r("SET", "f:3", "text")
        self.assertIn("WRONGTYPE", self.run_besom("load", "f", keys=range(1000))[2])
        self.r("CONFIG", "SET", "requirepass", "secret")
        try:
            code, _, message = self.run_besom("load", "g", keys=[1])
            self.assertEqual(3, code)
            self.assertIn("REDISCLI_AUTH", message)
            os.environ["REDISCLI_AUTH"] = "secret"
            self.assertEqual(0, self.run_besom("load", "g", keys=[1])[0])
            self.assertEqual(0, self.run_besom("load", "g", "--user", "default", keys=[1])[0])
            os.environ["REDISCLI_AUTH"] = "wrong"
            self.assertIn("WRONGPASS", self.run_besom("load", "g", keys=[1])[2])
        finally:
            del os.environ["REDISCLI_AUTH"]
            self.r("CONFIG", "SET", "requirepass", "")
        self.assertIn("refused", besom("load", "f", keys=[1], port=1)[2])

    def test_connections_break(self):
        total = 600000 // LESS

        def kill():
            for _ in range(12):
                time.sleep(0.05 * LESS)
                self.r("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

        thread = threading.Thread(target=kill)
        thread.start()
        code, _, message = self.run_besom("load", "f", "--capacity", str(total), keys=range(total))
        self.assertEqual(0, code, message)
        code, out, _ = self.run_besom("has", "f", "--invert", "--count", keys=range(total))
        thread.join()
        self.assertEqual((1, "0\n"), (code, out))


class Cluster(unittest.TestCase):
    """Every key that load has confirmed is answered yes, whatever the slots do."""

    @classmethod
    def setUpClass(cls):
        cls.nodes = make_cluster()

    @classmethod
    def tearDownClass(cls):
        for node in cls.nodes:
            node.close()

    def reshard(self, source, target, slots):
        """Migrates slots as operators do."""
        def name(node):
            return node.client()("CLUSTER", "MYID").decode()

        cli = os.environ.get("BESOM_CLI", "redis-cli")
        subprocess.run([cli, "--cluster", "reshard", "127.0.0.1:%d" % source.port, "--cluster-from", name(source),
                        "--cluster-to", name(target), "--cluster-slots", str(slots), "--cluster-yes"],
                       check=True, stdout=subprocess.PIPE, timeout=600)

    def test_0_a_migration_that_has_not_ended(self):
        """The source redirects with ASK, and the target executes only after ASKING."""
        port, name = self.nodes[1].port, "h:0"
        self.assertEqual(0, besom("load", "h", keys=range(2000), port=port)[0])
        r = ClusterClient(port)
        slot = r("CLUSTER", "KEYSLOT", name)
        r("AF.CARD", name)
        source = next(node for node in self.nodes if node.port == r.home)
        target = self.nodes[(self.nodes.index(source) + 1) % 3]
        s, t = source.client(), target.client()
        s_id, t_id = s("CLUSTER", "MYID").decode(), t("CLUSTER", "MYID").decode()
        t("CLUSTER", "SETSLOT", slot, "IMPORTING", s_id)
        s("CLUSTER", "SETSLOT", slot, "MIGRATING", t_id)
        self.assertEqual((0, "2000\n", ""), besom("has", "h", "--count", keys=range(2000), port=port))
        s("MIGRATE", "127.0.0.1", target.port, name, 0, 60000)
        self.assertEqual((0, "2000\n", ""), besom("has", "h", "--count", keys=range(2000), port=port))
        self.assertEqual(0, besom("load", "h", keys=range(2000, 4000), port=port)[0])
        for client in (t, s):
            client("CLUSTER", "SETSLOT", slot, "NODE", t_id)
        self.assertEqual((0, "4000\n", ""), besom("has", "h", "--count", keys=range(4000), port=port))
        for i in range(SHARDS):
            r("DEL", "h:%d" % i)

    def test_1_resharding_under_load(self):
        port, total, done = self.nodes[0].port, 0, threading.Event()
        line = [BESOM, "redis", "load", "f", "--shards", str(SHARDS), "--server", ":%d" % port, "--capacity", "1M"]
        load = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def feed():
            nonlocal total
            while not done.is_set() or total < 300000 // LESS:
                load.stdin.write("".join("%d\n" % i for i in range(total, total + 10000)))
                total += 10000
                time.sleep(0.02)

        thread = threading.Thread(target=feed)
        thread.start()
        for i in range(3):
            self.reshard(self.nodes[i], self.nodes[(i + 1) % 3], 400 // LESS)
        done.set()
        thread.join()
        out, _ = load.communicate()
        self.assertEqual((0, "f: %d keys" % total), (load.returncode, out.split(",")[0]))

        mover = threading.Thread(target=self.reshard, args=(self.nodes[0], self.nodes[2], 400 // LESS))
        mover.start()
        code, out, message = besom("has", "f", "--invert", "--count", keys=range(total), port=self.nodes[1].port)
        absent = ["absent-%d" % i for i in range(100000)]
        wrong = besom("has", "f", keys=absent, port=port)[1].split()
        report = besom("report", "f", keys=wrong, port=port)
        mover.join()
        self.assertEqual((1, "0\n", ""), (code, out, message))
        self.assertEqual(0, report[0], report)
        self.assertEqual((1, "0\n", ""), besom("has", "f", "--count", keys=absent, port=port))

        r = ClusterClient(port)
        self.assertEqual(total, sum(r("AF.CARD", "f:%d" % i) for i in range(SHARDS)))
        self.assertEqual(SHARDS, sum(node.client()("DBSIZE") for node in self.nodes))
        self.assertTrue(all(node.client()("DBSIZE") > 5 for node in self.nodes))

    @unittest.skipIf(LESS > 1, "takes a minute with sanitizers")
    def test_2_a_node_fails_over_under_load(self):
        """A replica takes over, then the old master is killed."""
        master = self.nodes[0]
        replica = Server("--cluster-enabled", "yes", "--cluster-node-timeout", 5000)
        self.nodes.append(replica)
        r, name = replica.client(), master.client()("CLUSTER", "MYID").decode()
        r("CLUSTER", "MEET", "127.0.0.1", master.port)
        wait_for(lambda: name in r("CLUSTER", "NODES").decode(), what="the cluster")
        r("CLUSTER", "REPLICATE", name)
        wait_for(lambda: b"master_link_status:up" in r("INFO", "replication"), what="the replica")
        for node in self.nodes[:3]:  # all masters must know it, because they vote
            wait_for(lambda: b"slave" in node.client()("CLUSTER", "NODES"), what="the other nodes")
        port, total = self.nodes[1].port, 500000 // LESS
        line = [BESOM, "redis", "load", "g", "--shards", str(SHARDS), "--server", ":%d" % port, "--nx"]
        load = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for begin in range(0, total, total // 10):
            load.stdin.write("".join("%d\n" % i for i in range(begin, begin + total // 10)))
            if begin == total // 10 * 3:
                fail_over_in_cluster(master, replica)
                master.kill()
        out, _ = load.communicate()
        self.assertEqual((0, "g: %d keys" % total), (load.returncode, out.split(",")[0]))
        self.assertEqual((1, "0\n", ""),
                         besom("has", "g", "--invert", "--count", keys=range(total), port=replica.port))


if __name__ == "__main__":
    unittest.main()
