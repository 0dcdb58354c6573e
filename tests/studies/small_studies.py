"""Small studies: to read, and to make results up for."""

from rankloop.studies.specification import Grid, Study

SMALL = """
name = "small"
impressions = 200
repeats = 4
evaluate_every = 100
collections = [{ data = "tiny", folds = [1, 2] }]

[[grids]]
name = "methods"
learners = [{ learner = "ROLTR" }, { learner = "PDGD" }]
"""


def small(*learners, name="mine", **settings):
    settings = {"impressions": 2000, "repeats": 2, "evaluate_every": 500, "collections": ("tiny",)} | settings
    grid = Grid(name="g", learners=tuple(learners), gradient_variance=settings.pop("gradient_variance", False))
    return Study(name=name, grids=(grid,), **settings)
