"""Connections to a PostgreSQL server: with the settings that the log needs, reopened when they break, errors as
sentences that never hold the password.

Writes go through one connection, guarded by a lock in this process and by an advisory lock between processes. Reads
borrow from a handful of idle ones. Both replace a connection that broke while it lay idle, so a restart of the server
needs no hands.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from rankloop.live.errors import StoreError

Connection = psycopg.Connection[tuple[Any, ...]]

LOCK_SECONDS = 5
"""How long a transaction waits for the log, as with SQLite; then its entries are refused."""
ANSWER_SECONDS = 10.0
"""How long a server that is there, but hangs, is waited for by a service; then the connection is cut."""
IDLE = 4
"""Connections for reading that are kept for the next one who reads."""

DEFAULTS = {
    # A server that has vanished without a word is noticed within about ten seconds.
    "connect_timeout": "5",
    "keepalives": "1",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    # Only the server that may be written to knows the newest events.
    "target_session_attrs": "read-write",
    "application_name": "rankloop",
}
"""What a connection string need not say, but may say otherwise."""

SETTINGS = f"""
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') <> 'remote_apply';
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '{LOCK_SECONDS}s';
SET idle_in_transaction_session_timeout = '60s';
SET client_min_messages = 'warning';
SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 10000;
"""
"""The server's side: a commit is on disk when it returns, each statement sees what was committed before it, and what a
vanished process held is freed: at once if its connection was closed, within seconds if its machine is gone, and within
a minute if it hangs."""

GONE = ("57P01", "57P02", "57P03")
"""The server is going down, has crashed, or is still starting."""

REMEDIES = {
    "55P03": "another process holds the log; it is retried with the next request",
    "53100": "the server's disk is full; make room, and it goes on by itself",
    "53200": "the server is out of memory; it is retried with the next request",
    "53300": "the server has no connection left; raise its max_connections, or run fewer processes",
    "25006": "the server accepts no writes (a standby?); give the address of the primary",
    "42501": "the user may not do that; let rankloop own its database",
    "42P01": "a table of the log is missing; is it a rankloop log?",
    "42P07": "there are tables that are not rankloop's; give it a database (or a schema) of its own",
    "25P03": "this process held the log for a minute without doing anything, and lost it",
}


class Server:
    """A connection string, and what this process has open to it."""

    def __init__(self, address: str, *, patient: bool = True) -> None:
        self._limits = None if patient else TimeLimits()
        self._parameters = DEFAULTS | _parsed(address)
        self._name = _without_password(self._parameters)
        self._lock = threading.RLock()
        self._write: Connection | None = None
        self._pool = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False
        self._schema = ""

    def __str__(self) -> str:
        return self._name

    def connect(self) -> Connection:
        """A new connection, in autocommit mode."""
        if self._closed:
            raise StoreError(f"{self}: the store has been closed")
        try:
            connection: Connection = psycopg.connect(autocommit=True, **self._parameters)
            with self.limited(connection):
                cursor = connection.execute(SETTINGS)
                while cursor.nextset():
                    pass
        except psycopg.Error as error:
            # The driver asks whether the server is running; what to do about it is said after it.
            reason = _one_line(error).partition(" Is the server running")[0]
            raise StoreError(f"{self}: {reason}; check the address, and that the server is up") from None
        return connection

    def lock_key(self, name: str) -> int:
        """The advisory lock of this name: 64 bits, different for every schema (and, by PostgreSQL, every database)."""
        if not self._schema:
            self._schema = str(self.rows("SELECT coalesce(current_schema(), '')")[0][0])
        whole = f"rankloop\0{self._schema}\0{name}".encode()
        return int.from_bytes(blake2b(whole, digest_size=8).digest(), "big", signed=True)

    @contextmanager
    def limited(self, connection: Connection) -> Iterator[None]:
        """What a service asks of the server meanwhile is answered within a time, or its connection is cut."""
        if self._limits is None:
            yield
            return
        self._limits.begin(connection)
        try:
            yield
        finally:
            self._limits.end(connection)

    # Reading

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """What a question finds. Asked again, once, if the connection turns out to be broken."""
        with self.translated():
            connection = self._borrow()
            try:
                with self.limited(connection):
                    return fetch(connection, sql, values)
            except psycopg.OperationalError as error:
                if not is_broken(connection, error):
                    raise
                self._forget_idle()
                connection.close()
                connection = self.connect()
                with self.limited(connection):
                    return fetch(connection, sql, values)
            finally:
                self._give_back(connection)

    def _borrow(self) -> Connection:
        with self._pool:
            if self._idle:
                return self._idle.pop()
        return self.connect()

    def _give_back(self, connection: Connection) -> None:
        with self._pool:
            fine = connection.info.transaction_status == TransactionStatus.IDLE
            if fine and len(self._idle) < IDLE and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _forget_idle(self) -> None:
        with self._pool:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # Writing

    @contextmanager
    def exclusive(self, first: str = "SELECT 1") -> Iterator[tuple[Connection, Any]]:
        """The connection that writes, in a transaction that holds the log; and the one row of the statement `first`.

        `first` travels with the lock, but sees everything that was committed before the lock was got.
        """
        with self._held():
            if self._write and self._write.info.transaction_status != TransactionStatus.IDLE and not self._write.closed:
                raise StoreError(f"{self}: this thread already holds the log; end that transaction first")
            connection, row = self._begin(first)
            try:
                with self.limited(connection), self.translated():
                    yield connection, row
            except BaseException:
                with suppress(psycopg.Error), self.limited(connection):
                    connection.execute("ROLLBACK")
                raise
            with self.limited(connection):
                self._commit(connection)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The connection that writes, for one thread of this process."""
        if not self._lock.acquire(timeout=-1 if self._limits is None else 2 * ANSWER_SECONDS):
            raise StoreError(f"{self}: a write of this process has not ended for {2 * ANSWER_SECONDS:g} s")
        try:
            yield
        finally:
            self._lock.release()

    def _begin(self, first: str) -> tuple[Connection, Any]:
        sql = f"BEGIN; SELECT pg_advisory_xact_lock({self.lock_key('log')}); {first}"
        with self.translated():
            if self._write is not None:
                try:
                    with self.limited(self._write):
                        return self._write, _last_row(self._write, sql)
                except psycopg.OperationalError as error:
                    if not is_broken(self._write, error):
                        self._write.execute("ROLLBACK")
                        raise
                    self._write.close()
            self._write = None
            self._write = self.connect()
            try:
                with self.limited(self._write):
                    return self._write, _last_row(self._write, sql)
            except psycopg.Error:
                self._drop_write()
                raise

    def _commit(self, connection: Connection) -> None:
        try:
            ended = connection.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            unknown = is_broken(connection, error)
            self._drop_write()
            if unknown:
                raise StoreError(
                    f"{self}: the connection broke during a commit, so what it wrote may or may not be in the log; "
                    f"nothing of it was acknowledged"
                ) from error
            raise StoreError(f"{self}: {_sentence(error)}") from error
        if ended != "COMMIT":
            # PostgreSQL ends a transaction in which a statement failed with a ROLLBACK, and calls that success.
            raise StoreError(f"{self}: a statement of the transaction had failed, so nothing of it was written")

    def _drop_write(self) -> None:
        if self._write is not None:
            self._write.close()
        self._write = None

    def close(self) -> None:
        """Close every connection; nothing works after that."""
        self._closed = True
        with suppress(StoreError), self._held():
            self._drop_write()
        self._forget_idle()
        if self._limits is not None:
            self._limits.stop()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """PostgreSQL's errors as sentences."""
        try:
            yield
        except psycopg.Error as error:
            raise StoreError(f"{self}: {_sentence(error)}") from error


