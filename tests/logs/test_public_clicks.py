"""Public click logs: those beside the project are read; of the others, lines in the shape of their documentation."""

import numpy as np
import pytest

from rankloop.errors import DataError
from rankloop.logs.clicked import read_clicks
from rankloop.ubi import ShownPage, query_of_page, write_ndjson

from ..ubi.shown import event
from ..ubi.strategies import NOON

YANDEX_2014 = (
    "7\tM\t3\t42\n"
    "7\t0\tQ\t0\t901\t11,12\t100,5\t101,5\t102,6\n"
    "7\t9\tC\t0\t101\n"
    "7\t30\tQ\t1\t902\t13\t101,5\t103,7\n"
    "7\t41\tC\t1\t103\n"
)
YANDEX_2011 = "1\t0\tQ\t10\t2\t55\t56\t57\n1\t4\tC\t56\n2\t0\tQ\t11\t2\t55\t58\n"


def read(tmp_path, text):
    (tmp_path / "log").write_text(text)
    return read_clicks(tmp_path / "log")


def test_open_bandit_has_propensities_and_an_affinity(shared_data):
    log = read_clicks(shared_data / "OpenBandit-sample" / "random" / "men" / "men.csv")
    assert log.pages == len(log.ranks) == 10_000
    assert set(log.ranks) == {1, 2, 3}
    assert np.allclose(log.propensities, 1 / 34)  # a uniform choice of 34 items
    assert log.feature_names == ("affinity",)
    assert 0.001 < np.mean(log.clicks) < 0.02


def test_sessions_of_a_search_engine_have_pages_of_ten(shared_data):
    log = read_clicks(shared_data / "TianGong-ST-demo" / "valid_per_query_quid.txt")
    assert {page.stop - page.start for page in log.each_page()} == {10}
    assert log.features is None


def test_records_of_personalised_search(tmp_path):
    log = read(tmp_path, YANDEX_2014)
    assert log.queries == ["901"] * 3 + ["902"] * 2
    assert log.documents == ["100", "101", "102", "101", "103"]
    assert log.clicks == [0.0, 1.0, 0.0, 0.0, 1.0]
    assert (log.pages, log.ranks) == (2, [1, 2, 3, 1, 2])


def test_records_of_relevance_prediction(tmp_path):
    log = read(tmp_path, YANDEX_2011)
    assert log.queries == ["10"] * 3 + ["11"] * 2
    assert log.clicks == [0.0, 1.0, 0.0, 0.0, 0.0]
    with pytest.raises(DataError, match="line 4: is not a record of a Yandex log"):
        read(tmp_path, YANDEX_2011 + "3\n")


def test_aol4foltr_says_what_was_clicked_and_not_where_it_stood(tmp_path):
    header = "user_id,timestamp,query,target_doc_id,candidate_doc_ids\n"
    log = read(tmp_path, header + "u1,2006-03-01,oak table,b,\"{'b', 'a', 'c'}\"\n")
    assert (log.documents, log.clicks, log.pages) == (["a", "b", "c"], [0.0, 1.0, 0.0], 1)
    with pytest.raises(DataError, match="line 2: candidate_doc_ids is not a list"):
        read(tmp_path, header + "u1,2006-03-01,oak table,b,import os\n")


def test_ubi_is_a_click_log_too(tmp_path):
    pages = [ShownPage(query_id=f"q{n}", query="lamp", documents=("a", "b", "c"), at=NOON) for n in (1, 2)]
    told = [*map(query_of_page, pages), event(document="b"), event("scroll", "a"), event(document="b", query_id="q2")]
    write_ndjson(tmp_path / "log.ndjson", told, bulk=True)
    log = read_clicks(tmp_path / "log.ndjson")
    assert (log.pages, log.clicks) == (2, [0.0, 1.0, 0.0, 0.0, 1.0, 0.0])


def test_a_line_that_is_no_observation_is_named(tmp_path):
    with pytest.raises(DataError, match="line 2: is not a line of Open Bandit Data"):
        read(tmp_path, "item_id,position,click,propensity_score\n3,first,0,0.1\n")
