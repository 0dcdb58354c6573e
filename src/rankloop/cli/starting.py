"""`rankloop import` and `rankloop warm-up`: a live model that starts from what somebody has already."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.app import app
from rankloop.cli.terminal import err, print_table, table, working
from rankloop.display import counted
from rankloop.errors import SettingsError

Name = Annotated[str, typer.Option(help="The name of the live model.")]
Out = Annotated[str, typer.Option(help="The file to write the settings to; - is standard output.")]


@app.command("import")
def import_(
    source: Annotated[
        Path, typer.Argument(help="scikit-learn coefficients as JSON, or a linear Elasticsearch or RankLib model.")
    ],
    name: Name = "search",
    feature: Annotated[
        list[str] | None, typer.Option(help="A feature's name, in order, if the file has none; may be repeated.")
    ] = None,
    out: Out = "-",
) -> None:
    """Write the settings of a live model that starts from weights learned elsewhere.

    Create it with `rankloop models create --from FILE`, or send the settings to `POST /v1/models`.
    """
    from rankloop.interchange.weights import read_weights, starting_settings

    model = read_weights(source)
    settings = starting_settings(model, name)
    if feature:
        if len(feature) != len(model.weights):
            raise SettingsError(f"import: {len(feature)} names were given for {len(model.weights)} weights")
        settings["features"] = feature
    _write(out, settings, f"{name}, {counted(len(model.weights), 'weight')} from {source}")


@app.command()
def warm_up(
    log: Annotated[Path, typer.Argument(help="An old click log: Parquet, CSV, UBI or a public dataset.")],
    name: Name = "search",
    features: Annotated[
        Path | None,
        typer.Option(help="A table of document (and query) and feature.NAME, if the log has none."),
    ] = None,
    examination: Annotated[
        str | None,
        typer.Option(help="The examination probability of each rank, such as 1,0.7,0.5; learned by default."),
    ] = None,
    page_size: Annotated[
        int | None, typer.Option(min=1, help="The page size of the live model; the log's by default.")
    ] = None,
    start_pages: Annotated[
        float | None, typer.Option(help="How many pages of clicks the starting weights count for; 50 by default.")
    ] = None,
    out: Out = "-",
) -> None:
    """Write the settings of a live model that starts from an old click log, which needs no propensities.

    Create it with `rankloop models create --from FILE`, or send the settings to `POST /v1/models`. What was learned is
    printed.
    """
    from rankloop.logs.clicked import read_clicks, with_features
    from rankloop.logs.warming import warm_up

    with working("reading, and learning"):
        clicks = read_clicks(log)
        if features is not None:
            clicks = with_features(clicks, features)
        warm = warm_up(clicks, _curve(examination), page_size=page_size)
    made = table("feature", "weight", "±", title=f"{counted(warm.pages, 'page')}, {_clicks(warm.clicks)}")
    for feature, weight, deviation in zip(
        warm.features, warm.belief.weights, warm.belief.weights_deviation, strict=True
    ):
        made.add_row(feature, f"{weight:.3f}", f"{deviation:.3f}")
    print_table(made, to=err)
    curve = ", ".join(f"{value:.2f}" for value in warm.belief.examination)
    err.print(f"how likely people are to look at each rank, {'learned' if examination is None else 'given'}: {curve}")
    _write(out, warm.settings(name, start_pages), name)


def _clicks(value: float) -> str:
    """
    >>> _clicks(1.0), _clicks(2.5)
    ('1 click', '2.5 clicks')
    """
    return counted(int(value), "click") if value.is_integer() else f"{value:,.1f} clicks"


def _curve(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"warm-up: examination is numbers, such as 1,0.7,0.5; got {text!r}") from None


def _write(out: str, settings: dict[str, Any], what: str) -> None:
    import msgspec

    from rankloop.files import write_text
    from rankloop.interchange.rankers import json_text
    from rankloop.live.settings import NewModelSettings
    from rankloop.mistakes import explained

    try:
        msgspec.convert(settings, NewModelSettings)
    except msgspec.ValidationError as error:
        raise SettingsError(explained(error, NewModelSettings, settings)) from None
    if out == "-":
        sys.stdout.write(json_text(settings))
    else:
        path = write_text(out, [json_text(settings)])
        err.print(f"{path}: {what}; make the model with: rankloop models create --from {path}", markup=False)
