"""redis_batches.py PORT: the server's CPU time per item of AF.EXISTS and AF.ADD, compared with SISMEMBER and SADD, and
of AF.MEXISTS and SMISMEMBER with 100 random items per command.

redis-benchmark takes longer to make requests than the server takes to answer them. So this script makes the requests
before it measures, and counts the CPU time that the server itself reports. The commands alternate, and the best of
five rounds counts."""

import random
import socket
import sys

ROUNDS = 5


def encode(words):
    return b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.stream = self.socket.makefile("rb")

    def cpu_seconds(self):
        self.socket.sendall(encode([b"INFO", b"cpu"]))
        text = self.stream.read(int(self.stream.readline()[1:]) + 2).decode()
        values = dict(line.split(":") for line in text.split() if ":" in line)
        return float(values["used_cpu_user"]) + float(values["used_cpu_sys"])

    def run(self, name, key, items, commands, repeats):
        """Microseconds of CPU time per item. All replies have the same length: integers of one digit."""
        dice = random.Random(1)
        requests = [encode([name, key] + [b"%012d" % dice.randrange(10 ** 6) for _ in range(items)])
                    for _ in range(commands)]
        reply_len = (len(b"*%d\r\n" % items) if items > 1 else 0) + items * len(b":1\r\n")
        pipelines = [b"".join(requests[i:i + 16]) for i in range(0, commands, 16)]
        begin = self.cpu_seconds()
        for _ in range(repeats):
            for i, pipeline in enumerate(pipelines):
                self.socket.sendall(pipeline)
                self.stream.read(reply_len * len(requests[16 * i:16 * i + 16]))
        return 1e6 * (self.cpu_seconds() - begin) / (repeats * commands * items)

    def compare(self, ours, theirs, items, commands, repeats, key=b"filter", other=b"set"):
        best = {}
        for _ in range(ROUNDS):
            for name, where in ((ours, key), (theirs, other)):
                best[name] = min(best.get(name, 1e9), self.run(name, where, items, commands, repeats))
        for name, micros in best.items():
            print("%-10s %3d items per command %7.3f us, %6.2f million items per second of server CPU time"
                  % (name.decode(), items, micros, 1 / micros))
        print("%s / %s  %.2f   (target: at least 1.0)"
              % (ours.decode(), theirs.decode(), best[theirs] / best[ours]))
        return best


connection = Connection(int(sys.argv[1]))
connection.compare(b"AF.EXISTS", b"SISMEMBER", 1, 20000, 3)
connection.compare(b"AF.ADD", b"SADD", 1, 20000, 3)
best = connection.compare(b"AF.MEXISTS", b"SMISMEMBER", 100, 500, 10)
print("AF.MEXISTS: target at least 6 million items per second, %.2f" % (1 / best[b"AF.MEXISTS"]))
