"""Loading by name and by path: folders, folds, single files, worlds, published collections."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from tests.skipping import skip_here

from rankloop import data
from rankloop.data.catalogue import CATALOGUE, differences
from rankloop.data.svmlight import reader as svmlight
from rankloop.errors import DataError, SettingsError

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def shared(name: str) -> Path:
    if not (SHARED / name).exists():
        skip_here(f"{SHARED / name} is not there: real collections are not part of the repository")
    return SHARED / name


def write(path: Path, first_query: int = 0, queries: int = 2, value: str = "0.5") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = range(first_query, first_query + queries)
    text = "".join(f"1 qid:{q} 1:{value}\n0 qid:{q} 2:0.1\n" for q in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


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


def test_yahoos_two_sets_share_a_folder(tmp_path):
    for prefix in ("set1", "set2"):
        for number, split in enumerate(("train", "valid", "test")):
            write(tmp_path / "ltrc" / f"{prefix}.{split}.txt", 10 * number, int(prefix[-1]))
    data.add("yahoo-set2", tmp_path / "ltrc")
    assert data.load("yahoo-set2").vali.queries == 2
    with pytest.raises(DataError, match=r"two test files.*yahoo-set1"):
        data.load(tmp_path / "ltrc")


@pytest.mark.parametrize(
    "names",
    [
        ("train.txt", "vali.txt", "test.txt"),
        ("train.txt.gz", "valid.txt.gz", "test.txt.gz"),
        ("train.svm", "validation.svm", "test.svm"),
        ("trainingset.txt", "validationset.txt", "testset.txt"),
        ("set1.train.txt", "set1.valid.txt", "set1.test.txt"),
        ("Train", "dev", "Test.letor"),
    ],
)
def test_the_usual_file_names_are_known(tmp_path, names):
    for number, name in enumerate(names):
        write(tmp_path / "some" / name, first_query=10 * number)
    (tmp_path / "some" / "README.txt").write_text("about the test")
    loaded = data.load(tmp_path / "some")
    firsts = [split.query_ids[0] for split in loaded.splits.values()]
    assert firsts == [0, 10, 20]


def test_a_missing_train_or_test_file_is_named(tmp_path):
    write(tmp_path / "some" / "train.txt")
    with pytest.raises(DataError, match=r"the test file is missing; got train.txt"):
        data.load(tmp_path / "some")


def test_a_single_file_is_split_by_query_the_same_way_every_time(tmp_path):
    path = tmp_path / "all.txt"
    write(path, queries=10)
    loaded = data.load(path)
    assert loaded.train.query_ids.tolist() == [0, 3, 4, 5, 8, 9]
    assert loaded.vali.query_ids.tolist() == [2, 7]
    assert loaded.test.query_ids.tolist() == [1, 6]
    assert loaded.train.offsets.tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert loaded.train.features[:2].tolist() == np.float32([[0.5, 0], [0, 0.1]]).tolist()
    write(path, queries=1)
    with pytest.raises(DataError, match="one query cannot be split"):
        data.load(path)
    write(path, queries=2)
    assert data.load(path).vali is None


def test_normalisation_can_be_asked_for_or_left_to_the_values(tmp_path):
    write(tmp_path / "small.txt", queries=5)
    write(tmp_path / "large.txt", queries=5, value="-7")
    assert data.load(tmp_path / "small.txt").train.features.max() == np.float32(0.5)
    assert data.load(tmp_path / "small.txt", normalise=True).train.features.max() == 1
    assert data.load(tmp_path / "large.txt").train.features[0].tolist() == [0, 0]
    assert data.load(tmp_path / "large.txt", normalise=False).train.features.min() == -7
    report = data.add("large", tmp_path / "large.txt")
    assert report.normalised
    with pytest.raises(DataError, match="was imported with normalise=True"):
        data.load("large", normalise=False)
    assert not data.add("large", tmp_path / "large.txt", normalise=False).normalised


def test_splits_of_different_width_are_filled_up(tmp_path):
    write(tmp_path / "some" / "train.txt")
    (tmp_path / "some" / "test.txt").write_text("1 qid:1 7:0.5\n")
    loaded = data.load(tmp_path / "some")
    assert loaded.features == 7
    assert loaded.feature_names == tuple(f"f{j}" for j in range(1, 8))
    assert loaded.train.features[:, 2:].max() == 0


def test_a_world_is_made_once_and_told_apart_by_fold_and_scale():
    one, two, half = data.load("tiny"), data.load("tiny", fold=2), data.load("tiny", scale=0.5)
    assert (one.fold, two.fold) == (1, 2)
    assert len({one.content_hash, two.content_hash, half.content_hash}) == 3
    assert data.load("tiny").content_hash == one.content_hash
    assert half.train.queries < one.train.queries
    assert [(item.name, item.kind) for item in data.listing()] == [("tiny", "worlds")] * 3
    assert len(data.remove("tiny")) == 3
    assert data.listing() == []


def test_progress_counts_the_bytes_of_all_files(tmp_path):
    for number, split in enumerate(("train", "vali", "test")):
        write(tmp_path / "some" / f"{split}.txt", 10 * number, queries=50)
    seen = []
    data.add("some", tmp_path / "some", progress=lambda done, total: seen.append((done, total)))
    total = sum(file.stat().st_size for file in (tmp_path / "some").iterdir())
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)


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


def test_labels_have_the_grades_of_their_world_or_their_catalogue(tmp_path):
    for number, split in enumerate(("train", "valid", "test")):
        write(tmp_path / "some" / f"set1.{split}.txt", 10 * number)
    data.add("yahoo-set1", tmp_path / "some")
    assert data.load("yahoo-set1").grades == 5
    assert data.load(tmp_path / "some").grades == 3
    smallest = data.load("istella-like", scale=1e-9, fold=4)
    assert smallest.grades == 5
    assert smallest.highest_grade == 4
