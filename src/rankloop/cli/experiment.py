"""`rankloop experiment`: interleave orders on some people's pages, and read who is preferred."""

from typing import Annotated, Any

import typer

from rankloop.cli.app import URL, Json, Key, Url, group, service_at
from rankloop.cli.terminal import out, print_json, print_table, table

commands = group("experiment", "Interleave a model's order with the engine's, or with other models'.")

Model = Annotated[str, typer.Argument(help="The model whose pages are interleaved.")]


@commands.command()
def start(
    model: Model,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="incoming, learned or a model's name; may be repeated. Others are compared with the first."),
    ] = None,
    share: Annotated[float, typer.Option(help="Share of the people who see the learned order.")] = 0.1,
    url: Url = URL,
    key: Key = None,
    json: Json = False,
) -> None:
    """Start interleaving: by default, the incoming order with the learned one."""
    with service_at(url, key) as client:
        _show(client.start_experiment(model, arm or ("incoming", "learned"), share=share), json)


@commands.command()
def show(model: Model, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Show the results of experiments, newest first. Look as often as you like."""
    with service_at(url, key) as client:
        known = client.experiments(model)
    if json:
        print_json(known)
        return
    for experiment in known:
        _show(experiment, json)
    if not known:
        out.print(f"{model} has had no experiment; start one with: rankloop experiment start {model}", markup=False)


@commands.command()
def stop(model: Model, url: Url = URL, key: Key = None, json: Json = False) -> None:
    """Stop interleaving; pages that are still open will still count."""
    with service_at(url, key) as client:
        _show(client.stop_experiment(model), json)


def _show(experiment: dict[str, Any], json: bool) -> None:
    if json:
        print_json(experiment)
        return
    state = "running" if experiment["stopped"] is None else "ended"
    pages = f"{experiment['pages']:,} pages, {experiment['credited']:,} of them credited"
    out.print(f"experiment {experiment['id']}, {state}: {pages}", markup=False)
    made = table("arm", "credit", "of all credit", "margin", "95 %, at any time")
    for arm in experiment["arms"]:
        found, part = arm["against_first"], arm["share"]
        interval = f"{found['low']:+.3f} to {found['high']:+.3f}" if found else "–"
        shown = [arm["name"], f"{arm['credit']:,.1f}", "–" if part is None else f"{part:.1%}"]
        made.add_row(*shown, f"{found['margin']:+.3f}" if found else "–", interval)
    print_table(made)
    out.print(experiment["verdict"], markup=False)
