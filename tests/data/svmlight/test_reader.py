"""Messages name the line that is wrong, also when what came before it has long left the reader."""

import pytest

from rankloop.data.svmlight import reader as svmlight
from rankloop.errors import DataError


@pytest.fixture
def small_chunks(monkeypatch):
    """A few lines at a time, so that blocks leave while a query is only half read."""
    monkeypatch.setattr(svmlight, "CHUNK", 100)
    monkeypatch.setattr(svmlight, "_ROOM", 1000)


def written(tmp_path, last_query):
    """Thirty queries of three documents, then one of forty; its first line is number 91."""
    path = tmp_path / "some.txt"
    before = [f"1 qid:{query} 1:0.5 2:{document}" for query in range(30) for document in range(3)]
    path.write_text("\n".join(before + last_query) + "\n")
    return path


@pytest.mark.usefixtures("small_chunks")
def test_a_query_that_comes_again_after_blocks_have_left_is_refused_with_its_own_line(tmp_path):
    path = written(tmp_path, ["0 qid:7 1:0.5"] * 40)
    with pytest.raises(DataError, match=r"some\.txt, line 91: the rows of query 7 are not adjacent"):
        list(svmlight.blocks(path))


@pytest.mark.usefixtures("small_chunks")
def test_a_value_beyond_float32_is_refused_with_its_own_line_after_blocks_have_left(tmp_path):
    path = written(tmp_path, ["0 qid:99 1:0.5", "0 qid:99 2:1e200", *["0 qid:99 1:0.5"] * 38])
    with pytest.raises(DataError, match=r"some\.txt, line 92: the value of feature 2 is beyond float32; got 1e\+200"):
        list(svmlight.blocks(path))
