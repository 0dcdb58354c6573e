"""A picture beside a report is taken if it is up to date and lies there; otherwise it is drawn."""

import os
from types import SimpleNamespace

import pytest

from rankloop.studies.blocks import Paragraph, Picture
from rankloop.web.studies.pictures import Drawn, drawn, kept

FIGURE = SimpleNamespace(name="g-curves", path="figures/g-curves.svg", svg=lambda: "<svg>drawn now</svg>")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "g-curves.svg").write_text("<svg>kept</svg>")
    (tmp_path / "results.parquet").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("age", "content"), [(-1, b"<svg>drawn now</svg>"), (0, b"<svg>kept</svg>"), (1, b"<svg>kept</svg>")]
)
def test_a_file_older_than_the_results_is_drawn_anew(folder, age, content):
    os.utime(folder / "results.parquet", ns=(10**18, 10**18))
    os.utime(folder / "figures" / "g-curves.svg", ns=(10**18 + age, 10**18 + age))
    assert drawn(folder, [FIGURE], folder / "results.parquet") == {"g-curves": Drawn(content, ".svg")}


def test_while_a_study_runs_and_where_no_file_is_everything_is_drawn(folder):
    assert drawn(folder, [FIGURE], None)["g-curves"].content == b"<svg>drawn now</svg>"
    (folder / "figures" / "g-curves.svg").unlink()
    assert drawn(folder, [FIGURE], folder / "results.parquet")["g-curves"].content == b"<svg>drawn now</svg>"


def test_of_a_kept_report_the_pictures_that_lie_there_are_shown_svg_first(folder):
    (folder / "figures" / "g-curves.png").write_bytes(b"png")
    (folder / "figures" / "other.png").write_bytes(b"other")
    (folder.parent / "secret.svg").write_text("secret")
    (folder / "figures" / "linked.svg").symlink_to(folder.parent / "secret.svg")
    blocks = [Paragraph("text"), *(Picture(name, "", "") for name in ("g-curves", "other", "linked", "missing"))]
    assert kept(folder, blocks) == {
        "g-curves": Drawn(b"<svg>kept</svg>", ".svg"),
        "other": Drawn(b"other", ".png"),
    }
