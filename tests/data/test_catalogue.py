"""The published collections: the catalogue agrees with itself, and an import that differs says how."""

import pytest

from rankloop import data
from rankloop.data.catalogue import CATALOGUE, differences

from .sources import write

pytestmark = pytest.mark.usefixtures("own_home")


def test_an_import_that_differs_from_the_catalogue_says_how(tmp_path):
    for number, split in enumerate(("train", "vali", "test")):
        write(tmp_path / "mq" / "Fold1" / f"{split}.txt", first_query=10 * number)
    report = data.add("mq2008", tmp_path / "mq")
    assert report.differences == [
        "2 features; published: 46.",
        "grades go up to 1; published: 2.",
        "1 folds; published: 5.",
        "fold1: 6 queries; published: 784.",
        "fold1: 12 documents; published: 15,211.",
    ]
    assert data.info("mq2008").differences == report.differences


def test_the_catalogue_agrees_with_itself():
    assert len(CATALOGUE) == 9
    for published in CATALOGUE.values():
        folds = [f"fold{n + 1}" for n in range(published.folds or 0)] or ["whole"]
        shapes = dict(published.shapes)
        if "all" in shapes:
            queries, documents = shapes.pop("all")
            shapes = {"train": (queries - 2, documents - 2), "vali": (1, 1), "test": (1, 1)}
        assert set(shapes) == set(published.splits)
        found = differences(published, published.features[0], published.highest_grade, dict.fromkeys(folds, shapes))
        assert found == []
