"""redis_load.py [ITEMS]: how long a server takes to load, restore and copy a filter, and what small filters take.

Starts redis-server (BESOM_SERVER) with build/besom-redis.so (BESOM_MODULE). Times are CPU time
of the main thread of the server. DEBUG RELOAD NOSAVE reads an RDB file."""

import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
os.environ.setdefault("BESOM_MODULE", os.path.join(ROOT, "build", "besom-redis.so"))
sys.path.insert(0, os.path.join(ROOT, "tests", "system", "redis"))
from servers import Server  # noqa: E402

ITEMS = int(sys.argv[1]) if len(sys.argv) > 1 else 4000000
KEYS = 1000


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


def small():
    server = Server(module_options=["compat", "yes"])
    r = server.client()
    print("bytes per key (used_memory), MEMORY USAGE:")
    for words in (["BF.MADD", None, 1, 2], *(["BF.RESERVE", None, 0.01, n] for n in (10, 100, 1000, 10000)),
                  ["BF.RESERVE", None, 0.01, 100, "NONSCALING"]):
        r("FLUSHALL")
        before = used(r)
        for i in range(KEYS):
            r(words[0], "key:%06d" % i, *words[2:])
        after = used(r)
        print("  %-36s %6d %6d" % (" ".join(str(word or "key") for word in words), (after - before) / KEYS,
                                   r("MEMORY", "USAGE", "key:000000")))
    server.close()


if __name__ == "__main__":
    large()
    small()
