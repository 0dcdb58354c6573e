"""For search teams: serve, keys, and traffic to try it with."""

from typing import Annotated

import typer

from rankloop.cli.app import Json, app

keys_app = typer.Typer(help="API keys of a service, and the secret that signs impression ids.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")

STORE = "rankloop.db"
Store = Annotated[str, typer.Option(help="The log: a SQLite file, or postgresql://…")]


@app.command()
def serve(
    store: Annotated[str, typer.Argument(help="The log: a SQLite file (made if new), or postgresql://…")] = STORE,
    host: Annotated[
        str, typer.Option(help="Where to listen; other machines only if there are API keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8080,
    learn: Annotated[bool, typer.Option(help="Learn here; --no-learn only ranks and logs.")] = True,
    max_candidates: Annotated[int, typer.Option(min=1, help="In one rank request.")] = 5_000,
    max_body: Annotated[int, typer.Option(min=1024, help="Bytes in one request.")] = 16 << 20,
    rate: Annotated[float, typer.Option(min=0.1, help="Requests a second for each key.")] = 10_000.0,
) -> None:
    """Serve a search: rank candidates, take clicks, learn from them. The log is on disk before anything is answered."""
    from rankloop.live.requests import Limits
    from rankloop.live.serving import serve
    from rankloop.web.dashboard import add_dashboard

    limits = Limits(candidates=max_candidates, body_bytes=max_body, rate=rate)
    serve(store, host=host, port=port, learn=learn, limits=limits, extend=add_dashboard)


@keys_app.command("create")
def keys_create(
    name: Annotated[str, typer.Argument(help="Who will use it.")],
    scope: Annotated[list[str], typer.Option(help="rank, click or admin; may be repeated.")],
    store: Store = STORE,
    json: Json = False,
) -> None:
    """Make a key. It is printed once; the store keeps only its hash."""
    from rankloop.cli.keys import main_create

    main_create(store, name, scope, json=json)


@keys_app.command("list")
def keys_list(store: Store = STORE, json: Json = False) -> None:
    """All keys, and what they may do."""
    from rankloop.cli.keys import main_list

    main_list(store, json=json)


@keys_app.command("rotate")
def keys_rotate(
    name: Annotated[str, typer.Argument(help="The key to replace: same name and scopes, new secret.")],
    store: Store = STORE,
    json: Json = False,
) -> None:
    """Replace a key; the old one stops working at once."""
    from rankloop.cli.keys import main_rotate

    main_rotate(store, name, json=json)


@keys_app.command("revoke")
def keys_revoke(
    name: Annotated[str, typer.Argument(help="The key to refuse from now on.")], store: Store = STORE
) -> None:
    """No longer accept a key."""
    from rankloop.cli.keys import main_revoke

    main_revoke(store, name)


@keys_app.command("rotate-secret")
def keys_rotate_secret(
    store: Store = STORE,
    drop_after: Annotated[float, typer.Option(help="Days after which a replaced secret is forgotten.")] = 30.0,
) -> None:
    """Sign impression ids with a new secret; those signed before stay valid until theirs is forgotten."""
    from rankloop.cli.keys import main_rotate_secret

    main_rotate_secret(store, drop_after)
