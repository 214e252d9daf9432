"""Failovers while clients fill filters that grow: by hand, and because the master was killed. A failover by hand loses
nothing; a replica that takes over from a killed master has all that it had acknowledged (WAIT). A unit of work is one
failover."""

import random

import part
from failover import AOF, Load, Moments, role
from servers import Client, fail_over, wait_for, wait_for_link, wait_for_replica


class RecordingClient(Client):
    """Keeps the items that a server has acknowledged, by its port."""

    acknowledged = {}

    def __init__(self, port):
        super().__init__(port)
        self.items = self.acknowledged.setdefault(port, [])

    def __call__(self, *words):
        reply = super().__call__(*words)
        if words[0] == "AF.MADD":
            self.items.extend(item for item, missing in zip(words[2:], reply) if missing in (0, 1))
        return reply


class Pair(Moments):
    def setUp(self):
        super().setUp()
        RecordingClient.acknowledged.clear()

    def fail_over_by_hand(self, master, replica):
        fail_over(master, replica)
        wait_for(lambda: role(replica) == "master" and role(master) == "slave", what="the failover")

    def fail_over_by_kill(self, master, replica):
        """Items that only the old master has acknowledged may be lost."""
        kept = self.load.replicated(master)
        taken_over = RecordingClient.acknowledged[replica.port] = []
        master.kill()
        p = replica.client()
        p("REPLICAOF", "NO", "ONE")
        self.assertTrue(all(p("AF.MEXISTS", "f", *kept)), "items that the replica had acknowledged are lost")
        wait_for(lambda: len(taken_over) > 500, what="items at the new master")
        self.load.confirmed[:] = kept + list(taken_over)
        self.assertTrue(master.start())
        master.client()("REPLICAOF", "127.0.0.1", replica.port)
        wait_for_link(master)

    def start_load(self, servers, **options):
        super().start_load(servers, connect=RecordingClient, **options)

    def fail_over_some(self, dice, n):
        master, replica = self.pair()
        for _ in range(n):
            dice.choice((self.fail_over_by_hand, self.fail_over_by_kill))(master, replica)
            self.load.wait_for_more(500)
            master, replica = replica, master
        self.finish(master, replica)
        items = len(self.load.confirmed)
        self.tearDown()
        return items


def work(seed, amount):
    dice = random.Random(seed)
    done = items = 0
    while done < amount:
        n = min(dice.randint(2, 6), amount - done)
        pair = Pair("test_pauses")
        pair.setUp()
        items += pair.fail_over_some(dice, n)
        done += n
    return {"failovers": done, "items": items}


if __name__ == "__main__":
    part.run(work)
