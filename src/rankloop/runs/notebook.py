"""What a notebook shows of runs: the numbers, and the curves as inline SVG, in light and dark, without scripts.

Text and axes take the colour of the page's text (`currentColor`), so they can be read on any background; nothing has an
id or a style sheet, so nothing on the page can get in its way.
"""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from rankloop.display.pictures import CYCLE, short
from rankloop.runs.plots import curves, looks
from rankloop.runs.run import Run
from rankloop.runs.runs import Runs

_WIDTH, _HEIGHT = 460, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 136, 22, 30
_LONGEST = 22  # characters of a name beside a line
_MOST_PANELS = 6
_DASHES = {"--": "5 3", ":": "1.5 2.5", "-.": "7 2.5 1.5 2.5"}
_INVISIBLE = ("#555555", "#000000")  # on a dark page
_CARD = "display:inline-block;vertical-align:top;margin:0 1.2em 0.6em 0;font-family:sans-serif;font-size:0.9em"


class Series(NamedTuple):
    """A line of a chart, and what is written at its end."""

    name: str
    colour: str
    at: Any
    values: Any
    dash: str = "-"


def run_html(run: Run) -> str:
    """A run: its settings, its numbers and its curves."""
    settings, offline = run.settings, run.offline_curve
    (place,) = Runs([run]).places
    fold = "" if settings["data"]["fold"] is None else f", fold {settings['data']['fold']}"
    facts = [
        (f"online {run.ndcg.title}", f"{run.online_ndcg:,.1f}"),
        (f"offline {run.ndcg.title}", f"{run.offline_ndcg:.4f}" if len(offline) else "not measured"),
        ("clicks per page", f"{run.clicks.mean():.2f}"),
        ("impressions", f"{len(run.online_curve):,}"),
        ("seed", str(settings["seed"])),
        ("impressions/s", f"{run.impressions_per_second:,.0f}"),
    ]
    cells = "".join(
        f'<tr><td style="text-align:left;opacity:0.75">{escape(name)}</td>'
        f'<td style="text-align:right;padding-left:1em">{escape(value)}</td></tr>'
        for name, value in facts
    )
    heading = f"<b>{escape(place.label)}</b> · {escape(place.user)} clicks · {escape(place.collection + fold)}"
    drawn = ""
    if len(offline) > 1:
        lines = [
            Series("held-out", CYCLE[0], offline[:, 0], offline[:, 1]),
            Series("pages shown", CYCLE[1], offline[1:, 0], run.online_means),
        ]
        drawn = f'<div style="{_CARD}">{chart(lines, run.ndcg.title)}</div>'
    return f'<div>{heading}<br>{drawn}<div style="{_CARD}"><table>{cells}</table></div></div>'


def runs_html(runs: Runs) -> str:
    """Many runs: their summary, and mean learning curves for each collection and user."""
    if not len(runs):
        return escape(repr(runs))
    lines = looks(runs)
    places = list(dict.fromkeys((place.collection, place.user) for place in runs.places))
    charts = []
    for collection, user in places[:_MOST_PANELS]:
        here = runs.select(collection=collection, user=user)
        series = []
        for label in here.labels:
            at, values, _ = curves(here.select(label=label), "offline")
            if len(at) > 1:
                colour = _hex(lines[label].colour)
                series.append(Series(lines[label].name, colour, at, values.mean(axis=0), lines[label].dash))
        if series:
            title = f"{user} clicks, {collection}: held-out {here.ndcg}"
            charts.append(f'<div style="{_CARD}">{chart(series, title)}</div>')
    more = len(places) - _MOST_PANELS
    rest = f"<p>{more} more: .select(collection=…, user=…), or .plot()</p>" if more > 0 else ""
    return f"<div>{''.join(charts)}{rest}{runs.summary()._repr_html_()}</div>"


def chart(series: Sequence[Series], title: str) -> str:
    """Lines over impressions, with names at their ends."""
    last = max(float(one.at[-1]) for one in series)
    low, high = _range(np.concatenate([np.asarray(one.values, dtype=float) for one in series]))

    def x(at: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * at / max(last, 1.0), 1)

    def y(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * (value - low) / (high - low), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'role="img" aria-label="{escape(title)}" style="color:inherit;max-width:100%" font-family="sans-serif" '
        f'font-size="11" fill="currentColor">',
        f'<text x="2" y="12">{escape(title)}</text>',
    ]
    for value in (low, (low + high) / 2, high):
        line = f'x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value)}" y2="{y(value)}"'
        parts.append(f'<line {line} stroke="currentColor" stroke-opacity="0.2"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y(value) + 4}" text-anchor="end">{value:.3f}</text>')
    for at in (0.0, last / 2, last):
        parts.append(f'<text x="{x(at)}" y="{_HEIGHT - 12}" text-anchor="middle">{at:,.0f}</text>')
    ends = sorted(((y(float(one.values[-1])), one) for one in series), key=lambda end: end[0])
    below = -np.inf
    for end, one in ends:
        points = " ".join(f"{x(float(at))},{y(float(v))}" for at, v in zip(one.at, one.values, strict=True))
        dash = f' stroke-dasharray="{_DASHES[one.dash]}"' if one.dash in _DASHES else ""
        parts.append(f'<polyline points="{points}" fill="none" stroke="{one.colour}" stroke-width="1.8"{dash}/>')
        below = max(end, below + 12)
        name = short(one.name, _LONGEST)
        parts.append(f'<text x="{_WIDTH - _RIGHT + 5}" y="{below + 4:.1f}" fill="{one.colour}">{escape(name)}</text>')
    return "".join([*parts, "</svg>"])


def _range(values: Any) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    room = 0.05 * (high - low) or 0.05
    return low - room, high + room


def _hex(colour: Any) -> str:
    from matplotlib.colors import to_hex

    shown = to_hex(colour)
    return "currentColor" if shown in _INVISIBLE else shown
