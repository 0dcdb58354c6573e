"""A real PostgreSQL server for tests: in a temporary folder, on a free port, with a password; to stop and to kill."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from tests.patience import PATIENCE, wait_until

from .stores import pages

USER = "rankloop"
PASSWORD = "geheim/wort:nicht@verraten"
SECRETS = (PASSWORD, *PASSWORD.replace("/", " ").replace(":", " ").replace("@", " ").split())
"""The password, and what is left of it where it was torn."""
SYSTEM_USERS = ("postgres", "nobody")
"""Whom the server runs as where tests run as root, which PostgreSQL refuses."""


def find_binaries() -> Path | None:
    """The folder of `initdb` and `postgres`: on the path, or where Debian hides them; None where there is no server."""
    folders = [Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: folder.parent.name, reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


@contextmanager
def postgres() -> Iterator["PostgresServer"]:
    """A server that runs, for a while; the test is skipped where there is none."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server: neither initdb on the path nor /usr/lib/postgresql/*/bin")
    server = PostgresServer(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()


class PostgresServer:
    """One server with its data; databases are made from it by the dozen."""

    def __init__(self, binaries: Path, *, settings: dict[str, str] | None = None) -> None:
        self.binaries = binaries
        self.settings = settings or {}
        self.port = _free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="rankloop-pg-"))
        self.process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        self._identity = _identity()
        if self._identity:
            os.chown(self.folder, self._identity["user"], self._identity["group"])
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if self._identity:
            os.chown(secret, self._identity["user"], self._identity["group"])
        self._run(
            "initdb", "--pgdata", str(self.folder / "data"), "--username", USER, "--pwfile", str(secret),
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip

    def start(self) -> None:
        """Start it if it is not running, and wait until it answers."""
        if self.process is not None and self.process.poll() is None:
            return
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            **self.settings,
        }
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(self.binaries / "postgres"), "-D", str(self.folder / "data"), *arguments],
                stdout=log, stderr=log, cwd=self.folder, **self._identity,
            )  # fmt: skip
        self._wait_until_it_answers()

    def stop(self) -> None:
        """A fast shutdown, as by an administrator: open connections are ended."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """A crash: every process of the server dies at once, nothing is written any more."""
        self._end(signal.SIGQUIT)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """For a while, every process of the server is there and does nothing: connections are accepted by the system,
        and nobody answers."""
        assert self.process is not None
        master = self.process.pid
        children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        everyone = [master, *map(int, children)]
        for pid in everyone:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in everyone:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def restart(self) -> None:
        """Down and up again."""
        self.stop()
        self.start()

    def remove(self) -> None:
        """Stop it and delete all it had."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str = "postgres", *, user: str = USER, password: str = PASSWORD) -> str:
        """A connection string."""
        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The connection string of an empty database."""
        self.start()
        name = f"log{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def new_log(self) -> str:
        """The connection string of an empty schema: a hundred times quicker than a database, and enough for a log."""
        self.start()
        name = f"log{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.address()}?options=-csearch_path%3D{name}"

    def execute(self, sql: str) -> list[tuple[object, ...]]:
        """Run a statement as the server's administrator."""
        with psycopg.connect(self.address(), autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def end_connections(self, application: str = "rankloop") -> int:
        """End the connections of a kind of client, as a broken network would; how many there were."""
        sql = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{application}'"
        return len(self.execute(sql))

    def _end(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
        self.process = None

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.binaries / program), *arguments],
            capture_output=True,
            cwd=self.folder,
            check=False,
            **self._identity,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace')}")

    def _wait_until_it_answers(self) -> None:
        def said() -> str:
            return f"the PostgreSQL server starts: {(self.folder / 'log').read_text(errors='replace')[-2000:]}"

        def answers() -> bool:
            try:
                psycopg.connect(self.address(), connect_timeout=int(PATIENCE)).close()
            except psycopg.OperationalError:
                assert self.process is not None, said()
                assert self.process.poll() is None, said()
                return False
            return True

        wait_until(answers, said)


def _identity() -> dict[str, object]:
    """Whom to run the server as: nobody in particular, unless we are root."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in SYSTEM_USERS if name in known)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def sentence(call, *arguments):
    """What a StoreError says, which must never be the password."""
    told = pages.sentence(call, *arguments)
    assert not [secret for secret in SECRETS if secret in told]
    return told
