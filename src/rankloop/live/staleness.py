"""How far today's policy is from the one that drew a page: what a late page can still teach a policy gradient.

A policy gradient is an average over the pages of its own policy. Clicks that come late, people who were erased, a
replay with other settings: the policy has moved, and another one's page, taken for its own, can drive the weights
away without end. Two things prevent it. The update is computed against the scores that drew the page (`late_updates`:
`drawn`), where it was right and stays bounded. And π_now(page) / π_drawn(page) is looked at:

- where its geometric mean over the ranks is below `guards.stale_below`, the page is set aside, with the fate `stale`;
- an update against the *current* scores is weighed by min(1, ratio), once that is below ½: the truncated importance
  weight, without which it is no gradient at all. An update against the drawn scores is not weighed: it is the one that
  was due when the page was drawn, and weights that follow the model's own path would take it ever further from it.

A replay feeds a method pages that another one's policy drew (`foreign`). Their scores are not its own, earlier or not,
so it learns against current scores, weighed by min(1, ratio) whatever it is; a page that it would draw with less than
`stale_below` of the probability, as a whole, is set aside, and so is one of unknown probability.

A page whose policy has not moved keeps its bits. Methods that do not care who drew a page (`Learner.off_policy`), and
their own pages of which no probability is known, are left alone.
"""

import math

from rankloop.live.events import Impression
from rankloop.live.settings import Guards, ModelSettings
from rankloop.live.views import scores_by
from rankloop.online import OnlineRanker, Page
from rankloop.policies.plackett_luce import page_log_probability

NEAR = 0.5
"""A ratio from here on is taken for 1."""
LEAST = Guards().stale_below
"""For models that were made before there was a bound: they learned from every page of their own, not from others'."""


def moved(settings: ModelSettings, ranker: OnlineRanker, impression: Impression, page: Page) -> float | None:
    """log π_now(page) − log π_drawn(page); None where the method does not care, or one of them is not known."""
    temperature, drawn = settings.learner.policy_temperature, impression.log_probability
    if settings.learner.off_policy or temperature is None or drawn is None:
        return None
    scores = scores_by(ranker.model, page.candidates)
    return page_log_probability(scores, page.documents, temperature) - drawn


def weight_of(settings: ModelSettings, size: int, moved: float | None) -> float:
    """How much of the update of a page of so many ranks to take: from 0, none of it (it is stale), to 1."""
    bound = settings.guards.stale_below
    if bound == 0.0 or moved is None:
        return 1.0
    if moved < size * math.log(bound):
        return 0.0
    return math.exp(moved) if settings.late_updates == "current" and moved < math.log(NEAR) else 1.0


def foreign_weight(settings: ModelSettings, moved: float | None) -> float:
    """The same, of a page that another method's policy drew."""
    worth = 0.0 if moved is None else math.exp(min(moved, 0.0))
    return 0.0 if worth < (settings.guards.stale_below or LEAST) else worth


def is_foreign(own: ModelSettings, other: ModelSettings) -> bool:
    """Whether one model's pages were drawn by a policy that the other never had (another method's, or one of another
    temperature), and the other cares."""
    old, new = own.learner, other.learner
    same = type(old) is type(new) and old.policy_temperature == new.policy_temperature
    return not (same or new.off_policy)


def is_foldable(own: ModelSettings, other: ModelSettings) -> bool:
    """Whether the other can learn anything from one model's pages: not if it compares rankers that filled a page
    together, and others did."""
    old, new = own.learner, other.learner
    return not new.needs_own_pages or (type(new) is type(old) and new.note_width() == old.note_width())
