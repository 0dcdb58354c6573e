"""Splits and collections: what fits together is taken, everything else is refused with a sentence."""

import pickle
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from rankloop import data
from rankloop.data import Collection, Split
from rankloop.errors import DataError

from .splits import PARTS, SPLIT

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": [[1.0], [2.0], [3.0]]}, "features must be .* array of float32 with 2 dimensions; got list"),
        ({"features": PARTS["features"].astype(np.float64)}, r"got float64 of shape \(3, 2\)"),
        ({"features": np.asfortranarray(PARTS["features"])}, "not contiguous"),
        ({"features": PARTS["features"].ravel()}, r"2 dimensions; got float32 of shape \(6,\)"),
        ({"features": np.zeros((3, 0), np.float32)}, "at least one feature"),
        ({"offsets": np.array([0, 2, 3], np.int32)}, "offsets must be .* array of int64"),
        ({"offsets": np.array([1, 2, 3])}, "offsets must go from 0 to the number of documents, 3; got 1 to 3"),
        ({"offsets": np.array([0, 2, 4])}, "got 0 to 4"),
        ({"offsets": np.array([0, 0, 3])}, "query 0 goes from 0 to 0"),
        ({"offsets": np.array([0, 4, 3])}, "query 1 goes from 4 to 3"),
        ({"offsets": np.array([0])}, "one query"),
        ({"grades": np.array([2, 0, 1])}, "grades must be .* array of uint8 with 1 dimension; got int64"),
        ({"grades": np.zeros(4, np.uint8)}, "as many grades and query_ids; got 4 and 2"),
        ({"query_ids": np.array([7])}, "got 3 and 1"),
        ({"query_ids": None}, "query_ids must be .* got NoneType"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(changes, words):
    with pytest.raises(DataError, match=words):
        Split(**PARTS | changes)


@pytest.mark.parametrize(
    ("features", "grades", "queries", "words"),
    [
        ([[1.0]], ["a"], [1], "grades must be numbers; got list"),
        ([["1.0"]], [1], [1], "features must be numbers"),
        (None, [1], [1], "features must be numbers; got NoneType"),
        ([[1.0], [1.0, 2.0]], [1, 1], [1, 1], "rows of equal length"),
        ([[1.0]], [[1]], [1], r"got shapes \(1, 1\), \(1, 1\) and \(1,\)"),
        ([1.0], [1], [1], "features must be a table"),
        ([[1.0]], 1, [1], "one entry per document"),
        ([[]], [1], [1], "one feature"),
        (np.zeros((0, 2)), [], [], "at least one document"),
        ([[1.0], [1.0]], [1, 1], [1.2, 1.7], "queries must be whole numbers that fit 64 bits; row 0 has 1.2"),
        ([[1.0], [1.0]], [1, 1], [1, np.nan], "row 1 has nan"),
        ([[1.0]], [1], [1e30], "fit 64 bits"),
        ([[1.0]], [1], np.array([2**64 - 1], np.uint64), "fit 64 bits"),
        ([[1.0]], [0.5], [1], "grades must be whole numbers"),
        ([[1.0]], [31], [1], "from 0 to 30"),
        ([[1e300]], [1], [1], "finite in single precision; row 0, feature 1 is inf"),
    ],
)
def test_values_that_make_no_split_are_refused(features, grades, queries, words):
    with pytest.raises(DataError, match=words):
        Split.of(features, grades, queries)


def test_whole_numbers_may_come_as_floats():
    split = Split.of([[1], [2], [3]], grades=[1.0, 0.0, True], queries=[3.0, 3.0, 4.0])
    assert split.query_ids.tolist() == [3, 4]
    assert split.grades.tolist() == [1, 0, 1]


@pytest.mark.parametrize("name", ["features", "offsets", "grades", "query_ids", "ideal_dcg"])
def test_nobody_writes_into_a_split_by_accident(name):
    for split in (SPLIT, data.load("tiny").train):
        with pytest.raises(ValueError, match="read-only"):
            getattr(split, name)[0] = 0
        with pytest.raises(AttributeError):
            setattr(split, name, None)
        writable = getattr(split.arrays, name)
        assert writable.flags.writeable
        assert np.shares_memory(writable, getattr(split, name)) or name == "ideal_dcg"


def test_compiled_code_sees_one_type_wherever_a_split_comes_from():
    tiny = data.load("tiny").train
    copied = Split(tiny.features, tiny.offsets, tiny.grades, tiny.query_ids)
    found = {tuple(map(numba.typeof, split.arrays)) for split in (SPLIT, tiny, copied)}
    assert len(found) == 1


def test_a_split_in_memory_is_pickled_with_its_data():
    again = pickle.loads(pickle.dumps(SPLIT))
    assert again.digest == SPLIT.digest
    assert all(map(np.array_equal, again.arrays, SPLIT.arrays))


def test_a_pickled_collection_carries_its_name_and_hash_and_no_data():
    tiny = data.load("tiny", fold=2)
    carried = pickle.dumps(tiny)
    assert len(carried) < 2_000
    again = pickle.loads(carried)
    assert (again.name, again.fold, again.content_hash) == (tiny.name, tiny.fold, tiny.content_hash)
    assert again.feature_names == tiny.feature_names
    assert all(
        np.array_equal(one, other)
        for name, split in tiny.splits.items()
        for one, other in zip(split.arrays, again.splits[name].arrays, strict=True)
    )
    mixed = pickle.loads(pickle.dumps(Collection("mine", train=tiny.test, test=tiny.train)))
    assert (mixed.train.digest, mixed.test.digest) == (tiny.test.digest, tiny.train.digest)


def test_a_pickle_says_what_to_load_where_the_store_lacks_it():
    carried = pickle.dumps(data.load("tiny", fold=2))
    data.remove("tiny")
    with pytest.raises(DataError, match=r"tiny, fold 2 was pickled .* load .* first: rl\.load\('tiny', fold=2\)"):
        pickle.loads(carried)
    data.load("tiny", fold=2)
    assert pickle.loads(carried).fold == 2


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"train": SPLIT, "test": None}, "mine: test must be a Split; got NoneType"),
        ({"train": SimpleNamespace(features=SPLIT.features), "test": SPLIT}, "train must be a Split; got SimpleName"),
        ({"train": SPLIT, "test": SPLIT, "vali": []}, "vali must be a Split; got list"),
        ({"train": SPLIT, "test": Split.of([[1.0]], [1], [1])}, r"different feature counts \[1, 2\]"),
        ({"train": SPLIT, "test": SPLIT, "highest_grade": 2.5}, "highest_grade must be a whole number"),
        ({"train": SPLIT, "test": SPLIT, "feature_names": ("a",)}, "1 feature names for 2 features"),
    ],
)
def test_a_collection_is_made_of_splits(members, words):
    with pytest.raises(DataError, match=words):
        Collection("mine", **members)


