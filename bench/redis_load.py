"""redis_load.py [ITEMS]: how long a server takes to load, restore and copy a filter, and what filters take.
redis_load.py bf: only what the commands of RedisBloom take, also with its module.

Starts redis-server (BESOM_SERVER) with build/besom-redis.so (BESOM_MODULE). Times are CPU time
of the main thread of the server. DEBUG RELOAD NOSAVE reads an RDB file."""

import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
os.environ.setdefault("BESOM_MODULE", os.path.join(ROOT, "build", "besom-redis.so"))
sys.path.insert(0, os.path.join(ROOT, "tests", "system", "redis"))
from servers import Server  # noqa: E402

ONLY_BF = sys.argv[1:] == ["bf"]
ITEMS = int(sys.argv[1]) if len(sys.argv) > 1 and not ONLY_BF else 4000000


def cpu(r):
    text = r("INFO", "cpu").decode()
    return sum(float(re.search(r"used_cpu_%s_main_thread:([\d.]+)" % kind, text).group(1)) for kind in ("user", "sys"))


def timed(r, *words):
    """Milliseconds of CPU time."""
    before = cpu(r)
    r(*words)
    return (cpu(r) - before) * 1000


def large():
    server = Server("--proto-max-bulk-len", "2gb")
    r = server.client()
    r("AF.RESERVE", "f", 0.01, ITEMS)
    for i in range(0, ITEMS, 10000):
        r("AF.MADD", "f", *range(i, i + 10000))
    payload = r("DUMP", "f")
    mb = len(payload) / 1e6
    restore = timed(r, "RESTORE", "g", 0, payload)
    r("DEL", "g")
    copy = timed(r, "COPY", "f", "g")
    r("DEL", "g")
    r("SAVE")
    load = timed(r, "DEBUG", "RELOAD", "NOSAVE")
    print("filter of %.1f MB, ms of CPU time per MB: RDB file %.1f, COPY %.1f, RESTORE %.1f" %
          (mb, load / mb, copy / mb, restore / mb))
    server.close()


def used(r):
    return int(re.search(rb"used_memory:(\d+)", r("INFO", "memory")).group(1))


def bf_server():
    ours = os.path.basename(os.environ["BESOM_MODULE"]) == "besom-redis.so"
    return Server(module_options=["compat", "yes"] if ours else [])


def make(r, words, key, items):
    r(words[0], key, *words[2:])
    for i in range(0, items, 5000):
        r("BF.MADD", key, *range(i, min(i + 5000, items)))


def bytes_per_key(r, words, items, keys):
    r("FLUSHALL", "SYNC")
    make(r, words, "first", items)
    before = used(r)
    for i in range(keys):
        make(r, words, "key:%06d" % i, items)
    return (used(r) - before) / keys


def sizes():
    server = bf_server()
    r = server.client()
    print("bytes per key (used_memory): empty, full; MEMORY USAGE:")
    capacities = (10, 100, 1000, 10000, 20000, 22000, 30000, 60000, 65000, 70000, 80000, 100000)
    for words in (["BF.MADD", None, 1, 2], *(["BF.RESERVE", None, 0.01, n] for n in capacities),
                  ["BF.RESERVE", None, 0.01, 100, "NONSCALING"]):
        items = words[3] if words[0] == "BF.RESERVE" else 0
        keys = max(5, min(1000, 200000 // (items or 1)))
        empty, full = bytes_per_key(r, words, 0, keys), bytes_per_key(r, words, items, keys)
        print("  %-36s %6d %6d %6d" % (" ".join(str(word or "key") for word in words), empty, full,
                                       r("MEMORY", "USAGE", "key:000000")))
    server.close()


def usec(r, command):
    stats = r("INFO", "commandstats").lower().decode()
    calls, total = re.search(r"cmdstat_%s:calls=(\d+),usec=(\d+)" % command, stats).groups()
    return int(total) / int(calls)


def times():
    """The least of three runs: others use the machine, too."""
    server = bf_server()
    r = server.client()
    print("us of CPU time per command: BF.ADD, BF.EXISTS, BF.MEXISTS of 100 items, all of new items")
    for capacity in (100, 1000, 5000, 20000, 60000, 200000):
        best = [1e9] * 3
        for _ in range(3):
            r("FLUSHALL", "SYNC")
            r("CONFIG", "RESETSTAT")
            for key in range(max(1, 20000 // capacity)):
                r("BF.RESERVE", key, 0.01, capacity)
                for i in range(0, capacity, 500):
                    r.pipeline([("BF.ADD", key, "item%d" % j) for j in range(i, min(i + 500, capacity))])
                r.pipeline([("BF.EXISTS", key, "no%d" % j) for j in range(1000)])
                r.pipeline([("BF.MEXISTS", key, *("no%d" % (i + j) for j in range(100))) for i in range(0, 2000, 100)])
            best = [min(x) for x in zip(best, (usec(r, name) for name in ("bf.add", "bf.exists", "bf.mexists")))]
        print("  capacity %6d  %5.2f %5.2f %5.2f" % (capacity, *best))
    server.close()


if __name__ == "__main__":
    if not ONLY_BF:
        large()
    sizes()
    times()
