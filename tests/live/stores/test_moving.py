"""A log moves from every store to every other: rows out, rows in, all or nothing."""

import pytest

from rankloop.errors import SettingsError
from rankloop.live.errors import StoreError
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import TABLES

from .rows import event, filled, new_model, write


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_export_of_one_store_is_a_log_in_another(store, kind, tmp_path, request):
    filled(store)
    exported = {table: list(store.export_rows(table)) for table in TABLES}
    assert all(exported.values())
    other = open_store(
        tmp_path / "other.db" if kind == "sqlite" else request.getfixturevalue("postgres_server").new_log()
    )
    other.add_rows(exported.items())
    assert other.count_rows() == store.count_rows() == {table: len(rows) for table, rows in exported.items()}
    assert {table: list(other.export_rows(table)) for table in TABLES} == exported
    # and it goes on beyond what was imported
    assert new_model(other, "next") == 3
    assert other.reserve(1, 1) == 10
    other.add_secret(b"three", 3)
    assert other.secrets()[0].id == 3
    with other.transaction() as transaction:
        assert transaction.next_offset() == 4
    other.close()


def test_an_import_that_fails_leaves_nothing_in_any_table(store):
    def broken():
        yield "facts", [("a", "1"), ("b", "2")]
        yield "secrets", [(1, b"one", 5)]
        raise KeyError("the file ends here")

    with pytest.raises(KeyError):
        store.add_rows(broken())
    for wrong in ([("a", "1"), ("a", "2")], [("a", "1"), ("b", "2", "3")]):
        with pytest.raises(StoreError):
            store.add_rows([("secrets", [(1, b"one", 5)]), ("facts", wrong)])
    assert (store.fact("a"), store.secrets()) == (None, [])
    store.add_rows([("facts", [("a", "1")]), ("facts", [])])
    assert store.fact("a") == "1"


def test_an_export_of_many_rows_can_be_left_early_while_the_log_grows(store):
    write(store, [event(n, body=b"x") for n in range(1, 301)])
    rows = store.export_rows("events")
    assert next(rows)[0] == 1
    write(store, [event(301)])
    rows.close()
    assert [row[0] for row in store.export_rows("events")] == list(range(1, 302))


@pytest.mark.parametrize("table", ["sqlite_master", "events; DROP TABLE events"])
def test_only_tables_of_the_log_are_exported_and_imported(store, table):
    with pytest.raises(SettingsError, match="no table"):
        list(store.export_rows(table))
    with pytest.raises(SettingsError, match="no table"):
        store.add_rows([(table, [])])