def test_grades_are_counted_over_all_splits_unless_they_are_known():
    low, high = SPLIT, Split.of([[1.0, 2.0]], [3], [1])
    assert Collection("mine", train=low, test=low).grades == 3
    assert Collection("mine", train=low, test=high).grades == 5
    assert Collection("mine", train=low, test=low, vali=high).grades == 5
    assert Collection("mine", train=low, test=low, highest_grade=4).grades == 5
    assert Collection("mine", train=high, test=low, highest_grade=2).grades == 5


def test_attributes_are_numbers_by_row_and_part_of_what_a_collection_is():
    bare = Collection("mine", train=SPLIT, test=SPLIT)
    priced = bare.with_attributes(price=[1.0, 2.5, 3.0])
    assert priced.train.attribute("price").tolist() == [1.0, 2.5, 3.0]
    assert (priced.train.attributes, priced.test.attributes, bare.train.attributes) == (("price",), (), ())
    assert len({bare.content_hash, priced.content_hash, bare.with_attributes(cost=[1.0, 2.5, 3.0]).content_hash}) == 3
    assert priced.content_hash == bare.with_attributes(price=[1, 2.5, 3]).content_hash
    assert priced.with_attributes(age=[0, 1, 2]).train.attributes == ("price", "age")
    with pytest.raises(ValueError, match="read-only"):
        priced.train.attribute("price")[0] = 2.0


def test_a_function_makes_an_attribute_of_every_split():
    made = Collection("mine", train=SPLIT, test=SPLIT, vali=SPLIT).with_attributes(first=lambda s: s.features[:, 0])
    assert all(split.attributes == ("first",) for split in made.splits.values())
    assert made.vali.attribute("first").tolist() == SPLIT.features[:, 0].tolist()


def test_attributes_travel_with_a_pickle_of_a_collection_from_memory_or_from_the_store():
    for bare in (Collection("mine", train=SPLIT, test=SPLIT), data.load("tiny")):
        priced = bare.with_attributes(price=lambda split: np.arange(len(split.grades)))
        again = pickle.loads(pickle.dumps(priced))
        assert again.train.attribute("price").tolist() == priced.train.attribute("price").tolist()
        assert again.content_hash == priced.content_hash != bare.content_hash
    assert len(pickle.dumps(priced)) < bare.train.features.nbytes


@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, np.nan, 2.0], ["a", "b", "c"]], ids=str)
def test_what_is_no_attribute_is_refused(values):
    with pytest.raises(DataError, match="price"):
        SPLIT.with_attributes(price=values)
