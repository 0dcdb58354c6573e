"""Numbers and times as the pages print them."""

import pytest
from jinja2 import Environment

from rankloop.web.dashboard.formats import FILTERS, estimate, when
from rankloop.web.dashboard.intervals import Estimate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate(None), "–"),
        (Estimate(0.25), "0.250"),
        (Estimate(0.0, -0.1, 0.1), "0.000 (−0.100 to 0.100)"),
        (Estimate(-0.5, -0.6, None), "−0.500"),
    ],
)
def test_an_interval_is_printed_where_there_is_one(value, text):
    assert estimate(value) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (1_541_102_400_999, "2018-11-01 20:00:00 UTC"),
        (-1000, "1969-12-31 23:59:59 UTC"),
    ],
)
def test_a_moment_is_utc_for_people_and_for_machines(milliseconds, text):
    day, time, _ = text.split()
    assert when(milliseconds) == f'<time datetime="{day}T{time}Z">{text}</time>'


def test_a_template_prints_a_moment_as_an_element_and_not_as_its_text():
    templates = Environment(autoescape=True)
    templates.filters |= FILTERS
    shown = templates.from_string("{{ at|when }} {{ share|percent }} {{ pages|count }}").render(
        at=0, share=0.125, pages=12345
    )
    assert shown.startswith("<time datetime=")
    assert "12,345" in shown
