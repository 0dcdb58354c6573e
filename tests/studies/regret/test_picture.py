"""The picture has a panel for each learner and a line for each cell; what runs out of it is an arrow."""

import msgspec

from rankloop.display.pictures import Size
from rankloop.studies.regret.picture import caption, draw

from .test_findings import findings


def test_panels_are_learners_and_lines_are_cells():
    drawing = draw(findings())
    assert [axis.get_title() for axis in drawing.axes] == ["New", "tuned"]
    labels = [label.get_text() for label in drawing.axes[0].get_yticklabels()]
    assert labels == ["noisy", "noisy", "mean over cells"]
    points = [line for line in drawing.axes[0].lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in points] == [0.4, 0.4]
    named = [text.get_text() for text in drawing.axes[0].texts]
    assert any(text.startswith("a ") and "S = 133" in text for text in named)


def test_a_ratio_beyond_the_edge_is_an_arrow_with_its_number():
    axis = draw(findings()).axes[1]
    assert [line.get_marker() for line in axis.lines].count(">") == 2
    assert [text.get_text() for text in axis.texts].count("1.60") == 3  # two cells and their mean


def test_it_fits_a_column_and_says_how_settings_were_chosen():
    assert draw(findings(), Size(7.0)).get_figwidth() == 7.0
    assert "chosen on the other collections" in caption(findings())
    found = findings()
    alone = tuple(msgspec.structs.replace(one, by_others=False) for one in found.choices)
    assert "first setting" in caption(msgspec.structs.replace(found, choices=alone))
    assert "settings" not in caption(msgspec.structs.replace(found, choices=())).lower()


def test_pages_better_than_the_skyline_s_have_room_left_of_zero():
    found = findings()
    ratios = {"New": iter((-2.0, -0.2))}
    rows = (
        msgspec.structs.replace(row, ratio=(ratio := next(ratios["New"])), low=ratio - 0.1, high=ratio + 0.1)
        if row.learner == "New"
        else row
        for row in found.rows
    )
    axis = draw(msgspec.structs.replace(found, rows=tuple(rows))).axes[0]
    assert axis.get_xlim()[0] < -0.2
    assert [line.get_marker() for line in axis.lines].count("<") == 1
    assert draw(found).axes[0].get_xlim()[0] == 0.0
