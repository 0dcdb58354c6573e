"""Who may be steering a model, from its log. The rule is `rankloop.live.suspicion`'s, which a service follows, too."""

from collections import deque
from pathlib import Path

from rankloop.live.events import Event, Kind, decode
from rankloop.live.loading import closed_impression, settings_of
from rankloop.live.stores import each_event
from rankloop.live.suspicion import Suspects, suspects_among
from rankloop.logs.access import at_one_moment, find_model


def find_suspects(address: str | Path, name: str, pages: int = 20_000) -> Suspects:
    """Look through a model's newest pages."""
    with at_one_moment(address) as store:
        model = find_model(store, name)
        newest: deque[Event] = deque(each_event(store, kinds=(Kind.CLOSED,), model=model.id), maxlen=pages)
        shown = ((closed_impression(store, event), decode(event.kind, event.body)) for event in newest)
        known = [(page, closing) for page, closing in shown if page is not None and page.kind == Kind.SHOWN]
        return suspects_among(known, settings_of(model))
