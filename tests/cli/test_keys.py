"""`rankloop keys` as people type it: a key is shown once, and a list never shows one."""

import json

import pytest

from rankloop.live.stores import opened


@pytest.fixture
def keys(rankloop, tmp_path):
    """`rankloop keys … --store` on a log of one's own."""
    return lambda *words: rankloop("keys", *words, "--store", tmp_path / "log.db")


def test_a_key_is_alone_on_standard_output_and_later_only_its_name_is_told(keys):
    code, key, said = keys("create", "shop", "--scope", "rank", "--scope", "click")
    assert (code, key.count("\n")) == (0, 1)
    assert key.startswith("rl_")
    assert "shown only once" in said
    code, listed, _ = keys("list", "--json")
    [row] = json.loads(listed)
    assert (row["name"], row["scopes"], row["revoked"]) == ("shop", ["rank", "click"], None)
    assert key.strip() not in listed


def test_rotated_it_is_another_key_of_the_same_name_and_revoked_it_has_a_date(keys):
    first = json.loads(keys("create", "shop", "--scope", "rank", "--json")[1])
    second = json.loads(keys("rotate", "shop", "--json")[1])
    assert first["name"] == second["name"] == "shop"
    assert first["key"] != second["key"]
    assert keys("revoke", "shop")[:2] == (0, "shop has been revoked\n")
    assert json.loads(keys("list", "--json")[1])[0]["revoked"] is not None


def test_without_keys_the_list_says_that_the_service_is_open(keys, tmp_path):
    with opened(tmp_path / "log.db"):
        pass
    assert "no keys: the service is open" in keys("list")[1]


def test_the_first_secret_signs_at_once_and_a_next_one_when_everybody_knows_it(keys, tmp_path):
    with opened(tmp_path / "log.db"):
        pass
    assert "signs impression ids at once; 0 old ones were dropped" in keys("rotate-secret")[1]
    assert "when every process knows it; 0 old ones were dropped" in " ".join(keys("rotate-secret")[1].split())
    code, _, said = keys("rotate-secret", "--drop-after", "-1")
    assert code == 2
    assert "drop-after" in said


def test_a_log_that_is_given_as_an_argument_is_refused_with_where_it_belongs(rankloop):
    code, _, said = rankloop("keys", "list", "shop.db")
    assert code == 2
    assert "given with --store" in " ".join(said.split())
