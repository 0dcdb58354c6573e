"""`rankloop simulate-traffic`: simulated people at a service's door, and the curves of what it learned."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.app import URL, Data, Json, Plugin, Scale, Url, User, app, service_at
from rankloop.cli.terminal import err, out, print_json, print_table, progress_in_steps, table, working
from rankloop.errors import DataError, SettingsError

if TYPE_CHECKING:
    from rankloop.client import Client
    from rankloop.data import Collection
    from rankloop.live.traffic import Traffic
    from rankloop.runs.run import Run

ROWS = 20
"""Of the table, about: a long curve is shown at some of its points."""
PICTURES = (".png", ".svg", ".pdf")


@app.command("simulate-traffic")
def simulate_traffic(
    data: Data = "tiny",
    scale: Scale = 1.0,
    fold: Annotated[int | None, typer.Option(help="The fold; the first by default.")] = None,
    user: User = "noisy",
    url: Url = URL,
    key: Annotated[
        str | None,
        typer.Option(
            envvar="RANKLOOP_API_KEY",
            help="An API key with the scopes rank, click and admin, if the service needs one.",
        ),
    ] = None,
    model: Annotated[str, typer.Option(help="The model to teach; created if it does not exist.")] = "simulated",
    learner: Annotated[
        str | None, typer.Option(help="The learner of a new model: Posterior (default), ROLTR, PDGD, …")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="SETTING=VALUE for the learner.")] = None,
    page_size: Annotated[int | None, typer.Option(min=1, help="The page size of a new model; 10 by default.")] = None,
    impressions: Annotated[int, typer.Option(min=1, help="Pages shown.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Seed of queries and clicks, and of a new model.")] = 1,
    batch: Annotated[
        int, typer.Option(min=1, help="Pages to show before their clicks are reported; 1: learn from each at once.")
    ] = 1,
    visitors: Annotated[
        int, typer.Option(min=0, help="Number of different visitors, in turn; 0: requests name no client.")
    ] = 0,
    evaluate_every: Annotated[
        int, typer.Option(min=0, help="Impressions between two measurements on the test split; 0: none.")
    ] = 100,
    control: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of people who see the engine's order, for a new model; 0 by default."),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Plot the curves: a .png, .svg or .pdf file.")] = None,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Send simulated users with a collection's queries to a running service, over HTTP.

    With a new model and the same seed this is [bold]rankloop.simulate[/bold], bit for bit. Start a service with
    [bold]rankloop serve[/bold] first.
    """
    from rankloop import users
    from rankloop.data import load
    from rankloop.live.traffic import ensure_model, play
    from rankloop.metrics import metric
    from rankloop.settings import parse_value

    somebody = users.person("traffic", parse_value(user))
    method = _chosen_learner(learner, set_ or ())
    if picture is not None and (picture.suffix not in PICTURES or not picture.parent.is_dir()):
        raise SettingsError(f"--picture takes a {', '.join(PICTURES)} file in a folder that exists; got {picture}")
    with service_at(url, key) as client:
        _require_service(client, url)
        with working(f"preparing {data}"):
            collection = load(data, fold=fold, scale=scale)
        described, new = ensure_model(
            client, model, collection, method, seed=seed, page_size=page_size, control=control
        )
        err.print(_introduction(described, new, collection, somebody.name), markup=False)
        ndcg = metric("ndcg", described["page_size"]).title
        with progress_in_steps(f"{impressions:,} impressions", impressions) as advance:
            traffic = play(
                client, model, somebody, collection, impressions, seed,
                evaluate_every=evaluate_every, batch=batch, visitors=visitors,
                progress=lambda _, online, offline: advance(_standing(ndcg, online, offline)),
            )  # fmt: skip
    if picture is not None:
        _draw(traffic.run, picture)
    if json:
        print_json(_document(traffic, url))
    else:
        _show(traffic)


def _require_service(client: "Client", url: str) -> None:
    """Before a large collection is made or opened: is the service there, and are we let in?"""
    from rankloop.client import ServiceError

    try:
        client.models()
    except ServiceError as error:
        raise ServiceError(f"no service at {url}: {error}. Start one with: rankloop serve") from None


def _chosen_learner(name: str | None, assignments: Sequence[str]) -> Any:
    """The method that the command line describes; None if it says nothing.

    >>> _chosen_learner("ROLTR", ["reward=ips+", "discount=0.5"])
    ROLTR(reward='ips+', discount=0.5)
    """
    from rankloop.learners import from_settings
    from rankloop.settings import parse_value

    if name is None and not assignments:
        return None
    settings: dict[str, Any] = {"learner": name or "Posterior"}
    for assignment in assignments:
        setting, equals, text = assignment.partition("=")
        if not equals:
            raise SettingsError(f"--set takes SETTING=VALUE, such as learning_rate=0.01; got {assignment!r}")
        settings[setting.strip()] = parse_value(text)
    return from_settings(settings)


