"""Every pair of colours that text is set in can be read: WCAG AA, by day and by night."""

import re

import pytest

from rankloop.web.assets import assets

CSS = assets()["rankloop.css"].content.decode()
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", part)) for part in CSS.split("@media (prefers-color")[:2]
)
TEXT = [
    ("ink", "ground"), ("ink", "card"), ("ink", "band"), ("quiet", "ground"), ("quiet", "card"), ("quiet", "band"),
    ("on-accent", "accent"), ("good", "good-ground"), ("bad", "bad-ground"), ("open", "open-ground"), ("bad", "ground"),
]  # fmt: skip
LINES = [(f"line-{number}", ground) for number in range(1, 6) for ground in ("ground", "card")] + [("accent", "ground")]


def luminance(colour):
    """Relative luminance, by WCAG 2.2's definition."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_contrast_is_measured_as_the_standard_says():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_and_lines_be_seen(colours):
    assert len(colours) >= 20
    for text, ground in TEXT:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for line, ground in LINES:
        assert contrast(colours[line], colours[ground]) >= 3.0, (line, ground)
