"""Settings as sentences: each says what was set, and changes with it."""

import pytest

from rankloop.learners import PDGD, ROLTR
from rankloop.live.settings import Guards, IncomingOrder, ModelSettings, Weights
from rankloop.web.dashboard.plain_words import settings_in_words


def said(**more):
    return {
        one.title: one.text
        for one in settings_in_words(ModelSettings(name="shop", **{"features": ("bm25", "price")} | more))
    }


@pytest.mark.parametrize(
    ("more", "title", "text"),
    [
        ({}, "What it looks at", "bm25, price."),
        ({"features": 20}, "What it looks at", "and 8 more"),
        ({"start": IncomingOrder()}, "What it looks at", "bm25, price, the engine’s order."),
        ({"actions": {"click": 0.1, "purchase": 1.0}}, "What people do is worth", "click 0.1, purchase 1."),
        ({"actions": {"click": 0.1, "purchase": 1.0}}, "If it is worse", "less value than the engine’s order"),
        ({}, "How it begins", "From scratch"),
        ({"start": IncomingOrder("bm25")}, "How it begins", "In your engine’s order (by bm25)"),
        ({"start": IncomingOrder(1)}, "How it begins", "(by price),"),
        ({"start": IncomingOrder()}, "How it begins", "In your engine’s order, and leaves it"),
        ({"start": Weights((1.0, 0.0))}, "How it begins", "With given weights"),
        ({}, "How it learns", "With Posterior, which explores only where it is unsure"),
        ({"learner": ROLTR()}, "How it learns", "by chance"),
        ({"learner": PDGD()}, "How it learns", "With PDGD"),
        ({"page_size": 1}, "Pages", "1 result at most"),
        ({"window": 600}, "When a page counts", "10 min after"),
        ({"scaling": "none"}, "How features are scaled", "Not at all"),
        ({}, "If a feature is missing", "refused"),
        ({"missing": 0}, "If a feature is missing", "counts as 0"),
        ({}, "Control group", "5.0 % of people"),
        ({"guards": Guards(control=0)}, "Control group", "Nobody"),
        ({}, "What one visitor can teach it", "20 pages"),
        ({"guards": Guards(client_pages=0)}, "What one visitor can teach it", "no limit"),
        ({}, "Visitors who click for one thing", "counts less and less"),
        ({}, "If it is worse", "90 % of people"),
    ],
)
def test_a_setting_is_a_sentence(more, title, text):
    assert text in said(**more)[title]


def test_what_never_happens_is_not_told():
    assert "If it is worse" not in said(guards=Guards(falls_back=0.0))
    assert "Visitors who click for one thing" not in said(guards=Guards(one_sided=0.0))
