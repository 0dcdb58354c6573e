"""A page or a click that makes no sense is refused where it is made."""

import pytest

from rankloop.errors import DataError
from rankloop.ubi import (
    Click,
    ShownPage,
)

from .strategies import NOON


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"query_id": ""}, "query_id"),
        ({"documents": ()}, "at least one"),
        ({"documents": ("a", "a")}, "different ids"),
        ({"documents": ("a", "")}, "none of them empty"),
        ({"at": NOON.replace(tzinfo=None)}, "offset from UTC"),
    ],
)
def test_a_page_that_could_not_have_been_shown_is_refused(wrong, sentence):
    with pytest.raises(DataError, match=sentence):
        ShownPage(**({"query_id": "q", "query": "", "documents": ("a",), "at": NOON} | wrong))


@pytest.mark.parametrize(
    "wrong", [{"value": 1.1}, {"value": -0.1}, {"value": float("nan")}, {"at": NOON.replace(tzinfo=None)}]
)
def test_a_click_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(DataError, match=r"between 0 and 1|offset from UTC"):
        Click(**({"query_id": "q", "document": "a", "at": NOON} | wrong))
