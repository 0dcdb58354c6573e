"""Small collections, and the loop driven by hand, impression by impression."""

from collections import deque
from collections.abc import Callable

import numpy as np

from rankloop.data.collection import Collection, Split
from rankloop.loop import draw_query
from rankloop.online import OnlineRanker, Page
from rankloop.users.contract import click_page


def split(sizes, features: int, seed: int, highest: int = 4) -> Split:
    """Queries with so many candidates each; grades follow the first features, with noise."""
    rng = np.random.default_rng(seed)
    documents = sum(sizes)
    X = rng.normal(size=(documents, features)).astype(np.float32)
    relevance = X[:, 0] + 0.5 * X[:, -1] + 0.3 * rng.normal(size=documents)
    grades = np.clip(np.round(relevance + 1.0), 0, highest).astype(int)
    return Split.of(X, grades, np.repeat(np.arange(len(sizes)), sizes))


def collection(sizes=(12, 1, 25, 7, 10, 3), features: int = 5, highest: int = 4) -> Collection:
    """Queries of all kinds: one candidate, fewer than a page, a page exactly, more."""
    return Collection(
        name="small",
        train=split(sizes, features, seed=1, highest=highest),
        test=split(sizes, features, seed=2, highest=highest),
    )


def drive(
    learner,
    user,
    data: Collection,
    impressions: int,
    seed: int,
    *,
    delay: int = 0,
    page_size: int = 10,
    weights=None,
    as_drawn: bool = False,
    seen: Callable[[int, Page, np.ndarray, np.ndarray], None] | None = None,
) -> OnlineRanker:
    """What `simulate` does, by hand: draw a query, rank, click, learn when it is due."""
    train = data.train
    compiled = user.on(data).compiled(page_size, train)
    ranker = OnlineRanker(learner, features=data.features, seed=seed, page_size=page_size, weights=weights)
    waiting: deque = deque()
    for i in range(impressions):
        q = draw_query(np.uint64(seed), i, train.queries)
        rows = slice(train.offsets[q], train.offsets[q + 1])
        page = ranker.rank(train.features[rows], query=str(q), ids=[str(row) for row in range(rows.start, rows.stop)])
        grades = train.grades[rows][page.documents].astype(np.int64)
        clicks = np.zeros(len(page))
        click_page(compiled, grades, page.documents, train.offsets[q], q, np.uint64(seed), i, clicks)
        if seen is not None:
            seen(i, page, clicks, grades)
        waiting.append((page, clicks, grades))
        if len(waiting) > delay:
            due, its_clicks, its_grades = waiting.popleft()
            told = {"grades": its_grades} if learner.learns_from == "grades" else {"clicks": its_clicks}
            ranker.learn(due, as_drawn=as_drawn, **told)
    return ranker
