"""Click logs of other systems: both kinds are read, and a bad line is named."""

import pytest

from rankloop.errors import DataError
from rankloop.logs.clicked import read_clicks

SESSIONS = "948\t255\t[278, 1138]\t[1, 1]\t[0, 1]\n948\t256\t[1138, 9]\t[1, 1]\t[0, 0]\n"


@pytest.mark.parametrize("comma", [",", "\t"])
def test_a_table_has_one_line_per_document_shown(tmp_path, comma):
    lines = ["query,document,rank,click,extra", "desk,oak,1,0,x", "desk,pine,2,1,y"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines).replace(",", comma))
    log = read_clicks(path)
    assert log == (["desk", "desk"], ["oak", "pine"], [1, 2], [0.0, 1.0], 1)


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
        ("query,document,rank,click\na,b,first,1\n", "line 2: rank and click must be numbers"),
        ("query,document,rank,click\na,b,0,1\n", "ranks begin at 1"),
        ("query,document,rank,click\na,b,1,2\n", "clicks lie in"),
        (SESSIONS + "1\t2\t[3]\n", "line 3: must be session"),
        (SESSIONS + '1\t2\t[3]\t[1]\t["yes"]\n', "line 3: must be session"),
        (SESSIONS + "1\t2\t[3]\t[1]\t[null]\n", "line 3: must be session"),
        ("query,document,rank,click\n", "no document was shown"),
        ("1\t2\t[]\t[]\t[]\n", "no document was shown"),
        ("rank,click,query,document\n1,0,a,b\n1,1,a\n", "line 3: must have query, document, rank, click"),
        ("query,document,rank,click\na,b,1000000000,1\n", "line 2: a page has at most 1,000 ranks; got 1,000,000,000"),
        (f"query,document,rank,click\n{'a' * 200_000},b,1,1\n", "is no table that can be read"),
    ],
)
def test_what_is_no_click_log_is_a_sentence(tmp_path, text, words):
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read_clicks(path)


def test_bytes_are_no_log(tmp_path):
    (tmp_path / "log").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is no text"):
        read_clicks(tmp_path / "log")


def test_the_log_of_a_search_engine_can_be_read(shared_data):
    log = read_clicks(next(shared_data.glob("TianGong-ST-demo/train*")))
    assert log.pages > 1_000
    assert max(log.ranks) == 10
