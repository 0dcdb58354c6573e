"""Results made up from random curves: reports are about what is shown, not about what was learned."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from rankloop.learners import to_settings
from rankloop.studies.records import Record, Results
from rankloop.studies.specification import Cell, Study, cells

LEVELS = {"DBGD": 0.30, "PMGD": 0.32, "COLTR": 0.35, "PDGD": 0.40, "ROLTR": 0.42, "MDPRank": 0.44}


@pytest.fixture(scope="session")
def made_up() -> Callable[..., Results]:
    """Results of a study as if it had been run: `made_up(study, keep=lambda cell: …, online=lambda cell: …)`."""
    return make


def make(
    study: Study,
    keep: Callable[[Cell], bool] = lambda cell: True,
    online: Callable[[Cell], float] | None = None,
) -> Results:
    return Results(study, [_record(cell, online) for cell in cells(study) if keep(cell)])


def _record(cell: Cell, online: Callable[[Cell], float] | None) -> Record:
    draw = np.random.default_rng([cell.seed, *map(ord, cell.label + cell.user.name + cell.source.name)])
    at = list(_points(cell))
    discount, eta = getattr(cell.learner, "discount", 0.0) or 0.0, _eta(cell)
    level = LEVELS.get(cell.label, 0.4 - 0.03 * discount - 0.02 * abs(eta - 1)) - 0.04 * (cell.user.name == "noisy")
    speed = 8000 * (1 + 2 * discount)
    curve = 0.15 + (level - 0.15) * (1 - np.exp(-np.array(at) / speed)) + draw.normal(0, 0.003, len(at))
    scale = 10.0 if "ips" in str(getattr(cell.learner, "reward", "")) else 1.0
    variance = scale * (1 + discount) * draw.normal(1, 0.05) * (1 + 2 * (cell.user.name == "noisy"))
    settings = {"learner": to_settings(cell.learner), "user": {"name": cell.user.name}, "seed": cell.seed}
    return Record(
        key=f"{cell.source.name}-{cell.fold}-{cell.user.name}-{cell.label}-{cell.seed}-{cell.impressions}",
        grid=cell.grid,
        collection=cell.source.name,
        stands_for=cell.source.stands_for,
        is_published=cell.source.is_published,
        fold=cell.fold,
        user=cell.user.name,
        learner=cell.learner.name,
        label=cell.label,
        seed=cell.seed,
        impressions=cell.impressions,
        online_ndcg=online(cell) if online else float(1500 * level + draw.normal(0, 6)),
        offline_ndcg=float(curve[-1]) if at else float("nan"),
        gradient_variance=float(variance) if cell.gradient_variance else float("nan"),
        clicks_per_page=1.5,
        offline_at=at,
        offline_curve=curve.tolist(),
        online_curve=curve[1:].tolist(),
        weights=[0.0, 1.0],
        learning_seconds=2.0,
        evaluation_seconds=0.5,
        settings=settings,
        manifest={"versions": {"python": "3.12.1", "rankloop": "0.1.0"}, "processor": "A <fast> one", "cores": 2},
    )


def _points(cell: Cell) -> Iterable[int]:
    every: Any = cell.evaluate_every
    return sorted({*range(0, cell.impressions, every), cell.impressions}) if every else []


def _eta(cell: Cell) -> float:
    return float(getattr(getattr(cell.learner, "propensities", None), "eta", 1.0))
