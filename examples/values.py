"""A shop where what gets clicks is not what gets bought: learning from clicks loses money, from values it does not.

    python examples/values.py                    # about a minute
    python examples/values.py --visits 1000 --seeds 1

Every product is more or less *flashy* (it looks cheap and loud in the list) and more or less *solid*. Flashy things are
clicked; solid ones are bought once somebody has looked. The engine knows a little of both. The same people visit shops
that learn from different values of a click and a purchase; what is printed is the second half of their visits.
"""

import argparse

import numpy as np

import rankloop as rl

CANDIDATES, PAGE = 30, 10
VALUES = {
    "clicks alone": {"click": 1.0, "purchase": 1.0},
    "click 0.2, purchase 1": {"click": 0.2, "purchase": 1.0},
    "click 0.02, purchase 1": {"click": 0.02, "purchase": 1.0},
    "purchases alone": {"click": 0.0, "purchase": 1.0},
}
EXAMINED = 1 / np.arange(1, PAGE + 1) ** 0.5


def chance(x):
    """A probability from a score."""
    return 1 / (1 + np.exp(-x))


def search(rng):
    """What the engine found: (candidates, features) in its order; the features are its score, flashy and solid."""
    flashy, solid = rng.normal(size=(2, CANDIDATES))
    score = 0.5 * flashy + 0.5 * solid + rng.normal(size=CANDIDATES)
    found = np.stack([score, flashy, solid], axis=1)
    return found[np.argsort(-score)]


def visit(rng, X, page):
    """Who clicked and who bought, for each shown product."""
    _, flashy, solid = X[page].T
    clicked = rng.random(len(page)) < EXAMINED * chance(-1.5 + 1.5 * flashy - 0.5 * solid)
    bought = clicked & (rng.random(len(page)) < chance(-4.0 + 2.0 * solid - 1.0 * flashy))
    return clicked, bought


def shop(worth, visits, seed):
    """Clicks and purchases per 1,000 pages in the second half; without values, in the engine's order."""
    ranker = rl.OnlineRanker(rl.Posterior(), features=3, seed=seed, page_size=PAGE)
    rng, totals = np.random.default_rng(seed), np.zeros(2)
    for number in range(visits):
        X = search(rng)
        page = ranker.rank(X) if worth else np.arange(PAGE)
        clicked, bought = visit(rng, X, np.asarray(page))
        if worth:
            # The most valuable thing that happened to a product counts, as in the service.
            ranker.learn(page, np.maximum(worth["click"] * clicked, worth["purchase"] * bought))
        if number >= visits // 2:
            totals += clicked.sum(), bought.sum()
    return 1000 * totals / (visits - visits // 2)


def main():
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--visits", type=int, default=4_000)
    options.add_argument("--seeds", type=int, default=5)
    asked = options.parse_args()
    print(f"{'learned from':24}  clicks  purchases   per 1,000 pages")
    for name, worth in {"nothing: the engine": None, **VALUES}.items():
        runs = np.array([shop(worth, asked.visits, seed) for seed in range(1, asked.seeds + 1)])
        clicks, purchases = runs.mean(axis=0)
        spread = runs[:, 1].std(ddof=1) if len(runs) > 1 else 0.0
        print(f"{name:24}  {clicks:6.0f}  {purchases:6.1f} ± {spread:.1f}")


if __name__ == "__main__":
    main()
