"""update_part.py --seed S --amount N [--command build/besom]: interrupts `besom update`.

A client updates a signed list (docs/signed.md). One update in three is killed, at a random moment or just after it has
made, renamed or removed a file; one cannot write files beyond a random size, as on a full disk, and one is killed by
that limit. Afterwards the list and its signature
are the old or the new ones, a reader accepts them, and the next update makes the new list. Without a kill no other
file is left. A part of the soak test: a unit of work is one update."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KEY = ("RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAKWmvLE61RyWhfukdaEJldCLgMN+73jfrRxDlwbIuhA"
       "5VEEGHzTKphbX2FHbiJEXLYaDQJpxtJG6ELsf0OwNcfAzgCMKDQNcNAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
PUBLIC = "RWQpaa8sTrVHJbX2FHbiJEXLYaDQJpxtJG6ELsf0OwNcfAzgCMKDQNcN"
NOW = ["--now", "2026-01-02"]


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


class Lists:
    """Two versions of a signed list, and the patch from one to the other."""

    def __init__(self, besom, directory, keys):
        self.besom, self.dir = besom, directory
        with open(self.path("list.key"), "w") as file:
            file.write("untrusted comment: key of a test\n%s\n" % KEY)
        for number in (1, 2):
            with open(self.path("%d.txt" % number), "w") as file:
                file.write("".join("key%d\n" % i for i in range(300 * number, keys + 300 * number)))
        self.run("build", self.path("1.besom"), "--yes", self.path("1.txt"))
        self.run("build", self.path("2.besom"), "--like", self.path("1.besom"), "--yes", self.path("2.txt"))
        for number in (1, 2):
            self.run("sign", self.path("%d.besom" % number), "--key", self.path("list.key"), "--name", "blocked",
                     "--sequence", str(number), "--expires", "2026-02-28", "--now", "2026-01-01")
        self.run("diff", self.path("1.besom"), self.path("2.besom"), self.path("patch"), "--sign", self.path("list.key"))
        self.versions = [self.read("%d.besom" % number) for number in (1, 2)]
        self.signatures = [self.read("%d.besom.minisig" % number) for number in (1, 2)]

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run(self, *words):
        subprocess.run([self.besom, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Client:
    """A directory with the first version of the list."""

    def __init__(self, lists):
        self.lists, self.dir = lists, tempfile.mkdtemp(prefix="besom-update-")
        self.list = os.path.join(self.dir, "x.besom")
        shutil.copy(lists.path("1.besom"), self.list)
        shutil.copy(lists.path("1.besom.minisig"), self.list + ".minisig")

    def update(self, source, limit=None, dies=False):
        """limit: no file may get longer. dies: then the process is killed, else the write fails."""
        def limited():
            if limit is None:
                return
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if dies else signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        return subprocess.Popen([self.lists.besom, "update", self.list, self.lists.path(source), "--verify", PUBLIC,
                                 *NOW], preexec_fn=limited, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def read(self, suffix=""):
        with open(self.list + suffix, "rb") as file:
            return file.read()

    def check(self, what, may_leave_files):
        assert self.read() in self.lists.versions, "%s: the list is neither old nor new" % what
        assert self.read(".minisig") in self.lists.signatures, "%s: the signature is neither old nor new" % what
        verified = subprocess.run([self.lists.besom, "verify", self.list, "--verify", PUBLIC, *NOW],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert verified.returncode == 0, "%s: a reader refuses the list: %s" % (what, verified.stdout)
        left = set(os.listdir(self.dir)) - {"x.besom", "x.besom.minisig", "x.besom.minisig.next"}
        assert may_leave_files or not left, "%s: these files are left: %s" % (what, left)
        return self.read() == self.lists.versions[1]

    def finish(self, what):
        """The next update is complete."""
        process = self.update("2.besom")
        output, _ = process.communicate()
        assert process.returncode == 0, "%s: the next update fails: %s" % (what, output)
        assert self.read() == self.lists.versions[1], "%s: the next update does not make the new list" % what
        assert self.read(".minisig") == self.lists.signatures[1], "%s: the signature stays old" % what
        assert not os.path.exists(self.list + ".minisig.next"), "%s: the last step was not repeated" % what

    def close(self):
        shutil.rmtree(self.dir)


def duration(lists, source):
    client = Client(lists)
    start = time.monotonic()
    assert client.update(source).wait() == 0
    client.close()
    return time.monotonic() - start


def wait_for_changes(client, process, n):
    """Until the names or files of the directory have changed n times, or the process has ended. An update has a few such
    changes, which are so close to each other that a random moment is rarely between two of them."""
    def files():
        try:
            return sorted((entry.name, entry.inode()) for entry in os.scandir(client.dir))
        except FileNotFoundError:
            return []

    before = files()
    while n and process.poll() is None:
        now = files()
        n -= now != before
        before = now


def kill_one(client, dice, source, seconds):
    process = client.update(source)
    if dice.randrange(2):
        wait_for_changes(client, process, dice.randrange(1, 7))
    else:
        time.sleep(dice.uniform(0, 1.2 * seconds))
    process.kill()
    process.communicate()
    return client.check("killed", True)


def limit_one(client, dice, source, dies):
    limit = dice.randrange(len(client.lists.versions[1]) + 2000)
    process = client.update(source, limit, dies)
    output, _ = process.communicate()
    what = "files of at most %d bytes: %s" % (limit, output.decode(errors="replace").strip())
    assert dies or process.returncode >= 0, "%s: the command crashes" % what
    is_new = client.check(what, dies)
    assert is_new == (process.returncode == 0) or dies, what + ": the exit code is wrong"
    return is_new


def work(lists, seed, amount):
    dice = random.Random(seed)
    sources = {source: duration(lists, source) for source in ("patch", "2.besom")}
    counts = {"updates": amount, "old": 0, "new": 0}
    for i in range(amount):
        client, source = Client(lists), dice.choice(list(sources))
        if i % 3 == 0:
            is_new = kill_one(client, dice, source, sources[source])
        else:
            is_new = limit_one(client, dice, source, i % 3 == 1)
        client.finish("update %d" % i)
        client.close()
        counts["new" if is_new else "old"] += 1
    return counts


def main():
    seed, amount = int(option("--seed", 1)), int(option("--amount", 30))
    directory = tempfile.mkdtemp(prefix="besom-lists-")
    try:
        print(json.dumps(work(Lists(option("--command", "build/besom"), directory, 20000), seed, amount)))
    except BaseException:
        print("%s --seed %d --amount %d failed" % (sys.argv[0], seed, amount), file=sys.stderr, flush=True)
        raise
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
