"""What a challenger costs: the log that is measured on is learned from, and the page shows what was measured."""

import json
from pathlib import Path

import numpy as np

from benchmarks.challengers import __main__ as command
from rankloop.live.events import decode
from rankloop.live.fold import Fold
from rankloop.live.settings import Guards, ModelSettings

ROOT = Path(__file__).parents[3]
SHOP = ModelSettings(name="shop", features=3, page_size=command.PAGE, seed=1, guards=Guards(control=0.0))


def test_the_documentation_shows_the_figures_that_were_measured():
    figures = json.loads((ROOT / "benchmarks/challengers/figures.json").read_text())
    text = (ROOT / "docs/challengers.md").read_text(encoding="utf-8")
    assert command.table(figures) in text
    assert figures["commit"] in text


def test_every_page_of_the_log_is_learned_from_and_has_a_click():
    closed = command.log_of(SHOP, candidates=12, pages=20)
    fold = Fold(SHOP)
    assert {fold.apply(closing, shown) for closing, shown in closed} == {"learned"}
    assert all(np.sum(decode(closing.kind, closing.body).clicks) >= 1 for closing, _ in closed)


def test_the_same_challenger_learns_the_same_whether_it_is_judged_or_not():
    rival = ModelSettings(name="rival", features=3, page_size=command.PAGE, seed=1, challenges="shop")
    judged, unjudged = command._challenger(rival, SHOP), command._unjudged(rival, SHOP)
    for closing, shown in command.log_of(SHOP, candidates=12, pages=20):
        judged.overhear(closing, shown)
        unjudged.overhear(closing, shown)
    assert judged.ranks_as(unjudged)
    assert judged.shadow.kept() != unjudged.shadow.kept()
