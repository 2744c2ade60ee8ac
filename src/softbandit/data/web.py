"""Requests to one web server, with a total deadline: no other scheme, no other server, however slow the answer."""

import http.client
import io
import socket
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 30.0  # seconds without a byte
SCHEMES = ("http", "https")


class Refused(OSError):
    """An address that is not requested."""


def request(address: str, headers: dict[str, str], deadline: float) -> http.client.HTTPResponse:
    """Request an address; reading the answer fails once time.monotonic() has passed the deadline."""
    if urlsplit(address).scheme not in SCHEMES:
        raise Refused(f"{address} is no address of the web, http or https")
    opener = urllib.request.OpenerDirector()
    errors = urllib.request.HTTPErrorProcessor(), urllib.request.HTTPDefaultErrorHandler()
    for handler in (urllib.request.ProxyHandler(), _Web(deadline), _SameServer(), *errors):
        opener.add_handler(handler)
    response: http.client.HTTPResponse = opener.open(urllib.request.Request(address, headers=headers), timeout=TIMEOUT)
    return response


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Follows redirects within a server, and refuses others."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            fp.close()
            raise Refused(f"{req.full_url} redirects to another server, {newurl}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Web(urllib.request.AbstractHTTPHandler):
    """Opens connections whose answers have a deadline."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection(http.client.HTTPConnection), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection(http.client.HTTPSConnection), req)

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_

    def _connection(self, kind: type[http.client.HTTPConnection]) -> Callable[..., http.client.HTTPConnection]:
        def connect(host: str, **options: Any) -> http.client.HTTPConnection:
            connection = kind(host, **options)
            connection.response_class = partial(_Response, self._deadline)  # type: ignore[assignment]
            return connection

        return connect


class _Response(http.client.HTTPResponse):
    """A response whose head and body must arrive before the deadline."""

    def __init__(self, deadline: float, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_UntilDeadline(self.fp.detach(), sock, deadline))


class _UntilDeadline(io.RawIOBase):
    """Bytes of a socket. A timeout of the socket alone would allow one byte per TIMEOUT, for ever."""

    def __init__(self, stream: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        self._stream, self._socket, self._deadline = stream, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long")
        self._socket.settimeout(min(TIMEOUT, left))
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()
