"""What the benchmark measures is what it says: the same rows, the same shapes, and a page that shows them all."""

import numpy as np
import pytest

from rankloop import benchmark
from rankloop.benchmark import Results, Section, as_markdown
from rankloop.data import read


def test_the_yardstick_reads_every_row_of_every_query_in_its_order():
    split = benchmark._mslr_shaped(20, documents=10, features=4).train
    order = np.array([3, 0, 3])
    arrays = split.arrays
    rows = [arrays.features[arrays.offsets[q] : arrays.offsets[q + 1]] for q in order]
    assert benchmark._sum_rows(arrays.features, arrays.offsets, order) == pytest.approx(
        sum(float(part.sum()) for part in rows), rel=1e-5
    )


def test_the_yardstick_of_networks_multiplies_every_row_of_a_query():
    arrays = benchmark._mslr_shaped(20, documents=10, features=4).train.arrays
    W = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    rows = arrays.features[arrays.offsets[5] : arrays.offsets[6]]
    assert benchmark._multiply_rows(arrays, [2, 5], W) == pytest.approx(rows @ W)


def test_the_text_has_the_shape_of_mslr(tmp_path):
    path = benchmark._write_svmlight(tmp_path, documents=300)
    split = read(path)
    assert split.features.shape == (300, benchmark.FEATURES)
    assert np.diff(split.offsets).tolist() == [125, 125, 50]
    assert set(split.grades.tolist()) == {0, 1, 2, 3, 4}


def test_every_part_is_on_the_page_in_a_table_as_wide_as_its_columns():
    machine = {"processor": "A fast one", "cores": 2, "versions": {"python": "3.12"}}
    sections = [
        Section("Speed", ["", "a", "b"], [["x", "1", "2"]], {}),
        Section("Memory", ["", "MB"], [["y", "3"]], {}),
    ]
    page = as_markdown(Results(sections, machine))
    assert "Measured on A fast one, 2 cores; python 3.12." in page
    assert "## Speed\n\n|  | a | b |\n|---|---:|---:|\n| x | 1 | 2 |\n" in page
    assert page.endswith("| y | 3 |\n")


def test_memory_at_its_peak_never_shrinks():
    before = benchmark.peak_memory_kb()
    del [np.ones(1_000_000)][:]
    assert benchmark.peak_memory_kb() >= before > 1_000
