"""Whatever a study is called, it can be drawn, and names beside lines can be read."""

import pytest

from rankloop.errors import DataError
from rankloop.studies import figures

from .small_studies import small


@pytest.mark.slow
@pytest.mark.parametrize("label", ["$", "$x_1^", "a\\frac{", "_hidden", "<script>", "x" * 200])
def test_any_label_can_be_drawn(made_up, tmp_path, label):
    study = small({"learner": "ROLTR", "label": label}, repeats=1, gradient_variance=True)
    for figure in figures.figures_for(made_up(study)):
        figure.write(tmp_path)
    assert len(list(tmp_path.glob("figures/*"))) == 4


def test_a_folder_that_cannot_be_written_is_named(made_up, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write the figure"):
        figures.figures_for(made_up(small({"learner": "ROLTR"})))[0].write(tmp_path / "file")
