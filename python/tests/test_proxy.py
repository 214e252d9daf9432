"""examples/proxy: what is absent costs the store no request, but for the first one of each false positive."""

import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

from test_published import publish

PROXY = pathlib.Path(__file__).parents[2] / "examples" / "proxy" / "proxy.py"
OBJECTS, ABSENT = 2000, 3000


class Store(http.server.ThreadingHTTPServer):
    """Has the objects 0 to OBJECTS - 1, and counts requests."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), StoreHandler)
        self.objects, self.requests = {f"/object-{i}" for i in range(OBJECTS)}, []
        self.garbled = False
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


class StoreHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    def do_GET(self):
        self.server.requests.append(self.path)
        if self.server.garbled:
            self.wfile.write(b"nonsense\r\n\r\n")
            self.close_connection = True
            return
        body = self.path.encode() if self.path in self.server.objects else b"none"
        self.send_response(200 if self.path in self.server.objects else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET


@pytest.fixture
def store():
    with Store() as server:
        yield server
        server.shutdown()


@pytest.fixture
def proxy(tmp_path, store):
    copy = publish(tmp_path, [path[1:] for path in store.objects], 1, "--expires", "36500d")
    command = [sys.executable, PROXY, copy, f"http://127.0.0.1:{store.server_address[1]}", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    connection = http.client.HTTPConnection(process.stdout.readline().strip().removeprefix("http://"))
    yield connection
    connection.close()
    process.kill()
    process.wait()
    process.stdout.close()


def get(proxy, path, method="GET"):
    proxy.request(method, path)
    response = proxy.getresponse()
    return response.status, response.read()


def stats(proxy):
    return json.loads(get(proxy, "/-/stats")[1])


def test_the_store_is_asked_for_what_may_be_there(tmp_path, store, proxy):
    for i in range(0, OBJECTS, 20):
        assert get(proxy, f"/object-{i}") == (200, f"/object-{i}".encode())
    assert get(proxy, "/object-1", "HEAD") == (200, b"")
    passed = len(store.requests)
    for _ in range(2):
        for i in range(ABSENT):
            assert get(proxy, f"/absent-{i}")[0] == 404
    false_positives = len(store.requests) - passed
    assert 1 <= false_positives < ABSENT / 100, "each absent object costs at most one request"
    assert len(set(store.requests[passed:])) == false_positives
    counts = stats(proxy)
    assert counts["false_positives"] == false_positives and counts["denied"] == 2 * ABSENT - false_positives

    # The next version has an object that was denied, and one that was reported.
    added = [store.requests[-1], "/absent-0"]
    store.objects.update(added)
    publish(tmp_path, [path[1:] for path in store.objects], 2, "--expires", "36500d")
    for path in added:
        assert get(proxy, path) == (200, path.encode())
    assert stats(proxy)["sequence"] == 2


def test_a_store_that_fails_is_a_502_and_no_report(store, proxy):
    store.garbled = True
    assert get(proxy, "/object-1")[0] == 502
    store.garbled = False
    assert get(proxy, "/object-1") == (200, b"/object-1")
    assert stats(proxy)["false_positives"] == 0
