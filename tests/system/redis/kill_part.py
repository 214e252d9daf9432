"""Kills a server under load, at random moments, and starts it again. Clients add, remove and report items and change no
lists, in filters that grow. What the server had acknowledged must be there: with an append-only file all of it, with
RDB files what was acknowledged before the last save that succeeded. A unit of work is one kill."""

import random
import threading
import time

import part
from servers import ReplyError, Server

KINDS = [["KIND", "scaling"], ["KIND", "scaling", "EXPANSION", 4], ["KIND", "aqf"], ["KIND", "cf"], ["KIND", "qf"]]
SYNCS = ["always", "always", "no"]  # "everysec" may delay a write for two seconds, and so lose it
MOST_KILLS = 12


class Filter:
    """A filter and what its clients know of it: sets of items that are members, on the no list, or uncertain. An item
    is uncertain while the command that changes it has no answer."""

    def __init__(self, key, dice):
        self.key, self.words = key, dice.choice(KINDS)
        self.learns = self.words[1] in ("scaling", "aqf")
        self.rate, self.capacity = dice.choice((0.2, 0.01)), dice.choice((1, 20, 500))
        self.members, self.no, self.uncertain = set(), set(), set()
        self.saved = None

    def make(self, r):
        r("AF.RESERVE", self.key, self.rate, self.capacity, *self.words)

    def snapshot(self):
        """Also while another thread changes them."""
        return self.members.copy(), self.no.copy()


class Worker:
    """A client with filters of its own, so that it knows the order of its commands."""

    def __init__(self, number, dice):
        self.dice, self.next = random.Random(dice.random()), 0
        self.filters = [Filter("f%d-%d" % (number, i), dice) for i in range(2)]
        self.error = None
        self.commands = 0

    def run(self, server):
        try:
            r = server.client()
            while True:
                self.change(r, self.dice.choice(self.filters))
        except (OSError, ValueError):  # killed
            pass
        except Exception as error:
            self.error = error

    def change(self, r, f):
        action = self.dice.random()
        self.commands += 1
        if action < 0.6 or not f.members:
            self.add(r, f)
        elif action < 0.75:
            self.remove(r, f)
        elif action < 0.9 and f.learns:
            self.put_on_no_list(r, f)
        elif f.learns:
            r("AF.REPORT", f.key, *["x%d" % self.dice.randrange(100000) for _ in range(20)])

    def fresh(self, n):
        self.next += n
        return ["%d" % (self.next - i) for i in range(n)]

    def add(self, r, f):
        items = self.fresh(self.dice.choice((1, 5, 40)))
        f.uncertain.update(items)
        replies = r("AF.MADD", f.key, *items)
        f.members.update(item for item, reply in zip(items, replies) if not isinstance(reply, ReplyError))
        f.uncertain.difference_update(items)

    def remove(self, r, f):
        item = next(iter(f.members))
        f.members.discard(item)
        f.uncertain.add(item)
        r("AF.DEL", f.key, item)
        f.uncertain.discard(item)

    def put_on_no_list(self, r, f):
        item, = self.fresh(1)
        reply, = r("AF.NOADD", f.key, "n" + item)
        if not isinstance(reply, ReplyError):
            f.no.add("n" + item)


def check(r, f, members, no, exact):
    """With exact, f also has no items that it should not have, but for the uncertain ones."""
    if members:
        items = list(members)
        answers = r("AF.MEXISTS", f.key, *items)
        lost = [item for item, answer in zip(items, answers) if not answer]
        assert not lost, "%s %s: %d of %d acknowledged items are lost" % (f.key, f.words, len(lost), len(items))
    if no:
        items = list(no)
        answers = r("AF.MEXISTS", f.key, *items)
        lost = [item for item, answer in zip(items, answers) if answer]
        assert not lost, "%s %s: the no list has lost %d items" % (f.key, f.words, len(lost))
    if exact:
        n = r("AF.CARD", f.key)
        assert len(members) <= n <= len(members) + len(f.uncertain), (f.key, n, len(members), len(f.uncertain))


class Trial:
    """One server with its files, killed some times."""

    def __init__(self, dice):
        self.dice = dice
        self.is_aof = dice.random() < 0.7
        self.server = Server(*self.options())
        self.workers = [Worker(i, dice) for i in range(dice.choice((1, 2, 4)))]
        r = self.server.client()
        for f in self.filters():
            f.make(r)
        self.save(r)

    def options(self):
        if not self.is_aof:
            return ["--save", "", "--rdbcompression", self.dice.choice(("yes", "no"))]
        return ["--appendonly", "yes", "--appendfsync", self.dice.choice(SYNCS), "--aof-use-rdb-preamble",
                self.dice.choice(("yes", "no")), "--auto-aof-rewrite-percentage", 1, "--auto-aof-rewrite-min-size",
                self.dice.choice(("10kb", "100kb", "10mb"))]

    def filters(self):
        return [f for worker in self.workers for f in worker.filters]

    def save(self, r):
        """With RDB files: what the clients know before a save must survive it. The caller has stopped the clients."""
        if not self.is_aof:
            r("SAVE")
            for f in self.filters():
                f.saved = f.snapshot()

    def save_under_load(self, seconds):
        """A save in a child of the server shows a moment after it began."""
        r = self.server.client()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            before = {f.key: f.snapshot() for f in self.filters()}
            r("BGSAVE")
            while b"rdb_bgsave_in_progress:1" in r("INFO", "persistence") and time.monotonic() < end:
                time.sleep(0.001)
            info = r("INFO", "persistence")
            if b"rdb_bgsave_in_progress:1" in info:
                return
            assert b"rdb_last_bgsave_status:ok" in info, info
            for f in self.filters():
                f.saved = before[f.key]

    def kill_once(self):
        threads = [threading.Thread(target=worker.run, args=(self.server,), daemon=True) for worker in self.workers]
        for thread in threads:
            thread.start()
        seconds = self.dice.uniform(0.001, 0.25)
        if self.is_aof:
            time.sleep(seconds)
        else:
            self.save_under_load(seconds)
        self.server.kill()
        for thread in threads:
            thread.join()
        for worker in self.workers:
            assert worker.error is None, worker.error
        assert self.server.start(), "the server does not start again:\n" + self.server.read_log()[-3000:]
        self.check_all()

    def check_all(self):
        r = self.server.client()
        for f in self.filters():
            if self.is_aof:
                check(r, f, f.members, f.no, True)
                if f.uncertain:
                    self.forget(r, f)
            else:
                removed = f.saved[0] - f.members  # removed after the save began, perhaps before its moment
                check(r, f, f.saved[0] - removed, f.saved[1], False)
                self.forget(r, f)
        self.save(r)

    def forget(self, r, f):
        """A new filter, because what the clients know is not exact any more."""
        r("DEL", f.key)
        f.members, f.no, f.uncertain = set(), set(), set()
        f.make(r)


def work(seed, amount):
    dice = random.Random(seed)
    kills = commands = 0
    while kills < amount:
        trial = Trial(dice)
        for _ in range(min(dice.randint(1, MOST_KILLS), amount - kills)):
            trial.kill_once()
            kills += 1
        commands += sum(worker.commands for worker in trial.workers)
        trial.server.close()
    return {"kills": kills, "commands": commands}


if __name__ == "__main__":
    part.run(work)
