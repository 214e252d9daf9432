"""dns_speed.py COMMAND LIBRARY EXAMPLES [--names N] [--runs N] [--seconds S] [SERVER...]

Memory, queries per second, and processor time per query of name servers that block a list: with besom, with the server's own way of
blocking, and with an empty script. Runs are interleaved, each way being first in turn; medians are printed. The servers answer all other names
from their configuration, so that nothing else is measured. A tenth of the queries is for listed names.
bench/records/lists.md has the results. Needs dnsperf (scripts/setup.sh dns).
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/system/dns"))
from upstream import NXDOMAIN, ask  # noqa: E402

WAYS = ("empty", "besom", "own")


def dnsdist_config(way, port, place, _):
    lines = [f'setLocal("127.0.0.1:{port}")', 'setACL("127.0.0.0/8")', "setSecurityPollSuffix('')"]
    if way == "empty":
        lines.append('addAction(LuaFFIPerThreadRule("return function(dq) return false end"), DropAction())')
    if way == "besom":
        lines.append(f'dofile("{place.examples}/dnsdist.conf")')
    if way == "own":
        lines.append(f'''local names = newSuffixMatchNode()
for line in io.lines("{place.names}") do names:add(newDNSName(line)) end
addAction(SuffixMatchNodeRule(names, true), RCodeAction(DNSRCode.NXDOMAIN))''')
    return "\n".join(lines + ['addAction(AllRule(), SpoofAction("192.0.2.1"))'])


def kresd_config(way, port, place, _):
    lines = [f"net.ipv6 = false\nnet.listen('127.0.0.1', {port})", "modules.unload('ta_update')",
             "modules.unload('ta_signal_query')", "modules.unload('priming')", "trust_anchors.remove('.')",
             "cache.size = 10 * MB"]
    if way == "empty":
        lines.append("policy.add(function(_, query) return nil end)")
    if way == "besom":
        lines.append(f"dofile('{place.examples}/kresd.conf')")
    if way == "own":
        lines.append(f"policy.add(policy.rpz(policy.DENY, '{place.rpz}'))")
    answer = "policy.ANSWER({ [kres.type.A] = { rdata = kres.str2ip('192.0.2.1'), ttl = 300 } })"
    return "\n".join(lines + [f"policy.add(policy.all({answer}))"])


def unbound_config(way, port, place, _):
    lines = [f'''server:
  interface: 127.0.0.1
  port: {port}
  username: ""
  chroot: ""
  directory: "{place.directory}"
  pidfile: ""
  use-syslog: no
  do-ip6: no
  num-threads: 1
  local-zone: "good." redirect
  local-data: "good. A 192.0.2.1"
  module-config: "{'python iterator' if way == 'besom' else 'iterator'}"''']
    if way == "empty":  # so that nothing is asked for on the network
        lines.append('  local-zone: "net." redirect\n  local-data: "net. A 192.0.2.1"')
    if way == "own":
        lines.append(f'  include: "{place.zones}"')
    if way == "besom":
        lines.append(f'python:\n  python-script: "{place.examples}/unbound_besom.py"')
    return "\n".join(lines + ["remote-control:\n  control-enable: no", ""])


SERVERS = {
    "dnsdist": (dnsdist_config, lambda c, d: ["dnsdist", "--supervised", "--disable-syslog", "-C", c]),
    "kresd": (kresd_config, lambda c, d: ["kresd", "-n", "-c", c, d]),
    "unbound": (unbound_config, lambda c, d: ["unbound", "-d", "-c", c]),
}


class Place:
    def __init__(self, given):
        self.directory, self.examples = tempfile.mkdtemp(), os.path.abspath(given.examples)
        self.names, self.rpz, self.zones, self.queries, self.list = map(
            self.path, ("names.txt", "list.rpz", "zones.conf", "queries.txt", "list.besom"))
        self.environment = dict(os.environ, LIBBESOM=os.path.abspath(given.library), BESOM_LIST=self.list,
                                BESOM_EXAMPLES=self.examples, PYTHONPATH="/usr/lib/python3/dist-packages")
        self.write_lists(given.names)
        subprocess.run([given.command, "build", self.list, "--domains", "--smallest", "--yes", self.names,
                        "--no", self.path("good.txt")], check=True)
        subprocess.run([given.command, "verify", self.list, "--yes", self.names, "--no", self.path("good.txt")],
                       check=True)
        print(f"{os.path.getsize(self.list)} bytes", flush=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write_lists(self, n):
        names = [f"host{i}.example{i % 1000}.net" for i in range(n)]
        good = [f"site{i}.good" for i in range(n)]
        for path, lines in ((self.names, names), (self.path("good.txt"), good),
                            (self.rpz, ["$TTL 30", "@ SOA a. b. 1 2 3 4 5"] + [f"{y}{x} CNAME ." for x in names for y in ("", "*.")]),
                            (self.zones, [f'local-zone: "{x}." always_nxdomain' for x in names]),
                            (self.queries, [f"{names[i * 97 % n] if i % 10 == 0 else good[i * 89 % n]} A"
                                            for i in range(200000)])):
            with open(path, "w", encoding="ascii") as file:
                file.writelines(line + "\n" for line in lines)


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(server, way, port, place):
    config, command = SERVERS[server]
    path, directory = place.path(f"{server}-{way}.conf"), place.path(f"{server}-{way}")
    os.makedirs(directory, exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(config(way, port, place, None))
    log = open(place.path(f"{server}-{way}.log"), "w", encoding="ascii")
    process = subprocess.Popen(command(path, directory), env=place.environment, cwd=directory,
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    for _ in range(600):
        if ask(port, "site1.good", 0.5) == 0:
            return process
        time.sleep(0.2)
    process.kill()
    sys.exit(open(log.name, encoding="ascii").read())


def load(process, port, place, seconds):
    """Queries per second, and microseconds of processor time of the server per query."""
    before = cpu_seconds(process.pid)
    out = subprocess.run(["dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", place.queries, "-l", str(seconds)],
                         check=True, capture_output=True, text=True).stdout
    spent, n = cpu_seconds(process.pid) - before, int(re.search(r"Queries completed:\s+(\d+)", out).group(1))
    return float(re.search(r"Queries per second:\s+([\d.]+)", out).group(1)), 1e6 * spent / n


def measure(server, place, given, ports):
    running = {way: start(server, way, port, place) for way, port in zip(WAYS, ports)}
    try:
        for way, port in zip(WAYS[1:], ports[1:]):
            assert ask(port, "www.host97.example97.net") == NXDOMAIN, (server, way)
        rates = {way: [] for way in WAYS}
        for i in range(given.runs):
            order = list(zip(WAYS, ports))
            for way, port in order[i % len(order):] + order[:i % len(order)]:
                rates[way].append(load(running[way], port, place, given.seconds))
        empty = None
        for way in WAYS:
            rate, cpu = (statistics.median(column) for column in zip(*rates[way]))
            memory = resident_kb(running[way].pid)
            empty = empty or (rate, cpu, memory)
            print(f"{server:8} {way:6} {rate:9.0f} queries/s ({rate / empty[0]:.2f}) {cpu:6.2f} us of CPU per query "
                  f"({empty[1] / cpu:.2f}) {memory / 1024:7.1f} MB ({(memory - empty[2]) / 1024:+.1f})", flush=True)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()


def main():
    parser = argparse.ArgumentParser()
    for name in ("command", "library", "examples"):
        parser.add_argument(name)
    parser.add_argument("servers", nargs="*", default=list(SERVERS))
    parser.add_argument("--names", type=int, default=1000000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--port", type=int, default=15353)
    given = parser.parse_args()
    place = Place(given)
    try:
        for i, server in enumerate(given.servers):
            measure(server, place, given, range(given.port + 3 * i, given.port + 3 * i + 3))
    finally:
        shutil.rmtree(place.directory)


main()
