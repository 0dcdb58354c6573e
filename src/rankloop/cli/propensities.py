"""`rankloop propensities`: how far people look, from a service's log or from anybody's click log."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.app import Json, Plugin, app
from rankloop.cli.terminal import err, out, print_json, print_table, table, working
from rankloop.display import counted
from rankloop.errors import SettingsError

if TYPE_CHECKING:
    from rankloop.live.looks import Looks
    from rankloop.live.stores.contract import Reader
    from rankloop.live.stores.rows import StoredModel
    from rankloop.propensities.trust_effect import TrustVerdict

LEVEL = 0.01
"""How likely people who look by rank alone are said to trust."""


@app.command()
def propensities(
    source: Annotated[str, typer.Argument(help="A service's log (a SQLite file, postgresql://…), or a click log.")],
    model: Annotated[str | None, typer.Option(help="In a service's log: this model only.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="In a service's log: test whether people trust the top. Reads every page.")
    ] = False,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Estimate how likely people are to examine each rank, relative to the first.

    In a service's log: from the swaps in its models' own pages, with 95 % intervals. In a click log (CSV or TSV with
    query, document, rank and click): from documents that were shown at several ranks for the same query.

    With `--trust`: a document clicked with probability p at rank 1 is clicked with slope · p + shift at rank k. Where
    people examine by rank alone, every shift is 0, which is tested. The model's scores predict attraction,
    and need only be correlated with it.
    """
    if _is_service_log(source):
        found = _of_models(source, model, _trusted if trust else _looked_at)
    elif model is not None:
        raise SettingsError("propensities: --model chooses from a service's log; a click log has no models")
    elif trust:
        raise SettingsError(
            "propensities: --trust needs pages that were drawn with known probabilities, as in a service's log"
        )
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


def _of_models(
    source: str, name: str | None, described: Callable[["Reader", "StoredModel"], dict[str, Any] | None]
) -> list[dict[str, Any]]:
    from rankloop.logs.access import at_one_moment, find_model

    found = []
    with at_one_moment(source) as log:
        for model in log.models() if name is None else [find_model(log, name)]:
            each = described(log, model)
            if each is None:
                err.print(
                    f"{model.name}: its pages are not drawn by a softmax of scores, so no swap has a probability; "
                    f"or its settings say that swaps are not counted"
                )
            else:
                found.append(each)
    return found


def _looks(log: "Reader", model: "StoredModel") -> "Looks | None":
    from rankloop.live.kept import looks_of
    from rankloop.live.loading import settings_of

    snapshot = log.newest_snapshot(model.id)
    return looks_of(settings_of(model), snapshot.state) if snapshot else None


def _looked_at(log: "Reader", model: "StoredModel") -> dict[str, Any] | None:
    looks = _looks(log, model)
    if looks is None:
        return None
    curve = looks.curve()
    curves = {"swaps": curve.curve, "from": curve.low, "to": curve.high}
    pages = counted(int(looks.effect.sums[2]), "page")
    return _described(model.name, curves, f"{pages} that it learned from. {looks.sentence()}")


def _trusted(log: "Reader", model: "StoredModel") -> dict[str, Any] | None:
    from rankloop.logs.trusting import trust_in

    with working("reading the pages"):
        effect = trust_in(log, model)
    if effect is None:
        return None
    slope, shift = effect.estimate()
    curves = {"slope": slope.curve, "slope from": slope.low, "slope to": slope.high}
    curves |= {"shift": shift.curve, "shift from": shift.low, "shift to": shift.high}
    verdict, looks = effect.verdict(), _looks(log, model)
    by_rank = looks is None or not looks.depend_on_more_than_rank
    said = _said(verdict, by_rank, int((slope.curve == slope.curve).sum()))
    return _described(model.name, curves, f"{counted(verdict.pages, 'page')} that are in the log: {said}")


def _said(verdict: "TrustVerdict", by_rank: bool, known_to: int) -> str:
    """`known_to`: the deepest rank with a slope, from 1."""
    tested = f"χ² = {verdict.chi_square:.1f}, {verdict.degrees} degrees of freedom, p = {verdict.p:.2g}"
    if not by_rank:
        return "examination depends on more than rank, so slopes and shifts do not describe these people"
    if verdict.degrees == 0:
        return (
            "too few swaps with clicks to tell whether people trust the top; "
            "a model that is sure of its order hardly makes any"
        )
    said = "rank does more than hide documents from view, as where people trust the top"
    said = f"{'no significant trust effect' if verdict.no_trust(LEVEL) else said} ({tested})"
    if known_to <= verdict.degrees:
        said += f". Below rank {known_to}, clicks follow the model's scores too loosely, or are too few, for slopes"
    return said


def _of_clicks(path: Path) -> list[dict[str, Any]]:
    import numpy as np

    from rankloop.logs.clicked import read_clicks
    from rankloop.propensities.harvesting import all_pairs, chain, harvest

    with working("reading, and comparing ranks"):
        log = read_clicks(path)
        gathered = harvest(log.queries, log.documents, log.ranks, log.clicks)
        ranks, clicks = np.array(log.ranks), np.array(log.clicks)
        with np.errstate(divide="ignore", invalid="ignore"):
            raw = np.bincount(ranks, clicks)[1:] / np.bincount(ranks)[1:]
            raw /= raw[0]
        curves = {"all pairs": all_pairs(gathered), "chain": chain(gathered), "raw clicks": raw}
    both = int(gathered.seen.sum() // 2)
    return [
        _described(path.name, curves, f"{counted(log.pages, 'page')}; {both:,} times a document was seen at two ranks")
    ]


def _described(name: str, curves: dict[str, Any], note: str) -> dict[str, Any]:
    plain = {
        kind: [float(value) if math.isfinite(value) else None for value in curve] for kind, curve in curves.items()
    }
    return {"name": name, "curves": plain, "note": note}
