"""`rankloop propensities`: how far people look, from a service's log or from anybody's click log."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.app import Json, app
from rankloop.cli.terminal import err, out, print_json, print_table, table, working
from rankloop.errors import SettingsError


@app.command()
def propensities(
    source: Annotated[str, typer.Argument(help="A service's log (a SQLite file, postgresql://…), or a click log.")],
    model: Annotated[str | None, typer.Option(help="Of a service's log: this model only.")] = None,
    json: Json = False,
) -> None:
    """How likely people are to look at each rank, relative to the first.

    A service's log: from the swaps that its models drew, with 95 % intervals. A click log (CSV or TSV with query,
    document, rank and click): from documents that were shown at several ranks for the same query.
    """
    if _is_service_log(source):
        found = _of_models(source, model)
    elif model is not None:
        raise SettingsError("propensities: --model chooses from a service's log; a click log has no models")
    else:
        found = _of_clicks(Path(source))
    if json:
        print_json(found)
        return
    for each in found:
        made = table("rank", *(name for name in each["curves"]), title=each["name"])
        for rank, row in enumerate(zip(*each["curves"].values(), strict=True), start=1):
            made.add_row(str(rank), *("–" if value is None else f"{value:.3f}" for value in row))
        print_table(made)
        out.print(each["note"])


def _is_service_log(source: str) -> bool:
    from rankloop.live.stores import is_server
    from rankloop.logs.importing import SQLITE

    if is_server(source):
        return True
    if not Path(source).is_file():
        raise SettingsError(f"propensities: there is no file {source}; give a service's log, or a click log")
    with Path(source).open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def _of_models(source: str, name: str | None) -> list[dict[str, Any]]:
    import msgspec

    from rankloop.live.fold import looks_of
    from rankloop.live.settings import ModelSettings
    from rankloop.logs.access import at_one_moment, find_model

    found = []
    with at_one_moment(source) as log:
        for model in log.models() if name is None else [find_model(log, name)]:
            settings = msgspec.json.decode(model.settings, type=ModelSettings)
            snapshot = log.newest_snapshot(model.id)
            looks = looks_of(settings, snapshot.state) if snapshot else None
            if looks is None:
                err.print(f"{model.name}: its pages are not drawn by a softmax of scores, so no swap has a probability")
                continue
            curve = looks.curve()
            curves = {"swaps": curve.curve, "from": curve.low, "to": curve.high}
            pages = int(looks.effect.sums[2])
            rank_alone = "depend on more than rank" if looks.depend_on_more_than_rank else "may depend on rank alone"
            found.append(_described(model.name, curves, f"{pages:,} pages; looks {rank_alone}"))
    return found


def _of_clicks(path: Path) -> list[dict[str, Any]]:
    import numpy as np

    from rankloop.logs.clicked import read_clicks
    from rankloop.propensities.harvesting import all_pairs, chain, harvest

    with working("reading, and comparing ranks"):
        log = read_clicks(path)
        gathered = harvest(log.queries, log.documents, log.ranks, log.clicks)
        ranks, clicks = np.array(log.ranks), np.array(log.clicks)
        raw = np.array([clicks[ranks == rank].mean() for rank in range(1, int(ranks.max()) + 1)])
        curves = {"all pairs": all_pairs(gathered), "chain": chain(gathered), "raw clicks": raw / raw[0]}
    both = int(gathered.seen.sum() // 2)
    return [_described(path.name, curves, f"{log.pages:,} pages; {both:,} times a document was seen at two ranks")]


def _described(name: str, curves: dict[str, Any], note: str) -> dict[str, Any]:
    plain = {kind: [None if value != value else float(value) for value in curve] for kind, curve in curves.items()}
    return {"name": name, "curves": plain, "note": note}
