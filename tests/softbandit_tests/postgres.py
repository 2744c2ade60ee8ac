"""A PostgreSQL server in a folder of its own, on a Unix socket and a free port of this machine.

PostgreSQL refuses to run as root, so that root starts it as the user that Debian's package creates.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

INSTALL = "PostgreSQL is not installed: apt-get install postgresql"
SETTINGS = {"fsync": "on", "synchronous_commit": "on", "max_connections": "200", "listen_addresses": "'127.0.0.1'"}


def program(name):
    """Return the path of one of PostgreSQL's programs, the newest version; None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(found[-1]) if found else shutil.which(name)


class Server:
    """A server that is started at once, and stopped at the end of a `with` block."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="softbandit-", dir="/tmp")
        self.user = "postgres" if os.geteuid() == 0 else None
        self.data = Path(self.folder.name) / "data"
        if self.user:
            shutil.chown(self.folder.name, self.user)
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        lines = [f"{name} = {value}" for name, value in SETTINGS.items()]
        lines += [f"port = {self.port}", f"unix_socket_directories = '{self.folder.name}'"]
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join([*lines, ""]))
        self.start()

    @property
    def log(self):
        return Path(self.folder.name) / "log"

    def start(self):
        self._run("pg_ctl", "start", "-w", "-D", self.data, "-l", self.log)

    def stop(self, mode="fast"):
        self._run("pg_ctl", "stop", "-w", "-D", self.data, "-m", mode)

    def empty_database(self):
        """Return the URL of the server's database, without any tables."""
        import psycopg  # an optional package

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return self.url

    @property
    def url(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def _run(self, name, *arguments):
        done = subprocess.run(
            [program(name), *map(str, arguments)],
            user=self.user,
            cwd=self.folder.name,
            stdout=subprocess.PIPE if name != "pg_ctl" else subprocess.DEVNULL,  # which the server would keep open
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stdout or self.log.read_text()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if (self.data / "postmaster.pid").exists():
            self.stop()
        self.folder.cleanup()
