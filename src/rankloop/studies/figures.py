"""Pictures of results. One calm style, colours that survive colour blindness, intervals as bands, names at the lines.

`figures_for` looks at what a study varies and decides what is worth a picture, so that a study of one's own gets the
same treatment as the paper's: learning curves; where methods are compared, what people saw and the first 10,000
impressions; the gradient's variance where it was recorded; who wins with whom where there are many kinds of people.
A study of regret has one picture, of that.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure as Drawing

from rankloop.display import listed
from rankloop.display.pictures import FORMATS, Size, calm, save, svg
from rankloop.studies.coverage import Coverage
from rankloop.studies.drawing import draw_curves, draw_variance, needs_log
from rankloop.studies.people import has_people
from rankloop.studies.people_picture import draw_people, people_caption
from rankloop.studies.profiles import draw_profiles, has_profiles, profiles_caption
from rankloop.studies.records import Results
from rankloop.studies.regret import picture as regret_picture

EARLY = 10_000  # impressions: the paper's closer look at the beginning
MOST_PANELS = 6  # kinds of people beside each other; with more, curves are too small to read


class Figure(NamedTuple):
    """A picture that a study deserves, not yet drawn. `path` is where `write` puts the SVG, below a report's folder."""

    name: str
    grid: str
    title: str
    caption: str
    draw: Callable[[Size | None], Drawing]

    @property
    def path(self) -> str:
        """The SVG, relative to the report."""
        return f"figures/{self.name}.svg"

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Draw it into `folder/figures` as PNG and SVG."""
        with calm():
            drawing = self.draw(None)
            png = save(drawing, folder / f"figures/{self.name}.png")
            return png, save(drawing, folder / self.path)

    def svg(self) -> str:
        """Draw it without writing anything."""
        with calm():
            return svg(self.draw(None))

    def write_for_print(self, folder: Path, formats: Sequence[str], size: Size) -> list[Path]:
        """Draw it in a size of one's own, into a folder, once for each format; what an earlier call left there in other
        formats, and perhaps by another metric, is removed."""
        for other in FORMATS:
            if other not in formats:
                (folder / f"{self.name}.{other}").unlink(missing_ok=True)
        with calm(in_print=True):
            drawing = self.draw(size)
            return [save(drawing, folder / f"{self.name}.{one}") for one in formats]


def figures_for(results: Results) -> list[Figure]:
    """What is worth a picture in these results, in the order of the study; grids with the same runs appear once."""
    if results.study.regret is not None:
        return _regret(results)
    coverage = Coverage(results)
    slugs = _slugs(list(coverage.distinct_grids()))
    return [figure for grid, slug in slugs.items() for figure in _figures_of(coverage, grid, slug)]


def _regret(results: Results) -> list[Figure]:
    if results.regret is None or len(results.regret.learners) < 2:
        return []
    grid, found = results.study.grids[0], results.regret
    title = results.study.title or results.study.name
    return [Figure("regret", grid.name, title, regret_picture.caption(found), partial(regret_picture.draw, found))]


def _figures_of(coverage: Coverage, grid: str, slug: str) -> list[Figure]:
    records = coverage.results.select(grid=grid)
    title = coverage.grid(grid).title or grid
    made = []
    if has_people(coverage, grid):
        name, caption = f"{title}: who wins with which people", people_caption(coverage, grid)
        made.append(Figure(f"{slug}-people", grid, name, caption, partial(draw_people, coverage, grid)))
    if len(coverage.users(grid)) > MOST_PANELS:
        return made
    if any(len(record.offline_at) > 1 for record in records):
        name, caption = f"{title}: learning curves", _caption(coverage, grid)
        made.append(Figure(f"{slug}-curves", grid, name, caption, partial(draw_curves, coverage, grid)))
    if coverage.compares_methods(grid) and any(len(record.online_curve) > 1 for record in records):
        name, caption = f"{title}: pages shown", _caption(coverage, grid, online=True)
        draw = partial(draw_curves, coverage, grid, online=True)
        made.append(Figure(f"{slug}-online", grid, name, caption, draw))
    last = max(record.impressions for record in records)
    early = [at for at in records[0].offline_at if at <= EARLY]
    if coverage.compares_methods(grid) and last >= 2 * EARLY and len(early) > 2:
        name, caption = f"{title}: the first {EARLY:,} impressions", _caption(coverage, grid, EARLY)
        made.append(Figure(f"{slug}-early", grid, name, caption, partial(draw_curves, coverage, grid, until=EARLY)))
    if has_profiles(coverage, grid):
        name, caption = f"{title}: performance profiles", profiles_caption(coverage, grid)
        made.append(Figure(f"{slug}-profiles", grid, name, caption, partial(draw_profiles, coverage, grid)))
    if any(np.isfinite(record.gradient_variance) for record in records):
        name, caption = f"{title}: variance of the gradient", _variance_caption(coverage, grid)
        made.append(Figure(f"{slug}-variance", grid, name, caption, partial(draw_variance, coverage, grid)))
    return made


def _slugs(grids: Sequence[str]) -> dict[str, str]:
    """File names for grids, whose own names may hold anything."""
    made: dict[str, str] = {}
    for number, grid in enumerate(grids):
        slug = re.sub(r"[^a-z0-9]+", "-", grid.lower()).strip("-") or "grid"
        made[grid] = f"{slug}-{number}" if slug in made.values() else slug
    return made


def _caption(coverage: Coverage, grid: str, until: int | None = None, online: bool = False) -> str:
    impressions = until or max(record.impressions for record in coverage.results.select(grid=grid))
    metric = coverage.results.metric.title
    shown = f"Mean {metric} of the pages shown since the last point, on"
    measured = shown if online else f"Offline {metric} on held-out queries of"
    text = (
        f"{measured} {listed(coverage.collections(grid))} over "
        f"{'the first ' if until else ''}{impressions:,} impressions, with {listed(coverage.users(grid))} clicks. "
        f"Lines are means over runs ({coverage.of_grid(grid)})"
    )
    text += f", bands their 95 % t-intervals {coverage.speaks_of(grid)}." if coverage.is_repeated(grid) else "."
    if any(coverage.learner(grid, label) == "MDPRank" for label in coverage.labels(grid)):
        text += " MDPRank (dashed) learns from the true grades: a skyline."
    return text


def _variance_caption(coverage: Coverage, grid: str) -> str:
    shape = "points (logarithmic scale)" if needs_log(coverage, grid) else "bars"
    return (
        "The variance of the policy gradient over the ranks of a page (the trace of its covariance), averaged over "
        f"impressions, on {listed(coverage.collections(grid))}: {shape} are means over runs "
        f"({coverage.of_grid(grid)}), whiskers 95 % t-intervals {coverage.speaks_of(grid)}."
    )
