"""What rankloop knows of a page and of a click, reduced to what UBI can say about them."""

from datetime import datetime

import msgspec

from rankloop.errors import DataError


class ShownPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that was shown.

    Attributes:
        query_id: what names this page; clicks refer to it.
        query: what the person typed.
        documents: the ids of the documents shown, best first.
        at: when, with an offset from UTC.
        client: who, as far as known.
        model: which model ordered it, if one did.
    """

    query_id: str
    query: str
    documents: tuple[str, ...]
    at: datetime
    client: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        if not self.query_id:
            raise DataError("a page needs a query_id that is not empty")
        if not self.documents or not all(self.documents) or len(set(self.documents)) < len(self.documents):
            raise DataError(
                f"page {self.query_id!r}: documents must be different ids, none of them empty, at least one; "
                f"got {list(self.documents)!r}"
            )
        _require_offset(self.query_id, self.at)


class Click(msgspec.Struct, frozen=True, kw_only=True):
    """A click on a shown document, or what counts as one; `value` in [0, 1] says how much, `action` what it was."""

    query_id: str
    document: str
    at: datetime
    value: float = 1.0
    action: str = "click"

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise DataError(f"page {self.query_id!r}: a click's value must lie between 0 and 1; got {self.value!r}")
        _require_offset(self.query_id, self.at)


def _require_offset(query_id: str, at: datetime) -> None:
    if at.tzinfo is None:
        raise DataError(f"page {query_id!r}: a time needs its offset from UTC; got {at.isoformat()}")
