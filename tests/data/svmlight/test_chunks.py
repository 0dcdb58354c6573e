"""A file arrives in whole lines, whatever the size of a chunk."""

import gzip

import pytest

from rankloop.data.svmlight.chunks import chunks
from rankloop.data.svmlight.scanner import PADDING
from rankloop.errors import DataError

LINES = [b"1 qid:1 1:0.5", b"", b"0 qid:2 " + b"7:1 " * 50, b"2 qid:3"]


def pieces(path, size, progress=None):
    return [bytes(chunk.bytes[chunk.start : chunk.stop]) for chunk in chunks(path, progress, size)]


@pytest.mark.parametrize("size", [1, 16, 17, 100, 10_000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_chunks_are_whole_lines_and_together_the_file(tmp_path, size, pack):
    path = tmp_path / "some.txt"
    path.write_bytes(pack(b"\n".join(LINES)))
    found = pieces(path, size)
    assert b"".join(found) == b"\n".join(LINES) + b"\n"
    assert all(piece.endswith(b"\n") for piece in found)


def test_only_the_last_chunk_says_so_and_there_is_room_behind_each(tmp_path):
    path = tmp_path / "some.txt"
    path.write_bytes(b"1 qid:1 1:0.5\n" * 9)
    last = []
    for chunk in chunks(path, None, 40):
        last.append(chunk.last)
        assert len(chunk.bytes) >= chunk.stop + PADDING - 1
        assert chunk.line_end(chunk.start) == 13
    assert last == [False] * (len(last) - 1) + [True]
    assert len(last) > 3


def test_a_byte_order_mark_is_skipped_once(tmp_path):
    path = tmp_path / "some.txt"
    path.write_bytes(b"\xef\xbb\xbf1\n" + b"\xef\xbb\xbf2\n")
    assert b"".join(pieces(path, 5)) == b"1\n\xef\xbb\xbf2\n\n"


def test_progress_is_in_bytes_of_the_file_as_it_lies_there(tmp_path):
    path = tmp_path / "some.gz"
    path.write_bytes(gzip.compress(b"1 qid:1 1:0.5\n" * 10_000))
    seen = []
    pieces(path, 1000, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == path.stat().st_size


def test_what_is_no_gzip_but_named_so_is_refused(tmp_path):
    (tmp_path / "some.gz").write_bytes(b"1 qid:1 1:0.5\n")
    with pytest.raises(DataError, match=r"some\.gz is named \.gz but is not gzip"):
        pieces(tmp_path / "some.gz", 100)
    with pytest.raises(DataError, match="is a folder; give a file"):
        pieces(tmp_path, 100)
