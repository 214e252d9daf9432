"""model.py [commands] [seed]: random commands, checked against a model with exact answers.

The model is a multiset of members, a set of items on the no list, and a set of fixed false positives. Laws: members
are answered yes; items on the no list are answered no; fixed items are answered no until another item is added; the
number of items is exact. Some filters pass through DUMP, COPY or SCANDUMP, and the server is restarted from its files;
the filters must be equal afterwards.
"""

import collections
import random
import sys
import time

from servers import ReplyError, Server, digest, wait_for_replica, replica_of, wait_for

# adapts: takes reports and a no list, both exact, and FORGET, with which a full reserve forgets
# reports
KINDS = {"aqf": dict(adapts=True, remove=True, counts=True),
         "qf": dict(adapts=True, remove=True, counts=True),
         "cf": dict(adapts=True, remove=True, counts=True),
         "bloom": dict(adapts=True, remove=False, counts=False),
         "scaling": dict(adapts=True, remove=True, counts=True),
         "cached": dict(adapts=False, remove=True, counts=True)}


class Model:
    """A key and its expected content."""

    def __init__(self, r, key, dice):
        self.r, self.key, self.dice = r, key, dice
        self.kind = dice.choice(["aqf", "scaling"] * 2 + list(KINDS))
        self.can = KINDS[self.kind]
        self.members, self.no, self.fixed = collections.Counter(), set(), set()
        self.items, self.adapted = 0, False
        self.value_bits = dice.choice((0, 0, 4)) if self.kind in ("aqf", "scaling") else 0
        words = ["AF.RESERVE", key, dice.choice((0.3, 0.05, 0.001)), dice.choice((1, 10, 300, 3000)), "KIND", self.kind,
                 "HASH", dice.choice(("sip", "xxh3"))]
        if self.value_bits:
            words += ["VALUEBITS", self.value_bits]
        self.forgets = self.can["adapts"] and dice.random() < 0.5
        if self.can["adapts"]:
            words.append("FORGET" if self.forgets else "REFUSE")
        if self.kind == "scaling":
            words += ["EXPANSION", dice.choice((1, 2, 4))]
        elif dice.random() < 0.5:
            words.append("NONSCALING")
        r(*words)

    def item(self):
        if self.members and self.dice.random() < 0.3:
            return self.dice.choice(list(self.members)[:50])
        return "i%d" % self.dice.randrange(20000)

    def count_added(self, item, reply):
        if isinstance(reply, ReplyError):
            return
        if self.can["remove"] or item not in self.members:
            if reply or self.can["remove"]:
                self.items += 1
        self.members[item] += 1
        self.no.discard(item)
        self.fixed.clear()

    def add(self):
        items = [self.item() for _ in range(self.dice.choice((1, 1, 5, 100)))]
        for item, reply in zip(items, self.r("AF.MADD", self.key, *items)):
            self.count_added(item, reply)

    def add_one(self):
        item = self.item()
        try:
            self.count_added(item, self.r("AF.ADD", self.key, item))
        except ReplyError as error:
            self.count_added(item, error)

    def remove(self):
        if not self.can["remove"] or not self.members:
            return
        item = self.dice.choice(list(self.members)[:50])
        assert self.r("AF.DEL", self.key, item) == 1, item
        self.items -= 1
        self.members[item] -= 1
        if not self.members[item]:
            del self.members[item]

    def report(self):
        if not self.can["adapts"]:
            return
        items = [i for i in (self.item() for _ in range(20)) if i not in self.members]
        self.adapted = True
        if items:
            for item, reply in zip(items, self.r("AF.REPORT", self.key, *items)):
                if not isinstance(reply, ReplyError) and not self.forgets:
                    self.fixed.add(item)

    def no_add(self):
        if not self.can["adapts"]:
            return
        item = self.item()
        self.adapted = True
        if item not in self.members:
            reply, = self.r("AF.NOADD", self.key, item)
            if not isinstance(reply, ReplyError):
                self.no.add(item)

    def no_remove(self):
        if self.no:
            item = self.dice.choice(sorted(self.no))
            assert self.r("AF.NODEL", self.key, item) == [1], item
            self.no.discard(item)
            self.fixed.discard(item)

    def set_value(self):
        if self.value_bits and self.members:
            item = self.dice.choice(list(self.members)[:50])
            try:
                value = self.dice.randrange(16)
                assert self.r("AF.SETVAL", self.key, item, value) == 1
            except ReplyError as error:
                assert "several" in str(error), error

    def check(self):
        members, denied = list(self.members), list(self.no | self.fixed)
        if members:
            answers = self.r("AF.MEXISTS", self.key, *members)
            assert all(answers), (self.key, [m for m, a in zip(members, answers) if not a][:5])
            if self.can["counts"]:
                item = self.dice.choice(members)
                assert self.r("AF.COUNT", self.key, item) >= self.members[item], item
        if denied:
            answers = self.r("AF.MEXISTS", self.key, *denied)
            assert not any(answers), (self.key, [m for m, a in zip(denied, answers) if a][:5])
        card = self.r("AF.CARD", self.key)
        # a bloom counts an item that sets a bit: one that was denied may set none
        uncounted = self.adapted and not self.can["remove"]
        told = (self.key, self.kind, self.items, card)
        assert card == self.items or (uncounted and card < self.items), told

    def serialize(self):
        before = self.r("DEBUG", "DIGEST-VALUE", self.key)
        way = self.dice.choice(("dump", "copy", "scandump"))
        if way == "dump":
            self.r("RESTORE", "copy", 0, self.r("DUMP", self.key), "REPLACE")
        elif way == "copy":
            self.r("COPY", self.key, "copy", "REPLACE")
        else:
            at = 0
            while True:
                at, data = self.r("AF.SCANDUMP", self.key, at)
                if at == 0:
                    break
                self.r("AF.LOADCHUNK", "copy", at, data)
        self.r("RENAME", "copy", self.key)
        assert before == self.r("DEBUG", "DIGEST-VALUE", self.key), way


