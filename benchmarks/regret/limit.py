"""What the same pages could have taught: python -m benchmarks.regret.limit [--json FILE] [--seeds N]

`Posterior` shows pages to noisy people. Then a ranker is fitted to all of its pages and clicks at once, by somebody who
was told how far people look, and who chose the prior variance with which the held-out queries come out best. If that is
hardly better than what the learner has come to, its regret is what these clicks do not say, and not what it wastes.
nDCG@10 on held-out queries after so many pages; means over seeds.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rankloop as rl
from benchmarks import commit
from benchmarks.regret.fusion import looked_through
from rankloop.data.collection import Split
from rankloop.evaluation import evaluate
from rankloop.learners.common_factor import common_agreement, common_share

WORLDS = {"mslr-like": 0.1, "yahoo-like": 0.03, "istella-like": 0.01}
PAGES = (400, 1_600, 3_000)
CLICKS = np.array([0.4, 0.6, 0.7, 0.8, 0.9])
VARIANCES = (0.003, 0.01, 0.03, 0.1, 0.3)
STEPS = 5
_Array = NDArray[np.float64]


class Clicked(NamedTuple):
    """A page with clicks: its documents' features, log θ of their ranks, and who was clicked."""

    rows: _Array
    examined: _Array
    clicks: _Array


def main(words: list[str] | None = None) -> None:
    """A line for each world and number of pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regret.limit", description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args(words)
    found: dict[str, dict[str, list[float]]] = {}
    for name, scale in WORLDS.items():
        data = rl.load(name, scale=scale)
        runs = [taught(data, seed) for seed in range(1, given.seeds + 1)]
        found[name] = {}
        for i, pages in enumerate(PAGES):
            learned, fitted = np.mean([run[i] for run in runs], axis=0)
            found[name][str(pages)] = [learned, fitted]
            print(f"{name:14}  {pages:>5,} pages  learned {learned:.3f}  fitted at once {fitted:.3f}")
    if given.json:
        report = {"commit": commit(), "seeds": given.seeds, "learned, fitted": found}
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def taught(data: rl.Collection, seed: int) -> list[tuple[float, float]]:
    """For each number of pages, what the learner has come to, and what a fit to the same pages comes to."""
    rng, split = np.random.default_rng(seed), data.train
    ranker = rl.OnlineRanker(rl.Posterior(), features=split.features.shape[1], seed=seed)
    shown: list[Clicked] = []
    found = []
    for number in range(1, max(PAGES) + 1):
        query = rng.integers(split.queries)
        rows = slice(split.offsets[query], split.offsets[query + 1])
        X, grades = split.arrays.features[rows], split.grades[rows]
        page = ranker.rank(X, query=str(query), ids=[str(d) for d in range(len(X))])
        examined = 1.0 / np.arange(1, len(page) + 1)
        clicks = (rng.random(len(page)) < CLICKS[grades[page.documents]] * examined).astype(float)
        ranker.learn(page, clicks)
        if clicks.any():
            centred = X.astype(float) - X.astype(float).mean(axis=0)
            shown.append(Clicked(centred[page.documents], np.log(examined), clicks))
        if number in PAGES:
            fitted = max(evaluate(weights, data.test) for weights in fits(split, shown))
            found.append((float(evaluate(ranker.weights, data.test)), float(fitted)))
    return found


def fits(split: Split, shown: list[Clicked]) -> list[_Array]:
    """The most plausible weights under each prior variance, by Newton's method."""
    spread, common = looked_through(split)
    varying = spread > 0
    b = common.direction[varying]
    mean = rl.Posterior().common_weight * common_agreement(common) * np.sqrt(common_share(common)) * b
    pages = [page._replace(rows=page.rows[:, varying] / spread[varying]) for page in shown]
    found = []
    for variance in VARIANCES:
        precision, weights = len(b) / variance, mean.copy()
        for _ in range(STEPS):
            gradient, roots = precision * (mean - weights), []
            for rows, examined, clicks in pages:
                shares = np.exp(rows @ weights + examined)
                shares /= shares.sum()
                gradient += (clicks - clicks.sum() * shares) @ rows
                roots.append(np.sqrt(clicks.sum() * shares)[:, None] * (rows - shares @ rows))
            root = np.concatenate(roots)
            weights = weights + np.linalg.solve(root.T @ root + precision * np.eye(len(b)), gradient)
        whole = np.zeros(len(spread))
        whole[varying] = weights / spread[varying]
        found.append(whole)
    return found


if __name__ == "__main__":
    main()
