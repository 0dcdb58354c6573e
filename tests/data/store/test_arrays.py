"""A split on disk: written as a stream, opened as plain arrays."""

import numpy as np
import pytest

from rankloop import data
from rankloop.data.store.arrays import SplitWriter, open_split

pytestmark = pytest.mark.usefixtures("own_home")


def test_what_is_written_in_blocks_is_read_as_one_split(tmp_path):
    generator = np.random.default_rng(1)
    with SplitWriter(tmp_path / "train") as writer:
        parts = []
        for block in range(5):
            lengths = generator.integers(1, 6, size=3)
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            rows = generator.normal(size=(offsets[-1], 2 + block)).astype(np.float32)
            grades = generator.integers(0, 5, offsets[-1]).astype(np.uint8)
            writer.add(np.arange(3) + 3 * block, offsets, rows, grades)
            parts.append((lengths, rows, grades))
    split = open_split(tmp_path / "train")
    assert split.query_ids.tolist() == list(range(15))
    assert np.array_equal(np.diff(split.offsets), np.concatenate([p[0] for p in parts]))
    assert np.array_equal(split.grades, np.concatenate([p[2] for p in parts]))
    wide = [np.pad(rows, ((0, 0), (0, 6 - rows.shape[1]))) for _, rows, _ in parts]
    assert np.array_equal(split.features, np.concatenate(wide))
    for name in ("features", "offsets", "grades", "query_ids"):
        assert np.array_equal(np.load(tmp_path / "train" / f"{name}.npy"), getattr(split, name))


def test_a_mapped_array_is_plain_and_writing_to_it_never_reaches_the_file(source):
    before = data.load(source).train.arrays
    assert type(before.features) is np.ndarray
    assert before.features.flags.c_contiguous
    assert before.features.flags.writeable
    assert before.features.flags.aligned
    kept = before.features.copy()
    before.features[:] = 7
    assert np.array_equal(data.load(source).train.features, kept)