def run(commands, seed):
    dice = random.Random(seed)
    server = Server("--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", dice.choice(("yes", "no")))
    replica = replica_of(server)
    r = server.client()
    r("CONFIG", "SET", "besom.chunk-bytes", 4096)
    models = {}
    actions = [Model.add] * 6 + [Model.add_one] * 4 + [Model.remove] * 6 + [Model.report] * 3 + [Model.no_add] * 3 + \
              [Model.no_remove] * 2 + [Model.set_value] + [Model.check] * 3 + [Model.serialize]
    for i in range(commands):
        key = "k%d" % dice.randrange(8)
        if key not in models or dice.random() < 0.002:
            r(dice.choice(("DEL", "UNLINK")), key)
            models[key] = Model(r, key, dice)
        dice.choice(actions)(models[key])
        if i % 4000 == 3999:
            wait_for_replica(server, replica)
            assert digest(r) == digest(replica.client()), "the replica differs"
        if i % 10000 == 9999:
            before = digest(r)
            if dice.random() < 0.5:
                r("BGREWRITEAOF")
                wait_for(lambda: b"aof_rewrite_in_progress:0" in r("INFO", "persistence"), what="the rewrite")
            server.restart(kill=dice.random() < 0.5)
            r = server.client()
            r("CONFIG", "SET", "besom.chunk-bytes", 4096)
            assert before == digest(r), "the server differs after a restart"
            for model in models.values():
                model.r = r
            wait_for(lambda: b"master_link_status:up" in replica.client()("INFO", "replication"), what="the replica")
    for model in models.values():
        model.check()
    wait_for_replica(server, replica)
    assert digest(r) == digest(replica.client()), "the replica differs"
    replica.close()
    server.close()


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
    start = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    print("model.py %d %d" % (number, start), flush=True)  # to reproduce the run
    run(number, start)
