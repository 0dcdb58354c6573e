"""The newest pages of a model are read from its log; the rule is tested where it is, in tests/live."""

from rankloop.logs.suspecting import find_suspects


def test_the_newest_pages_of_clients_with_a_name_are_looked_through(log, address):
    found = find_suspects(address, "shop")
    assert (found.model, found.pages, found.clients, found.found) == ("shop", 45, 3, [])
    assert find_suspects(address, "shop", pages=8).pages == 6
