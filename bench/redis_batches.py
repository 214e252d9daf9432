"""redis_batches.py PORT: AF.MEXISTS and SMISMEMBER of 100 random items each, as fast as the server can.

redis-benchmark takes longer to make such requests than the server to answer them, so here they are made beforehand. The
figure is items for each second that the server was at work, by its own count of processor time."""

import random
import socket
import sys

ITEMS, COMMANDS, TURNS = 100, 500, 10


def encoded(words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Link:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.stream = self.socket.makefile("rb")

    def cpu_seconds(self):
        self.socket.sendall(encoded([b"INFO", b"cpu"]))
        text = self.stream.read(int(self.stream.readline()[1:]) + 2).decode()
        values = dict(line.split(":") for line in text.split() if ":" in line)
        return float(values["used_cpu_user"]) + float(values["used_cpu_sys"])

    def run(self, name, key):
        dice = random.Random(1)
        requests = [encoded([name, key] + [b"%012d" % dice.randrange(10 ** 6) for _ in range(ITEMS)])
                    for _ in range(COMMANDS)]
        reply_len = len(b"*%d\r\n" % ITEMS) + ITEMS * len(b":1\r\n")
        pipelines = [b"".join(requests[i:i + 16]) for i in range(0, COMMANDS, 16)]
        begin = self.cpu_seconds()
        for _ in range(TURNS):
            for i, pipeline in enumerate(pipelines):
                self.socket.sendall(pipeline)
                self.stream.read(reply_len * len(requests[16 * i:16 * i + 16]))
        return TURNS * COMMANDS * ITEMS / (self.cpu_seconds() - begin)


link = Link(int(sys.argv[1]))
for name, key in ((b"AF.MEXISTS", b"filter"), (b"SMISMEMBER", b"set")):
    best = max(link.run(name, key) for _ in range(5))
    print("%s of %d %8.2f million items a second of the server's processor" % (name.decode(), ITEMS, best / 1e6))