class TimeLimits:
    """Cuts connections to a server that takes too long. libpq waits for an answer as long as the other side is there:
    a server that is stopped, or whose disk hangs, is. A thread looks every second whose time is up."""

    def __init__(self) -> None:
        self._until: dict[Connection, float] = {}
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name="rankloop-limits", daemon=True).start()

    def begin(self, connection: Connection) -> None:
        """Something is asked on this connection."""
        self._until[connection] = time.monotonic() + ANSWER_SECONDS

    def end(self, connection: Connection) -> None:
        """It was answered, or has failed."""
        self._until.pop(connection, None)

    def stop(self) -> None:
        """Nobody asks any more."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(min(1.0, ANSWER_SECONDS)):
            for connection, until in list(self._until.items()):
                if time.monotonic() > until:
                    self.end(connection)
                    _cut(connection)


def _cut(connection: Connection) -> None:
    """End the connection under whoever waits on it, who then hears that it is broken."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


class Marked:
    """A connection that takes SQL with `?` for each value, as the stores share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run one statement."""
        return self._connection.execute(_marked(sql), values)


def fetch(connection: Connection, sql: str, values: Sequence[Any]) -> list[Any]:
    """What a question finds, in binary."""
    return connection.cursor(binary=True).execute(_marked(sql), values).fetchall()


def _marked(sql: str) -> str:
    return sql.replace("?", "%s")


def is_broken(connection: Connection, error: psycopg.Error) -> bool:
    """Whether the connection is lost, rather than the statement wrong."""
    return connection.closed or error.sqlstate in GONE


def _last_row(connection: Connection, sql: str) -> Any:
    cursor = connection.execute(sql)
    while cursor.nextset():
        pass
    return cursor.fetchone()


def _parsed(address: str) -> dict[str, Any]:
    """The parts of a connection string. What libpq says about a bad one may quote the password, so it stays here."""
    try:
        parameters = conninfo_to_dict(address)
    except psycopg.Error:
        parameters = None
    if parameters is None or _is_torn(parameters):
        raise StoreError(
            "the connection string cannot be read; it should look like postgresql://user:password@host:5432/database, "
            "with special characters percent-encoded (@ is %40, / is %2F, % is %25)"
        ) from None
    return {name: str(value) for name, value in parameters.items() if value is not None}


def _is_torn(parameters: dict[str, Any]) -> bool:
    """A password with a bare @ or / was cut in the wrong place: a part of it is now the host, port or database."""
    ports = str(parameters.get("port") or "").replace(",", "")
    return any("@" in str(parameters.get(part) or "") for part in ("host", "dbname")) or not (ports or "0").isdigit()


def _without_password(parameters: dict[str, Any]) -> str:
    user, host, port = (str(parameters.get(part, "")) for part in ("user", "host", "port"))
    place = f"{user}@" * bool(user) + host + f":{port}" * bool(port)
    return f"postgresql://{place}/{parameters.get('dbname', '')}"


def _sentence(error: psycopg.Error) -> str:
    reason = _one_line(error)
    remedy = REMEDIES.get(error.sqlstate or "")
    if error.sqlstate in GONE or (error.sqlstate is None and isinstance(error, psycopg.OperationalError)):
        remedy = "the connection is lost; a new one is made with the next request"
    return f"{reason}: {remedy}" if remedy else reason


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__
