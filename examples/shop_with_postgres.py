"""The same shop behind PostgreSQL's full-text search, where words of a name weigh more.

Products, visitors and the model are those of shop_with_sqlite.py, beside this file. Give it a database to make the
table in, which is taken away at the end; the service may keep its log on the same server. Needs psycopg.

    python shop_with_postgres.py http://127.0.0.1:8080 postgresql://localhost/shop
"""

import sys

import psycopg
from shop_with_sqlite import products, shop

TABLE = """CREATE TEMPORARY TABLE products (
    id text PRIMARY KEY, name text, description text, price real, rating real, age integer, stock integer,
    words tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector('english', name), 'A') || setweight(to_tsvector('english', description), 'D')) STORED)"""
SEARCH = """SELECT id, ts_rank_cd(words, query) AS score, price, rating, age, stock
    FROM products, websearch_to_tsquery('english', %s) AS query
    WHERE words @@ query ORDER BY score DESC, id LIMIT 50"""


class Engine:
    """PostgreSQL: words of names weigh more than words of descriptions."""

    def __init__(self, database):
        self.db = psycopg.connect(database, autocommit=True)
        self.db.execute(TABLE)
        self.db.execute("CREATE INDEX ON products USING gin (words)")
        with self.db.cursor() as cursor:
            cursor.executemany("INSERT INTO products VALUES (%s, %s, %s, %s, %s, %s, %s)", products())

    def search(self, text):
        """The best fifty by their words: features by id, in the engine's order."""
        return {name: features for name, *features in self.db.execute(SEARCH, [text])}


if __name__ == "__main__":
    shop(Engine(sys.argv[2]), sys.argv[1])
