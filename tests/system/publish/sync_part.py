"""sync_part.py --seed S --amount N [--command build/besom]: interrupts `besom sync` and the server that it syncs from.

Clients of a published set (docs/publish.md) fetch version 3 over version 1, by patches or by shards, from a directory
or a web server. One sync in three is killed at a random moment or just after it has made, renamed or removed a file; in
one the server breaks off; one cannot write files beyond a random size, as on a full disk. Afterwards the copy is the
old or the new version, no key is denied that both have, and the next sync makes the new version. A part of the soak
test: a unit of work is one sync. Before that, what a client must refuse from a server is tested once."""

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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from web_server import Server  # noqa: E402

KEY = ("RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAKWmvLE61RyWhfukdaEJldCLgMN+73jfrRxDlwbIuhA"
       "5VEEGHzTKphbX2FHbiJEXLYaDQJpxtJG6ELsf0OwNcfAzgCMKDQNcNAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
PUBLIC = "RWQpaa8sTrVHJbX2FHbiJEXLYaDQJpxtJG6ELsf0OwNcfAzgCMKDQNcN"
CERTIFICATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.pem")
NOW = ["--now", "2026-01-02"]
KEYS, VERSIONS, STEP = 20000, 3, 30


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


class Published:
    """Three versions of a set. `with_patches` offers the patches, `whole` was built anew: clients fetch the shards."""

    def __init__(self, besom, directory):
        self.besom, self.dir = besom, directory
        with open(self.path("set.key"), "w") as file:
            file.write("untrusted comment: key of a test\n%s\n" % KEY)
        with open(self.path("common.txt"), "w") as file:
            file.write("".join("key%d\n" % i for i in range(VERSIONS * STEP, KEYS)))
        for version in range(1, VERSIONS + 1):
            for name in ("with_patches", "whole"):
                rebuild = ["--rebuild"] if name == "whole" else []
                kind = ["--kind", "aqf", *rebuild] if name == "whole" else []
                self.publish(name, version, kind)
            if version == 1:
                self.sync(self.path("with_patches"), self.path("old"))
                self.sync(self.path("whole"), self.path("old_whole"))
        self.sync(self.path("with_patches"), self.path("new"))

    def path(self, name):
        return os.path.join(self.dir, name)

    def publish(self, name, version, options):
        keys = "".join("key%d\n" % i for i in range(STEP * version, KEYS + STEP * version))
        subprocess.run([self.besom, "publish", self.path(name), "--key", self.path("set.key"), "--name", "packages",
                        "--shards", "4", "--sequence", str(version), "--now", "2026-01-01", *options], check=True,
                       input=keys, text=True, stderr=subprocess.DEVNULL)

    def sync(self, source, copy, *options):
        return subprocess.run([self.besom, "sync", source, copy, "--verify", PUBLIC, "--json", *NOW, *options], check=True,
                              stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE).stdout


class Client:
    """A copy of version 1."""

    def __init__(self, published, old="old"):
        self.published, self.dir = published, tempfile.mkdtemp(prefix="besom-sync-")
        self.copy = os.path.join(self.dir, "copy")
        shutil.copytree(published.path(old), self.copy)

    def sync(self, source, limit=None):
        def limited():
            if limit is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.Popen([self.published.besom, "sync", source, self.copy, "--verify", PUBLIC, *NOW],
                                preexec_fn=limited if limit is not None else None, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def sequence(self):
        with open(os.path.join(self.copy, "set.minisig")) as file:
            return int(file.read().split("sequence=")[1].split()[0])

    def check(self, what):
        """Every key that both versions have is answered yes. Returns whether it is the new version."""
        denied = subprocess.run([self.published.besom, "query", self.copy, self.published.path("common.txt"), "--invert",
                                 "--count", *NOW], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert denied.stdout == "0\n", "%s: keys are denied: %s" % (what, denied.stdout)
        assert self.sequence() in (1, VERSIONS), "%s: version %d" % (what, self.sequence())
        return self.sequence() == VERSIONS

    def finish(self, what, source):
        process = self.sync(source)
        output, _ = process.communicate()
        assert process.returncode == 0, "%s: the next sync fails: %s" % (what, output)
        assert self.check(what), "%s: the next sync does not make the new version" % what
        left = sorted(os.listdir(self.copy))
        wanted = ["manifest-3", "set.minisig"] + ["shard-%d-3" % i for i in range(4)]
        assert left == wanted, "%s: these files are left: %s" % (what, left)

    def close(self):
        shutil.rmtree(self.dir)


# ------------------------------------------------------------------ interruptions


def wait_for_changes(client, process, n):
    """Until the names or sizes of the copy's files have changed n times, or the process has ended."""

    def files():
        try:
            return sorted((entry.name, entry.inode()) for entry in os.scandir(client.copy))
        except FileNotFoundError:
            return []

    before = files()
    while n and process.poll() is None:
        now = files()
        n -= now != before
        before = now


def interrupt(client, dice, i, server, source, seconds):
    if i % 3 == 0:
        process = client.sync(source)
        if dice.randrange(2):
            wait_for_changes(client, process, dice.randrange(1, 14))
        else:
            time.sleep(dice.uniform(0, 1.2 * seconds))
        process.kill()
        process.communicate()
        return "killed"
    if i % 3 == 1 and source == server.url:
        server.breaks = dice.randrange(60000)
        client.sync(source).communicate()
        server.breaks = None
        return "the server broke off"
    limit = dice.randrange(30000)
    client.sync(source, limit).communicate()
    return "files of at most %d bytes" % limit


def work(published, seed, amount):
    dice = random.Random(seed)
    counts = {"syncs": amount, "old": 0, "new": 0}
    seconds = 0.05
    for i in range(amount):
        name = dice.choice(("with_patches", "whole"))
        client = Client(published, "old" if name == "with_patches" else "old_whole")
        server = Server(published.path(name))
        source = server.url if has_curl(published) and dice.randrange(3) else published.path(name)
        what = "sync %d, %s, from %s" % (i, interrupt(client, dice, i, server, source, seconds), source)
        counts["new" if client.check(what) else "old"] += 1
        start = time.monotonic()
        client.finish(what, source)
        seconds = time.monotonic() - start
        client.close()
        server.close()
    return counts


# ------------------------------------------------------------------ what is refused


def has_curl(published):
    if not hasattr(published, "curl"):
        answer = subprocess.run([published.besom, "sync", "http://127.0.0.1:1/", published.path("none"), "--verify", PUBLIC],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        published.curl = "without libcurl" not in answer
    return published.curl


def refused(published, url, because, *options):
    client = Client(published)
    process = subprocess.run([published.besom, "sync", url, client.copy, "--verify", PUBLIC, *NOW, *options],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.returncode == 3, "%s: exit code %d, %s" % (because, process.returncode, process.stdout)
    assert because in process.stdout, "'%s' is expected: %s" % (because, process.stdout)
    assert not client.check(because)
    client.close()


def misbehaving_servers(published):
    server, tls = Server(published.path("with_patches")), Server(published.path("with_patches"), CERTIFICATE)
    server.redirect = tls.url + "/moved/"
    refused(published, server.url, "Protocol")
    tls.redirect = server.url + "/moved/"
    refused(published, tls.url, "Protocol", "--ca", CERTIFICATE)
    server.redirect = "file:///etc/"
    refused(published, server.url, "Protocol")
    server.redirect, tls.redirect = "", ""
    server.extra = 100000
    refused(published, server.url, "longer than the signed texts say")
    server.extra = 0
    for server.endless, because in ("headers", "headers without end"), ("redirect", "more than the signed texts say"):
        refused(published, server.url, because)
    server.endless = ""
    refused(published, tls.url, "certificate")
    wrong_files(published, server)
    server.close()
    tls.close()


def wrong_files(published, server):
    """Files of other versions, cut ones, others of the same size."""

    def file(name, directory="with_patches"):
        with open(os.path.join(published.path(directory), name), "rb") as f:
            return f.read()

    manifest, patch = file("manifest-3"), file("patch-2-3")
    for name, body, because in (("manifest-3", manifest[:-1], "shorter than the signed texts say"),
                                ("manifest-3", manifest + b"x", "longer than the signed texts say"),
                                ("manifest-3", manifest.replace(b"shard-0-3", b"shard-0-2"), "not the signed one"),
                                ("manifest-3", b"", "shorter than the signed texts say"),
                                ("patch-2-3", patch[:100], "shorter than the signed texts say"),
                                ("patch-2-3", patch[:-1] + b"?", "not the signed one"),
                                ("patch-2-3", file("patch-1-2"), "the signed"),
                                ("set.minisig", file("set.minisig", "whole"), "manifest-3: "),
                                ("set.minisig", file("set.minisig").replace(b"sequence=3", b"sequence=4"), "not signed")):
        server.replaced = {name: body}
        refused(published, server.url, because)
    server.replaced = {}
    client = Client(published, "new")
    output, _ = client.sync(published.path("whole")).communicate()
    assert b"two different sets" in output, output
    client.close()


def at_once(published):
    """Two syncs of one copy wait for each other."""
    client = Client(published)
    both = [client.sync(published.path("with_patches")) for _ in range(2)]
    assert [process.communicate() and process.returncode for process in both] == [0, 0]
    client.finish("two syncs at once", published.path("with_patches"))
    client.close()


def good_servers(published):
    for certificate in (None, CERTIFICATE):
        server = Server(published.path("with_patches"), certificate)
        server.redirect = server.url + "/moved/"
        client = Client(published)
        fetched = json.loads(published.sync(server.url + "/", client.copy, *(["--ca", certificate] if certificate else [])))
        sizes = [os.path.getsize(os.path.join(published.path("with_patches"), name))
                 for name in ("set.minisig", "manifest-3", "patch-1-2", "patch-2-3")]
        assert fetched["bytes"] == sum(sizes) == server.sent, (fetched, sizes, server.sent)
        assert not [name for name in server.requests if name.startswith("shard")], "patches suffice"
        client.check("redirected")
        client.close()
        server.close()


def continued(published, ranges):
    """A download that breaks off is continued; from its start if the server knows no ranges."""
    server, copy = Server(published.path("whole")), published.path("continued")
    server.ranges, server.breaks = ranges, 30000
    process = subprocess.run([published.besom, "sync", server.url, copy, "--verify", PUBLIC, *NOW], stderr=subprocess.PIPE)
    assert process.returncode == 3, process.stderr
    before, server.breaks = server.sent, None
    assert before > 20000
    published.sync(server.url, copy)
    whole = sum(os.path.getsize(os.path.join(copy, name)) for name in os.listdir(copy))
    pointer = os.path.getsize(os.path.join(copy, "set.minisig"))
    again = server.sent - (whole + pointer)  # the pointer is fetched twice
    assert (again == 0) == ranges, "%d bytes are fetched again" % again
    shutil.rmtree(copy)
    server.close()


def main():
    seed, amount = int(option("--seed", 1)), int(option("--amount", 30))
    directory = tempfile.mkdtemp(prefix="besom-published-")
    try:
        published = Published(os.path.abspath(option("--command", "build/besom")), directory)
        at_once(published)
        if has_curl(published):
            misbehaving_servers(published)
            good_servers(published)
            continued(published, True)
            continued(published, False)
        print(json.dumps(work(published, seed, amount)))
    except BaseException:
        print("%s --seed %d --amount %d failed" % (sys.argv[0], seed, amount), file=sys.stderr, flush=True)
        raise
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
