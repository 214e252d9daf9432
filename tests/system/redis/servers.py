"""Servers for tests, and a minimal client. A server listens on a free port of the loopback interface, has a directory
of its own, and is stopped when the test ends, even if the test crashes."""

import atexit
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


class ReplyError(Exception):
    """An error reply of a server."""


class Client:
    """One connection. Replies become str (simple), bytes (bulk), int, float, bool, None, list, dict or ReplyError."""

    def __init__(self, port, protocol=2, timeout=600):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        if protocol == 3:
            self("HELLO", 3)

    def send(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self.socket.sendall(b"".join(parts))

    def __call__(self, *words):
        self.send(*words)
        reply = self.read()
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def pipeline(self, commands):
        for command in commands:
            self.send(*command)
        return [self.read() for _ in commands]

    def read(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return ReplyError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_" or (kind in b"$*" and int(rest) < 0):
            return None
        if kind == b"$":
            return self.stream.read(int(rest) + 2)[:-2]
        if kind == b"=":  # begins with "txt:"
            return self.stream.read(int(rest) + 2)[4:-2]
        if kind in b"*~>":
            return [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        raise ValueError("not a reply: %r" % line)

    def close(self):
        self.stream.close()
        self.socket.close()

    def __del__(self):
        if hasattr(self, "stream"):
            self.close()


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            s.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def free_port():
    """Returns a port that the system does not give to connections, so that it stays free while a server restarts."""
    dice = random.SystemRandom()
    return next(port for port in iter(lambda: dice.randrange(10000, 32000), None) if is_free(port))


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


running = []


def stop_all():
    for server in list(running):
        server.close()


atexit.register(stop_all)


class Server:
    """redis-server or valkey-server with the module, as set by BESOM_MODULE, BESOM_SERVER and BESOM_PRELOAD."""

    def __init__(self, *options, module_options=(), module=None, files=None, config=None, tries=20):
        """files: names and contents that the server finds in its directory. config: a file that loads the module."""
        self.config = config
        self.dir = tempfile.mkdtemp(prefix="besom-redis-")
        for name, content in (files or {}).items():
            os.makedirs(os.path.dirname(os.path.join(self.dir, name)), exist_ok=True)
            with open(os.path.join(self.dir, name), "wb") as file:
                file.write(content)
        self.module = os.path.abspath(module or os.environ["BESOM_MODULE"])
        self.options = list(options)
        self.module_options = list(module_options)
        self.process = None
        self.log = os.path.join(self.dir, "log")
        running.append(self)
        for _ in range(tries):  # another process may take the port, or it is too high for the bus port of a cluster node
            self.port = free_port()
            if self.start():
                return
        raise RuntimeError("the server does not start:\n" + self.read_log())

    def command_line(self):
        program = os.environ.get("BESOM_SERVER", "redis-server")
        standard = ["--port", self.port, "--bind", "127.0.0.1", "--dir", self.dir, "--logfile", self.log,
                 "--enable-debug-command", "local", "--save", "", "--repl-diskless-sync-delay", 0]
        line = [program] + ([self.config] if self.config else []) + standard + self.options
        if not self.config:
            line += ["--loadmodule", self.module] + self.module_options
        return [str(word) for word in line]

    def start(self, wait=True):
        """A child of a killed server, which writes an AOF, may hold the port for a moment."""
        wait_for(lambda: is_free(self.port), what="the port")
        environment = dict(os.environ)
        preload = os.environ.get("BESOM_PRELOAD")
        if preload:
            environment["LD_PRELOAD"] = preload
            environment["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1:log_path=" + self.dir + "/asan"
            environment["UBSAN_OPTIONS"] = "print_stacktrace=1:log_path=" + self.dir + "/asan"
        self.process = subprocess.Popen(self.command_line(), env=environment, preexec_fn=die_with_parent,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return not wait or self.answers()

    def answers(self, seconds=600):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                client = self.client()
                client("PING")  # an error while the server loads its files
                return b"process_id:%d\r" % self.process.pid in client("INFO", "server")
            except (OSError, ReplyError):
                time.sleep(0.02)
        return False

    def client(self, protocol=2):
        return Client(self.port, protocol)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Stops the server with SHUTDOWN, which saves the data if the server is configured to. The server refuses while
        it writes its first AOF."""
        def stopped():
            try:
                self.client()("SHUTDOWN")
            except ReplyError:
                return False
            except OSError:
                pass
            return True

        wait_for(stopped, what="SHUTDOWN")
        self.process.wait(timeout=600)

    def restart(self, kill=False):
        self.kill() if kill else self.stop()
        if not self.start():
            raise RuntimeError("the server does not start again:\n" + self.read_log())

    def read_log(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def sanitizer_reports(self):
        """Returns the reports of the sanitizers, without those of allocations that are too large."""
        found = ""
        for name in os.listdir(self.dir):
            if name.startswith("asan"):
                with open(os.path.join(self.dir, name), errors="replace") as file:
                    text = file.read()
                found += text if "ERROR" in text or "runtime error" in text else ""
        return found

    def close(self):
        if self not in running:
            return
        running.remove(self)
        if self.process and self.process.poll() is None:
            self.kill()
        found = self.sanitizer_reports() if os.path.isdir(self.dir) else ""
        shutil.rmtree(self.dir, ignore_errors=True)
        if found:
            sys.stderr.write(found)
            os._exit(1)


def wait_for(condition, seconds=int(os.environ.get("BESOM_TEST_SECONDS", 600)), what="it"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("timeout while waiting for " + what)


def digest(client):
    return client("DEBUG", "DIGEST")


def wait_for_link(replica):
    wait_for(lambda: b"master_link_status:up" in replica.client()("INFO", "replication"), what="the replica")


def replica_of(master, *options):
    replica = Server(*options)
    replica.client()("REPLICAOF", "127.0.0.1", master.port)
    wait_for_link(replica)
    return replica


def fail_over(master, replica):
    """Starts a failover, as soon as the replica is online."""
    def started():
        try:
            return master.client()("FAILOVER", "TO", "127.0.0.1", replica.port) == "OK"
        except ReplyError as error:
            if "not online" not in str(error):
                raise
            return False
    wait_for(started, what="a replica that is online")


def fail_over_in_cluster(master, replica, *how):
    """Other masters refuse their vote for some seconds after the last failover: then it must be repeated."""
    asked = 0

    def has_failed_over():
        nonlocal asked
        r = replica.client()
        if b"role:master" in r("INFO", "replication"):
            return b"role:slave" in master.client()("INFO", "replication")
        if time.monotonic() - asked > 6:  # a manual failover ends after 5 seconds
            r("CLUSTER", "FAILOVER", *how)
            asked = time.monotonic()
        return False

    wait_for(has_failed_over, what="the failover %s" % list(how))


def wait_for_replica(master, replica):
    """Waits until the replica has received all commands of the master."""
    def offset(server, name):
        lines = server.client()("INFO", "replication").decode().split()
        return int([line for line in lines if line.startswith(name)][0].split(":")[1])

    wait_for_link(replica)
    wait_for(lambda: offset(replica, "slave_repl_offset") >= offset(master, "master_repl_offset"), what="the replica")
