"""What is stored is described as it is, and what is planned as it will be."""

import pytest

from rankloop import data
from rankloop.errors import DataError

from ..sources import write

pytestmark = pytest.mark.usefixtures("own_home")


def test_listing_info_and_remove_tell_what_is_there(tmp_path):
    write(tmp_path / "some.txt", queries=5)
    report = data.add("some", tmp_path / "some.txt")
    assert report == data.info("some")
    train = report.folds["whole"]["train"]
    assert (train.queries, train.documents, train.grades) == (3, 6, [3, 3])
    assert (train.shortest, train.median, train.mean, train.longest) == (2, 2, 2, 2)
    [listed] = data.listing()
    assert (listed.name, listed.queries, listed.documents, listed.features) == ("some", 5, 10, 2)
    assert listed.disk_bytes == report.disk_bytes > 0
    assert [item.name for item in data.remove("some")] == ["some"]
    with pytest.raises(DataError, match="Nothing is stored as 'some'"):
        data.remove("some")


def test_info_describes_the_fold_that_was_asked_for(tmp_path):
    for fold, queries in (("Fold1", 2), ("Fold2", 4)):
        for number, split in enumerate(("train", "test")):
            write(tmp_path / "two" / fold / f"{split}.txt", 10 * number, queries)
    whole = data.add("two", tmp_path / "two")
    second = data.info("two", fold=2)
    assert (list(whole.folds), list(second.folds)) == (["fold1", "fold2"], ["fold2"])
    assert second.folds["fold2"]["train"].queries == 4
    assert list(second.content_hashes) == ["fold2"]
    assert second.disk_bytes + data.info("two", fold=1).disk_bytes == whole.disk_bytes
    with pytest.raises(DataError, match="two has folds 1, 2; got fold 9"):
        data.info("two", fold=9)


def test_describing_a_world_does_not_make_it(own_home):
    report = data.info("istella-like", fold=2, scale=0.5)
    assert report.plan.queries == {"train": 10158, "vali": 1451, "test": 4900}
    assert (report.plan.fold, report.plan.scale, report.plan.grades) == (2, 0.5, 5)
    assert "in the shape of Istella" in report.plan.title
    assert (report.name, report.features, report.normalised) == ("istella-like", 220, True)
    assert (report.disk_bytes, report.folds, report.content_hashes) == (0, {}, {})
    assert "not made yet" in report.normalisation
    assert not own_home.exists()
    with pytest.raises(DataError, match="folds 1 to 5; got fold 6"):
        data.info("tiny", fold=6)


def test_a_plan_is_what_is_made():
    plan = data.info("tiny", fold=3, scale=0.2).plan
    made = data.make("tiny", fold=3, scale=0.2)
    assert made.plan is None
    assert {split: shape.queries for split, shape in made.folds["fold3"].items()} == plan.queries
    assert data.info("tiny", fold=3, scale=0.2) == made
    assert data.make("tiny", fold=3, scale=0.2) == made
    assert len(data.listing()) == 1
    with pytest.raises(DataError, match=r"'mine' is not a synthetic world\. Choose from mslr-like"):
        data.make("mine")
