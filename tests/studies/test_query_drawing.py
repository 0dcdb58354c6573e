"""The picture of two methods query by query."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.metrics import metric
from rankloop.studies.by_query import ComparedQueries
from rankloop.studies.query_drawing import draw_queries, write_queries


def made(user, queries=60):
    draw = np.random.default_rng(1)
    ours, theirs = draw.random(queries), draw.random(queries)
    numbers = [(fold, query) for fold in (1, 2) for query in range(queries // 2)]
    return ComparedQueries(metric("map"), "A $x$", "B", "tiny", user, numbers, ours, theirs, 3)


@pytest.mark.slow
def test_every_query_and_the_worst_are_drawn(tmp_path):
    one = made("noisy")
    drawing = draw_queries([one, made("perfect")], worst=5)
    assert len(drawing.axes) == 4
    right = drawing.axes[1]
    assert [text.get_text() for text in right.get_yticklabels()] == [
        f"{query} (fold {fold})" for fold, query in (one.queries[index] for index in one.worst(5))
    ]
    assert right.get_lines()[1].get_xdata().tolist() == one.ours[one.worst(5)].tolist()
    text = write_queries([one], tmp_path / "queries.svg").read_text()
    assert text.startswith("<?xml")


def test_a_p_that_is_too_small_to_write_is_told_as_such():
    one = made("noisy")
    apart = draw_queries([one._replace(theirs=one.ours - 0.5 + 0.01 * one.theirs)]).axes[0]
    assert apart.texts[0].get_text().endswith("; p < 0.0001")
    assert "; p = " in draw_queries([one]).axes[0].texts[0].get_text()


def test_methods_that_are_equal_everywhere_have_no_worst_queries(tmp_path):
    one = made("noisy")
    assert write_queries([one._replace(theirs=one.ours)], tmp_path / "queries.png").stat().st_size > 0


def test_a_picture_has_a_kind_that_can_be_written(tmp_path):
    with pytest.raises(SettingsError, match=r"a picture is a \.png, \.svg, \.pdf file; got .*queries\.txt"):
        write_queries([made("noisy")], tmp_path / "queries.txt")
