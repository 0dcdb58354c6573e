"""A shop of 2,000 products behind SQLite's full-text search, and a live model that learns what its visitors want.

The engine (FTS5) finds candidates by their words. The model orders the best fifty by that score, price, rating, age and
stock, and learns from clicks. Start `rankloop serve` first, then this, with the address that it prints:

    python shop_with_sqlite.py http://127.0.0.1:8080
"""

import random
import sqlite3
import sys

from rankloop.client import Client

FEATURES = ["words", "price", "rating", "age_in_days", "in_stock"]
LOOKS, MATERIALS = ["plain", "round", "tall", "light", "dark", "old"], ["oak", "pine", "steel", "glass", "cork"]
THINGS = ["table", "chair", "lamp", "shelf", "desk", "stool", "bed", "clock"]
SEARCHES = [f"{material} {thing}" for material in MATERIALS for thing in THINGS]
draws = random.Random(7)


def products():
    """(id, name, description, price, rating, age, stock) of each."""
    for number in range(2_000):
        look, material, thing = draws.choice(LOOKS), draws.choice(MATERIALS), draws.choice(THINGS)
        story = f"A {thing} of {material} for every room. " + " ".join(draws.choices([look, material, thing], k=6))
        price, rating = round(draws.lognormvariate(4, 0.8), 2), round(draws.uniform(1, 5), 1)
        age, stock = draws.randrange(1, 2_000), int(draws.random() < 0.8)
        yield f"p{number}", f"{look} {material} {thing}", story, price, rating, age, stock


class Engine:
    """SQLite: one table with the words and the facts of all products."""

    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        facts = "price UNINDEXED, rating UNINDEXED, age UNINDEXED, stock UNINDEXED"
        self.db.execute(f"CREATE VIRTUAL TABLE products USING fts5(id UNINDEXED, name, description, {facts})")
        self.db.executemany("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?)", products())

    def search(self, text):
        """The best fifty by their words: features by id, in the engine's order. FTS5's score is negative."""
        sql = "SELECT id, -bm25(products), price, rating, age, stock FROM products WHERE products MATCH ?"
        return {name: features for name, *features in self.db.execute(f"{sql} ORDER BY rank LIMIT 50", [text])}


def attraction(features):
    """How likely visitors who see it click: they like it cheap, well rated, in stock. The model does not know that."""
    _, price, rating, _, stock = features
    return stock * max(0.02, min(0.9, 0.25 * (rating - 2) - 0.004 * price))


def chances(page, found):
    """How likely each document of a page is clicked: fewer people look at what stands lower."""
    return [attraction(found[name]) / (1 + 0.3 * rank) for rank, name in enumerate(page)]


def visit(search, engine, client):
    """Somebody searches, sees the page that the model has drawn, clicks, and leaves."""
    text = draws.choice(SEARCHES)
    found = engine.search(text)
    page = search.rank("shop", found, query=text, client=client)
    clicked = [name for name, p in zip(page.ranking, chances(page.ranking, found), strict=True) if draws.random() < p]
    search.click(page.impression, clicked)
    search.close(page.impression, wait=True)


def clicks_per_page(engine, ranked):
    """What people would click on, on average over all searches, in an order of what was found."""
    pages = [(engine.search(text), text) for text in SEARCHES]
    return sum(sum(chances(ranked(found, text), found)) for found, text in pages) / len(pages)


def shop(engine, address, visits=400):
    """Some hundred visitors; then the engine's order beside what was learned."""
    with Client(address, timeout=60) as search:
        if "shop" in [model["name"] for model in search.models()]:
            search.resume("shop")  # it was frozen at the end of an earlier run, and learns on
        else:
            start = {"from": "incoming", "feature": "words"}
            search.create_model("shop", FEATURES, start=start, guards={"control": 0}, seed=1)
        for number in range(visits):
            visit(search, engine, f"visitor {number}")
        search.freeze("shop")
        print({name: round(w, 2) for name, w in zip(FEATURES, search.model("shop")["weights"], strict=True)})
        before = clicks_per_page(engine, lambda found, text: list(found)[:10])
        after = clicks_per_page(engine, lambda found, text: search.rank("shop", found, query=text).ranking)
        print(f"clicks per page: {before:.3f} in the engine's order, {after:.3f} after {visits} visits")


if __name__ == "__main__":
    shop(Engine(), sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080")
