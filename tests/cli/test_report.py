"""`rankloop report`: written anew from what a results folder holds, or shown as pages."""

import re

import pytest

from rankloop.web import studies

from .kept import results_folder


@pytest.fixture
def folder(tmp_path):
    """Results of one learner, as if it had been run."""
    results_folder(tmp_path / "mine", "ROLTR")
    return tmp_path


def test_the_path_of_the_page_is_on_standard_output(rankloop, folder):
    code, out, _ = rankloop("report", folder / "mine")
    assert (code, out.strip()) == (0, str(folder / "mine" / "report.html"))
    assert (folder / "mine" / "report.md").read_text()


@pytest.mark.parametrize(("place", "words"), [("mine", "1 study of"), (".", "1 study of"), ("empty", "no studies yet")])
def test_before_it_serves_it_says_what_and_where(rankloop, folder, monkeypatch, place, words):
    (folder / "empty").mkdir()
    monkeypatch.setattr(studies, "serve_studies", lambda folder, host, port, ready: ready(f"http://{host}:{port}/"))
    code, out, said = rankloop("report", folder / place, "--serve", "--port", "8123", "--no-browser")
    assert (code, out) == (0, "")
    assert words in said
    assert "on http://127.0.0.1:8123/" in " ".join(said.split())


def test_figures_for_print_have_the_size_and_the_kinds_that_were_asked_for(rankloop, folder):
    words = ("--figures", "pdf", "--figures", "svg", "--width", "8.4cm", "--height", "2in")
    code, out, _ = rankloop("report", folder / "mine", *words)
    assert code == 0
    assert {path.name for path in (folder / "mine" / "paper").iterdir()} == {
        "g-curves.pdf",
        "g-curves.svg",
        "figures.tex",
    }
    assert out.splitlines()[-1] == str(folder / "mine" / "report.html")
    drawn = (folder / "mine" / "paper" / "g-curves.svg").read_text()
    width, height = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', drawn).groups()
    assert (float(width), float(height)) == pytest.approx((8.4 / 2.54 * 72, 144), abs=0.01)
    assert r"\includegraphics{g-curves}" in (folder / "mine" / "paper" / "figures.tex").read_text()


def test_figures_that_were_drawn_before_in_other_formats_are_replaced(rankloop, folder):
    for kind in ("svg", "pdf"):
        assert rankloop("report", folder / "mine", "--figures", kind)[0] == 0
        assert {path.name for path in (folder / "mine" / "paper").iterdir()} == {f"g-curves.{kind}", "figures.tex"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--figures", "gif"), "report: figures must be one of 'pdf', 'svg', 'png'; got 'gif'"),
        (("--width", "wide"), "width must be a length from 0.5 to 50 inches"),
        (("--figures", "pdf", "--height", "0"), "height must be a length"),
    ],
)
def test_figures_that_cannot_be_made_are_a_sentence(rankloop, folder, words, said):
    code, _, told = rankloop("report", folder / "mine", *words)
    assert code == 2
    assert said in " ".join(told.split())
