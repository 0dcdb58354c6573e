"""`rankloop keys`: make, list, rotate and revoke keys, and rotate the secret that signs impression ids."""

import secrets
from datetime import UTC, datetime
from typing import Any

from rankloop.cli.terminal import err, out, print_json, print_table, table
from rankloop.live.events import now
from rankloop.live.keys import create_key, revoke_key, rotate_key
from rankloop.live.stores import opened
from rankloop.live.tokens import SECRET_BYTES, SETTLING
from rankloop.logs.access import existing
from rankloop.settings import require_number


def main_create(address: str, name: str, scopes: list[str], *, json: bool) -> None:
    """`rankloop keys create`."""
    with opened(address) as store:
        _tell(name, create_key(store, name, scopes, now()), json)


def main_list(address: str, *, json: bool) -> None:
    """`rankloop keys list`."""
    with existing(address) as store:
        rows: list[dict[str, Any]] = [
            {
                "name": key.name,
                "scopes": key.scopes.split(),
                "created": _date(key.created),
                "revoked": _date(key.revoked),
            }
            for key in store.api_keys()
        ]
    if json:
        print_json(rows)
    elif rows:
        made = table("key", "may", "made", "revoked")
        for row in rows:
            made.add_row(row["name"], " ".join(row["scopes"]), row["created"], row["revoked"] or "–")
        print_table(made)
    else:
        out.print("no keys: the service is open, and listens on this machine only")


def main_rotate(address: str, name: str, *, json: bool) -> None:
    """`rankloop keys rotate`."""
    with existing(address) as store:
        _tell(name, rotate_key(store, name, now()), json)


def main_revoke(address: str, name: str) -> None:
    """`rankloop keys revoke`."""
    with existing(address) as store:
        revoke_key(store, name, now())
    out.print(f"{name} is no longer accepted")


def main_rotate_secret(address: str, drop_after: float) -> None:
    """`rankloop keys rotate-secret`."""
    require_number("keys", "drop-after", drop_after, at_least=0, at_most=36_500)
    with existing(address) as store:
        store.add_secret(secrets.token_bytes(SECRET_BYTES), now())
        dropped = store.drop_secrets(now() + 1 - int(drop_after * 86_400_000))
        signing = len(store.secrets())
    begins = "at once" if signing == 1 else f"in {SETTLING // 1000} s, when every process knows it"
    out.print(f"a new secret signs impression ids {begins}; {dropped} old ones were forgotten")


def _tell(name: str, secret: str, json: bool) -> None:
    if json:
        print_json({"name": name, "key": secret})
    else:
        err.print(f"the key of {name}, shown this once:")
        print(secret)


def _date(at: int | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")
