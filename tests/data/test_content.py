"""The digest names the content: the same in memory and on disk."""

import dataclasses

import numpy as np
import pytest

import rankloop as rl
from rankloop import data
from rankloop.data import Collection, Split
from rankloop.data.store import arrays

from .splits import SPLIT

pytestmark = pytest.mark.usefixtures("own_home")


def test_a_collection_in_memory_has_the_hash_of_the_same_data_in_the_store(monkeypatch):
    tiny = data.load("tiny", scale=0.1)
    copies = {name: Split(s.features, s.offsets, s.grades, s.query_ids) for name, s in tiny.splits.items()}
    mine = Collection("mine", **copies)
    assert mine.content_hash == tiny.content_hash == data.info("tiny", scale=0.1).content_hashes["fold1"]
    assert dataclasses.replace(mine, vali=None).content_hash != mine.content_hash
    other = Collection("mine", **copies | {"test": Split.of(copies["test"].features, 0 * copies["test"].grades,
                       np.repeat(copies["test"].query_ids, np.diff(copies["test"].offsets)))})  # fmt: skip
    assert other.content_hash != mine.content_hash
    monkeypatch.setattr(rl.data.collection, "digest_of_arrays", lambda _: pytest.fail("read again"))
    assert data.load("tiny", scale=0.1).content_hash == mine.content_hash


def test_the_digest_of_a_split_is_that_of_its_files(tmp_path):
    with arrays.SplitWriter(tmp_path / "train") as writer:
        writer.add(SPLIT.query_ids, SPLIT.offsets, SPLIT.features, SPLIT.grades)
    assert writer.summary.digest == SPLIT.digest == arrays.open_split(tmp_path / "train").digest
