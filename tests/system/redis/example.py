"""example.py PROGRAM: runs examples/redis_cache.c in both modes, as a demonstration and as a web server."""

import os
import subprocess
import sys
import urllib.error
import urllib.request

from servers import Server, die_with_parent, free_port, wait_for


def status_of(url, data=None):
    try:
        request = urllib.request.Request(url, data=data, method="PUT" if data else "GET")
        with urllib.request.urlopen(request, timeout=600) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return None


def main(program):
    server = Server()
    for name in ("demo", "pages"):
        os.mkdir(os.path.join(server.dir, name))
    subprocess.run([program, str(server.port), os.path.join(server.dir, "demo")], check=True)
    r = server.client()
    r("DEL", "pages")
    port = free_port()
    url = "http://127.0.0.1:%d" % port
    web = subprocess.Popen([program, str(server.port), os.path.join(server.dir, "pages"), str(port)],
                           preexec_fn=die_with_parent)
    try:
        wait_for(lambda: status_of(url + "/nothing"), what="the web server")
        assert status_of(url + "/a", b"page a") == (201, b"")
        assert status_of(url + "/a") == (200, b"page a")
        assert status_of(url + "/b")[0] == 404
        r("AF.ADD", "pages", "/b")  # a yes without a page, like a false positive
        assert status_of(url + "/b")[0] == 404
        assert r("AF.EXISTS", "pages", "/b") == 0, "it was not reported"
    finally:
        web.kill()
        web.wait()
        server.close()


main(sys.argv[1])
