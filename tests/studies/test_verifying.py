"""Records that are computed again are the same bits; what was changed is found, named and measured."""

import math
import re
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankloop.engines.threads import LocalThreads
from rankloop.studies import verifying
from rankloop.studies.places import run_cell
from rankloop.studies.records import read_queries, record_path
from rankloop.studies.runner import claimed, make_plan, run_plan
from rankloop.studies.specification import Study, cells

from .small_studies import SMALL


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study that was run, and its folder."""
    study = msgspec.toml.decode(SMALL, type=Study)
    plan = make_plan(study, cells(study), tmp_path_factory.mktemp("results"))
    with claimed(plan) as plan, LocalThreads(2) as threads:
        outcome = run_plan(plan, threads, lambda _: None)
    assert not outcome.failures
    outcome.results.folder = plan.folder
    return outcome.results


def again(results, records):
    with LocalThreads(2) as threads:
        return list(verifying.verify(results, records, results.folder, threads))


def changed(record, **fields):
    return msgspec.structs.replace(record, **fields)


def test_a_sample_is_drawn_without_replacement_and_by_its_seed(finished):
    drawn = verifying.sample(finished, 5, seed=1)
    assert len({record.key for record in drawn}) == 5
    assert drawn == verifying.sample(finished, 5, seed=1) != verifying.sample(finished, 5, seed=2)
    assert len(verifying.sample(finished, 1000, seed=1)) == len(finished.records)


def test_what_was_computed_is_computed_again_bit_for_bit(finished):
    drawn = verifying.sample(finished, 4, seed=1)
    checked = again(finished, drawn)
    assert all(one.same for one in checked)
    assert {one.record.key for one in checked} == {record.key for record in drawn}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: {"online_ndcg": math.nextafter(r.online_ndcg, 0)}, "results.parquet .* differ in online_ndcg"),
        (lambda r: {"manifest": r.manifest | {"data": "other"}}, "tiny is no longer the collection"),
        (lambda r: {"seed": 99}, "the study file no longer asks for it"),
    ],
    ids=["one bit", "data", "seed"],
)
def test_what_cannot_be_compared_is_told_with_the_reason(finished, change, words):
    record = finished.records[0]
    (checked,) = again(finished, [changed(record, **change(record))])
    assert not checked.same
    assert len(checked.differences) == 1
    assert re.search(words, checked.differences[0])
    assert checked.plain()["same"] is False


@pytest.fixture(scope="module")
def computed(finished):
    """The first record, what it keeps of each query, and the same run, computed again."""
    record = finished.records[0]
    cell = next(cell for cell in cells(finished.study) if cell.seed == record.seed and cell.label == record.label)
    return record, read_queries(finished.folder, record), run_cell(cell)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: {"online_ndcg": math.nextafter(r.online_ndcg, 0)}, r"online_ndcg: .* now \(off by \d.*e-1\d\)"),
        (lambda r: {"weights": [*r.weights[:-1], r.weights[-1] + 0.5]}, r"weights: 1 of \d+ differ, .*off by 0\.5\)"),
        (lambda r: {"gradient_variance": 0.0}, "gradient_variance: 0, nan now"),
        (lambda r: {"offline_curve": r.offline_curve[:-1]}, "offline_curve: 2 values, 3 now"),
        (lambda r: {"online_curve": [math.nan] * 2}, "online_curve: 2 of 2 differ"),
    ],
    ids=["one bit", "a weight", "no nan", "a point", "nan"],
)
def test_a_difference_is_named_and_measured(computed, change, words):
    record, kept, run = computed
    assert verifying.compared(record, kept, run).same
    checked = verifying.compared(changed(record, **change(record)), kept, run)
    assert len(checked.differences) == 1
    assert re.search(words, checked.differences[0])


def test_what_each_query_got_is_compared_too(computed):
    record, kept, run = computed
    values = kept.values.copy()
    values[0, 3] = np.nextafter(values[0, 3], np.float32(2))
    checked = verifying.compared(record, kept._replace(values=values), run)
    assert len(checked.differences) == 1
    assert re.match(r"ndcg@10 of each query: 1 of \d+ differ, at most", checked.differences[0])
    checked = verifying.compared(record, kept._replace(query_ids=kept.query_ids + 1), run)
    assert [words.partition(":")[0] for words in checked.differences] == ["query_ids"]


def test_a_record_whose_file_was_changed_differs(finished, tmp_path):
    record = finished.records[0]
    path = record_path(finished.folder, record.key)
    table = pq.read_table(path)
    (tmp_path / "runs").mkdir()
    at = table.column_names.index("query_values")
    other = pa.array(
        [[[0.25] * len(row) for row in table.column("query_values")[0].as_py()]], table.schema.field(at).type
    )
    pq.write_table(table.set_column(at, "query_values", other), record_path(tmp_path, record.key))
    with LocalThreads(1) as threads:
        (checked,) = verifying.verify(finished, [record], tmp_path, threads)
    assert [words.partition(":")[0] for words in checked.differences] == ["ndcg@10 of each query"]


def test_what_else_has_changed_is_said_beside_a_difference(computed):
    record, kept, run = computed
    run = replace(run, manifest=record.manifest | {"sources": "other", "processor": "another"})
    settings = record.settings | {"page_size": 3}
    checked = verifying.compared(changed(record, online_ndcg=0.0, settings=settings), kept, run)
    assert {"the code has changed since", "other processor", "page_size was 3, is 10"} <= set(checked.remarks)
