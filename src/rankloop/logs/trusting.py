"""Whether people trust the top: from all pages of a log that a model drew."""

import numpy as np

from rankloop.live.events import Closing, Event, Group, Impression, Kind, decode
from rankloop.live.loading import closed_impression, settings_of
from rankloop.live.looks import RANKS
from rankloop.live.stores import each_event
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.rows import StoredModel
from rankloop.propensities.trust_effect import TrustEffect


def trust_in(log: Reader, model: StoredModel) -> TrustEffect | None:
    """Of the pages that a model drew and that were closed, with the scores that drew them as predictions of attraction.

    None where pages are not drawn by a softmax of scores: then no swap has a known probability.
    """
    settings = settings_of(model)
    temperature, ranks = settings.learner.policy_temperature, min(settings.page_size, RANKS)
    if temperature is None or ranks < 2:
        return None
    effect = TrustEffect(ranks)
    for event in each_event(log, kinds=(Kind.CLOSED,), model=model.id):
        note(effect, event, closed_impression(log, event), temperature)
    return effect


def note(effect: TrustEffect, event: Event, shown: Event | None, temperature: float) -> None:
    """Let a closed page in, down to the ranks that are counted, if the policy drew it and somebody saw it."""
    closing: Closing = decode(event.kind, event.body)
    if closing.why == "void" or shown is None or shown.kind != Kind.SHOWN:
        return
    impression: Impression = decode(shown.kind, shown.body)
    if impression.group != Group.LEARNED or impression.greedy:
        return
    ranks, free, documents = impression.drawn()
    kept = ranks < RANKS
    if kept.any():
        z = impression.score_values()[free].astype(np.float64) / temperature
        effect.note(z, documents[kept], np.array(closing.clicks)[ranks[kept]], ranks[kept])
