"""Other tools read our run and qrels files and come to our numbers."""

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rankloop as rl
from rankloop.errors import DataError, SettingsError
from rankloop.evaluation import measured
from rankloop.interchange import Ranker, save_ranker, write_qrels
from rankloop.interchange import write_run as write_run_file
from rankloop.interchange.trec import strictly_decreasing
from rankloop.metrics import discounts

from .learned import DATA, RUN

GAINS = {grade: 2**grade - 1 for grade in range(5)}


def tied_split():
    """Many equal rows, so that most of the ranking is decided by the rule for ties."""
    draws = np.random.default_rng(3)
    features = draws.integers(0, 2, size=(400, 2)).astype(float)
    return rl.Split.of(features, draws.integers(0, 5, size=400), np.repeat(np.arange(20), 20))


CASES = {
    "learned": (RUN.weights, DATA.test),
    "ties": (np.array([1.0, 0.5]), tied_split()),
    "all tied": (np.zeros(2), tied_split()),
    "large": (np.array([-3e30, 1e30]), tied_split()),
}


@pytest.fixture(params=CASES, ids=str)
def exported(request, tmp_path):
    weights, split = CASES[request.param]
    run = write_run_file(weights, split, tmp_path / "run.txt")
    return weights, split, run, write_qrels(split, tmp_path / "qrels.txt")


def per_query(measure, qrels, run):
    found = ir_measures.iter_calc(
        [measure], list(ir_measures.read_trec_qrels(str(qrels))), list(ir_measures.read_trec_run(str(run)))
    )
    return {metric.query_id: metric.value for metric in found}


def linear_ndcg(weights, split):
    """nDCG@10 with the grade itself as the gain, written out."""
    values = {}
    for q, qid in enumerate(split.query_ids):
        rows = slice(split.offsets[q], split.offsets[q + 1])
        grades = split.grades[rows].astype(float)
        # Sums of few small numbers: double precision orders these documents as the kernel does.
        order = np.argsort(-(split.features[rows].astype(float) @ weights.astype(np.float32)), kind="stable")[:10]
        ideal = np.sort(grades)[::-1][:10]
        best = ideal @ discounts(len(ideal))
        values[str(qid)] = grades[order] @ discounts(len(order)) / best if best else 0.0
    return values


def test_ir_measures_finds_our_ndcg_for_every_query(exported):
    weights, split, run, qrels = exported
    theirs = per_query(ir_measures.nDCG(gains=GAINS) @ 10, qrels, run)
    ours = dict(zip(map(str, split.query_ids), measured(weights, split).values[0, 0], strict=True))
    assert theirs == pytest.approx(ours, abs=1e-12)


def test_ir_measures_finds_the_ndcg_with_linear_gains(exported):
    weights, split, run, qrels = exported
    assert per_query(ir_measures.nDCG @ 10, qrels, run) == pytest.approx(linear_ndcg(weights, split), abs=1e-12)


def test_exponential_qrels_give_our_mean_in_plain_trec_eval(exported, tmp_path):
    weights, split, run, _ = exported
    qrels = write_qrels(split, tmp_path / "gains.txt", exponential=True)
    with run.open() as ranked, qrels.open() as judged:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), {"ndcg_cut.10"})
        found = evaluator.evaluate(pytrec_eval.parse_run(ranked))
    mean = np.mean([values["ndcg_cut_10"] for values in found.values()])
    assert mean == pytest.approx(rl.evaluate(weights, split, nothing_relevant="zero"), abs=1e-12)


def test_a_run_file_has_a_line_for_every_document_down_to_the_depth(tmp_path):
    path = write_run_file(RUN.weights, DATA.test, tmp_path / "run.txt", tag="mine", depth=3)
    lines = [line.split() for line in path.read_text().splitlines()]
    assert len(lines) == np.minimum(np.diff(DATA.test.offsets), 3).sum()
    assert {(len(line), line[1], line[5]) for line in lines} == {(6, "Q0", "mine")}
    assert [line[3] for line in lines[:3]] == ["1", "2", "3"]


@given(arrays(np.float32, st.integers(1, 40), elements=st.floats(-(2.0**60), 2.0**60, width=32)))
def test_written_scores_fall_strictly_in_single_precision_and_stay_close(values):
    scores = -np.sort(-values)
    written = np.array([np.float32(str(score)) for score in strictly_decreasing(scores)])
    assert (np.diff(written) < 0).all()
    assert np.abs(written - scores).max() <= 40 * 8 * np.spacing(np.abs(scores).max() or np.float32(1))


def test_saved_runs_and_exports_can_be_ranked_with_directly(tmp_path):
    RUN.save(tmp_path / "run.zip")
    save_ranker(tmp_path / "ranker.json", RUN)
    paths = [tmp_path / f"{i}.txt" for i in range(4)]
    rankers = [RUN.weights, Ranker.of(RUN), tmp_path / "run.zip", str(tmp_path / "ranker.json")]
    for path, ranker in zip(paths, rankers, strict=True):
        write_run_file(ranker, DATA.test, path)
    assert len({path.read_text() for path in paths}) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda at: write_run_file([1.0], DATA.test, at / "run.txt"), "one per feature (20)"),
        (lambda at: write_run_file(np.full(20, 1e300), DATA.test, at / "run.txt"), "finite"),
        (lambda at: write_run_file(np.full(20, 3e38), DATA.test, at / "run.txt"), "too large"),
        (lambda at: write_run_file(RUN.weights, DATA.test, at / "run.txt", tag="a b"), "one word"),
        (lambda at: write_run_file(RUN.weights, DATA.test, at / "run.txt", depth=0), "depth"),
    ],
)
def test_a_mistake_with_a_run_is_a_sentence_and_leaves_nothing_behind(tmp_path, call, words):
    with pytest.raises((DataError, SettingsError)) as refused:
        call(tmp_path)
    assert words in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_the_old_file(tmp_path):
    path = write_run_file(RUN.weights, DATA.test, tmp_path / "run.txt")
    before = path.read_text()
    with pytest.raises(DataError):
        write_run_file(np.full(20, 3e38), DATA.test, path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]
