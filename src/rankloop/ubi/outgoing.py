"""From rankloop to UBI: a page becomes one query and one `impression` event per document, a click one `click` event."""

from collections.abc import Iterable, Iterator

from rankloop.errors import DataError
from rankloop.ubi.pages import Click, ShownPage
from rankloop.ubi.schema import EventAttributes, EventObject, Position, UbiEvent, UbiQuery, stamp

MODEL_ATTRIBUTE = "rankloop_model"


def query_of_page(page: ShownPage, *, application: str | None = None, object_id_field: str | None = None) -> UbiQuery:
    """The query that a page answered; which model ordered it is in the query attributes.

    Args:
        page: what was shown.
        application: what UBI is to call the application.
        object_id_field: the field of the search index that document ids are from; None: its primary id.
    """
    return UbiQuery(
        application=application,
        query_id=page.query_id,
        client_id=page.client or None,
        user_query=page.query,
        query_attributes={MODEL_ATTRIBUTE: page.model} if page.model else None,
        object_id_field=object_id_field,
        timestamp=stamp(page.at),
        query_response_hit_ids=page.documents,
    )


def events_of_page(
    page: ShownPage,
    clicks: Iterable[Click] = (),
    *,
    impressions: bool = True,
    application: str | None = None,
    object_id_field: str | None = None,
) -> Iterator[UbiEvent]:
    """One `impression` event per shown document, then one per click, by the name of its action; ordinals count from 1.

    A click that is worth less than 1 says so in the additional property `rankloop_reward`.

    >>> from datetime import UTC, datetime
    >>> at = datetime(2024, 5, 1, tzinfo=UTC)
    >>> page = ShownPage(query_id="q1", query="lamp", documents=("a", "b"), at=at)
    >>> for event in events_of_page(page, [Click(query_id="q1", document="b", at=at)]):
    ...     print(event.action_name, event.event_attributes.object.object_id, event.event_attributes.position.ordinal)
    impression a 1
    impression b 2
    click b 2
    """
    ordinals = {document: rank for rank, document in enumerate(page.documents, start=1)}

    def event(action: str, document: str, timestamp: str, reward: float | None) -> UbiEvent:
        return UbiEvent(
            application=application,
            action_name=action,
            query_id=page.query_id,
            client_id=page.client or None,
            timestamp=timestamp,
            user_query=page.query,
            event_attributes=EventAttributes(
                object=EventObject(object_id=document, object_id_field=object_id_field),
                position=Position(ordinal=ordinals[document]),
                rankloop_reward=reward,
            ),
        )

    if impressions:
        for document in page.documents:
            yield event("impression", document, stamp(page.at), None)
    for click in clicks:
        if click.query_id != page.query_id or click.document not in ordinals:
            raise DataError(
                f"page {page.query_id!r} cannot have a click on document {click.document!r} of page {click.query_id!r}"
            )
        yield event(click.action, click.document, stamp(click.at), None if click.value == 1 else click.value)
