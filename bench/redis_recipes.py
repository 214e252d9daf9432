"""redis_recipes.py [DIRECTORY]: reads of a database behind a filter, for absent keys that are repeated or chosen by a
hostile client, for each recipe of docs/redis.md. The Bloom filters are the model of RedisBloom's,
tests/system/redis/redisbloom_model.py, loaded by BF.LOADCHUNK and never reported to; their memory is their bits.
Starts redis-server with build/besom-redis.so. Draws the reads into files redis-recipe-NAME.svg of DIRECTORY."""

import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
os.environ.setdefault("BESOM_MODULE", os.path.join(ROOT, "build", "besom-redis.so"))
sys.path.insert(0, os.path.join(ROOT, "tests", "system", "redis"))
from redisbloom_model import Bloom  # noqa: E402
from servers import Server  # noqa: E402

RATE = 0.01

# Of each recipe: its keys in the server, their members, the absent items of the honest clients, and how often each is
# asked. Seen lists have a key per user; a page shows each of them the same ten articles until they are read.
RECIPES = {
    "users": (1, 20000, 2000, 10),
    "stream": (1, 50000, 4000, 5),
    "tokens": (1, 50000, 2000, 10),
    "seen": (200, 100, 10, 10),
}


class Shop:
    """Counts the reads of the database."""

    def __init__(self, ask, report=None):
        self.ask, self.report, self.reads = ask, report, 0
        self.history = []  # the reads after each request

    def find(self, key, item):
        """Whether the database was read: what a hostile client sees. All items are absent."""
        found = bool(self.ask(key, item))
        self.reads += found
        self.history.append(self.reads)
        if found and self.report:
            self.report(key, item)
        return found


def repeated(shop, keys, absent, times):
    for _ in range(times):
        for key in range(keys):
            for i in range(absent):
                shop.find(key, "absent%d" % i)
    return shop


def hostile(shop, keys):
    """Half of the requests look for slow items, the others repeat those that were found."""
    guesses = ((i % keys, "guess%d" % (i // keys)) for i in range(10000))
    slow = [guess for guess in guesses if shop.find(*guess)]
    for i in range(10000 if slow else 0):
        shop.find(*slow[i % len(slow)])
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


def panel(left, title, shops, requests):
    """Reads over requests, as SVG."""
    top = max(max(shop.reads for _, shop in shops), 1)
    parts = ['<text class="title" x="%d" y="24">%s</text>' % (left, title),
             '<path class="grid" d="M%d 60V240H%d"/>' % (left, left + 250),
             '<text x="%d" y="54">%d reads</text><text x="%d" y="258">%d requests</text>' % (left, top, left + 150,
                                                                                            requests)]
    last, step = 250, requests // 20
    for name, shop in sorted(shops, key=lambda pair: pair[1].reads):
        points = " ".join("%.0f,%.1f" % (left + 250 * i / 20, 240 - 180 * shop.history[max(step * i - 1, 0)] / top)
                          for i in range(min(20, len(shop.history) // step) + 1))
        last = min(last - 16, 244 - 180 * shop.reads / top)
        parts.append('<path class="%s" d="M%s"/><text class="%s" x="%d" y="%.0f">%s: %d</text>' %
                     (name, points.replace(" ", "L"), name, left + 256, last, NAMES[name], shop.reads))
    return "\n".join(parts)


def draw(path, results):
    titles = ("Absent keys are repeated", "A hostile client repeats what was slow")
    panels = [panel(30 + 430 * i, title, shops, 20000) for i, (title, shops) in enumerate(zip(titles, results))]
    with open(path, "w") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 270" width="880" height="270">\n<style>%s'
                   '</style>\n%s\n</svg>\n' % (STYLE, "\n".join(panels)))


def in_steps(r, command, key, items):
    for i in range(0, len(items), 1000):
        r(command, key, *items[i:i + 1000])


def fill(r, keys, members):
    """Fills set:K, bloom:K and af:K for each key, and returns the bytes of all Bloom filters."""
    bits = 0
    for key in range(keys):
        items = ["member%d.%d" % (key, i) for i in range(members)]
        in_steps(r, "SADD", "set:%d" % key, items)
        bloom = Bloom(RATE, members)
        for item in items:
            bloom.add(item.encode())
        for chunk in bloom.chunks():
            r("BF.LOADCHUNK", "bloom:%d" % key, *chunk)
        bits += sum(len(layer["data"]) for layer in bloom.layers)
        r("AF.RESERVE", "af:%d" % key, RATE, members, "NONSCALING", "SEED", "%032x" % (key + 42))
        in_steps(r, "AF.MADD", "af:%d" % key, items)
    return bits


def memory_usage(r, kind, keys):
    return sum(r("MEMORY", "USAGE", "%s:%d" % (kind, key), "SAMPLES", 0) for key in range(keys))


def measure(r, recipe, directory):
    keys, members, absent, times = RECIPES[recipe]
    r("FLUSHALL")
    memory = {"bloom": fill(r, keys, members), "set": memory_usage(r, "set", keys)}

    def shops():
        yield "set", Shop(lambda key, item: r("SISMEMBER", "set:%d" % key, item))
        yield "bloom", Shop(lambda key, item: r("BF.EXISTS", "bloom:%d" % key, item))
        yield "af", Shop(lambda key, item: r("AF.EXISTS", "af:%d" % key, item),
                         lambda key, item: r("AF.REPORT", "af:%d" % key, item))

    results = [(name, repeated(shop, keys, absent, times)) for name, shop in shops()]
    # the reports of the first panel have no effect on the second: its items are others
    results = results, [(name, hostile(shop, keys)) for name, shop in shops()]
    memory["af"] = memory_usage(r, "af", keys)
    for (name, first), (_, second) in zip(*results):
        print("%-6s %-6s repeated %6d  hostile %6d  memory %d KB" % (recipe, name, first.reads, second.reads,
                                                                     memory[name] / 1000), flush=True)
    if directory:
        draw(os.path.join(directory, "redis-recipe-%s.svg" % recipe), results)


def main():
    server = Server(module_options=["compat", "yes"])
    for recipe in RECIPES:
        measure(server.client(), recipe, sys.argv[1] if len(sys.argv) > 1 else None)
    server.close()


if __name__ == "__main__":
    main()
