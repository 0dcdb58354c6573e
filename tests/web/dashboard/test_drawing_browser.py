"""What a browser draws of a chart's numbers: told to it in place of the service's, and read off its canvas."""

import re
from collections import Counter

import pytest

from .looking import drawn, expect

pytestmark = [pytest.mark.xdist_group("dashboard-browser"), pytest.mark.slow]

WRITTEN = """
window.written = [];
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  written.push(text);
  return fill.call(this, text, ...rest);
};
"""
NOON = 1_700_000_000


@pytest.fixture
def charted(service, visit):
    """Opens a page with numbers of one's own in one of its charts; what stands on canvases is noted."""

    def charted(address, chart, times, values, **more):
        line = {"label": "learned", "values": values}
        plot = {"x": times, "x_label": "time", "y_label": "", "unit": "", "time": True, "series": [line]} | more
        page = visit("about:blank")
        page.add_init_script(WRITTEN)
        page.route(f"**/charts/{chart}.json*", lambda route: route.fulfill(json=plot))
        page.goto(service.url + address)
        drawn(page)
        return page

    return charted


def test_times_below_a_chart_of_a_second_are_told_once(charted):
    """“22:24:42 22:24:42 22:24:42”, of a model that simulated people had just begun to visit."""
    page = charted("/models/shop", "gain", [NOON, NOON + 0.2, NOON + 1.1], [1.0, 2.0, 3.0])
    said = Counter(re.findall(r"\d\d:\d\d:\d\d", " ".join(page.evaluate("written"))))
    # The axis is measured and drawn more than once, all of it.
    assert said
    assert len(set(said.values())) == 1


def test_a_finger_reads_a_chart_until_it_taps_elsewhere(service, visit):
    """What it had tapped was shown for a moment and gone."""
    page = visit(f"{service.url}/models/shop", viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    drawn(page)
    tip = page.locator("#chart-learning .tip")
    page.locator("#chart-learning .u-over").tap()
    expect(tip).to_contain_text("learned")
    page.wait_for_timeout(200)
    expect(tip).to_be_visible()
    page.locator("#chart-learning h3").tap()
    expect(tip).to_be_hidden()
    assert page.complaints == []


def test_a_single_point_in_time_is_no_line_and_is_told_in_words(charted):
    """Two dots in an empty chart, of a model in its first minute."""
    page = charted("/models/shop", "learning", [NOON], [1.0])
    figure = page.locator("#chart-learning")
    expect(figure.locator(".empty")).to_have_text("One point so far. The line starts with the second.")
    expect(figure.locator("canvas")).to_have_count(0)
    page.unroute("**/charts/learning.json*")
    page.evaluate("document.dispatchEvent(new Event('rankloop:refresh'))")
    expect(figure.locator("canvas")).to_have_count(1)
    expect(figure.locator(".empty")).to_have_count(0)
    assert page.complaints == []


def test_where_nothing_was_refused_the_axis_does_not_reach_a_hundred(charted):
    page = charted("/service", "errors", [NOON, NOON + 60], [0, 0], counts=True)
    assert {"0", "5"} <= set(page.evaluate("written"))
    assert page.evaluate("document.querySelector('#chart-errors').dataset.points") == "2"
    assert not [text for text in page.evaluate("written") if text == "100"]
