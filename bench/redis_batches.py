"""redis_batches.py PORT: throughput of AF.MEXISTS and SMISMEMBER with 100 random items per command.

redis-benchmark takes longer to make such requests than the server takes to answer them. So this
script makes the requests before it measures. The result is items per second of the server's CPU
time, as the server itself counts it."""

import random
import socket
import sys

ITEMS, COMMANDS, ROUNDS = 100, 500, 10


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

    def run(self, name, key):
        dice = random.Random(1)
        requests = [encode([name, key] + [b"%012d" % dice.randrange(10 ** 6)
                                          for _ in range(ITEMS)])
                    for _ in range(COMMANDS)]
        reply_len = len(b"*%d\r\n" % ITEMS) + ITEMS * len(b":1\r\n")
        pipelines = [b"".join(requests[i:i + 16]) for i in range(0, COMMANDS, 16)]
        begin = self.cpu_seconds()
        for _ in range(ROUNDS):
            for i, pipeline in enumerate(pipelines):
                self.socket.sendall(pipeline)
                self.stream.read(reply_len * len(requests[16 * i:16 * i + 16]))
        return ROUNDS * COMMANDS * ITEMS / (self.cpu_seconds() - begin)


connection = Connection(int(sys.argv[1]))
for name, key in ((b"AF.MEXISTS", b"filter"), (b"SMISMEMBER", b"set")):
    best = max(connection.run(name, key) for _ in range(5))
    print("%s of %d %8.2f million items per second of server CPU time"
          % (name.decode(), ITEMS, best / 1e6))
