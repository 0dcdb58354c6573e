"""Click logs of other systems: both kinds are read, and a bad line is named."""

import pytest
from pyarrow import parquet

from rankloop.errors import DataError
from rankloop.logs.clicked import read_clicks, with_features, write_clicks

SESSIONS = "948\t255\t[278, 1138]\t[1, 1]\t[0, 1]\n948\t256\t[1138, 9]\t[1, 1]\t[0, 0]\n"


@pytest.mark.parametrize("comma", [",", "\t"])
def test_a_table_has_one_line_per_document_shown(tmp_path, comma):
    lines = ["query,document,rank,click,extra", "desk,oak,1,0,x", "desk,pine,2,1,y"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines).replace(",", comma))
    log = read_clicks(path)
    assert log[:5] == (["desk", "desk"], ["oak", "pine"], [1, 2], [0.0, 1.0], 1)


def test_a_table_is_read_as_spreadsheets_and_data_frames_write_it(tmp_path):
    """With a byte order mark, whole numbers as 1.0, truth as words, and any character in a query."""
    path = tmp_path / "log.csv"
    rows = '"two\nlines",007,1.0,True\r\na\u2028b,008,1,false\r\n'
    path.write_text("query,document,rank,click\r\n" + rows, encoding="utf-8-sig", newline="")
    log = read_clicks(path)
    assert log[:4] == (["two\nlines", "a\u2028b"], ["007", "008"], [1, 1], [1.0, 0.0])
    (tmp_path / "facts.csv").write_text("document,feature.price\n007,45\n008,120\n")
    assert with_features(log, tmp_path / "facts.csv").features.tolist() == [[45.0], [120.0]]


def test_sessions_have_one_line_per_page(tmp_path):
    path = tmp_path / "sessions.txt"
    path.write_text(SESSIONS)
    log = read_clicks(path)
    assert log.queries == ["255", "255", "256", "256"]
    assert log.ranks == [1, 2, 1, 2]
    assert log.clicks == [0.0, 1.0, 0.0, 0.0]
    assert log.pages == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("query,rank,click\n", "'document' is missing"),
        ("query,document,rank,click\na,b,first,1\n", "line 2: rank must be a number; got 'first'"),
        ("query,document,rank,click\na,b,1.5,1\n", "line 2: rank must be a whole number; got '1.5'"),
        ("query,document,rank,click\na,b,1,often\n", "line 2: click must be a number; got 'often'"),
        ("query,document,rank,click,feature.x\na,b,1,1,\n", "line 2: feature.x must be a number; got ''"),
        ("query,document,rank,click,page\na,b,1\n", "line 2: must have query, document, rank, click, page"),
        ("query;document;rank;click\na;b;1;1\n", "commas or tabs between them"),
        ("query,document,position,clicked\na,b,1,1\n", "'rank' is missing among query, document, position, clicked"),
        ("query,document,rank,click\na,b,0,1\n", "ranks begin at 1"),
        ("query,document,rank,click\na,b,1,2\n", "clicks lie in"),
        (SESSIONS + "1\t2\t[3]\n", "line 3: must be session"),
        (SESSIONS + '1\t2\t[3]\t[1]\t["yes"]\n', "line 3: must be session"),
        (SESSIONS + "1\t2\t[3]\t[1]\t[null]\n", "line 3: must be session"),
        ("query,document,rank,click\n", "no document was shown"),
        ("1\t2\t[]\t[]\t[]\n", "no document was shown"),
        ("rank,click,query,document\n1,0,a,b\n1,1,a\n", "line 3: must have rank, click, query, document"),
        ("query,document,rank,click\na,b,1000000000,1\n", "line 2: a page has at most 1,000 ranks; got 1,000,000,000"),
        (f"query,document,rank,click\n{'a' * 200_000},b,1,1\n", "is not a readable table"),
    ],
)
def test_what_is_no_click_log_is_a_sentence(tmp_path, text, words):
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read_clicks(path)


def test_bytes_are_no_log(tmp_path):
    (tmp_path / "log").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not text"):
        read_clicks(tmp_path / "log")


def test_the_log_of_a_search_engine_can_be_read(shared_data):
    log = read_clicks(next(shared_data.glob("TianGong-ST-demo/train*")))
    assert log.pages > 1_000
    assert max(log.ranks) == 10


FULL = (
    "page,query,document,rank,click,propensity,feature.bm25,feature.price\n"
    "p1,desk,oak,1,0,0.5,7.5,120\np1,desk,pine,2,1,0.25,7.0,45\np2,desk,pine,1,1,0.5,7.0,45\n"
)


def test_a_table_may_have_pages_features_and_propensities(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(FULL)
    log = read_clicks(path)
    assert (log.pages, log.page, log.feature_names) == (2, [0, 0, 1], ("bm25", "price"))
    assert log.features.tolist() == [[7.5, 120.0], [7.0, 45.0], [7.0, 45.0]]
    assert log.propensities == [0.5, 0.25, 0.5]
    assert [log.ranks[page] for page in log.each_page()] == [[1, 2], [1]]


def test_as_parquet_a_log_comes_back_as_it_was(tmp_path):
    (tmp_path / "log.csv").write_text(FULL)
    log = read_clicks(tmp_path / "log.csv")
    write_clicks(tmp_path / "log.parquet", log)
    again = read_clicks(tmp_path / "log.parquet")
    assert again.features.tolist() == log.features.tolist()
    assert again._replace(features=None) == log._replace(features=None)
    schema = parquet.read_schema(tmp_path / "log.parquet")
    assert schema.names == ["page", "query", "document", "rank", "click", "propensity", "feature.bm25", "feature.price"]
    assert schema.metadata[b"rankloop-click-log"] == b"1"


def test_features_may_come_from_a_table_of_their_own(tmp_path):
    (tmp_path / "log.csv").write_text("query,document,rank,click\ndesk,oak,1,0\ndesk,pine,2,1\n")
    log = read_clicks(tmp_path / "log.csv")
    (tmp_path / "facts.csv").write_text("document,feature.price\npine,45\noak,120\n")
    assert with_features(log, tmp_path / "facts.csv").features.tolist() == [[120.0], [45.0]]
    (tmp_path / "both.csv").write_text("query,document,feature.bm25\ndesk,pine,1\nlamp,oak,2\n")
    with pytest.raises(DataError, match="no features of document 'oak' for 'desk'"):
        with_features(log, tmp_path / "both.csv")
    (tmp_path / "none.csv").write_text("document,price\npine,45\n")
    with pytest.raises(DataError, match="must have a column document, and feature"):
        with_features(log, tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("p1,desk,oak,1,0,2,7.5,1", "a propensity is a probability above 0; got 2"),
        ("p1,desk,oak,1,0,0.5,nan,1", "feature 'bm25' must be a finite number"),
        ("p1,desk,oak,1,0,0.5,cheap,1", "feature.bm25 must be a number; got 'cheap'"),
    ],
)
def test_what_is_wrong_with_a_column_is_said(tmp_path, row, words):
    (tmp_path / "log.csv").write_text(FULL.splitlines()[0] + "\n" + row + "\n")
    with pytest.raises(DataError, match=words):
        read_clicks(tmp_path / "log.csv")


def test_what_only_begins_like_parquet_is_a_sentence(tmp_path):
    (tmp_path / "log").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="is not a readable Parquet file"):
        read_clicks(tmp_path / "log")
