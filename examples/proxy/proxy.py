#!/usr/bin/env python3
"""A proxy in front of an object store that answers 404 at once for objects that are certainly not there.

    proxy.py COPY STORE [--port 8080]

COPY is the copy of a published set whose keys are the paths of the objects, without the first slash: `besom sync` keeps
it up to date, for example every hour from cron, and the proxy notices. STORE is the URL of the object store. A request
for a path that the copy denies costs no request to the store. A request that the copy lets pass, and that the store
answers 404, was a false positive: it is reported, and costs nothing from then on.

What the proxy answers is as old as the copy: an object that was stored since is a 404 until the next version is synced.
When the copy has expired everything is passed on. GET /-/stats has the counters."""

import argparse
import datetime
import http.client
import http.server
import json
import os
import sys
import threading
import urllib.parse

import besom

HOP_BY_HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host"}
PIECE = 1 << 16


class Copy:
    """The copy, opened again when a sync has replaced it. Reports belong to one version."""

    def __init__(self, directory):
        self.directory, self.lock, self.set, self.pointer = directory, threading.Lock(), None, None
        self.current()

    def current(self):
        pointer = os.stat(os.path.join(self.directory, "set.minisig"))
        pointer = pointer.st_ino, pointer.st_mtime_ns
        with self.lock:
            if pointer != self.pointer:
                self.set, self.pointer = besom.PublishedSet(self.directory), pointer
            return self.set

    @staticmethod
    def has_expired(version):
        return datetime.datetime.now(datetime.timezone.utc) >= version.expires


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, copy, store):
        super().__init__(address, Handler)
        self.copy, self.store = Copy(copy), urllib.parse.urlsplit(store)
        self.counts, self.lock = {"denied": 0, "passed": 0, "false_positives": 0}, threading.Lock()

    def count(self, name):
        with self.lock:
            self.counts[name] += 1


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    def do_GET(self):
        if self.path == "/-/stats":
            body = json.dumps({**self.server.counts, "sequence": self.server.copy.current().sequence}).encode()
            self.answer(200, [("Content-Type", "application/json")], body)
            return
        key = urllib.parse.unquote_to_bytes(urllib.parse.urlsplit(self.path).path.removeprefix("/"))
        version = self.server.copy.current()
        if key not in version and not Copy.has_expired(version):
            self.server.count("denied")
            self.answer(404, [("X-Answered-By", "filter")], b"")
            return
        self.server.count("passed")
        if self.pass_on() == 404 and key in version:
            version.report(key)
            self.server.count("false_positives")

    do_HEAD = do_GET

    def pass_on(self):
        """Sends the request to the store, and its answer to the client. Returns the status."""
        store = self.server.store
        connect = http.client.HTTPSConnection if store.scheme == "https" else http.client.HTTPConnection
        connection = connect(store.netloc, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        try:
            connection.request(self.command, store.path.rstrip("/") + self.path, headers=headers)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.answer(502, [], f"the store: {error}\n".encode())
            return 502
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP and name.lower() not in ("server", "date"):
                self.send_header(name, value)
        if response.getheader("Content-Length") is None:
            self.send_header("Connection", "close")
        self.end_headers()
        while self.command != "HEAD" and (piece := response.read(PIECE)):
            self.wfile.write(piece)
        connection.close()
        return response.status

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("copy")
    parser.add_argument("store")
    parser.add_argument("--port", type=int, default=8080)
    given = parser.parse_args()
    with Proxy(("127.0.0.1", given.port), given.copy, given.store) as proxy:
        print(f"http://127.0.0.1:{proxy.server_address[1]}", flush=True)
        try:
            proxy.serve_forever()
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
