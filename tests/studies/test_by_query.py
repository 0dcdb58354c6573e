"""Two methods query by query are their records, read again and averaged."""

import numpy as np
import pytest
from scipy import stats

from rankloop.errors import SettingsError
from rankloop.studies.by_query import ComparedQueries, compare_queries
from rankloop.studies.records import read_queries
from rankloop.studies.specification import metrics_of

from .small_studies import SMALL
from .test_runner import run

MEASURED = SMALL.replace('name = "small"', 'name = "small"\nmetrics = ["ndcg", "map"]')


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return run(MEASURED, folder).results, folder


def test_a_query_counts_once_by_its_mean_over_runs_that_share_seed_and_fold(outcome):
    results, folder = outcome
    assert [str(one) for one in metrics_of(results.study)] == ["ndcg@10", "map"]
    made = compare_queries(results, folder, "ROLTR", "PDGD", name="map")
    assert [(one.user, one.pairs) for one in made] == [("perfect", 4), ("noisy", 4)]
    one = made[1]
    for label, values in (("ROLTR", one.ours), ("PDGD", one.theirs)):
        by_fold = {}
        for record in results.select(user="noisy", label=label):
            kept = read_queries(folder, record)
            by_fold.setdefault(record.fold, []).append((kept.query_ids, kept.values[kept.metrics.index("map")]))
        wanted = {}
        for fold, runs in by_fold.items():
            means = np.mean([values.astype(float) for _, values in runs], axis=0)
            wanted |= {(fold, query): mean for query, mean in zip(runs[0][0], means, strict=True) if not np.isnan(mean)}
        assert dict(zip(one.queries, values, strict=True)) == pytest.approx(wanted)
    assert one.interval.mean == pytest.approx(np.mean(one.ours - one.theirs))
    assert one.p == pytest.approx(stats.ttest_rel(one.ours, one.theirs).pvalue)


def test_the_worst_queries_are_those_with_the_largest_loss():
    ours, theirs = np.array([0.5, 0.2, 0.9, 0.1, 0.3]), np.array([0.5, 0.6, 0.8, 0.2, 0.3])
    one = ComparedQueries(None, "A", "B", "c", "u", [(None, n) for n in range(5)], ours, theirs, 1)
    assert one.worst().tolist() == [1, 3]
    assert one.worst(1).tolist() == [1]
    assert one.tally == (1, 2, 2)


def test_a_place_narrows_it_and_what_was_not_run_is_said(outcome):
    results, folder = outcome
    [one] = compare_queries(results, folder, "PDGD", "ROLTR", user="noisy", grid=None)
    assert (one.metric.title, one.label, one.against) == ("nDCG@10", "PDGD", "ROLTR")
    with pytest.raises(SettingsError, match="no method 'DBGD'; choose from 'ROLTR', 'PDGD'"):
        compare_queries(results, folder, "DBGD", "PDGD")
    with pytest.raises(SettingsError, match="no query results by err@10 were kept, only by ndcg@10, map"):
        compare_queries(results, folder, "ROLTR", "PDGD", name="err")
