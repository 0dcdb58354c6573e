"""A log as one file: what it says of itself, and that nothing of a broken one is used."""

import pytest

from rankloop.errors import DataError
from rankloop.live.stores import open_store
from rankloop.logs.exported import LENGTH, Exported
from rankloop.logs.importing import import_log

from .writing import Log, exported


def test_an_export_says_what_it_is_and_is_for_nobody_else_to_read(log, address, tmp_path):
    exported(address, tmp_path / "log")
    header = Exported(tmp_path / "log").header
    assert (header.models, header.last_offset, header.exported) == (["shop"], log.store.last_offset(), 5)
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0


def test_a_flipped_byte_anywhere_in_an_export_is_noticed_and_nothing_is_imported(tmp_path):
    store = open_store(tmp_path / "log.db")
    Log.filled(store, impressions=10)
    store.close()
    exported(tmp_path / "log.db", tmp_path / "log")
    whole = (tmp_path / "log").read_bytes()
    for place in range(3, len(whole), len(whole) // 40):
        (tmp_path / "bad").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DataError):
            import_log(tmp_path / "bad", tmp_path / "new.db")
        assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (lambda whole: whole[: len(whole) // 2], "cut short"),
        (lambda whole: whole[:-1], "cut short"),
        (lambda whole: whole + whole[-40:], "broken"),
        (lambda whole: whole + LENGTH.pack(3) + b"\x91\xa1\xff", "broken"),  # a list of a text that is none
        (lambda whole: whole + LENGTH.pack(5_000) + b"\x91" * 5_000, "broken"),  # lists without an end
        (lambda whole: b"", "not a log that rankloop exported"),
        (lambda whole: b"hello\n", "not a log that rankloop exported"),
        (lambda whole: b"rankloop-log 2\n" + whole[15:], "newer rankloop"),
    ],
)
def test_a_file_that_is_not_a_whole_export_is_refused_with_a_sentence(tmp_path, content, told):
    store = open_store(tmp_path / "log.db")
    Log.filled(store, impressions=10)
    store.close()
    exported(tmp_path / "log.db", tmp_path / "log")
    (tmp_path / "bad").write_bytes(content((tmp_path / "log").read_bytes()))
    with pytest.raises(DataError, match=told):
        import_log(tmp_path / "bad", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_an_export_that_cannot_be_written_leaves_what_was_there(log, address, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="folder"):
        exported(address, tmp_path / "folder")
    with pytest.raises(DataError, match="No such file"):
        exported(address, tmp_path / "nowhere" / "log")
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []
