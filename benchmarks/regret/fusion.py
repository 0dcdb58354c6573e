"""What features have in common is worth before anybody clicks: python -m benchmarks.regret.fusion [--json FILE]

For each collection of the study of regret, nDCG@10 on the training queries (those with nothing relevant count 0) of
orders that nobody taught: at random, by the sum of the features in units of their spreads, along what they have in
common, the way `Posterior` looks for it and believes it points, and the other way; beside the skyline, which was told
every grade. Published collections are means over their folds.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rankloop as rl
from benchmarks import commit
from rankloop.data.collection import Split
from rankloop.learners.common_factor import ENOUGH, CommonFactor, common_agreement, gather_common, settle_common
from rankloop.learners.prior import gather_spread, is_due
from rankloop.studies.regret.skyline import fit, value_of

SHARED = Path(__file__).parents[3] / "shared" / "data"
FOLDED = {"MQ2008": "MQ2008", "ClueWeb09": "ClueWeb09-Webis"}
WORLDS = {"mslr-like": 0.1, "yahoo-like": 0.03, "istella-like": 0.01, "tiny": 1.0}
SHUFFLES = 20


def main(words: list[str] | None = None) -> None:
    """One row a collection; a collection that is not there is left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regret.fusion", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(words)
    rows = {}
    for name, splits in collections(given.data):
        found = [untaught(split) for split in splits]
        rows[name] = {column: float(np.mean([one[column] for one in found])) for column in found[0]}
        print(f"{name:14}", *(f"{column} {value:.3f}" for column, value in rows[name].items()), sep="  ")
    if given.json:
        given.json.write_text(json.dumps({"commit": commit(), "collections": rows}, indent=1) + "\n", encoding="utf-8")


def collections(folder: Path) -> list[tuple[str, list[Split]]]:
    """Training splits by name."""
    found = []
    for name, place in FOLDED.items():
        if (folder / place).is_dir():
            found.append((name, [rl.load(str(folder / place), fold=fold).train for fold in range(1, 6)]))
    if (sample := folder / "MSLR-WEB10K-sample").is_dir():
        found.append(("MSLR sample", [rl.load(str(sample), fold=1).train]))
    return found + [(name, [rl.load(name, scale=scale).train]) for name, scale in WORLDS.items()]


def untaught(split: Split) -> dict[str, float]:
    """nDCG of each order, and how far features agree on which way what they have in common points."""
    spread, common = looked_through(split)
    per_unit = np.divide(1.0, spread, out=np.zeros(spread.size), where=spread > 0)
    agreement = common_agreement(common)
    along = common.direction * per_unit * np.sign(agreement)
    rng = np.random.default_rng(1)
    shuffled = [_valued([1.0], _with_features(split, rng.random((len(split.grades), 1)))) for _ in range(SHUFFLES)]
    return {
        "random": float(np.mean(shuffled)),
        "sum": _valued(per_unit, split),
        "common": _valued(along, split),
        "reversed": _valued(-along, split),
        "skyline": _valued(fit(split).weights, split),
        "agreement": abs(agreement),
    }


def looked_through(split: Split) -> tuple[NDArray[np.float64], CommonFactor]:
    """Spreads and what features have in common, after the lists that a model looks through, each query's once."""
    features = split.features.shape[1]
    learner = rl.Posterior()
    model, work = learner.model(features, 10, 1), learner.work(features, 10, split.longest)
    for query in range(min(split.queries, ENOUGH)):
        X = split.arrays.features[split.offsets[query] : split.offsets[query + 1]]
        if len(X) < 2:
            continue
        model.pages[0] += 1
        gather_spread(model, X, work.centre, work.gradient)
        gather_common(model.common, model.within, model.pages[0], X, work.centre, work.gradient, work.per_unit)
        if is_due(model.pages[0]):
            settle_common(model.common)
    settle_common(model.common)
    return np.sqrt(model.within), model.common


def _with_features(split: Split, features: NDArray[np.float64]) -> Split:
    rows = split.arrays
    return Split(features.astype(np.float32), rows.offsets, rows.grades, rows.query_ids)


def _valued(weights: object, split: Split) -> float:
    return value_of(np.asarray(weights, dtype=np.float64), split, 10)


if __name__ == "__main__":
    main()
