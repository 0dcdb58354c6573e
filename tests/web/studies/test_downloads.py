"""What is fetched as CSV has the numbers of the results, and a report's policy allows its own style alone."""

import csv
import io
import json
from pathlib import Path

import pytest

from rankloop.studies.records import read_results
from rankloop.web.studies.downloads import curves_csv, media_type, policy_of, results_csv

pytestmark = pytest.mark.xdist_group("studies")


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def read(finished):
    return read_results(finished)


def test_every_run_is_a_row_with_its_settings_as_json_and_without_its_lists(read):
    rows = rows_of(results_csv(read))
    assert [row["key"] for row in rows] == [record.key for record in read.records]
    assert [float(row["online_ndcg"]) for row in rows] == [record.online_ndcg for record in read.records]
    assert json.loads(rows[0]["settings"]) == read.records[0].settings
    assert not {"weights", "offline_curve"} & set(rows[0])


def test_every_point_of_a_curve_is_a_row_and_nothing_was_shown_before_the_first(read):
    rows = rows_of(curves_csv(read))
    record = read.records[0]
    mine = [row for row in rows if row["key"] == record.key]
    assert [int(row["impression"]) for row in mine] == list(record.offline_at)
    assert [float(row["offline_ndcg"]) for row in mine] == list(record.offline_curve)
    assert mine[0]["online_ndcg"] == ""
    assert [float(row["online_ndcg"]) for row in mine[1:]] == list(record.online_curve)


def test_a_report_is_allowed_the_styles_it_carries_and_no_frame():
    policy = policy_of("<style>a</style><p><style>\nb\n</style>")
    assert policy.count("'sha256-") == 2
    assert policy.endswith("frame-ancestors 'none'")
    assert "style-src 'none'" in policy_of("<p>plain</p>")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("report.md", "text/markdown"), ("a.b.csv", "text/csv"), ("results.parquet", "application/octet-stream")],
)
def test_a_file_says_what_it_is(name, kind):
    assert media_type(Path(name)) == kind
