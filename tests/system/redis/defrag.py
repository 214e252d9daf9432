"""Active defragmentation of filters in a real server. Skipped (exit code 77) if the server cannot: it must be built with
its own jemalloc, and the servers of Debian are not. BESOM_DEFRAG_SERVER names another one."""

import os
import re
import sys
import unittest

from servers import ReplyError, Server, wait_for

FILTERS = 20000
SETTINGS = ["active-defrag-ignore-bytes", "1mb", "active-defrag-threshold-lower", 5, "active-defrag-cycle-min", 50,
            "active-defrag-cycle-max", 75]


def fragmentation(r):
    return float(re.search(rb"allocator_frag_ratio:([\d.]+)", r("INFO", "memory")).group(1))


def add_filters(r, capacity, reports):
    for i in range(FILTERS):
        key = "f%d" % i
        commands = [("AF.RESERVE", key, 0.01, capacity), ("AF.MADD", key, *range(30))]
        if reports:
            commands.append(("AF.REPORT", key, *["absent%d" % n for n in range(50)]))
        r.pipeline(commands)
    for i in range(FILTERS):
        if i % 4:
            r("DEL", "f%d" % i)


class Defragmentation(unittest.TestCase):
    def converges(self, capacity, reports):
        server = Server()
        r = server.client()
        add_filters(r, capacity, reports)
        questions = [("AF.MEXISTS", "f%d" % i, *range(80)) for i in range(0, FILTERS, 40)]
        before, answers = fragmentation(r), r.pipeline(questions)
        self.assertGreater(before, 1.5)
        r("CONFIG", "SET", "activedefrag", "yes", *SETTINGS)
        wait_for(lambda: fragmentation(r) < 1 + (before - 1) / 2, what="defragmentation")
        self.assertEqual(answers, r.pipeline(questions))
        server.close()

    def test_packed_filters(self):
        self.converges(100, reports=False)

    def test_filters_with_layers_and_reports(self):
        self.converges(20, reports=True)


def can_defragment():
    server = Server()
    try:
        server.client()("CONFIG", "SET", "activedefrag", "yes")
        return True
    except ReplyError as error:
        print("skipped:", error)
        return False
    finally:
        server.close()


if __name__ == "__main__":
    if "BESOM_DEFRAG_SERVER" in os.environ:
        os.environ["BESOM_SERVER"] = os.environ["BESOM_DEFRAG_SERVER"]
    if not can_defragment():
        sys.exit(77)
    unittest.main()