def _introduction(described: dict[str, Any], new: bool, data: "Collection", user: str) -> str:
    who = f"{user} clicks on {data.name}"
    if new:
        return f"new model {described['name']!r}, {described['learner']['learner']}: {who}"
    return (
        f"model {described['name']!r} continues from version {described['version']:,} with its own settings, "
        f"{described['learner']['learner']}: {who}"
    )


def _standing(ndcg: str, online: float, offline: float) -> str:
    measured = "" if math.isnan(offline) else f", on the test split, when last measured, {offline:.4f}"
    return f"{ndcg} of the pages {online:.4f}{measured}"


def _document(traffic: "Traffic", url: str) -> dict[str, Any]:
    """Everything that the table shows, and the settings and weights behind it, as plain values."""
    run = traffic.run
    return {
        "url": url,
        "settings": run.settings,
        "online_ndcg": run.online_ndcg,
        "offline_ndcg": run.offline_ndcg if len(run.offline_curve) else None,
        "curve": [
            {"impressions": int(at), "online": online, "clicks": clicks, "offline": offline}
            for at, online, clicks, offline in _rows(run)
        ],
        "pages": traffic.pages,
        "clicks": int(run.clicks.sum()),
        "undelivered": traffic.undelivered,
        "weights": run.weights.tolist(),
        "seconds": run.seconds,
        "manifest": run.manifest,
    }


def _rows(run: "Run") -> list[tuple[int, float | None, float | None, float | None]]:
    """(impressions, mean nDCG and clicks of the pages since the row before, nDCG on the test split)."""
    points: list[tuple[int, float | None]] = [(int(at), float(value)) for at, value in run.offline_curve]
    rows: list[tuple[int, float | None, float | None, float | None]] = []
    before = 0
    for at, offline in points or [(len(run.clicks), None)]:
        since = slice(before, at)
        seen = at > before
        online = float(run.online_curve[since].mean()) if seen else None
        rows.append((at, online, float(run.clicks[since].mean()) if seen else None, offline))
        before = at
    return rows


def _show(traffic: "Traffic") -> None:
    run = traffic.run
    ndcg = run.ndcg.title
    made = table("impressions", f"{ndcg} of the pages", "clicks a page", f"{ndcg} on the test split")
    rows = _rows(run)
    step = max(1, -(-len(rows) // ROWS))
    for place, (at, *values) in enumerate(rows):
        if place % step == 0 or place == len(rows) - 1:
            made.add_row(f"{at:,}", *("–" if value is None else f"{value:.4f}" for value in values))
    print_table(made)
    groups = ", ".join(f"{count:,} {group}" for group, count in sorted(traffic.pages.items()))
    out.print(
        f"\nMean {ndcg} of the pages {run.online_curve.mean():.4f}; their sum, discounted by 0.9995 a page, "
        f"{run.online_ndcg:,.1f}. Pages: {groups}. "
        f"{run.impressions_per_second:,.0f} impressions a second. Each row covers the pages since the previous row."
    )
    if traffic.undelivered:
        out.print(f"The service did not accept {traffic.undelivered:,} click reports.")


def _draw(run: "Run", path: Path) -> None:
    """The pages' nDCG and that on the test split, over impressions."""
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context("default", after_reset=True):
        drawing = Figure(figsize=(7, 4), layout="constrained")
        axis = drawing.add_subplot()
        rows = _rows(run)
        online = [(at, value) for at, value, _, _ in rows if value is not None]
        point = "o" if len(online) == 1 else None  # a single point draws no line
        shown = "of the pages shown, since the point before"
        axis.plot(*zip(*online, strict=True), color="#0072B2", marker=point, label=shown)
        if len(run.offline_curve):
            axis.plot(*run.offline_curve.T, color="#D55E00", marker=point, label="on held-out queries, best order")
        axis.set_xlabel("impressions")
        axis.set_ylabel(run.ndcg.title)
        learner, user, data = run.settings["learner"], run.settings["user"], run.settings["data"]
        axis.set_title(f"{learner['learner']}, {user['name']} clicks, {data['name']}", loc="left")
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False)
        try:
            drawing.savefig(path, dpi=160)
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror or error}") from None
