"""`rankloop keys`: make, list, rotate and revoke keys, and rotate the secret that signs impression ids."""

import secrets
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from rankloop.cli.app import STORE, Json, group
from rankloop.cli.terminal import err, out, print_json, print_table, table

commands = group("keys", "Manage a service's API keys and the secret that signs impression ids.")

Store = Annotated[str, typer.Option(help="The log: a SQLite file, or postgresql://…")]


@commands.command()
def create(
    name: Annotated[str, typer.Argument(help="Who will use it.")],
    scope: Annotated[list[str], typer.Option(help="rank, click or admin; may be repeated.")],
    store: Store = STORE,
    json: Json = False,
) -> None:
    """Create a key. It is printed once; the store keeps only its hash."""
    from rankloop.live.events import now
    from rankloop.live.keys import create_key
    from rankloop.live.stores import opened

    with opened(store) as log:
        _show_key(name, create_key(log, name, scope, now()), json)


@commands.command("list")
def list_(store: Store = STORE, json: Json = False) -> None:
    """List all keys and what they may do."""
    from rankloop.logs.access import existing

    with existing(store) as log:
        rows: list[dict[str, Any]] = [
            {
                "name": key.name,
                "scopes": key.scopes.split(),
                "created": _date(key.created),
                "revoked": _date(key.revoked),
            }
            for key in log.api_keys()
        ]
    if json:
        print_json(rows)
        return
    if not rows:
        out.print("no keys: the service is open, and listens on this machine only")
        return
    made = table("key", "may", "made", "revoked")
    for row in rows:
        made.add_row(row["name"], " ".join(row["scopes"]), row["created"], row["revoked"] or "–")
    print_table(made)


@commands.command()
def rotate(
    name: Annotated[str, typer.Argument(help="The key to replace: same name and scopes, new secret.")],
    store: Store = STORE,
    json: Json = False,
) -> None:
    """Replace a key; the old one stops working at once."""
    from rankloop.live.events import now
    from rankloop.live.keys import rotate_key
    from rankloop.logs.access import existing

    with existing(store) as log:
        _show_key(name, rotate_key(log, name, now()), json)


@commands.command()
def revoke(name: Annotated[str, typer.Argument(help="The key to revoke.")], store: Store = STORE) -> None:
    """Revoke a key."""
    from rankloop.live.events import now
    from rankloop.live.keys import revoke_key
    from rankloop.logs.access import existing

    with existing(store) as log:
        revoke_key(log, name, now())
    out.print(f"{name} has been revoked")


@commands.command()
def rotate_secret(
    store: Store = STORE,
    drop_after: Annotated[float, typer.Option(help="Days after which a replaced secret is dropped.")] = 30.0,
) -> None:
    """Sign impression ids with a new secret; ids signed before stay valid until the old secret is dropped."""
    from rankloop.live.events import now
    from rankloop.live.tokens import SECRET_BYTES, SETTLING
    from rankloop.logs.access import existing
    from rankloop.settings import require_number

    require_number("keys", "drop-after", drop_after, at_least=0, at_most=36_500)
    with existing(store) as log:
        log.add_secret(secrets.token_bytes(SECRET_BYTES), now())
        dropped = log.drop_secrets(now() + 1 - int(drop_after * 86_400_000))
        signing = len(log.secrets())
    begins = "at once" if signing == 1 else f"in {SETTLING // 1000} s, when every process knows it"
    out.print(f"a new secret signs impression ids {begins}; {dropped} old ones were dropped")


def _show_key(name: str, secret: str, json: bool) -> None:
    if json:
        print_json({"name": name, "key": secret})
    else:
        err.print(f"the key of {name}, shown only once:")
        print(secret)


def _date(at: int | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")
