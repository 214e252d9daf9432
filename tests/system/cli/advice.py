"""Tests what besom advise and besom size recommend, and the commands that they print: advice.py BESOM.

The workloads have a known best answer. A store read takes a second, so that only counts matter: times cannot change a rank.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile

KEYS, QUERIES = 3000, 10000
MEMBERS = [f"member{i}" for i in range(KEYS)]
SEED = "000102030405060708090a0b0c0d0e0f"
COMMON = ["--set", "set.txt", "--seed", SEED, "--read-cost", "1e6", "--memory", "1", "--runs", "2", "--json"]


class Command:
    def __init__(self, besom, directory):
        self.besom, self.directory = besom, directory

    def run(self, *arguments):
        done = subprocess.run([self.besom, *arguments], capture_output=True, text=True, cwd=self.directory, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments))

    def shell(self, line):
        """Runs a printed command as a user would paste it."""
        path = os.pathsep.join([os.path.dirname(self.besom), os.environ["PATH"]])
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], capture_output=True, text=True, cwd=self.directory,
                              env={**os.environ, "PATH": path}, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"

    def advise(self, log, *options):
        return self.json("advise", "--queries", f"{log}.txt", *COMMON, *options)


def write(directory, name, lines):
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_logs(directory):
    chance = random.Random(1)
    write(directory, "set.txt", MEMBERS)
    write(directory, "uniform.txt", (f"absent{i}" for i in range(QUERIES)))
    write(directory, "repeats.txt", (f"absent{i % 1000}" if i % 50 else MEMBERS[i % KEYS] for i in range(QUERIES)))
    for name, hits in (("half", 0.5), ("hits", 0.95)):
        write(directory, f"{name}.txt",
              (chance.choice(MEMBERS) if chance.random() < hits else f"absent{i}" for i in range(QUERIES)))


def candidate(answer, kind, adapts=None):
    return next(c for c in answer["candidates"] if c["kind"] == kind and adapts in (None, c["adapts"]))


def unfit(answer):
    return {c["kind"]: c["unfit"] for c in answer["candidates"] if c["unfit"]}


def test_static_sets(command):
    answer = command.advise("uniform")
    assert answer["verdict"] == "filter" and answer["kind"] == "ribbon", answer["advice"]
    assert not unfit(answer), unfit(answer)


def test_repeated_queries(command):
    """A filter that learns them wastes nothing; one that does not, repeats its false positives."""
    answer = command.advise("repeats", "--fpr", "1/16")
    best = candidate(answer, answer["kind"])
    assert best["false_positives"] == 0 and best["adapts"] != "never", answer["advice"]
    for kind in ("bloom", "ribbon", "qf"):
        assert candidate(answer, kind, "never")["rank"] > best["rank"], kind


def test_changing_sets(command):
    answer = command.advise("repeats", "--fpr", "1/16", "--updates", "1/20")
    assert "reported" in answer["advice"], answer["advice"]
    for kind in ("ribbon", "fuse", "yesno", "stacked"):
        assert unfit(answer)[kind] == "static" and candidate(answer, kind)["rank"] == 0, kind
    command.shell(answer["command"])
    assert command.json("info", "set.besom", "--json")["capacity"] >= KEYS + QUERIES // 20


def test_new_keys_are_inserted(command):
    """They fill the filter, which has more false positives then."""
    answer = command.advise("uniform", "--bits", "9", "--updates", "1/2", "--runs", "1")
    bloom = candidate(answer, "bloom", "never")
    assert bloom["false_positives"] > 25, bloom


def test_deletes(command):
    answer = command.advise("uniform", "--updates", "1/10", "--deletes")
    assert answer["kind"] in ("cf", "vacuum", "acf-cuckooing"), answer["advice"]
    assert unfit(answer)["bloom"] == unfit(answer)["blocked-bloom"] == "no deletes", unfit(answer)
    assert unfit(answer)["ribbon"] == "static"


def test_adversaries(command):
    answer = command.advise("uniform", "--hostile", "50%")
    assert "reported" in answer["advice"] and "--hash sip" in answer["command"], answer["advice"]
    assert unfit(answer) == dict.fromkeys(("acf-cyclic", "acf-swapping", "acf-cuckooing"), "attackable")
    assert candidate(answer, "aqf", "on report")["repeat_false_positives"] == 0
    assert candidate(answer, "bloom", "never")["repeat_false_positives"] > QUERIES / 10


def test_not_worth_it(command):
    """Most queries are for members; reads are faster than filters; the set is so small that it is kept as it is."""
    hits = command.advise("hits")
    assert hits["verdict"] == "no filter" and hits["command"] is None, hits["advice"]
    assert "not worth it" in hits["advice"] and "95 %" in hits["advice"], hits["advice"]
    fast = command.advise("uniform", "--read-cost", "0.0001")
    assert fast["verdict"] == "no filter", fast["advice"]
    tiny = command.advise("uniform", "--memory", "1M")
    assert tiny["verdict"] == "exact hash set" and tiny["command"] is None, tiny["advice"]


def test_ties(command):
    """Half of the queries are for members: false positives hardly matter, and all that waste few are equally good."""
    answer = command.advise("half")
    tied = [c["kind"] for c in answer["candidates"] if c["rank"] == 1 and c["tied"]]
    assert {"bloom", "qf", "cf", "fuse", "ribbon", "aqf"} <= set(tied), tied
    assert "within the spread" in answer["advice"] and "more" in answer["advice"], answer["advice"]


def test_commands_run(command):
    """The command of every kind makes a filter of the size that was measured, and it has all keys."""
    answer = command.advise("repeats", "--runs", "1", "--bits", "24")
    filters = [c for c in answer["candidates"] if c["command"]]
    kinds = set(re.findall('"kind":"([^"]*)"', command.run("kinds", "--json")))
    assert {c["kind"] for c in filters} == kinds - {"learned"}  # which needs less memory for these keys
    for c in filters:
        command.shell(c["command"])
        if c["adapts"] == "with store":
            command.shell("besom db check set.db; rm -r set.db")
            continue
        members = command.run("query", "set.besom", "set.txt").splitlines()
        assert members == MEMBERS, c["command"]
        built = command.json("info", "set.besom", "--json")
        if c["adapts"] == "never":
            assert abs(built["bits_per_key"] / c["bits_per_key"] - 1) < 0.05, (c, built)
        elif "--bits" in c["command"]:
            assert built["bits_per_key"] < 24 * 1.05, (c, built)


def test_quoting(command):
    """Names that a shell would interpret, and keys with a tab, which could be a separator."""
    os.mkdir(os.path.join(command.directory, "my lists"))
    write(command.directory, "my lists/set's $X.txt", (f"a\t{member}" for member in MEMBERS))
    os.rename(os.path.join(command.directory, "uniform.txt"), os.path.join(command.directory, "my lists", "log's $X.txt"))
    answer = command.json("advise", *COMMON[2:], "--runs", "1", "--set", "my lists/set's $X.txt", "--queries",
                          "my lists/log's $X.txt")
    command.shell(answer["command"])
    assert command.json("info", "set's $X.besom", "--json")["keys"] == KEYS
    command.shell(candidate(answer, "aqf", "with store")["command"])
    assert command.json("db", "stats", "set's $X.db", "--json")["keys"] == KEYS


def test_sizes(command):
    """What besom size says is the size of the filter that its command builds."""
    write(command.directory, "KEYS", MEMBERS)
    for options in ([], ["--fpr", "1/1000"], ["--growth", "3"], ["--deletes"], ["--reports", "400"]):
        answer = command.json("size", "--keys", str(KEYS), "--json", *options)
        kinds = [row["kind"] for row in answer["kinds"]]
        assert "aqf" in kinds and ("ribbon" in kinds) == (options in ([], ["--fpr", "1/1000"], ["--reports", "400"])), (options, kinds)
        for row in answer["kinds"]:
            command.shell(row["command"])
            if "--reports" in options:
                command.shell("seq 500000 | besom query set.besom >wrong.txt; head -400 wrong.txt | besom fix set.besom")
            built = command.json("info", "set.besom", "--json")
            assert abs(row["bytes"] / built["bytes"] - 1) < 0.03, (options, row, built)


def test_growth_and_shards(command):
    def row(kind, *options):
        return command.json("size", "--keys", "5000", "--kind", kind, "--json", *options)["kinds"][0]

    grown = row("aqf", "--growth", "4")
    command.shell(grown["command"])
    command.shell("besom grow set.besom; besom grow set.besom")
    built = command.json("info", "set.besom", "--json")
    assert built["capacity"] >= 20000 and abs(grown["grown_bytes"] / built["bytes"] - 1) < 0.03, (grown, built)
    whole, spread = row("bloom", "--memory", "1M"), row("bloom", "--memory", "1k")
    assert whole["shards"] == 1 and whole["keys_per_shard"] == 5000, whole
    assert 5000 / spread["shards"] < spread["keys_per_shard"] < 10000 / spread["shards"], spread
    assert 500 < spread["bytes"] / spread["shards"] <= 1000, spread


def main(besom):
    with tempfile.TemporaryDirectory() as directory:
        command = Command(besom, directory)
        write_logs(directory)
        test_static_sets(command)
        test_repeated_queries(command)
        test_commands_run(command)
        test_changing_sets(command)
        test_new_keys_are_inserted(command)
        test_deletes(command)
        test_adversaries(command)
        test_not_worth_it(command)
        test_ties(command)
        test_quoting(command)
        test_sizes(command)
        test_growth_and_shards(command)


main(os.path.abspath(sys.argv[1]))
