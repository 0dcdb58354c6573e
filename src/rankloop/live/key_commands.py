"""`rankloop keys`: make, list, rotate and revoke keys, and rotate the secret that signs impression ids."""

import secrets
from datetime import UTC, datetime
from typing import Any

from rankloop.errors import SettingsError
from rankloop.live.keys import PREFIX, create_key, digest
from rankloop.live.service import now
from rankloop.live.stores import opened
from rankloop.live.tokens import SECRET_BYTES
from rankloop.settings import require_number
from rankloop.terminal import err, out, print_json, print_table, table


def main_create(address: str, name: str, scopes: list[str], *, json: bool) -> None:
    """`rankloop keys create`."""
    with opened(address) as store:
        _tell(name, create_key(store, name, scopes, now()), json)


def main_list(address: str, *, json: bool) -> None:
    """`rankloop keys list`."""
    with opened(address) as store:
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
    with opened(address) as store:
        found = next((key for key in store.api_keys() if key.name == name and key.revoked is None), None)
        if found is None:
            raise SettingsError(f"key: there is no valid key named {name!r}; rankloop keys list shows all")
        secret = PREFIX + secrets.token_urlsafe(32)
        store.replace_api_key(found._replace(digest=digest(secret), created=now()))
        _tell(name, secret, json)


def main_revoke(address: str, name: str) -> None:
    """`rankloop keys revoke`."""
    with opened(address) as store:
        if not store.revoke_api_key(name, now()):
            raise SettingsError(f"key: there is no valid key named {name!r}; rankloop keys list shows all")
    out.print(f"{name} is no longer accepted")


def main_rotate_secret(address: str, drop_after: float) -> None:
    """`rankloop keys rotate-secret`."""
    require_number("keys", "drop-after", drop_after, at_least=0)
    with opened(address) as store:
        store.add_secret(secrets.token_bytes(SECRET_BYTES), now())
        dropped = store.drop_secrets(now() - int(drop_after * 86_400_000))
    out.print(f"impression ids are signed with a new secret; {dropped} old ones were forgotten")


def _tell(name: str, secret: str, json: bool) -> None:
    if json:
        print_json({"name": name, "key": secret})
    else:
        err.print(f"the key of {name}, shown this once:")
        print(secret)


def _date(at: int | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")
