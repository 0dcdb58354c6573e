"""From UBI to rankloop: queries become pages, events become clicks, and whatever becomes neither is counted.

Nothing is guessed. A query is a page only if it says which documents came back; an event is a click only if its action
counts as one, and it names a document that its query's page showed.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from enum import StrEnum

from rankloop.errors import SettingsError
from rankloop.settings import require_number
from rankloop.ubi.outgoing import MODEL_ATTRIBUTE
from rankloop.ubi.pages import Click, ShownPage
from rankloop.ubi.schema import EventAttributes, UbiEvent, UbiQuery

REWARDS: Mapping[str, float] = {"click": 1.0, "click_through": 1.0, "add_to_cart": 1.0, "purchase": 1.0}
"""What the standard's own actions are worth, where nothing else is said: clicks and what follows a click."""


class Fate(StrEnum):
    """What became of a query or an event."""

    TAKEN = "taken"
    NO_QUERY_ID = "no query id"
    NO_DOCUMENTS = "no documents: the query does not say what came back"
    REPEATED_DOCUMENTS = "a document twice on one page, or without an id"
    NO_TIME = "no time"
    REPEATED_QUERY = "the same query again"
    REUSED_QUERY_ID = "a query id that another page has"
    OTHER_ACTION = "another action"
    NO_OBJECT = "no object: the event does not say which document"
    UNKNOWN_QUERY = "unknown query"
    NOT_SHOWN = "a document that was not shown"
    BAD_REWARD = "a reward outside [0, 1]"


def require_rewards(rewards: Mapping[str, float]) -> dict[str, float]:
    """The mapping from action to value; refuse values outside [0, 1].

    >>> require_rewards({"purchase": 5})
    Traceback (most recent call last):
    rankloop.errors.SettingsError: ubi: the reward of 'purchase' must be a number, at least 0 and at most 1; got 5
    """
    if not isinstance(rewards, Mapping) or not all(isinstance(action, str) and action for action in rewards):
        raise SettingsError(f"ubi: rewards must map action names to values; got {rewards!r}")
    return {
        action: require_number("ubi", f"the reward of {action!r}", value, at_least=0, at_most=1)
        for action, value in rewards.items()
    }


def page_of_query(query: UbiQuery, *, received: datetime | None = None) -> tuple[Fate, ShownPage | None]:
    """The page that a query says was shown, and what became of the query.

    Args:
        query: what came in.
        received: when it came in, for a query that does not say when it was made.
    """
    if not query.query_id:
        return Fate.NO_QUERY_ID, None
    documents = query.query_response_hit_ids
    if not documents:
        return Fate.NO_DOCUMENTS, None
    if not all(documents) or len(set(documents)) < len(documents):
        return Fate.REPEATED_DOCUMENTS, None
    at = query.at or received
    if at is None:
        return Fate.NO_TIME, None
    model = (query.query_attributes or {}).get(MODEL_ATTRIBUTE, "")
    page = ShownPage(
        query_id=query.query_id,
        query=query.user_query,
        documents=documents,
        at=at,
        client=query.client_id or "",
        model=model if isinstance(model, str) else "",
    )
    return Fate.TAKEN, page


def click_of_event(
    event: UbiEvent,
    shown: Callable[[str], Collection[str] | None],
    rewards: Mapping[str, float] = REWARDS,
) -> tuple[Fate, Click | None]:
    """The click that an event is, and what became of the event.

    Args:
        event: what came in.
        shown: given a query id, the documents of its page; None: no such page is known.
        rewards: which actions count, and how much, in [0, 1]; an event that says `rankloop_reward` is worth that.

    >>> event = UbiEvent(action_name="hover", query_id="q1", timestamp="2024-05-01T00:00:00Z")
    >>> click_of_event(event, {"q1": ("a",)}.get)
    (<Fate.OTHER_ACTION: 'another action'>, None)
    """
    if event.action_name not in rewards:
        return Fate.OTHER_ACTION, None
    if not event.query_id:
        return Fate.NO_QUERY_ID, None
    attributes = event.event_attributes or EventAttributes()
    if attributes.object is None or attributes.object.object_id in (None, ""):
        return Fate.NO_OBJECT, None
    documents = shown(event.query_id)
    if documents is None:
        return Fate.UNKNOWN_QUERY, None
    document = str(attributes.object.object_id)
    if document not in documents:
        return Fate.NOT_SHOWN, None
    own = attributes.rankloop_reward
    value = rewards[event.action_name] if own is None else own
    if not (math.isfinite(value) and 0 <= value <= 1):
        return Fate.BAD_REWARD, None
    return Fate.TAKEN, Click(query_id=event.query_id, document=document, at=event.at, value=value)


class Intake:
    """Takes queries and events one after the other, queries first, and keeps count of what became of them.

    Holds every page it has taken, so that events can be matched to them.

    Attributes:
        pages: the pages, by query id.
        queries: how many queries met which fate.
        events: how many events met which fate.
        other_actions: how often each action occurred that does not count as a click.
    """

    def __init__(self, rewards: Mapping[str, float] = REWARDS) -> None:
        self.rewards = require_rewards(rewards)
        self.pages: dict[str, ShownPage] = {}
        self.queries: Counter[Fate] = Counter()
        self.events: Counter[Fate] = Counter()
        self.other_actions: Counter[str] = Counter()

    def query(self, query: UbiQuery, *, received: datetime | None = None) -> ShownPage | None:
        """The page of a query, if it is a new one."""
        fate, page = page_of_query(query, received=received)
        if page is not None:
            known = self.pages.setdefault(page.query_id, page)
            if known is not page:
                # Sent again, it may have come in at another time.
                same = (known.query, known.documents, known.client) == (page.query, page.documents, page.client)
                fate = Fate.REPEATED_QUERY if same else Fate.REUSED_QUERY_ID
                page = None
        self.queries[fate] += 1
        return page

    def event(self, event: UbiEvent) -> Click | None:
        """The click that an event is, if it is one."""
        fate, click = click_of_event(event, self._shown, self.rewards)
        self.events[fate] += 1
        if fate is Fate.OTHER_ACTION:
            self.other_actions[event.action_name] += 1
        return click

    def _shown(self, query_id: str) -> tuple[str, ...] | None:
        page = self.pages.get(query_id)
        return None if page is None else page.documents
