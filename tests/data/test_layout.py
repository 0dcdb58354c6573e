"""Which files of a folder are which split, under the usual names."""

import pytest

from rankloop import data
from rankloop.errors import DataError

from .sources import write

pytestmark = pytest.mark.usefixtures("own_home")


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
