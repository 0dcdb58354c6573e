"""People are known by a hash that another log cannot make, and that is the same in every process of this one."""

from rankloop.live.clients import NETWORK, client_hash, client_salt
from rankloop.live.stores import open_store


def test_a_hash_depends_on_the_name_and_on_the_log():
    assert client_hash("ann", b"1") == client_hash("ann", b"1")
    assert len({client_hash("ann", b"1"), client_hash("ann", b"2"), client_hash(f"{NETWORK}ann", b"1")}) == 3
    assert len(client_hash("\ud800", b"1")) == 16


def test_a_log_has_one_salt_for_all(tmp_path):
    one, other = open_store(tmp_path / "log.db"), open_store(tmp_path / "log.db")
    assert client_salt(one) == client_salt(other) == client_salt(one)
    one.close()
    other.close()
