"""A real HTTP server of one file on this machine, with the behaviour and the faults of real ones."""

import contextlib
import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from softbandit.data import Known

CONTENT = np.random.default_rng(1).bytes(50_000)


class FileServer(ThreadingHTTPServer):
    """Settings may be changed between requests. `ranges` lists the Range headers received."""

    def __init__(self, content, ranges=True, status=None, stop_after=None, redirect=None, drip=None):
        self.content, self.with_ranges, self.status, self.stop_after = content, ranges, status, stop_after
        self.redirect = redirect  # an address
        self.drip = drip  # "head" or "body": it is sent byte by byte, 50 in a second
        self.ranges = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/some/file.bin"

    def known(self, content=CONTENT):
        """Return the record of a file with that content, at this server."""
        digest = hashlib.sha256(content).hexdigest()
        return Known("thing", "file.bin", digest, len(content), self.address, "http://page", "a thing", "some bytes")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        requested = self.headers.get("Range")
        self.server.ranges.append(requested)
        if self.server.status is not None:
            self.send_error(self.server.status)
            return
        if self.server.redirect is not None and self.path.startswith("/some"):
            self.send_response(302)
            self.send_header("Location", self.server.redirect)
            self.end_headers()
            return
        if self.server.drip == "head":
            self.send_slowly(b"HTTP/1.1 200 OK" + b" " * 60_000)
            return
        start = int(requested.removeprefix("bytes=").removesuffix("-")) if requested and self.server.with_ranges else 0
        if start and start >= len(self.server.content):
            self.send_error(416)
            return
        body = self.server.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.drip == "body":
            self.send_slowly(body)
            return
        self.wfile.write(body[: self.server.stop_after])  # then the connection closes, even before Content-Length

    def send_slowly(self, content):
        with contextlib.suppress(ConnectionError):  # the other side hung up
            for byte in content:
                self.wfile.write(bytes([byte]))
                time.sleep(0.02)

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serving(content=CONTENT, **settings):
    """Run the server in a thread."""
    with FileServer(content, **settings) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
