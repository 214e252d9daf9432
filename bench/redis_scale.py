"""redis_scale.py [MILLIONS [SHARDS [BUILD]]]: the figures of bench/records/redis.md.

Starts a cluster of three nodes, loads a filter with `besom redis load`, queries it, and migrates a quarter
of the slots of one node to another. MILLIONS is the number of keys, default 12; SHARDS is 64 by default. It takes some seconds per million."""

import os
import resource
import subprocess
import sys
import tempfile
import time

millions = float(sys.argv[1]) if len(sys.argv) > 1 else 12
SHARDS = int(sys.argv[2]) if len(sys.argv) > 2 else 64
build = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else "build")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "system", "redis"))
os.environ.setdefault("BESOM_MODULE", os.path.join(build, "besom-redis.so"))

from cluster import ClusterClient, make_cluster  # noqa: E402

keys = int(millions * 1e6)


def field(node, section, name):
    for line in node.client()("INFO", section).decode().split():
        if line.startswith(name + ":"):
            return float(line.split(":")[1])
    raise KeyError(name)


def cpu(nodes):
    return sum(field(node, "cpu", "used_cpu_user") + field(node, "cpu", "used_cpu_sys") for node in nodes)


def write_keys(path, begin, end):
    with open(path, "w") as file:
        for first in range(begin, end, 100000):
            file.write("".join("user:%d\n" % i for i in range(first, min(end, first + 100000))))


def own_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(nodes, name, *words):
    """Prints rates of a run of besom redis: by the clock, and by the CPU time of the servers and of the command."""
    before, begin, own = cpu(nodes), time.monotonic(), own_cpu()
    out = subprocess.run([os.path.join(build, "besom"), "redis", *words, "--shards", str(SHARDS), "--server",
                          ":%d" % nodes[0].port], stdout=subprocess.PIPE, text=True).stdout.strip()
    seconds, busy, own = time.monotonic() - begin, cpu(nodes) - before, own_cpu() - own
    print("%-7s million keys per second: %.2f by the clock, %.2f of server CPU, %.2f of client CPU   %s"
          % (name, keys / seconds / 1e6, keys / busy / 1e6, keys / own / 1e6, out))


def print_memory(nodes, empty):
    """The memory of the shards, and what the servers use in addition: the buffers of clients are freed after seconds."""
    r = ClusterClient(nodes[0].port)
    shards = sum(r("MEMORY", "USAGE", "f:%d" % i) for i in range(SHARDS))
    time.sleep(5)
    used = sum(field(node, "memory", "used_memory") for node in nodes) - empty
    print("memory  %.2f bits per key in the shards, %.2f in the servers" % (8 * shards / keys, 8 * used / keys))


def reshard(nodes, slots):
    names = [node.client()("CLUSTER", "MYID").decode() for node in nodes]
    moved = field(nodes[0], "memory", "used_memory")
    shards, begin = nodes[0].client()("DBSIZE"), time.monotonic()
    subprocess.run(["redis-cli", "--cluster", "reshard", "127.0.0.1:%d" % nodes[0].port, "--cluster-from", names[0],
                    "--cluster-to", names[1], "--cluster-slots", str(slots), "--cluster-yes"],
                   check=True, stdout=subprocess.PIPE)
    seconds = time.monotonic() - begin
    moved -= field(nodes[0], "memory", "used_memory")
    shards -= nodes[0].client()("DBSIZE")
    print("reshard %d slots with %d shards, %.1f MB: %.2f s" % (slots, shards, moved / 1e6, seconds))


def migrate_one(nodes):
    """The longest step of a migration: one shard, during which both nodes serve nothing else."""
    source = max(nodes, key=lambda node: node.client()("DBSIZE"))
    target = next(node for node in nodes if node is not source)
    client = source.client()
    key = client("RANDOMKEY")
    slot, size = client("CLUSTER", "KEYSLOT", key), client("MEMORY", "USAGE", key)
    names = {node: node.client()("CLUSTER", "MYID").decode() for node in (source, target)}
    target.client()("CLUSTER", "SETSLOT", slot, "IMPORTING", names[source])
    client("CLUSTER", "SETSLOT", slot, "MIGRATING", names[target])
    before, begin = cpu(nodes), time.monotonic()
    client("MIGRATE", "127.0.0.1", target.port, "", 0, 60000, "KEYS", key)
    seconds, busy = time.monotonic() - begin, cpu(nodes) - before
    for node in (target, source):
        node.client()("CLUSTER", "SETSLOT", slot, "NODE", names[target])
    print("migrate one shard of %.2f MB: %.1f ms, of which %.1f ms of CPU: %.1f ms per MB"
          % (size / 1e6, 1e3 * seconds, 1e3 * busy, 1e9 * busy / size))


def main():
    nodes = make_cluster()
    empty = sum(field(node, "memory", "used_memory") for node in nodes)
    with tempfile.TemporaryDirectory() as directory:
        present, absent = os.path.join(directory, "present"), os.path.join(directory, "absent")
        write_keys(present, 0, keys)
        write_keys(absent, keys, 2 * keys)
        run(nodes, "load", "load", "f", present, "--capacity", str(keys))
        print_memory(nodes, empty)
        run(nodes, "has", "has", "f", present, "--count")
        run(nodes, "absent", "has", "f", absent, "--count")
    r = ClusterClient(nodes[0].port)
    sizes = [r("AF.CARD", "f:%d" % i) for i in range(SHARDS)]
    print("shards  %d to %d keys" % (min(sizes), max(sizes)))
    migrate_one(nodes)
    reshard(nodes, 1365)
    for node in nodes:
        node.close()


main()
