"""redis_latency.py [MODULE [SERVER]]: how long clients wait while a filter grows from 1 million to 16 million items, and
how long the commands take whose time depends on the size of a filter. A master and a replica are started. ITEMS
(environment) is the number of items at the end, in millions."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "system", "redis"))
os.environ["BESOM_MODULE"] = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/besom-redis.so")
if len(sys.argv) > 2:
    os.environ["BESOM_SERVER"] = sys.argv[2]

from servers import Server, replica_of, wait_for_replica  # noqa: E402

MILLION = 10 ** 6
LAST = int(os.environ.get("ITEMS", 16)) * MILLION


def percentiles(waits):
    waits = sorted(waits)
    at = [waits[int(len(waits) * share)] for share in (0.5, 0.99, 0.999)] + [waits[-1]]
    return "p50 %6.3f  p99 %6.3f  p99.9 %6.3f  max %7.3f ms" % tuple(1000 * wait for wait in at)


def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


class Prober(threading.Thread):
    """Sends AF.EXISTS for absent items one after the other, which read all layers."""

    def __init__(self, server):
        super().__init__()
        self.client, self.done, self.waits = server.client(), threading.Event(), []
        self.start()

    def run(self):
        i = 0
        while not self.done.is_set():
            self.waits.append(timed(lambda: self.client("AF.EXISTS", "f", "absent-%d" % i)))
            i += 1
            time.sleep(0.0005)

    def stop(self):
        self.done.set()
        self.join()
        return percentiles(self.waits)


def histogram(client, command):
    """The longest time of a command that the server has measured, in microseconds (a power of two, rounded up)."""
    reply = client("LATENCY", "HISTOGRAM", command)
    counts = reply[1][3] if reply else []
    return counts[-2] if counts else 0


def requests(first, last, size):
    """Encoded before the measurement, so that the client is not the bottleneck."""
    for begin in range(first, last, size):
        yield ["AF.MADD", "f"] + list(range(begin, begin + size))


master = Server()
replica = replica_of(master)
r = master.client()
r("AF.RESERVE", "f", 0.01, MILLION)
for words in requests(0, MILLION, 1000):
    r(*words)
prober = Prober(master)
time.sleep(5)
print("AF.EXISTS, idle:                   ", prober.stop(), flush=True)

for client in (r, replica.client()):
    client("CONFIG", "RESETSTAT")
    client("CONFIG", "SET", "latency-monitor-threshold", 1)
    client("LATENCY", "RESET")


def cpu_seconds():
    fields = dict(line.split(":") for line in control("INFO", "cpu").decode().split() if ":" in line)
    return float(fields["used_cpu_user_main_thread"]) + float(fields["used_cpu_sys_main_thread"])


prober, waits, layers, control = Prober(master), [], [], master.client()
items, capacity = MILLION, r("AF.INFO", "f", "capacity")
for words in requests(MILLION, LAST, 100):
    adds_layer = items + 100 > capacity
    before = cpu_seconds() if adds_layer else 0
    waits.append(timed(lambda: r(*words)))
    items += 100
    if adds_layer:
        layers.append(1000 * (cpu_seconds() - before))
        capacity = r("AF.INFO", "f", "capacity")
print("AF.EXISTS, while the filter grows: ", prober.stop())
print("AF.MADD of 100 items, writer:      ", percentiles(waits))
print("CPU time of the server for the AF.MADD that add a layer, with what else it did meanwhile: "
      + ", ".join("%.2f" % layer for layer in layers) + " ms")
wait_for_replica(master, replica)
print("%d layers, %.2f bits per item, expected false-positive rate %s"
      % (r("AF.INFO", "f", "layers"), 8 * r("AF.INFO", "f", "size") / r("AF.CARD", "f"),
         r("AF.INFO", "f", "expected-fpr").decode()))
for name, client in (("master", r), ("replica", replica.client())):
    print("%s: longest AF.MADD %d us, longest AF.EXISTS %d us; events of 1 ms and more: %s"
          % (name, histogram(client, "af.madd"), histogram(client, "af.exists"),
             [(event[0].decode(), "%d ms" % event[3]) for event in client("LATENCY", "LATEST")]))



def cost(call):
    """Milliseconds of CPU time."""
    before = cpu_seconds()
    call()
    return 1000 * (cpu_seconds() - before)


print("CPU time of commands on a whole filter (%d million items, %.1f MB):"
      % (LAST // MILLION, r("AF.INFO", "f", "size") / 1e6))
print("COPY               %7.0f ms" % cost(lambda: r("COPY", "f", "copy")))
r("DEL", "copy")
dump = []
print("DUMP               %7.0f ms" % cost(lambda: dump.append(r("DUMP", "f"))))
print("RESTORE            %7.0f ms" % cost(lambda: r("RESTORE", "restored", 0, dump[0])))
r("DEL", "restored")
r("AF.RESERVE", "like", 0.01, MILLION, "LIKE", "f")
r("AF.MADD", "like", "x")
print("AF.MERGE           %7.0f ms" % cost(lambda: r("AF.MERGE", "merged", "f", "like")))
r("DEL", "merged")
at, times, loads = 0, [], []
while True:
    reply = []
    times.append(cost(lambda: reply.append(r("AF.SCANDUMP", "f", at))))
    at, chunk = reply[0]
    if at == 0:
        break
    loads.append(cost(lambda: r("AF.LOADCHUNK", "loaded", at, chunk)))
print("AF.SCANDUMP        %7.0f ms per chunk (%d chunks)" % (max(times), len(loads)))
print("AF.LOADCHUNK       %7.0f ms, the last one %.0f ms" % (max(loads[:-1]), loads[-1]))
wrong = ["absent-%d" % i for i in range(400000)]
wrong = [item for begin in range(0, len(wrong), 1000)
         for item, yes in zip(wrong[begin:begin + 1000], r("AF.MEXISTS", "f", *wrong[begin:begin + 1000])) if yes]
reports = [cost(lambda: r("AF.REPORT", "f", item)) / 1000 for item in wrong]
print("AF.REPORT, %d reports: " % len(reports), percentiles(reports))
replica.close()
master.close()
