"""How stored formats grow. `schema.sql` and `schema_postgres.sql` are version 1 and stay as they are; every later
version is one more entry in `MIGRATIONS`, and a new store takes the same road as an old one.

One entry holds the statements of both stores, so that neither can be forgotten.
"""

from typing import NamedTuple

from rankloop.live.errors import StoreError


class Migration(NamedTuple):
    """What leads from one version to the next, statement by statement, in each store's own SQL."""

    sqlite: tuple[str, ...]
    postgres: tuple[str, ...]


DIGEST = "ALTER TABLE events ADD COLUMN digest {}"
DECISIONS = "CREATE INDEX decisions ON events (model, position) WHERE kind >= 5 AND kind <= 19"
"""What people decide about models has these kinds (and what was erased has one of them)."""
ACTIONS = "ALTER TABLE open_impressions ADD COLUMN actions {}"
ENDS = "CREATE INDEX ends ON events (model, number) WHERE kind IN (4, 20)"
"""4 is Kind.CLOSED, 20 is Kind.LATE."""

MIGRATIONS: list[Migration] = [
    # 2: what was changed in an event is found; those that are there have no digest.
    Migration((DIGEST.format("BLOB"),), (DIGEST.format("bytea"),)),
    # 3: who decided what is found without reading the pages in between.
    Migration((DECISIONS,), (DECISIONS,)),
    # 4: what happened to documents is told apart, and a page is found after it was closed.
    Migration((ACTIONS.format("BLOB NOT NULL DEFAULT x''"), ENDS), (ACTIONS.format("bytea NOT NULL DEFAULT ''"), ENDS)),
]
"""`MIGRATIONS[0]` leads from version 1 to version 2, and so on."""


def newest_version() -> int:
    """The version that this rankloop reads and writes."""
    return 1 + len(MIGRATIONS)


def missing_migrations(version: int, where: object) -> list[Migration]:
    """What a store of version `version` still needs; a version from the future is refused.

    >>> missing_migrations(newest_version(), "shop.db")
    []
    """
    if version > newest_version():
        raise StoreError(
            f"{where} was written by a newer rankloop (format {version}, this one reads up to {newest_version()}); "
            f"upgrade rankloop"
        )
    return MIGRATIONS[version - 1 :]
