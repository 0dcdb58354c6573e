"""What `rankloop simulate-traffic` does: load the collection, play, and show the curves."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from rankloop import users
from rankloop.cli.terminal import err, out, print_json, print_table, progress_in_steps, table, working
from rankloop.client import Client, ServiceError
from rankloop.data import Collection, load
from rankloop.errors import DataError, SettingsError
from rankloop.learners import from_settings
from rankloop.live.traffic import Traffic, ensure_model, play
from rankloop.run import Run
from rankloop.settings import require_choice

TIMEOUT = 30.0
"""Seconds; a page of a simulated visitor may wait longer than that of a real one."""
ROWS = 20
"""Of the table, about: a long curve is shown at some of its points."""
PICTURES = (".png", ".svg", ".pdf")


def main(
    *,
    data: str,
    scale: float,
    fold: int | None,
    user: str,
    url: str,
    key: str | None,
    model: str,
    learner: str | None,
    settings: Sequence[str],
    page_size: int | None,
    impressions: int,
    seed: int,
    batch: int,
    visitors: int,
    evaluate_every: int,
    picture: Path | None,
    json: bool,
) -> None:
    """`rankloop simulate-traffic`: play, and print the table or JSON."""
    require_choice("traffic", "user", user, users.ATTRACTIONS)
    method = chosen_learner(learner, settings)
    if picture is not None and (picture.suffix not in PICTURES or not picture.parent.is_dir()):
        raise SettingsError(f"--picture takes a {', '.join(PICTURES)} file in a folder that exists; got {picture}")
    with Client(url, key, timeout=TIMEOUT) as client:
        _require_service(client, url)
        with working(f"preparing {data}"):
            collection = load(data, fold=fold, scale=scale)
        described, new = ensure_model(client, model, collection, method, seed=seed, page_size=page_size)
        err.print(_introduction(described, new, collection, user), markup=False)
        with progress_in_steps(f"{impressions:,} impressions", impressions) as tell:
            traffic = play(
                client, model, users.by_name(user, collection.grades), collection, impressions, seed,
                evaluate_every=evaluate_every, batch=batch, visitors=visitors,
                progress=lambda _, online, offline: tell(_standing(online, offline)),
            )  # fmt: skip
    if picture is not None:
        draw(traffic.run, picture)
    if json:
        print_json(document(traffic, url))
    else:
        _show(traffic)


def _require_service(client: Client, url: str) -> None:
    """Before a large collection is made or opened: is the service there, and are we let in?"""
    try:
        client.models()
    except ServiceError as error:
        raise ServiceError(f"no service to play with at {url}: {error}. Start one with: rankloop serve") from None


def chosen_learner(name: str | None, assignments: Sequence[str]) -> Any:
    """The method that the command line describes; None if it says nothing.

    >>> chosen_learner("ROLTR", ["reward=ips+", "discount=0.5"])
    ROLTR(reward='ips+', discount=0.5)
    """
    if name is None and not assignments:
        return None
    settings: dict[str, Any] = {"learner": name or "ROLTR"}
    for assignment in assignments:
        setting, equals, text = assignment.partition("=")
        if not equals:
            raise SettingsError(f"--set takes SETTING=VALUE, such as learning_rate=0.01; got {assignment!r}")
        settings[setting.strip()] = _value(text)
    return from_settings(settings)


def _value(text: str) -> Any:
    """A number, a list, a table, … as TOML writes it; anything else is a word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _introduction(described: dict[str, Any], new: bool, data: Collection, user: str) -> str:
    who = f"{user} clicks on {data.name}"
    if new:
        return f"new model {described['name']!r}, {described['learner']['learner']}: {who}"
    return (
        f"model {described['name']!r} goes on from version {described['version']:,} with its own settings, "
        f"{described['learner']['learner']}: {who}"
    )


def _standing(online: float, offline: float) -> str:
    measured = "" if np.isnan(offline) else f", on the test split {offline:.4f}"
    return f"nDCG@10 of the pages {online:.4f}{measured}"


def document(traffic: Traffic, url: str) -> dict[str, Any]:
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


def _rows(run: Run) -> list[tuple[int, float | None, float | None, float | None]]:
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


def _show(traffic: Traffic) -> None:
    run = traffic.run
    made = table("impressions", "nDCG@10 of the pages", "clicks a page", "nDCG@10 on the test split")
    rows = _rows(run)
    step = max(1, -(-len(rows) // ROWS))
    for place, (at, *values) in enumerate(rows):
        if place % step == 0 or place == len(rows) - 1:
            made.add_row(f"{at:,}", *("–" if value is None else f"{value:.4f}" for value in values))
    print_table(made)
    groups = ", ".join(f"{count:,} {group}" for group, count in sorted(traffic.pages.items()))
    out.print(
        f"\nOnline nDCG@10 {run.online_ndcg:.1f} (discounted by 0.9995 a page). Pages: {groups}. "
        f"{run.impressions_per_second:,.0f} impressions a second. Each row tells of the pages since the one before."
    )
    if traffic.undelivered:
        out.print(f"The service did not take {traffic.undelivered:,} reports of clicks.")


def draw(run: Run, path: Path) -> Path:
    """The pages' nDCG and that on the test split, over impressions."""
    with style.context("default", after_reset=True):
        drawing = Figure(figsize=(7, 4), layout="constrained")
        axis = drawing.add_subplot()
        rows = _rows(run)
        online = [(at, value) for at, value, _, _ in rows if value is not None]
        axis.plot(*zip(*online, strict=True), color="#0072B2", label="of the pages shown, since the point before")
        if len(run.offline_curve):
            axis.plot(*run.offline_curve.T, color="#D55E00", label="on held-out queries, best order")
        axis.set_xlabel("impressions")
        axis.set_ylabel("nDCG@10")
        learner, user, data = run.settings["learner"], run.settings["user"], run.settings["data"]
        axis.set_title(f"{learner['learner']}, {user['name']} clicks, {data['name']}", loc="left")
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False)
        try:
            drawing.savefig(path, dpi=160)
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror or error}") from None
    return path
