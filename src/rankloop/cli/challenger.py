"""`rankloop challenger`: another learner on a model's pages, in shadow; judged, then promoted or dropped."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from rankloop.cli.app import URL, Json, Key, Url, group, service_at
from rankloop.cli.terminal import out, print_json
from rankloop.display import counted

commands = group("challenger", "Test another learner in shadow on a model's pages; promote it or drop it.")

Model = Annotated[str, typer.Argument(help="The model whose pages it learns from.")]
Name = Annotated[str, typer.Argument(help="The challenger.")]
OF_THE_MODEL = ("scaling", "start", "late_updates")


@commands.command()
def start(
    model: Model,
    learner: Annotated[
        str | None, typer.Option(help="Another method, such as PDGD; the model's own by default.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="SETTING=VALUE for the learner, or scaling, start, late_updates, guards.SETTING."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="By default the model's name and a number.")] = None,
    url: Url = URL,
    key: Key = None,
    json: Json = False,
) -> None:
    """Start a challenger: it learns from all pages in the log, then from each as it closes, and shows none."""
    with service_at(url, key) as client:
        settings = _changed(client.model(model), learner, set_ or ())
        _show(client.start_challenger(model, challenger=name, **settings), json)


@commands.command()
def show(model: Model, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Show what is known about a model's challengers. Look as often as you like."""
    with service_at(url, key) as client:
        known = client.challengers(model)
    if json:
        print_json(known)
        return
    for challenger in known:
        _show(challenger, json)
    if not known:
        out.print(f"{model} has no challenger; start one with: rankloop challenger start {model} …", markup=False)


@commands.command()
def promote(model: Model, name: Name, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Let a challenger take the model's place; a roll back returns to earlier states."""
    with service_at(url, key) as client:
        promoted = client.promote_challenger(model, name)
    if json:
        print_json(promoted)
        return
    sentence = f"{name} has taken the place of {model}, which is now at version {promoted['version']}"
    out.print(f"{sentence}; roll back to an earlier one to undo it", markup=False)


@commands.command()
def drop(model: Model, name: Name, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Delete a challenger; any experiment it is part of ends."""
    with service_at(url, key) as client:
        dropped = client.drop_challenger(model, name)
    if json:
        print_json(dropped)
        return
    out.print(f"{name} is gone", markup=False)


def _changed(model: dict[str, Any], learner: str | None, changes: Iterable[str]) -> dict[str, Any]:
    """What to send: settings of the model as they are named, all others are the learner's."""
    from rankloop.errors import SettingsError
    from rankloop.settings import parse_setting

    own = model["learner"]
    method = dict(own) if learner in (None, own["learner"]) else {"learner": learner}
    settings: dict[str, Any] = {}
    for change in changes:
        setting, equals, text = change.partition("=")
        if not equals:
            raise SettingsError(f"challenger: a change must look like SETTING=VALUE; got {change!r}")
        setting, value = setting.strip(), parse_setting(text.strip())
        if setting in OF_THE_MODEL:
            settings[setting] = value
        elif setting.startswith("guards."):
            settings.setdefault("guards", {})[setting.removeprefix("guards.")] = value
        elif (part := setting.partition(".")[0]) in model["settings"]:
            raise SettingsError(
                f"challenger: {part} is the model's own; a challenger may change settings of its learner, "
                f"{', '.join(OF_THE_MODEL)} and guards.SETTING"
            )
        else:
            method[setting] = value
    return settings | ({"learner": method} if method != own else {})


def _show(challenger: dict[str, Any], json: bool) -> None:
    if json:
        print_json(challenger)
        return
    learned = f"{counted(challenger['fates'].get('learned', 0), 'page')} learned from"
    out.print(f"{challenger['name']} ({challenger['mode']}), {learned}: {_words(challenger['changes'])}", markup=False)
    out.print(challenger["verdict"], markup=False)


def _words(changes: dict[str, Any]) -> str:
    """What a challenger does otherwise than the model.

    >>> _words({"learner": {"learner": "Posterior", "prior_variance": 0.1}, "guards": {"stale_below": 0.1}})
    'learner Posterior, prior_variance 0.1, guards.stale_below 0.1'
    """
    settings: dict[str, Any] = {}
    for name, value in changes.items():
        within = "guards." if name == "guards" else ""
        grouped = name in ("learner", "guards")
        settings |= {within + each: its for each, its in value.items()} if grouped else {name: value}
    return ", ".join(f"{name} {value}" for name, value in settings.items())
