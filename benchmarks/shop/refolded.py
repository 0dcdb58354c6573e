"""What becomes of a model whose log is folded again: people erased, pages late, the whole log shuffled.

python -m benchmarks.shop.refolded [--visits 4000] [--seed 1]
"""

import argparse
from collections.abc import Callable

import msgspec
import numpy as np

from benchmarks.shop.visits import ndcg_of, seen_by, settings_of
from benchmarks.shop.world import NEVER_CLOSED, PAGE, Shop, click_probabilities
from rankloop.learners import DBGD, PDGD, PMGD, ROLTR, Learner, Posterior
from rankloop.live.events import Closing, Event, Kind, encode
from rankloop.live.fold import Fold
from rankloop.live.models import cosine
from rankloop.live.ranking import Ranking, Request
from rankloop.live.redrawing import Redrawing
from rankloop.live.settings import ModelSettings

VISITORS = 1_000
Closed = list[tuple[Event, Event]]

LEARNERS: dict[str, Learner] = {
    "ROLTR `ips+-`": ROLTR(learning_rate=0.1),
    "ROLTR `ips-`": ROLTR(learning_rate=0.1, reward="ips-"),
    "PDGD": PDGD(),
    "DBGD": DBGD(),
    "PMGD": PMGD(),
    "Posterior": Posterior(),
}


def lived(shop: Shop, settings: ModelSettings, visits: int, seed: int) -> tuple[Fold, Closed]:
    """A model after so many visits, and what was closed, in order."""
    rng = np.random.default_rng(seed)
    features = seen_by(settings, shop)
    fold, ranking, closed = Fold(settings), Ranking(settings), []
    for number in range(visits):
        query = int(rng.integers(len(shop.training)))
        client = int(rng.integers(1, VISITORS + 1)).to_bytes(8, "little")
        search = shop.searches[query]
        ids = [str(product) for product in search.products]
        request = Request(f"q{query}", client, ids, features[query], PAGE, {})
        impression = ranking.rank(fold.view(), request, number).impression
        clicked = rng.random(len(impression.page)) < click_probabilities(search.grades[impression.page])
        if rng.random() < NEVER_CLOSED:
            continue
        shown = Event(2 * number + 1, 1, Kind.SHOWN, number, 0, client, encode(impression))
        body = encode(Closing(shown.offset, clicked.astype(float).tolist(), "asked"))
        closing = Event(2 * number + 2, 1, Kind.CLOSED, number, 0, b"", body)
        fold.apply(closing, shown)
        closed.append((closing, shown))
    return fold, closed


def without(closed: Closed, share: float) -> Closed:
    """As if so many people had been erased."""
    gone = {n.to_bytes(8, "little") for n in range(1, round(share * VISITORS) + 1)}
    return [pair for pair in closed if pair[1].client not in gone]


def late(closed: Closed, share: float) -> Closed:
    """So many pages closed a quarter of the log later."""
    by = len(closed) // 4 * (np.random.default_rng(8).random(len(closed)) < share)
    return [closed[place] for place in np.argsort(np.arange(len(closed)) + by, kind="stable")]


def shuffled(closed: Closed) -> Closed:
    """In any order."""
    return [closed[place] for place in np.random.default_rng(9).permutation(len(closed))]


CHANGES: dict[str, Callable[[Closed], Closed]] = {
    "0.1 % erased": lambda closed: without(closed, 0.001),
    "5 % erased": lambda closed: without(closed, 0.05),
    "10 % late": lambda closed: late(closed, 0.1),
    "shuffled": shuffled,
}


def folded(settings: ModelSettings, left: Closed, closed: Closed) -> Fold:
    """What is left of a log, as `log refold` folds it."""
    fold = Fold(settings)
    erased = {shown.offset for _, shown in closed} - {shown.offset for _, shown in left}
    fold.redrawing = Redrawing(min(erased)) if erased else None
    for closing, shown in left:
        fold.apply(closing, shown)
    return fold


def main() -> None:
    """Print the table: nDCG@10 on searches that nobody made, and the cosine with the live model's weights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shop.refolded", description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    shop = Shop(19 + given.seed)
    print(f"| learner | live | {' | '.join(CHANGES)} |\n|---|---|{'---|' * len(CHANGES)}")
    for name, learner in LEARNERS.items():
        scaling = "robust" if isinstance(learner, Posterior) else "query"
        body = {"name": "shop", "scaling": scaling, "start": "zeros", "guards": {"control": 0.0}}
        settings = settings_of(body | {"learner": msgspec.to_builtins(learner)}, given.seed)
        features = seen_by(settings, shop)
        live, closed = lived(shop, settings, given.visits, given.seed)
        cells = [f"{ndcg_of(live.view(), shop, features):.3f}"]
        for change in CHANGES.values():
            anew = folded(settings, change(closed), closed)
            angle = cosine(live.ranker.weights, anew.ranker.weights) or 0.0
            cells.append(f"{ndcg_of(anew.view(), shop, features):.3f} ({angle:.3f})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
