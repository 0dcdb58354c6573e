"""A furniture shop for the pictures of the dashboard: queries, products with titles, and people who like some."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.live.ranking import Request

QUERIES = (
    "desk lamp", "oak desk", "office chair", "white bookcase", "kitchen table", "sofa bed", "rug 160 x 230",
    "round mirror", "coat rack", "bar stool", "garden chair", "wardrobe", "nightstand",
)  # fmt: skip
TOWNS = (
    "Ystad", "Umeå", "Falun", "Borås", "Lund", "Malmö", "Örebro", "Växjö", "Kalmar", "Visby", "Gävle", "Luleå",
    "Motala", "Mora", "Kiruna", "Arvika", "Skövde", "Nybro", "Tierp", "Åmål",
)  # fmt: skip
PEOPLE = 3000
_LIKED = np.array([0.4, 0.3, -0.5, 1.3])
"""What people like: the engine's score, freshness, price and rating of a product."""


class Shop:
    """Twenty products for each query; some queries are asked far more often than others."""

    def __init__(self, seed: int = 1) -> None:
        draw = np.random.default_rng(seed)
        self._shelves = [self._shelf(query, draw) for query in QUERIES]
        self._people = [draw.bytes(16) for _ in range(PEOPLE)]
        self._often = 1 / np.arange(1, len(QUERIES) + 1)

    @staticmethod
    def _shelf(query: str, draw: np.random.Generator) -> tuple[str, list[str], dict[str, str], NDArray[Any]]:
        features = draw.random((len(TOWNS), len(_LIKED))).astype(np.float32)
        features = features[np.argsort(-features[:, 0], kind="stable")]
        names = [TOWNS[i] for i in draw.permutation(len(TOWNS))]
        ids = [f"{query}-{number}".replace(" ", "-") for number in range(1, len(names) + 1)]
        titles = {id: f"{name} {query}" for id, name in zip(ids, names, strict=True)}
        return query, ids, titles, features

    def __call__(self, draw: np.random.Generator) -> tuple[Request, NDArray[Any]]:
        """Somebody's request, and how likely they are to click on each product once they look at it."""
        query, ids, titles, features = self._shelves[draw.choice(len(QUERIES), p=self._often / self._often.sum())]
        client = self._people[draw.integers(PEOPLE)]
        return Request(query, client, ids, features, 10, {}, titles=titles), 1 / (
            1 + np.exp(-3 * (features @ _LIKED - 1.0))
        )
