"""Names beside lines can be read, sizes are what was asked for, and the same results give the same bytes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from rankloop.display.pictures import Picture, Size, calm, draw_line, lines_for, panels, spread, title
from rankloop.errors import DataError, SettingsError


def test_names_beside_lines_keep_their_distance_and_order():
    draw = np.random.default_rng(1)
    for _ in range(200):
        heights = sorted(draw.random(draw.integers(1, 8)))
        apart = spread(heights, 0.1)
        assert (np.diff(apart) >= 0.1 - 1e-9).all()
        assert min(apart) >= 0
        assert max(apart) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("written", "inches"), [(3.3, 3.3), ("3.3in", 3.3), ("2.54 cm", 1.0), ("254mm", 10), ("72.27pt", 1.0)]
)
def test_lengths_are_read_as_people_write_them(written, inches):
    assert Size.of(written).width == pytest.approx(inches)


@pytest.mark.parametrize("written", ["", "wide", "3.3", "3.3 feet", 0, -1, "1e3", "100in", "nan", float("inf")])
def test_what_is_no_length_is_a_sentence(written):
    with pytest.raises(SettingsError, match=r"height must be a length from 0\.5 to 50 inches, such as 3\.3in"):
        Size.of(3, written)


@pytest.mark.thorough
def test_a_picture_is_saved_as_what_its_name_says_always_with_the_same_bytes(tmp_path):
    for kind in ("pdf", "svg", "png"):
        saved = [Picture(drawing()).save(tmp_path / f"{name}.{kind}").read_bytes() for name in "ab"]
        assert saved[0] == saved[1]
    assert b"%PDF" in (tmp_path / "a.pdf").read_bytes()[:8]
    with pytest.raises(SettingsError, match=r"saved as \.pdf, \.svg, \.png; got 'a\.gif'"):
        Picture(drawing()).save(tmp_path / "a.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write the figure"):
        Picture(drawing()).save(tmp_path / "file" / "a.pdf")


def test_fonts_of_a_pdf_are_embedded_as_outlines_that_publishers_take(tmp_path):
    content = Picture(drawing()).save(tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in content
    assert b"/FontFile2" in content


def test_a_notebook_shows_the_drawing():
    assert "<svg" in Picture(drawing())._repr_svg_()


def test_methods_keep_their_colours_and_settings_have_ordered_ones():
    methods = lines_for({"a": {"learner": "ROLTR"}, "b": {"learner": "PDGD"}, "c": {"learner": "MDPRank"}})
    assert methods["a"].colour == lines_for({"x": {"learner": "DBGD"}, "a": {"learner": "ROLTR"}})["a"].colour
    assert [line.dash for line in methods.values()] == ["-", "-", "--"]
    mine = lines_for({"mine": {"learner": "Mine"}, "a": {"learner": "ROLTR"}, "b": {"learner": "PDGD"}})
    assert len({line.colour for line in mine.values()}) == 3
    ordered = lines_for({f"{x}": {"learner": "ROLTR", "discount": x} for x in (0.0, 0.5, 1.0)})
    assert len({line.colour for line in ordered.values()}) == 3


def test_no_two_learners_of_a_panel_look_alike():
    rates = {f"PDGD {rate}": {"learner": "PDGD", "learning_rate": rate} for rate in (0.01, 0.03, 0.1, 0.3, 1.0)}
    others = {name: {"learner": name} for name in ("ROLTR", "MDPRank", *(f"Mine{i}" for i in range(9)))}
    drawn = lines_for(rates | others)
    assert len({(line.colour, line.dash) for line in drawn.values()}) == len(drawn)
    assert len({drawn[label].colour for label in list(rates)[:4]}) == 1
    assert [drawn[name].dash for name in ("ROLTR", "MDPRank")] == ["-", "--"]
    rewards = {f"{reward} {rate}": {"learner": "ROLTR", "reward": reward, "learning_rate": rate, "discount": rate}
               for reward in ("ips+-", "naive+-") for rate in (0.1, 0.2)}  # fmt: skip
    assert len({(line.colour, line.dash) for line in lines_for(rewards).values()}) == 4


def test_methods_with_rates_of_their_own_share_a_panel_and_keep_their_colours():
    labels = [(method, rate) for method in ("PDGD", "Posterior", "ROLTR", "PairRank") for rate in (0.01, 0.1)]
    drawn = lines_for({f"{method} {rate}": {"learner": method, "learning_rate": rate} for method, rate in labels})
    assert {line.group for line in drawn.values()} == {""}
    for method in ("PDGD", "Posterior", "ROLTR", "PairRank"):
        assert len({line.colour for label, line in drawn.items() if label.startswith(method)}) == 1
    assert len({line.colour for line in drawn.values()}) == 4


def test_a_single_point_is_seen_and_a_long_title_is_whole():
    with calm():
        _, axes = panels(1, 2)
        draw_line(axes[0, 0], [100], np.array([0.4]), None, lines_for({"a": {"learner": "ROLTR"}})["a"])
        title(axes[0, 0], "informational cascade (after-click) with a name of its own clicks", "a collection")
    assert axes[0, 0].lines[0].get_marker() == "o"
    shown = axes[0, 0].get_title()
    assert shown.replace("\n", " ").endswith("with a name of its own clicks, a collection")
    assert max(map(len, shown.split("\n"))) < 60


def drawing():
    with calm():
        made = Figure(figsize=(2, 2))
        made.subplots().plot([0, 1], [0, 1])
        return made
