"""`rankloop models`: make, look at, pause and roll back the models of a running service."""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.app import URL, Json, Key, Url, group, service_at
from rankloop.cli.terminal import err, out, print_json, print_table, table
from rankloop.display import counted, signed
from rankloop.errors import DataError, SettingsError

commands = group("models", "Create, list, pause, resume, freeze, roll back or delete models of a running service.")

MAKING = 180.0
"""Seconds for a new model: the first one of its kind may have to be compiled."""
MOST_WEIGHTS = 20

Model = Annotated[str, typer.Argument(help="The model's name.")]


@commands.command()
def create(
    name: Annotated[str | None, typer.Argument(help="The model's name; part of its URL.")] = None,
    features: Annotated[
        list[str] | None, typer.Argument(help="The names of the features you send with each candidate.")
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option("--from", help="A file of settings, as import and warm-up write them; - is standard input."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="SETTING=VALUE, such as page_size=20, guards.control=0.1 or learner.learner=ROLTR."),
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Only report where it would start.")] = False,
    url: Url = URL,
    key: Key = None,
    json: Json = False,
) -> None:
    """Create a model: it starts from the order in which you send candidates, and learns from there.

    Example: [bold]rankloop models create shop bm25 price stars[/bold].
    """
    wanted = _wanted(name, features or (), settings, set_ or ())
    with service_at(url, key, patience=MAKING) as client:
        made = client.create_model(**wanted, dry_run=dry_run)
    if json:
        print_json(made)
        return
    start = made["start"]
    if dry_run:
        out.print(f"{wanted['name']} would start from: {start['assumes']}; nothing was created", markup=False)
        return
    sent = [feature for feature in made["features"] if not feature.startswith("_")]
    sentence = f"{made['name']} is there: {made['learner']['learner']}, {counted(len(sent), 'feature')} to send"
    out.print(f"{sentence}; start: {start['assumes']}", markup=False)
    out.print(f"send it pages at {url}/v1/models/{made['name']}/rank; watch it at {url}", markup=False)


@commands.command("list")
def list_(url: Url = URL, key: Key = None, json: Json = False) -> None:
    """List all models and what each is doing."""
    with service_at(url, key) as client:
        known = client.models()
    if json:
        print_json(known)
        return
    if not known:
        out.print("there are no models; create one with: rankloop models create NAME FEATURE …", markup=False)
        return
    made = table("model", "mode", "version", "method", "pages learned from", "waiting", "made")
    for model in known:
        learned, method = model["fates"].get("learned", 0), model["learner"]["learner"]
        made.add_row(
            model["name"], model["mode"], f"{model['version']:,}", method, f"{learned:,}", f"{model['open']:,}",
            _date(model["created"]),
        )  # fmt: skip
    print_table(made)


@commands.command()
def show(model: Model, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Show what a model is doing and what it has learned."""
    with service_at(url, key) as client:
        _show(client.model(model), json)


@commands.command()
def pause(model: Model, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Stop learning; ranking, exploring and logging go on."""
    with service_at(url, key) as client:
        _show(client.pause(model), json)


@commands.command()
def resume(model: Model, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Learn again."""
    with service_at(url, key) as client:
        _show(client.resume(model), json)


@commands.command()
def freeze(model: Model, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Stop learning and exploring: show the model's best order."""
    with service_at(url, key) as client:
        _show(client.freeze(model), json)


@commands.command()
def states(model: Model, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """List the saved states a model can return to, newest first."""
    with service_at(url, key) as client:
        kept = client.snapshots(model)
    if json:
        print_json(kept)
        return
    made = table("version", "kept")
    for state in kept:
        made.add_row(f"{state['version']:,}", _date(state["at"]))
    print_table(made)
    out.print(f"return to one with: rankloop models roll-back {model} VERSION", markup=False)


@commands.command()
def roll_back(
    model: Model,
    version: Annotated[int, typer.Argument(help="A saved state, as listed by `rankloop models states`.")],
    url: Url = URL,
    key: Key = None,
    json: Json = False,
) -> None:
    """Return to a saved state and learn on from there; nothing is lost, since the current state is saved too."""
    with service_at(url, key) as client:
        before = client.model(model)["version"]
        now = client.roll_back(model, version)
    if json:
        print_json(now)
        return
    sentence = f"{model} ranks as version {version:,} did, and is at version {now['version']:,} now"
    out.print(f"{sentence}; it was at {before:,}, if you want to undo this", markup=False)


@commands.command()
def delete(
    model: Model,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: Url = URL,
    key: Key = None,
    json: Json = False,
) -> None:
    """Delete a model and its challengers; its pages stay in the log until it is compacted."""
    with service_at(url, key) as client:
        client.model(model)  # a wrong name is said before anybody is asked
        if not yes:
            typer.confirm(f"Delete {model} and everything it has learned?", abort=True, err=True)
        gone = client.delete_model(model)
    if json:
        print_json(gone)
        return
    out.print(f"{model} is gone", markup=False)


def _wanted(name: str | None, features: Sequence[str], settings: Path | None, changes: Iterable[str]) -> dict[str, Any]:
    """What to ask the service for: a file's settings, then what was typed."""
    wanted = _read(settings) if settings is not None else {}
    wanted |= ({"name": name} if name else {}) | ({"features": list(features)} if features else {})
    for change in changes:
        _assign(wanted, change)
    if not wanted.get("name") or not wanted.get("features"):
        raise SettingsError(
            "models: a new model needs a name and its features, such as: rankloop models create shop bm25 price stars"
        )
    return wanted


def _read(path: Path) -> dict[str, Any]:
    import msgspec

    text = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    try:
        given = msgspec.json.decode(text, type=dict[str, Any])
        # A file of `rankloop connect` says where its body goes.
        return dict(given["body"]) if "request" in given and isinstance(given.get("body"), dict) else given
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: settings of a model are one JSON object, as `rankloop import` and `rankloop warm-up` write them "
            f"({error})"
        ) from None


def _assign(wanted: dict[str, Any], change: str) -> None:
    """
    >>> wanted = {}
    >>> _assign(wanted, "guards.control=0.1")
    >>> wanted
    {'guards': {'control': 0.1}}
    """
    from rankloop.settings import parse_setting

    path, equals, text = change.partition("=")
    *groups, setting = path.strip().split(".")
    if not equals or not setting:
        raise SettingsError(f"models: a setting must look like SETTING=VALUE, such as page_size=20; got {change!r}")
    for within in groups:
        wanted = wanted.setdefault(within, {})
        if not isinstance(wanted, dict):
            raise SettingsError(f"models: {within} is {wanted!r} already, and has no {setting!r}; got {change!r}")
    wanted[setting] = parse_setting(text.strip())


def _show(model: dict[str, Any], json: bool) -> None:
    if json:
        print_json(model)
        return
    learned = model["fates"].get("learned", 0)
    method = model["learner"]["learner"]
    words = f"{model['name']}: {model['mode']}, version {model['version']:,}, {method}, {learned:,} pages learned from"
    out.print(f"{words}, {model['open']:,} waiting for clicks", markup=False)
    if model["trouble"]:
        err.print(model["trouble"], markup=False)
    if model["guarded"]:
        out.print("most people see the incoming order: the learned one gets fewer clicks", markup=False)
    if len(model["weights"]) != len(model["features"]):
        return
    made = table("feature", "weight")
    ordered = sorted(zip(model["features"], model["weights"], strict=True), key=lambda row: -abs(row[1]))
    for feature, weight in ordered[:MOST_WEIGHTS]:
        made.add_row(feature, signed(weight, 3))
    print_table(made)
    if len(ordered) > MOST_WEIGHTS:
        out.print(f"and {len(ordered) - MOST_WEIGHTS:,} with smaller weights; --json has all", markup=False)


def _date(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(" ", "seconds")
