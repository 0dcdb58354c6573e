"""How far today's policy is from the one that drew a page: what a late page can still teach a policy gradient.

A policy gradient is an average over the pages of its own policy. Clicks that come late, people who were erased, a
replay with other settings: the policy has moved, and another one's page, taken for its own, can drive the weights
away without end. Two things prevent it. The update is computed against the scores that drew the page (`late_updates`:
`drawn`), where it was right and stays bounded. And π_now(page) / π_drawn(page) is looked at:

- where its geometric mean over the ranks is below `guards.stale_below`, the page is set aside, with the fate `stale`;
- an update against the *current* scores is weighed by min(1, ratio), once that is below ½: the truncated importance
  weight, without which it is no gradient at all. An update against the drawn scores is not weighed: it is the one that
  was due when the page was drawn, and weights that follow the model's own path would take it ever further from it.

A page whose policy has not moved keeps its bits. Methods that do not care who drew a page (`Learner.off_policy`), and
pages of which no probability is known, are left alone.
"""

import math

import numpy as np

from rankloop.live.events import Impression
from rankloop.live.settings import ModelSettings
from rankloop.loop import score_candidates
from rankloop.online import OnlineRanker, Page
from rankloop.policies.plackett_luce import page_log_probability

NEAR = 0.5
"""A ratio from here on is taken for 1."""


def weight_now(settings: ModelSettings, ranker: OnlineRanker, impression: Impression, page: Page) -> float:
    """How much of an update to take: from 0, none of it (the page is stale), to 1."""
    temperature = settings.learner.policy_temperature
    bound, drawn = settings.guards.stale_below, impression.log_probability
    if bound == 0.0 or settings.learner.off_policy or temperature is None or drawn is None:
        return 1.0
    scores = np.zeros(len(page.candidates), np.float32)
    score_candidates(ranker.model, page.candidates, scores)
    moved = page_log_probability(scores, page.documents, temperature) - drawn
    if moved < len(page) * math.log(bound):
        return 0.0
    return math.exp(moved) if settings.late_updates == "current" and moved < math.log(NEAR) else 1.0
