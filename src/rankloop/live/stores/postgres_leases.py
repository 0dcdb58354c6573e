"""Leases of a server: advisory locks of a session, which the server frees when its connection breaks."""

import threading
from contextlib import suppress

import psycopg

from rankloop.live.stores.postgres_connections import Connection, Server
from rankloop.live.stores.rows import Lease


class PostgresLeases:
    """All leases of this process, on one connection that does nothing else: a hundred models need no more than one."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._held: dict[str, Lease] = {}

    def take(self, name: str) -> Lease | None:
        """The lease, or None if somebody else holds it."""
        key = self._server.lock_key(name)
        with self._lock, self._server.translated():
            if not self._answers():
                self._drop()
                self._connection = self._server.connect()
            # A session may take its own lock again, so what this process holds is looked up here.
            if name in self._held or self._connection is None:
                return None
            with self._server.limited(self._connection):
                row = self._connection.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()
            if row is None or not row[0]:
                return None
            self._held[name] = Lease(self, name)
            return self._held[name]

    def holds(self, lease: Lease) -> bool:
        """Whether it is still held."""
        with self._lock:
            if not self._answers():
                self._drop()
            return self._held.get(lease.name) is lease

    def release(self, lease: Lease) -> None:
        """Let somebody else have it."""
        key = self._server.lock_key(lease.name) if self._connection else 0
        with self._lock:
            if self._held.get(lease.name) is not lease or self._connection is None:
                return
            del self._held[lease.name]
            with suppress(psycopg.Error), self._server.limited(self._connection):
                self._connection.execute("SELECT pg_advisory_unlock(%s)", [key])

    def close(self) -> None:
        """Let go of all of them."""
        with self._lock:
            self._drop()

    def _answers(self) -> bool:
        if self._connection is None:
            return False
        with suppress(psycopg.Error), self._server.limited(self._connection):
            return self._connection.execute("SELECT 1").fetchone() is not None
        return False

    def _drop(self) -> None:
        """Without its connection no lease is held any more."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._held.clear()
