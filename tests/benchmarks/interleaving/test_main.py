"""The documentation shows what was measured, and the comparisons find what is there."""

import json
from pathlib import Path

import numpy as np
from benchmarks.interleaving.people import clicks_per_page, improved, in_two_groups, interleaved
from benchmarks.shop.world import CANDIDATES, QUERIES, Shop

from benchmarks.interleaving import __main__ as command

ROOT = Path(__file__).parents[3]


def test_the_documentation_shows_the_figures_that_were_measured():
    figures = json.loads((ROOT / "benchmarks/interleaving/figures.json").read_text())
    text = (ROOT / "docs/interleaving.md").read_text(encoding="utf-8")
    assert command.table(figures) in text
    assert figures["commit"] in text
    null = figures["null"]
    assert f"{null['false_alarms']} of {null['experiments']} experiments of {null['pages']:,} pages" in text


def test_a_much_better_order_is_found_soon_by_either_comparison():
    shop = Shop()
    engine = np.tile(np.arange(CANDIDATES), (QUERIES, 1))
    better = improved(shop, 5.0, 1.0, np.random.default_rng(1))
    assert clicks_per_page(shop, better) > 1.3 * clicks_per_page(shop, engine)
    drafts = interleaved(shop, [engine, better], 1, 2_000)
    groups = in_two_groups(shop, [engine, better], 1, 20_000)
    assert (drafts.winner, groups.winner) == (1, 1)
    assert drafts.pages < groups.pages


def test_what_is_never_decided_took_longer_than_all_others():
    row = {"interleaved": [20, None, 40], "in_two_groups": [None, None, 40]}
    assert command.needed(row) == (40, float("inf"))
