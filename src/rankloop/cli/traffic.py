"""For those who try a service out: simulated people at its door."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.app import Json, app


@app.command("simulate-traffic")
def simulate_traffic(
    data: Annotated[str, typer.Option(help="A synthetic world, a name or a path.")] = "tiny",
    scale: Annotated[float, typer.Option(help="Size of a synthetic world; 1 is that of the real one.")] = 1.0,
    fold: Annotated[int | None, typer.Option(help="Which fold; the first by default.")] = None,
    user: Annotated[str, typer.Option(help="perfect, noisy, navigational or near-random.")] = "noisy",
    url: Annotated[str, typer.Option(help="Where the service listens.")] = "http://127.0.0.1:8080",
    key: Annotated[
        str | None,
        typer.Option(envvar="RANKLOOP_API_KEY", help="An API key that may rank, click and admin, if one is needed."),
    ] = None,
    model: Annotated[str, typer.Option(help="The model to teach; made if it is not there.")] = "simulated",
    learner: Annotated[str | None, typer.Option(help="Of a new model: ROLTR (default), PDGD, …")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="SETTING=VALUE of the learner.")] = None,
    page_size: Annotated[int | None, typer.Option(min=1, help="Of a new model; 10 by default.")] = None,
    impressions: Annotated[int, typer.Option(min=1, help="Pages shown.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Of queries and clicks, and of a new model.")] = 1,
    batch: Annotated[
        int, typer.Option(min=1, help="Pages shown before their clicks are reported; 1: learn from each at once.")
    ] = 1,
    visitors: Annotated[int, typer.Option(min=0, help="Different people, in turn; 0: nobody says who they are.")] = 0,
    evaluate_every: Annotated[
        int, typer.Option(min=0, help="Impressions between two measurements on the test split; 0: none.")
    ] = 100,
    picture: Annotated[Path | None, typer.Option(help="Draw the curves: a .png, .svg or .pdf file.")] = None,
    json: Json = False,
) -> None:
    """Play a collection and simulated people against a running service, over HTTP.

    With a new model and the same seed this is [bold]rankloop.simulate[/bold], bit for bit. Start a service with
    [bold]rankloop serve[/bold] first.
    """
    from rankloop.cli.simulated_traffic import main

    main(
        data=data, scale=scale, fold=fold, user=user, url=url, key=key, model=model, learner=learner,
        settings=set_ or (), page_size=page_size, impressions=impressions, seed=seed, batch=batch, visitors=visitors,
        evaluate_every=evaluate_every, picture=picture, json=json,
    )  # fmt: skip
