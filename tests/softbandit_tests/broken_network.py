"""A network to a server on this machine that can be cut: a proxy, through which clients connect."""

import contextlib
import socket
import threading


class Network:
    """Forwards connections to a port, until it is cut."""

    def __init__(self, port):
        self.target, self._is_open, self._losing = port, True, []
        self._sockets = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = []
        self._start(self._accept)

    def cut(self):
        """Break all connections, and refuse new ones until `mend`."""
        self._is_open = False
        for connection in self._sockets:
            _break(connection)
        self._sockets = []

    def mend(self):
        self._is_open = True

    def lose_answer_to(self, *words):
        """Break the connection over which a client sends those words in turn: the last arrives, its answer does not."""
        self._losing = list(words)

    def _start(self, task, *arguments):
        self._threads.append(threading.Thread(target=task, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        with self._listener, contextlib.suppress(OSError):  # at the end
            while True:
                self._connect(self._listener.accept()[0])

    def _connect(self, client):
        try:
            if not self._is_open:
                raise ConnectionRefusedError
            server = socket.create_connection(("127.0.0.1", self.target))
        except ConnectionRefusedError:  # also while the server is down
            client.close()
            return
        self._sockets += [client, server]
        is_lost = threading.Event()
        self._start(self._forward, client, server, is_lost)
        self._start(self._answer, server, client, is_lost)

    def _forward(self, client, server, is_lost):
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                while self._losing and self._losing[0] in data:
                    self._losing.pop(0)
                    if not self._losing:
                        is_lost.set()
                server.sendall(data)
        _break(server)
        client.close()

    def _answer(self, server, client, is_lost):
        with contextlib.suppress(OSError):
            while (data := server.recv(65536)) and not is_lost.is_set():
                client.sendall(data)
        _break(client)
        server.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _break(self._listener)
        self.cut()
        for thread in self._threads:
            thread.join()


def _break(connection):
    """End a connection at once: to close it would wait for threads and forked processes that have it too."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
