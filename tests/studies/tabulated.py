"""A study of four methods, and its tables."""

from rankloop.studies import tables
from rankloop.studies.specification import Grid, Study

METHODS = (
    {"learner": "COLTR"},
    {"learner": "PDGD"},
    {"learner": "ROLTR"},
    {"learner": "MDPRank", "variant": "authors"},
)
LEVEL = {"COLTR": 400.0, "PDGD": 500.0, "ROLTR": 520.0, "MDPRank": 900.0}


def study(*learners, collection=None, repeats=4, **settings):
    chosen = {"impressions": 2000, "evaluate_every": 1000, "users": ("noisy",)} | settings
    grid = Grid(name="g", title="A grid", learners=learners or METHODS)
    return Study(name="s", grids=(grid,), collections=(collection or "tiny",), repeats=repeats, **chosen)


def level(cell):
    return LEVEL[cell.label] + 3.0 * (cell.seed % 3) + (cell.seed if cell.label == "ROLTR" else 0)


def online_table(results):
    return next(table for _, table in tables.tables_for(results) if table.name == "g-online")


def grid_table(results):
    return next(table for _, table in tables.tables_for(results) if table.name == "g-summary")


def cell_of(table, method, column=2):
    return next(row[column] for row in table.rows if row[1].text == method)
