"""A web server on loopback for published sets, which can misbehave: it serves a directory with ranges and keep-alive,
counts the bytes of bodies, and on request breaks off, redirects, ignores ranges, or sends more than it should, without
end, too."""

import http.server
import os
import ssl
import threading


class Server:
    """url: where it serves the directory. breaks: break off every body after so many bytes in all; None: never.
    redirect: answer each request with this URL and the name; "". ranges: whether it knows them. extra: sent after each
    body. endless: "headers", or "redirect" for the body of a redirect: sent until the client goes away. replaced: bodies
    by name, instead of files. sent: the bytes of bodies so far."""

    def __init__(self, directory, certificate=None):
        self.directory, self.breaks, self.redirect, self.ranges, self.extra, self.sent = directory, None, "", True, 0, 0
        self.requests, self.endless, self.replaced = [], "", {}
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.http.daemon_threads = True
        self.http.handle_error = lambda *unused: None  # a client that was killed
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.url = "%s://127.0.0.1:%d" % ("https" if certificate else "http", self.http.server_address[1])
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def _handler(self):
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *unused):
                pass

            def do_GET(self):
                name = self.path.lstrip("/").split("/")[-1]
                server.requests.append(name)
                if server.endless:
                    self.send_without_end()
                    return
                if server.redirect and not self.path.startswith("/moved/"):
                    self.send_response(302)
                    self.send_header("Location", server.redirect + name)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                path = os.path.join(server.directory, name)
                if name in server.replaced:
                    self.answer(server.replaced[name])
                    return
                if not os.path.isfile(path):
                    self.send_error(404)
                    return
                with open(path, "rb") as file:
                    body = file.read() + b"x" * server.extra
                self.answer(body)

            def send_without_end(self):
                headers, piece = "Location: %s/moved/x\r\nTransfer-Encoding: chunked\r\n\r\n" % server.url, b"x" * 4000
                if server.endless == "headers":
                    headers = ""
                self.wfile.write(b"HTTP/1.1 302 Found\r\n" + headers.encode())
                while True:
                    self.wfile.write(b"fa0\r\n" + piece + b"\r\n" if headers else b"X: " + piece + b"\r\n")

            def answer(self, body):
                start, wanted = 0, self.headers.get("Range")
                if wanted and server.ranges:
                    start = int(wanted.removeprefix("bytes=").split("-")[0])
                    if start >= len(body):
                        self.send_error(416)
                        return
                    self.send_response(206)
                    self.send_header("Content-Range", "bytes %d-%d/%d" % (start, len(body) - 1, len(body)))
                else:
                    self.send_response(200)
                self.send_header("Content-Length", str(len(body) - start))
                self.end_headers()
                body = body[start:]
                if server.breaks is not None:
                    body, self.close_connection = body[: server.breaks], len(body) > server.breaks
                    server.breaks -= len(body)
                self.wfile.write(body)
                server.sent += len(body)

        return Handler
