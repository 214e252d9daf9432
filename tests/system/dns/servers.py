"""servers.py COMMAND LIBRARY EXAMPLES [SERVER...]: the examples of examples/dns in real name servers.

A list blocks names and those below them; it is replaced while queries go on, and none is lost; names
can be allowed; blocked queries are counted. A server that is not installed is skipped.
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from upstream import NOERROR, NXDOMAIN, Upstream, ask

SKIPPED = 77
PATIENCE = 60  # seconds: far more than any step takes


def free_port(taken=set()):
    """Free for UDP and TCP, and never given twice."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind(("127.0.0.1", 0))
            port = udp.getsockname()[1]
            try:
                tcp.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in taken:
            taken.add(port)
            return port


def wait_until(what, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Place:
    """A directory with a list, and the environment of the servers."""

    def __init__(self, command, library, examples):
        self.command, self.examples = command, examples
        self.directory = tempfile.mkdtemp()
        self.list, self.allowed = self.path("blocked.besom"), self.path("allowed.txt")
        self.environment = dict(os.environ, LIBBESOM=library, BESOM_EXAMPLES=examples, BESOM_LIST=self.list,
                                BESOM_ALLOWED=self.allowed, BESOM_REFRESH="1",
                                BESOM_COUNTER=self.path("counter"))
        self.write("suffixes.txt", "com\nnet\norg\n")
        self.port = free_port()

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)

    def publish(self, *names):
        """As besom update: the file is replaced by rename."""
        yes = self.write("yes.txt", "".join(f"{name}\n" for name in names))
        subprocess.run([self.command, "build", self.path("new"), "--domains", "--suffixes", self.path("suffixes.txt"),
                        "--yes", yes], check=True, stderr=subprocess.DEVNULL)
        os.rename(self.path("new"), self.list)

    def allow(self, *names):
        self.write("allowed.txt", "".join(f"{name}\n" for name in names))


class Dnsdist:
    program = "dnsdist"

    def start(self, place, upstream):
        self.place, self.control = place, free_port()
        key = "7GHeIz0DjzUVdDZEOPfwTdSpTnzmMzrLJ2h3QXcM2X4="
        self.config = place.write("dnsdist.conf", f'''
setLocal("127.0.0.1:{place.port}")
setACL("127.0.0.0/8")
newServer({{address="127.0.0.1:{upstream}", healthCheckMode="up"}})
setKey("{key}")
controlSocket("127.0.0.1:{self.control}")
dofile("{place.examples}/dnsdist.conf")
''')
        return ["dnsdist", "--supervised", "--disable-syslog", "-C", self.config]

    def blocked(self):
        rules = subprocess.run(["dnsdist", "-C", self.config, "-e", "showRules()"], check=True,
                               capture_output=True, text=True, env=self.place.environment).stdout
        return int(re.search(r"^\s*0\s+besom\s+(\d+)", rules, re.M).group(1))


class Kresd:
    program = "kresd"

    def start(self, place, upstream):
        self.place = place
        config = place.write("kresd.conf", f'''
net.ipv6 = false
net.listen('127.0.0.1', {place.port})
net.listen('{place.path("control")}', nil, {{ kind = 'control' }})
modules.unload('ta_update')
modules.unload('ta_signal_query')
modules.unload('priming')
trust_anchors.remove('.')
cache.size = 10 * MB
dofile('{place.examples}/kresd.conf')
policy.add(policy.all(policy.STUB('127.0.0.1@{upstream}')))
''')
        return ["kresd", "-n", "-c", config, place.directory]

    def blocked(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            control.settimeout(PATIENCE)
            control.connect(self.place.path("control"))
            control.sendall(b"besom_list.blocked\n")
            text = ""
            while not re.search(r"\d+", text):
                text += control.recv(4096).decode()
            return int(re.search(r"\d+", text).group())


class Unbound:
    program = "unbound"

    def start(self, place, upstream):
        self.place = place
        config = place.write("unbound.conf", f'''
server:
  interface: 127.0.0.1
  port: {place.port}
  username: ""
  chroot: ""
  directory: "{place.directory}"
  pidfile: ""
  use-syslog: no
  do-not-query-localhost: no
  do-ip6: no
  module-config: "python iterator"
  num-threads: 1
  cache-max-ttl: 0
python:
  python-script: "{place.examples}/unbound_besom.py"
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@{upstream}
''')
        place.environment["PYTHONPATH"] = "/usr/lib/python3/dist-packages"  # the package python3-unbound
        return ["unbound", "-d", "-c", config]

    def blocked(self):
        wait_until("the counter is written", lambda: self.read() > 0 or ask(self.place.port, "x.org") is None)
        return self.read()

    def read(self):
        try:
            with open(self.place.path("counter"), encoding="ascii") as file:
                return int(file.read() or 0)
        except FileNotFoundError:
            return 0


def check_server(server, place):
    ask_it = lambda name: ask(place.port, name)
    wait_until("the server answers", lambda: ask(place.port, "good.org", 0.5) == NOERROR)
    for name in ("ads.example.com", "www.ads.example.com", "WWW.Ads.Example.COM"):
        assert ask_it(name) == NXDOMAIN, name
    for name in ("example.com", "com.org", "xads.example.com", "tracker.net"):
        assert ask_it(name) == NOERROR, name
    place.publish("ads.example.com", "tracker.net")
    lost = 0

    def is_blocked():
        nonlocal lost
        lost += ask_it("good.org") != NOERROR
        return ask_it("www.tracker.net") == NXDOMAIN

    wait_until("the new list is in use", is_blocked)
    assert lost == 0, lost
    assert ask_it("www.ads.example.com") == NXDOMAIN
    place.allow("tracker.net")
    wait_until("the name is allowed", lambda: ask_it("www.tracker.net") == NOERROR)
    assert ask_it("ads.example.com") == NXDOMAIN
    os.rename(place.write("damaged", "no filter"), place.list)
    place.allow()  # both are read at the same time
    wait_until("the damaged list was looked at", lambda: ask_it("www.tracker.net") == NXDOMAIN)
    assert ask_it("ads.example.com") == NXDOMAIN, "the old list stays in use"
    assert server.blocked() >= 6, server.blocked()


def run_server(server, arguments, upstream):
    place = Place(*arguments)
    place.publish("ads.example.com")
    place.allow()
    log = open(place.path("log"), "w", encoding="utf-8")
    process = subprocess.Popen(server.start(place, upstream.port), env=place.environment, cwd=place.directory,
                               stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        check_server(server, place)
    except BaseException:
        log.flush()
        print(open(place.path("log"), encoding="utf-8").read()[-4000:])
        raise
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(place.directory)


def main():
    arguments, only = sys.argv[1:4], sys.argv[4:]
    servers = [s for s in (Dnsdist(), Kresd(), Unbound()) if not only or s.program in only]
    present = [s for s in servers if shutil.which(s.program)]
    for server in servers:
        if server not in present:
            print(f"{server.program} is not installed: not tested")
    for server in present:
        run_server(server, arguments, Upstream())
        print(f"{server.program}: right")
    return 0 if present else SKIPPED


sys.exit(main())
