"""Loading by name and by path: folders, folds, single files, worlds, published collections."""

from pathlib import Path

import numpy as np
import pytest
from tests.skipping import skip_here

from rankloop import data
from rankloop.data.svmlight import reader as svmlight
from rankloop.errors import DataError, SettingsError

from .sources import write

pytestmark = pytest.mark.usefixtures("own_home")


SHARED = Path(__file__).parents[3] / "shared" / "data"


def shared(name: str) -> Path:
    if not (SHARED / name).exists():
        skip_here(f"{SHARED / name} is not there: real collections are not part of the repository")
    return SHARED / name


@pytest.mark.thorough
def test_mq2008_loads_by_path_and_by_name_with_the_published_shape():
    path = shared("MQ2008")
    by_path = data.load(path, fold=3)
    assert (by_path.name, by_path.fold, by_path.features) == ("MQ2008", 3, 46)
    report = data.add("mq2008", path)
    assert report.differences == []
    assert list(report.folds) == [f"fold{n}" for n in range(1, 6)]
    first = report.folds["fold1"].values()
    assert np.sum([split.grades for split in first], axis=0).tolist() == [12279, 2001, 931]
    assert not report.normalised
    by_name = data.load("mq2008", fold=3)
    assert by_name.content_hash == by_path.content_hash
    literal = svmlight.read(path / "Fold3" / "vali.txt")
    assert np.array_equal(by_name.vali.features, literal.features)
    with pytest.raises(DataError, match=r"mq2008 has folds 1, 2, 3, 4, 5; got fold 6"):
        data.load("mq2008", fold=6)
    with pytest.raises(DataError, match=r"has folds 1, 2, 3, 4, 5; got fold 6"):
        data.load(path, fold=6)


def test_the_mslr_sample_is_normalised_because_of_its_scales():
    path = shared("MSLR-WEB10K-sample")
    loaded = data.load(path)
    assert loaded.vali is None
    assert loaded.train.features.shape == (5000, 136)
    assert loaded.train.features.min() == 0
    assert loaded.train.features.max() == 1
    assert "outside [−1, 1]" in data.info(path).normalisation
    raw = data.load(path, normalise=False)
    assert raw.train.features.max() > 1000
    with pytest.raises(DataError, match="the vali file of MSLR-WEB10K is missing"):
        data.add("mslr-web10k", path)


def test_clueweb_loads_and_differs_from_what_it_is_not(own_home):
    path = shared("ClueWeb09-Webis")
    loaded = data.load(path, fold=5)
    assert loaded.features == 42
    assert len(loaded.train.grades) + len(loaded.test.grades) == 26_646
    assert loaded.grades == 5


@pytest.mark.thorough
def test_a_world_is_made_once_and_told_apart_by_fold_and_scale():
    one, two, half = data.load("tiny"), data.load("tiny", fold=2), data.load("tiny", scale=0.5)
    assert (one.fold, two.fold) == (1, 2)
    assert len({one.content_hash, two.content_hash, half.content_hash}) == 3
    assert data.load("tiny").content_hash == one.content_hash
    assert half.train.queries < one.train.queries
    assert [(item.name, item.kind) for item in data.listing()] == [("tiny", "worlds")] * 3
    assert len(data.remove("tiny")) == 3
    assert data.listing() == []


@pytest.mark.parametrize("name", ["", "../up", "a/b", "Upper", ".hidden", "a@b", "x" * 65, "tiny", "ä", "a b", "-a"])
def test_a_name_that_could_be_mistaken_is_refused(tmp_path, name):
    write(tmp_path / "some.txt")
    with pytest.raises(DataError, match="name"):
        data.add(name, tmp_path / "some.txt")
    assert data.listing() == []


def test_a_name_cannot_silently_mean_another_source(tmp_path):
    for name in ("one.txt", "two.txt"):
        write(tmp_path / name)
    data.add("some", tmp_path / "one.txt")
    with pytest.raises(DataError, match=r"already imported from .*one\.txt; got .*two\.txt"):
        data.add("some", tmp_path / "two.txt")


def test_a_mistake_gets_a_sentence_with_what_would_be_right(tmp_path):
    write(tmp_path / "some.txt")
    data.add("my-clicks", tmp_path / "some.txt")
    mistakes = {
        "mslr-lik": "Did you mean mslr-like",
        "my-click": "Did you mean my-clicks",
        "zzzzzzzz": "Known names: istella",
        "mslr-web10k": "rankloop data add mslr-web10k PATH",
        str(tmp_path / "absent"): "nor an existing path",
    }
    for name, remedy in mistakes.items():
        with pytest.raises(DataError, match=remedy):
            data.load(name)
    with pytest.raises(DataError, match=r"has no folds; got fold 2\. Leave fold out"):
        data.load("my-clicks", fold=2)
    with pytest.raises(DataError, match="Only a synthetic world has a scale"):
        data.load("my-clicks", scale=0.5)
    for scale in (0.0, -1.0, float("nan"), float("inf"), "a", None, True):
        with pytest.raises(SettingsError, match="scale must be a positive number"):
            data.load("tiny", scale=scale)
    for fold in (0, -1, 1.5, True, "x", np.float64(1)):
        with pytest.raises(DataError, match="fold must be a whole number from 1"):
            data.load("tiny", fold=fold)
    with pytest.raises(DataError, match="leave normalise and zero_based out"):
        data.load("tiny", normalise=True)
    assert [item.name for item in data.listing()] == ["my-clicks"]


@pytest.mark.parametrize("what", [None, 7, b"tiny", ["tiny"]])
def test_a_collection_is_named_by_a_text_or_a_path(tmp_path, what):
    write(tmp_path / "some.txt")
    for refuse in (data.load, data.info, data.remove, lambda path: data.add("some", path)):
        with pytest.raises(DataError, match="given by name or path; got"):
            refuse(what)
    with pytest.raises(DataError, match="name of a collection must be text"):
        data.add(what, tmp_path / "some.txt")
    with pytest.raises(DataError, match="normalise must be True, False or None; got 'yes'"):
        data.load(tmp_path / "some.txt", normalise="yes")
    with pytest.raises(DataError, match="zero_based must be True or False; got 1"):
        data.add("some", tmp_path / "some.txt", zero_based=1)


def test_numbers_of_numpy_are_numbers():
    assert data.load("tiny", fold=np.int64(2), scale=np.float32(0.5)).fold == 2


def test_labels_have_the_grades_of_their_world_or_their_catalogue(tmp_path):
    for number, split in enumerate(("train", "valid", "test")):
        write(tmp_path / "some" / f"set1.{split}.txt", 10 * number)
    data.add("yahoo-set1", tmp_path / "some")
    assert data.load("yahoo-set1").grades == 5
    assert data.load(tmp_path / "some").grades == 3
    smallest = data.load("istella-like", scale=1e-9, fold=4)
    assert smallest.grades == 5
    assert smallest.highest_grade == 4
