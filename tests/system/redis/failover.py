"""The moments at which a server changes its role or its data, each while clients fill filters that grow: pauses,
failovers by hand, in a cluster and by Sentinel, shutdown with a lagging replica, a full memory, and keys that are
deleted, renamed, expired, flushed, swapped or migrated. No server crashes, no acknowledged item is lost, no client
waits for the module, and replicas have equal bytes."""

import os
import signal
import subprocess
import threading
import time
import unittest

from cluster import ClusterClient
from servers import (Client, ReplyError, Server, digest, fail_over, fail_over_in_cluster, free_port, replica_of,
                     wait_for, wait_for_link, wait_for_replica)

AOF = ["--appendonly", "yes", "--appendfsync", "no"]
# What a client may be told: the answers of the server for all its commands, documented in docs/redis.md.
EXPECTED = ("READONLY", "MOVED", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "UNBLOCKED", "OOM")


class Load:
    """Clients that add and report in a filter that begins small, so that it grows all the time. The master is where
    the last write succeeded: after an error they try the next port."""

    def __init__(self, ports, key="f", clients=3, connect=None):
        self.ports, self.key, self.done = ports, key, threading.Event()
        self.connect = connect or Client
        self.confirmed, self.failures, self.expected = [], [], EXPECTED
        self.threads = [threading.Thread(target=self.run, args=(n,)) for n in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        at, i, client = 0, 0, None
        while not self.done.is_set():
            items = ["%d-%d" % (number, i + j) for j in range(40)]
            try:
                client = client or self.connect(self.ports[at])
                replies = client("AF.MADD", self.key, *items)
                self.confirmed += [item for item, reply in zip(items, replies) if not isinstance(reply, ReplyError)]
                self.check(reply for reply in replies if isinstance(reply, ReplyError))
                client("AF.REPORT", self.key, *["x" + item for item in items])
                i += 40
            except ReplyError as error:
                if "no such key" not in str(error):  # another client deleted it
                    self.check([error])
                client, at = None, (at + 1) % len(self.ports)
                time.sleep(0.01)
            except (OSError, ValueError):  # the connection was closed
                client, at = None, (at + 1) % len(self.ports)
                time.sleep(0.01)

    def check(self, errors):
        self.failures += [str(error) for error in errors if not str(error).startswith(self.expected)]

    def wait_for_more(self, items=2000):
        target = len(self.confirmed) + items
        wait_for(lambda: len(self.confirmed) >= target, what="more items")

    def replicated(self, master):
        """Returns items that a replica has received."""
        items, r = list(self.confirmed), master.client()
        r("AF.ADD", self.key, "marker")
        wait_for(lambda: r("WAIT", 1, 1000) >= 1, what="a replica")
        return items

    def stop(self):
        self.done.set()
        for thread in self.threads:
            thread.join()


def role(server):
    try:
        return server.client()("ROLE")[0].decode()
    except OSError:  # a server that changes its role may close connections
        return "changing"


class Moments(unittest.TestCase):
    def setUp(self):
        self.servers = []
        self.load = None

    def tearDown(self):
        if self.load:
            self.load.stop()
        for server in self.servers:
            server.close()

    def pair(self, *options):
        """A master and its replica, under load."""
        master = Server(*AOF, *options)
        self.servers = [master, replica_of(master, *AOF)]
        self.start_load(self.servers)
        return self.servers

    def start_load(self, servers, **options):
        servers[0].client()("AF.RESERVE", "f", 0.01, 100)
        self.load = Load([server.port for server in servers], **options)
        self.load.wait_for_more()

    def finish(self, master, replica, key="f"):
        self.load.wait_for_more()
        self.load.stop()
        self.assertEqual([], self.load.failures)
        r = master.client()
        wait_for_replica(master, replica)
        self.assertEqual(digest(r), digest(replica.client()))
        if key:
            self.assertTrue(all(r("AF.MEXISTS", key, *self.load.confirmed)))
            self.assertGreater(r("AF.INFO", key, "layers"), 1)
        for server in (master, replica):
            self.assertIsNone(server.process.poll())

    def test_pauses(self):
        master, replica = self.pair()
        r = master.client()
        for mode in ("WRITE", "ALL", "WRITE"):
            r("CLIENT", "PAUSE", 200, mode)
            self.load.wait_for_more()
        r("CLIENT", "PAUSE", 100000, "WRITE")
        time.sleep(0.1)
        self.assertEqual(0, r("AF.EXISTS", "none", "x"))
        r("CLIENT", "UNPAUSE")
        self.finish(master, replica)

    def test_failover_by_hand(self):
        master, replica = self.pair()
        for _ in range(2):
            fail_over(master, replica)
            wait_for(lambda: role(replica) == "master" and role(master) == "slave", what="the failover")
            self.load.wait_for_more()
            master, replica = replica, master
        self.finish(master, replica)

    def test_a_failover_that_is_aborted(self):
        master, replica = self.pair()
        os.kill(replica.process.pid, signal.SIGSTOP)  # so that it lags, and the failover waits for it
        self.load.confirmed.clear()
        self.load.wait_for_more(100)
        master.client()("FAILOVER")
        time.sleep(0.3)
        master.client()("FAILOVER", "ABORT")
        os.kill(replica.process.pid, signal.SIGCONT)
        self.finish(master, replica)

    def test_a_master_becomes_a_replica(self):
        master, replica = self.pair()
        other = Server(*AOF)
        self.servers.append(other)
        other.client()("AF.MADD", "f", *range(5000))
        master.client()("REPLICAOF", "127.0.0.1", other.port)  # its data is replaced
        wait_for_link(master)
        self.load.stop()
        self.assertEqual([], self.load.failures)
        wait_for_replica(other, master)
        self.assertEqual(digest(other.client()), digest(master.client()))
        master.client()("REPLICAOF", "NO", "ONE")
        self.load = Load([master.port])
        self.finish(master, replica)

    def test_shutdown_with_a_lagging_replica(self):
        master, replica = self.pair("--shutdown-timeout", 600)
        os.kill(replica.process.pid, signal.SIGSTOP)
        self.load.wait_for_more()
        stopping = master.client()
        stopping.send("SHUTDOWN")
        time.sleep(0.3)  # the server waits for its replica, and has paused the writers
        os.kill(replica.process.pid, signal.SIGCONT)
        master.process.wait(timeout=600)
        self.assertEqual(0, master.process.returncode)
        p = replica.client()
        p("REPLICAOF", "NO", "ONE")
        self.assertTrue(all(p("AF.MEXISTS", "f", *self.load.confirmed)))
        master.start()
        master.client()("REPLICAOF", "127.0.0.1", replica.port)
        wait_for_link(master)
        self.finish(replica, master)

    def test_the_memory_becomes_full(self):
        master, replica = self.pair()
        r = master.client()
        used = int([line for line in r("INFO", "memory").split() if line.startswith(b"used_memory:")][0][12:])
        r("CONFIG", "SET", "maxmemory", used + 1000000)

        def refused():
            try:
                master.client()("AF.ADD", "f", "y")
            except ReplyError as error:
                return str(error).startswith("OOM")

        wait_for(refused, what="the end of memory")
        self.assertEqual(1, r("AF.EXISTS", "f", self.load.confirmed[0]))
        self.assertEqual(1, r("AF.DEL", "f", self.load.confirmed.pop(0)))
        r("CONFIG", "SET", "maxmemory", 0)
        self.finish(master, replica)

    def test_keys_come_and_go(self):
        master, replica = self.pair()
        r = master.client()
        for command in (["DEL", "f"], ["UNLINK", "f"], ["RENAME", "f", "g"], ["PEXPIRE", "f", 20], ["FLUSHALL", "ASYNC"],
                        ["FLUSHDB", "SYNC"], ["SWAPDB", 0, 1], ["COPY", "f", "c", "REPLACE"], ["MOVE", "f", 2],
                        ["SET", "f", "text"]):
            with self.subTest(command):
                self.load.wait_for_more(1000)
                if command[0] == "SET":
                    self.load.expected += ("WRONGTYPE",)
                r(*command)
                if command[0] == "SET":
                    time.sleep(0.05)
                    r("DEL", "f")
        self.finish(master, replica, key=None)

    def test_a_key_is_migrated(self):
        master, replica = self.pair()
        other = Server()
        self.servers.append(other)
        r = master.client()
        self.load.wait_for_more()
        before = list(self.load.confirmed)
        self.assertEqual("OK", r("MIGRATE", "127.0.0.1", other.port, "f", 0, 60000))
        self.assertTrue(all(other.client()("AF.MEXISTS", "f", *before)))
        self.finish(master, replica, key=None)  # the clients have made the key again

    def test_full_synchronizations_under_load(self):
        master, replica = self.pair()
        for _ in range(3):
            replica.client()("REPLICAOF", "NO", "ONE")
            replica.client()("FLUSHALL")
            replica.client()("REPLICAOF", "127.0.0.1", master.port)
            wait_for_link(replica)
            self.load.wait_for_more(500)
        self.finish(master, replica)


class Sentinel(Moments):
    def sentinel(self, master):
        port, directory = free_port(), master.dir
        path = os.path.join(directory, "sentinel.conf")
        with open(path, "w") as file:
            file.write("port %d\nbind 127.0.0.1\ndir %s\nlogfile %s/sentinel.log\nsentinel monitor m 127.0.0.1 %d 1\n"
                       "sentinel down-after-milliseconds m 500\nsentinel failover-timeout m 5000\n"
                       % (port, directory, directory, master.port))
        program = os.environ.get("BESOM_SERVER", "redis-server")
        process = subprocess.Popen([program, path, "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def sees_the_replica():
            try:
                return len(Client(port)("SENTINEL", "REPLICAS", "m")) == 1
            except (OSError, ReplyError):
                return False

        wait_for(sees_the_replica, what="Sentinel")
        return port

    def test_sentinel_fails_over(self):
        master, replica = self.pair()
        port = self.sentinel(master)
        kept = self.load.replicated(master)  # Sentinel does not wait for the replica, so later items may be lost
        wait_for(lambda: self.try_failover(port), what="a failover that Sentinel accepts")
        wait_for(lambda: role(replica) == "master" and role(master) == "slave", what="the failover")
        wait_for_link(master)
        self.load.wait_for_more()
        self.load.stop()
        self.assertEqual([], self.load.failures)
        wait_for_replica(replica, master)
        self.assertEqual(digest(replica.client()), digest(master.client()))
        self.assertTrue(all(replica.client()("AF.MEXISTS", "f", *kept)))

    @staticmethod
    def try_failover(port):
        try:
            return Client(port)("SENTINEL", "FAILOVER", "m") == "OK"
        except ReplyError:
            return False


class ClusterFailover(Moments):
    def test_cluster_failover(self):
        options = ["--cluster-enabled", "yes", "--cluster-node-timeout", 2000]
        self.servers = [Server(*options) for _ in range(4)]
        cli = os.environ.get("BESOM_CLI", "redis-cli")
        addresses = ["127.0.0.1:%d" % server.port for server in self.servers]
        subprocess.run([cli, "--cluster", "create", *addresses[:3], "--cluster-yes"], check=True, stdout=subprocess.PIPE)
        for server in self.servers[:3]:
            wait_for(lambda: b"cluster_state:ok" in server.client()("CLUSTER", "INFO"), what="the cluster")
        home = ClusterClient(self.servers[0].port)
        home("AF.RESERVE", "f", 0.01, 100)
        master = next(server for server in self.servers if server.port == home.home)
        subprocess.run([cli, "--cluster", "add-node", addresses[3], addresses[0], "--cluster-slave", "--cluster-master-id",
                        master.client()("CLUSTER", "MYID").decode()], check=True, stdout=subprocess.PIPE)
        replica = self.servers[3]
        wait_for_link(replica)
        for server in self.servers:
            wait_for(lambda: b"slave" in server.client()("CLUSTER", "NODES"), what="gossip about the replica")
        self.load = Load([master.port], connect=ClusterClient)
        for how in ([], ["FORCE"], ["TAKEOVER"]):
            self.load.wait_for_more()
            kept = self.load.replicated(master)
            fail_over_in_cluster(master, replica, *how)
            wait_for_link(master)
            if not how:  # the only form in which the old master waits for the replica
                kept = list(self.load.confirmed)
            self.assertTrue(all(replica.client()("AF.MEXISTS", "f", *kept)), how)
            self.load.confirmed.clear()  # FORCE and TAKEOVER lose what the replica had not received
            master, replica = replica, master
        self.load.wait_for_more()
        self.load.stop()
        self.assertEqual([], self.load.failures)
        wait_for_replica(master, replica)
        self.assertEqual(master.client()("DEBUG", "DIGEST"), replica.client()("DEBUG", "DIGEST"))


# Sentinel and ClusterFailover have the tests of their own only.
for name in [name for name in dir(Moments) if name.startswith("test_")]:
    setattr(Sentinel, name, None)
    setattr(ClusterFailover, name, None)

if __name__ == "__main__":
    unittest.main()
