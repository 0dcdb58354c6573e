"""A replay as a picture, in the format that its name says."""

from pathlib import Path

import pytest

from rankloop.errors import DataError
from rankloop.logs.replay.concluding import Conclusion
from rankloop.logs.replay.picture import draw, require_drawable
from rankloop.logs.replay.replaying import Replayed

WITHOUT_ESTIMATES = Replayed(
    model="shop", settings={"learner": {"learner": "PDGD"}}, own_settings=False, begins="the start", closings=3,
    learned_before_split=3, split_at=None, fates={"learned": 3}, passed_over={}, features=["price", "age"],
    weights=[0.5, -1.0], live_weights=[0.0, 2.0], distance=3.0, cosine=-0.9, same_bits=False, evaluation=None,
    conclusion=Conclusion("", None, 3, []),
)  # fmt: skip


def test_a_picture_without_estimates_says_so_and_names_the_weights(tmp_path):
    draw(WITHOUT_ESTIMATES, tmp_path / "picture.svg")
    text = (tmp_path / "picture.svg").read_text()
    for words in ("no estimate", "price", "age", "shop, replayed from the start with PDGD"):
        assert f"<!-- {words} -->" in text


@pytest.mark.parametrize("name", ["picture.txt", "picture", "png"])
def test_a_name_that_says_no_format_is_refused_before_anything_is_drawn(name):
    with pytest.raises(DataError, match=r"must end with one of \.png, \.svg, \.pdf"):
        require_drawable(Path(name))
    require_drawable(Path("PICTURE.PNG"))


def test_a_picture_that_cannot_be_written_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        draw(WITHOUT_ESTIMATES, tmp_path / "nowhere" / "picture.png")
