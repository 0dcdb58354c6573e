"""The client's old address still leads to it."""

import rankloop.client
import rankloop.live.client


def test_both_addresses_give_the_same_client():
    for name in rankloop.live.client.__all__:
        assert getattr(rankloop.live.client, name) is getattr(rankloop.client, name)
    assert {"Client", "AsyncClient"} <= set(rankloop.live.client.__all__)
