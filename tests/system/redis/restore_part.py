"""RESTORE of malformed payloads with right checksums (mutate_dumps.c): each is refused or becomes a filter that can be
used, and the server never crashes. A unit of work is one payload. The server runs with the sanitizers of --build,
build/asan by default."""

import base64
import json
import os
import random
import subprocess

import part
from servers import Server

WINDOW = 200  # payloads that are sent at once
PROGRAM = "tests/system/redis/mutate_dumps"
USES = (["AF.EXISTS", 1], ["AF.MEXISTS", *range(30)], ["AF.ADD", "x"], ["AF.REPORT", "y", "z", 5000], ["AF.INFO"],
        ["AF.SCANDUMP", 0], ["AF.DEL", 1], ["AF.NOADD", "n"], ["AF.MADD", *range(200, 320)], ["AF.COUNT", 3],
        ["AF.NODEL", "n"], ["BF.INFO"], ["BF.DEBUG"], ["CF.INFO"], ["BF.ADD", "b"], ["CF.DEL", 2], ["BF.SCANDUMP", 0],
        ["CF.SCANDUMP", 1])
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "redisbloom", "filters.json")
UNCOMPRESSED = ("bf-100", "bf-1000", "bf-grown4", "bf-fixed", "bf-default", "cf-b4")  # strings in the payloads of RedisBloom


def redisbloom(r):
    """Filters of RedisBloom, also with new items and reports. Returns the payloads of RedisBloom."""
    with open(FIXTURES) as file:
        filters = json.load(file)
    for name in ("bf-100", "cf-1000", "cf-dups"):
        for iterator, data in filters[name]["chunks"]:
            r(filters[name]["family"] + ".LOADCHUNK", name, iterator, base64.b64decode(data))
    r("AF.MADD", "cf-dups", *range(50))
    r("AF.REPORT", "cf-dups", *range(5000, 7000))
    return [base64.b64decode(filters[name]["dump"]) for name in UNCOMPRESSED]


def fill(r, dice):
    """Small filters of every kind, with everything that a filter can hold. Returns their payloads."""
    for i, words in enumerate((["KIND", "aqf"], ["KIND", "aqf", "VALUEBITS", 3], ["KIND", "aqf", "HASH", "xxh3"],
                               ["KIND", "scaling"], ["KIND", "scaling", "EXPANSION", 4], ["KIND", "qf"], ["KIND", "cf"],
                               ["KIND", "vacuum"], ["KIND", "bloom"], ["KIND", "blocked-bloom"], ["KIND", "cached"],
                               ["KIND", "yesno-dynamic"])):
        key = "s%d" % i
        r("AF.RESERVE", key, dice.choice((0.2, 0.01)), dice.choice((20, 100, 250)), *words)
        for command in (["AF.MADD", key, *range(dice.randrange(300))], ["AF.REPORT", key, *range(4000, 4200)],
                        ["AF.NOADD", key, "n1", "n2"]):
            r.send(*command)
            r.read()  # an error is fine: not every kind can do everything
    r("CONFIG", "SET", "besom.chunk-bytes", 1024)  # a value with some of its chunks
    r("AF.MADD", "large", *range(4000))
    at, data = r("AF.SCANDUMP", "large", 0)
    r("AF.LOADCHUNK", "partial", at, data)
    r("DEL", "large")
    r("CONFIG", "SET", "besom.chunk-bytes", 1 << 20)
    foreign = redisbloom(r)
    return foreign + [r("DUMP", key) for key in r("KEYS", "*")]


def mutations(payloads, seed, amount):
    """Payloads, each with whether it must be refused."""
    program = os.path.join(part.ROOT, part.option("--program-build", "build"), PROGRAM)
    process = subprocess.Popen([program, "--seed", str(seed), "--amount", str(amount)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    for payload in payloads:
        process.stdin.write(len(payload).to_bytes(4, "little") + payload)
    process.stdin.close()
    for _ in range(amount):
        length = int.from_bytes(process.stdout.read(4), "little")
        yield process.stdout.read(length & 0x7fffffff), bool(length >> 31)
    assert process.wait() == 0


def use(r, key):
    for command, *words in USES:
        r.send(command, key, *words)
    for _ in USES:
        r.read()


def check_window(r, window):
    """Returns how many payloads were accepted."""
    replies = r.pipeline([["RESTORE", "g%d" % i, 0, payload, "REPLACE"] for i, (payload, _) in enumerate(window)])
    accepted = [i for i, reply in enumerate(replies) if reply == "OK"]
    for reply, (_, is_wrong) in zip(replies, window):
        assert reply == "OK" or "Bad data format" in str(reply), reply
        assert reply != "OK" or not is_wrong, "a filter with a wrong checksum is accepted"
    for i in accepted:
        use(r, "g%d" % i)
    r("FLUSHALL")
    return len(accepted)


def work(seed, amount):
    server = Server("--rdbcompression", "no", module_options=["compat", "yes"])
    try:
        r = server.client()
        stream = mutations(fill(r, random.Random(seed)), seed, amount)
        accepted = done = 0
        while done < amount:
            window = [next(stream) for _ in range(min(WINDOW, amount - done))]
            accepted += check_window(r, window)
            done += len(window)
        assert not list(stream)
    except ConnectionError:
        raise AssertionError("the server died:\n" + server.sanitizer_reports() + server.read_log()[-3000:])
    server.close()  # exits if a sanitizer has reported anything
    return {"payloads": amount, "accepted": accepted}


if __name__ == "__main__":
    part.run(work, part.option("--build", "build/asan"))
