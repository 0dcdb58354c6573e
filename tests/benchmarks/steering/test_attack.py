"""Attackers click on all that the vendor sells, people come whatever they do, and what was taught is undone."""

import numpy as np
import pytest
from benchmarks.shop.__main__ import readme_model
from benchmarks.steering.attack import FIRST_BOT, PAGES_OF_A_BOT, Attack, Vendor, settings_of, steered, undone

from rankloop.live.events import decode


def test_attackers_click_on_all_that_the_vendor_sells_and_people_come_whatever_they_do():
    vendor, body = Vendor(1), readme_model()
    flag = settings_of(body, 1).names.index("vendor")
    alone = steered(vendor, settings_of(body, 1), 60, 1, None)
    made = steered(vendor, settings_of(body, 1), 60, 1, Attack("botnet", 0.4))
    bots = [(shown, closing) for shown, closing in made.events if shown.number >= FIRST_BOT]
    assert len({shown.client for shown, _ in bots}) == -(-len(bots) // PAGES_OF_A_BOT)
    for shown, closing in bots:
        impression = decode(shown.kind, shown.body)
        sold = impression.matrix("float32")[impression.page, flag] == 1
        assert decode(closing.kind, closing.body).clicks == sold.astype(float).tolist()
    people = [(shown.number, shown.client) for shown, _ in made.events if shown.number < FIRST_BOT]
    assert people == [(shown.number, shown.client) for shown, _ in alone.events]


def test_without_suspects_folding_again_gives_the_same_bits():
    made = steered(Vendor(1), settings_of(readme_model(), 1), 40, 1, None)
    again = undone(made)
    assert (again.bots, again.found, again.wronged) == (0, 0, 0)
    assert np.isclose(again.place.mean_rank, made.vendor.place(made.fold).mean_rank)


@pytest.mark.long
def test_a_botnet_undone_leaves_its_vendor_where_it_would_be_had_nobody_come():
    """People's pages were drawn by a model that the bots had taught; what is left must not be held against the vendor
    (it was: 7.2 places lower)."""
    lower = []
    for seed in (2, 4):
        vendor, settings = Vendor(seed), settings_of(readme_model(), seed)
        alone = vendor.place(steered(vendor, settings, 1000, seed, None).fold)
        again = undone(steered(vendor, settings, 1000, seed, Attack("botnet", 0.2)))
        assert again.wronged == 0
        assert again.place.ndcg > alone.ndcg - 0.02
        lower.append(again.place.mean_rank - alone.mean_rank)
    assert abs(np.mean(lower)) < 3
