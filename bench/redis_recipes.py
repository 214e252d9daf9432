"""redis_recipes.py [SVG]: reads of a database behind a filter, for absent keys that are repeated or chosen by a hostile
client (docs/redis.md, Recipes). The Bloom filter is the model of RedisBloom's, tests/system/redis/redisbloom_model.py,
loaded by BF.LOADCHUNK and never reported to; its memory is its bits. Starts redis-server with build/besom-redis.so.
Draws the reads into the file SVG."""

import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
os.environ.setdefault("BESOM_MODULE", os.path.join(ROOT, "build", "besom-redis.so"))
sys.path.insert(0, os.path.join(ROOT, "tests", "system", "redis"))
from redisbloom_model import Bloom  # noqa: E402
from servers import Server  # noqa: E402

USERS = ["user%d" % i for i in range(20000)]


class Shop:
    """Counts the reads of the database."""

    def __init__(self, ask, report=None):
        self.ask, self.report, self.reads = ask, report, 0
        self.history = []  # the reads after each request

    def find(self, name):
        """Whether the database was read: what a hostile client sees. All names are absent."""
        found = bool(self.ask(name))
        self.reads += found
        self.history.append(self.reads)
        if found and self.report:
            self.report(name)
        return found


def repeated(shop):
    for _ in range(10):
        for i in range(2000):
            shop.find("absent%d" % i)
    return shop


def hostile(shop):
    slow = [name for name in ("guess%d" % i for i in range(10000)) if shop.find(name)]
    for i in range(10000 if slow else 0):
        shop.find(slow[i % len(slow)])
    return shop


STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #333b45 }
  .title { font-size: 15px; font-weight: 600 }
  .grid { stroke: #d7dce2 }
  path { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .bloom { stroke: #b45309 } text.bloom { stroke: none; fill: #b45309 }
  .set { stroke: #64748b } text.set { stroke: none; fill: #64748b }
  .af { stroke: #0a7f5a } text.af { stroke: none; fill: #0a7f5a; font-weight: 600 }
  @media (prefers-color-scheme: dark) { text { fill: #e3e7ec } .grid { stroke: #3a424c } }"""
NAMES = {"set": "set", "bloom": "RedisBloom", "af": "AF.* with reports"}


def panel(left, title, shops):
    """Reads over requests, as SVG."""
    top = max(max(shop.reads for _, shop in shops), 1)
    parts = ['<text class="title" x="%d" y="24">%s</text>' % (left, title),
             '<path class="grid" d="M%d 60V240H%d"/>' % (left, left + 250),
             '<text x="%d" y="54">%d reads</text><text x="%d" y="258">20000 requests</text>' % (left, top, left + 150)]
    last = 250
    for name, shop in sorted(shops, key=lambda pair: pair[1].reads):
        points = " ".join("%.0f,%.1f" % (left + 250 * i / 20, 240 - 180 * shop.history[max(1000 * i - 1, 0)] / top)
                          for i in range(min(20, len(shop.history) // 1000) + 1))
        last = min(last - 16, 244 - 180 * shop.reads / top)
        parts.append('<path class="%s" d="M%s"/><text class="%s" x="%d" y="%.0f">%s: %d</text>' %
                     (name, points.replace(" ", "L"), name, left + 256, last, NAMES[name], shop.reads))
    return "\n".join(parts)


def draw(path, results):
    titles = ("Absent keys are repeated", "A hostile client repeats what was slow")
    panels = [panel(30 + 430 * i, title, shops) for i, (title, shops) in enumerate(zip(titles, results))]
    with open(path, "w") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 270" width="880" height="270">\n<style>%s'
                   '</style>\n%s\n</svg>\n' % (STYLE, "\n".join(panels)))


def main():
    server = Server(module_options=["compat", "yes"])
    r = server.client()
    for i in range(0, len(USERS), 1000):
        r("SADD", "set", *USERS[i:i + 1000])
    memory = {"set": r("MEMORY", "USAGE", "set", "SAMPLES", 0)}
    bloom = Bloom(0.01, len(USERS))
    for name in USERS:
        bloom.add(name.encode())
    for chunk in bloom.chunks():
        r("BF.LOADCHUNK", "bloom", *chunk)
    memory["bloom"] = sum(len(layer["data"]) for layer in bloom.layers)
    r("AF.RESERVE", "af", 0.01, len(USERS), "SEED", "42" * 16)
    for i in range(0, len(USERS), 1000):
        r("AF.MADD", "af", *USERS[i:i + 1000])

    def shops():
        yield "set", Shop(lambda name: r("SISMEMBER", "set", name))
        yield "bloom", Shop(lambda name: r("BF.EXISTS", "bloom", name))
        yield "af", Shop(lambda name: r("AF.EXISTS", "af", name), lambda name: r("AF.REPORT", "af", name))

    results = [(name, repeated(shop)) for name, shop in shops()]
    # the reports of the first panel have no effect on the second: its keys are others
    results = results, [(name, hostile(shop)) for name, shop in shops()]
    memory["af"] = r("MEMORY", "USAGE", "af")
    for (name, first), (_, second) in zip(*results):
        print("%-6s repeated %6d  hostile %6d  memory %d KB" % (name, first.reads, second.reads,
                                                                            memory[name] / 1000))
    if len(sys.argv) > 1:
        draw(sys.argv[1], results)
    server.close()


if __name__ == "__main__":
    main()
