"""A cluster of three nodes: hash tags, and a slot that migrates while clients add, query and report."""

import os
import subprocess
import threading
import time
import unittest

from servers import Client, ReplyError, Server, wait_for


class ClusterClient:
    """Follows MOVED and ASK redirections."""

    def __init__(self, port):
        self.links = {}
        self.home = port

    def link(self, port):
        if port not in self.links:
            self.links[port] = Client(port)
        return self.links[port]

    def __call__(self, *words):
        port, asking = self.home, False
        end = time.monotonic() + 600
        while time.monotonic() < end:
            link = self.link(port)
            if asking:
                link("ASKING")
            try:
                return link(*words)
            except ReplyError as error:
                code, *rest = str(error).split()
                if code not in ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"):
                    raise
                asking = code == "ASK"
                if code in ("MOVED", "ASK"):
                    port = int(rest[1].split(":")[1])
                if code == "MOVED":
                    self.home = port
                if code in ("TRYAGAIN", "CLUSTERDOWN"):
                    time.sleep(0.01)
        raise AssertionError("no node executes the command: %r" % (words[:2],))


def make_cluster():
    nodes = [Server("--cluster-enabled", "yes", "--cluster-node-timeout", 60000) for _ in range(3)]
    cli = os.environ.get("BESOM_CLI", "redis-cli")
    addresses = ["127.0.0.1:%d" % node.port for node in nodes]
    subprocess.run([cli, "--cluster", "create", *addresses, "--cluster-yes"], check=True, stdout=subprocess.PIPE)
    for node in nodes:
        wait_for(lambda: b"cluster_state:ok" in node.client()("CLUSTER", "INFO"), what="the cluster")
    return nodes


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.nodes = make_cluster()

    @classmethod
    def tearDownClass(cls):
        for node in cls.nodes:
            node.close()

    def client(self):
        return ClusterClient(self.nodes[0].port)

    def owner(self, key):
        r = self.client()
        r("AF.CARD", key)
        return next(node for node in self.nodes if node.port == r.home)

    def test_keys_are_distributed_and_hash_tags_keep_them_together(self):
        r = self.client()
        for i in range(50):
            self.assertEqual(1, r("AF.ADD", "key-%d" % i, "x"))
        self.assertTrue(all(node.client()("DBSIZE") > 0 for node in self.nodes))
        r("AF.RESERVE", "{tag}a", 0.01, 100)
        r("AF.RESERVE", "{tag}b", 0.01, 100, "LIKE", "{tag}a")
        r("AF.ADD", "{tag}b", "x")
        self.assertEqual("OK", r("AF.MERGE", "{tag}a", "{tag}b"))
        self.assertEqual(1, r("AF.EXISTS", "{tag}a", "x"))
        for words in (["AF.MERGE", "{tag}a", "{other}b"], ["AF.RESERVE", "{other}c", 0.1, 10, "LIKE", "{tag}a"]):
            with self.assertRaises(ReplyError) as caught:
                r(*words)
            self.assertIn("CROSSSLOT", str(caught.exception), words)

    def migrate_slot(self, slot, source, target):
        """Migrates a slot with the commands that redis-cli --cluster reshard uses."""
        s, t = source.client(), target.client()
        s_id, t_id = s("CLUSTER", "MYID").decode(), t("CLUSTER", "MYID").decode()
        t("CLUSTER", "SETSLOT", slot, "IMPORTING", s_id)
        s("CLUSTER", "SETSLOT", slot, "MIGRATING", t_id)
        time.sleep(0.05)  # let clients meet the slot in this state
        while True:
            keys = s("CLUSTER", "GETKEYSINSLOT", slot, 10)
            if not keys:
                break
            s("MIGRATE", "127.0.0.1", target.port, "", 0, 60000, "KEYS", *keys)
        time.sleep(0.05)
        for node in (t, s):
            node("CLUSTER", "SETSLOT", slot, "NODE", t_id)

    def load(self, number, done, failures):
        """Adds, queries and reports until `done` is set. Confirmed items must be answered yes at once."""
        r, i = self.client(), 0
        try:
            while not done.is_set():
                item = "%d-%d" % (number, i)
                r("AF.ADD", "{migrated}f", item)
                self.added.append(item)
                absent = "s" + item
                reply, = r("AF.REPORT", "{migrated}f", absent)
                if not isinstance(reply, ReplyError):
                    self.reported.append(absent)
                if not r("AF.EXISTS", "{migrated}f", item):
                    failures.append("lost " + item)
                i += 1
        except (OSError, ReplyError, AssertionError) as error:
            failures.append(repr(error))

    def test_a_slot_migrates_under_load(self):
        r = self.client()
        r("AF.RESERVE", "{migrated}f", 0.001, 500, "ADAPTRESERVE", 0.3)
        slot = r("CLUSTER", "KEYSLOT", "{migrated}f")
        self.added, self.reported, failures, done = [], [], [], threading.Event()
        threads = [threading.Thread(target=self.load, args=(n, done, failures)) for n in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            source = self.owner("{migrated}f")
            target = self.nodes[(self.nodes.index(source) + 1) % 3]
            self.migrate_slot(slot, source, target)
            items = len(self.added)
            wait_for(lambda: len(self.added) > items + 50 or failures, what="items")
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual([], failures)
        self.assertTrue(all(r("AF.MEXISTS", "{migrated}f", *self.added)))
        self.assertEqual(len(self.added), r("AF.CARD", "{migrated}f"))
        wrong = sum(map(bool, r("AF.MEXISTS", "{migrated}f", *self.reported)))
        self.assertLess(wrong, 10)  # a later item may match an absent key that was already answered no
        holders = sum(node.client()("CLUSTER", "COUNTKEYSINSLOT", slot) for node in self.nodes)
        self.assertEqual(1, holders)


if __name__ == "__main__":
    unittest.main()
