"""What is measured against is what it says: the same rows, the same shapes."""

import numpy as np
import pytest

from rankloop.benchmark.yardsticks import FEATURES, mslr_shaped, multiply_rows, peak_memory_kb, sum_rows, write_svmlight
from rankloop.data import read


@pytest.mark.thorough
def test_the_yardstick_reads_every_row_of_every_query_in_its_order():
    split = mslr_shaped(20, documents=10, features=4).train
    order = np.array([3, 0, 3])
    arrays = split.arrays
    rows = [arrays.features[arrays.offsets[q] : arrays.offsets[q + 1]] for q in order]
    assert sum_rows(arrays.features, arrays.offsets, order) == pytest.approx(
        sum(float(part.sum()) for part in rows), rel=1e-5
    )


def test_the_yardstick_of_networks_multiplies_every_row_of_a_query():
    arrays = mslr_shaped(20, documents=10, features=4).train.arrays
    W = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    rows = arrays.features[arrays.offsets[5] : arrays.offsets[6]]
    assert multiply_rows(arrays, [2, 5], W) == pytest.approx(rows @ W)


def test_the_text_has_the_shape_of_mslr(tmp_path):
    path = write_svmlight(tmp_path, documents=300)
    split = read(path)
    assert split.features.shape == (300, FEATURES)
    assert np.diff(split.offsets).tolist() == [125, 125, 50]
    assert set(split.grades.tolist()) == {0, 1, 2, 3, 4}


def test_memory_at_its_peak_never_shrinks():
    before = peak_memory_kb()
    del [np.ones(1_000_000)][:]
    assert peak_memory_kb() >= before > 1_000
