"""Which figures a study gets, and what their captions say."""

import xml.etree.ElementTree as ElementTree

import pytest

from rankloop.studies import figures
from rankloop.studies.specification import Grid, Study, load_study

from .small_studies import small

SVG = "{http://www.w3.org/2000/svg}"


def names(results):
    return [figure.name for figure in figures.figures_for(results)]


def test_the_paper_gets_its_figures_and_shared_runs_are_shown_once(made_up):
    results = made_up(load_study("paper"), keep=lambda cell: cell.seed <= 2)
    assert names(results) == [
        "discount-curves", "discount-variance", "long-curves", "rewards-curves", "convergence-curves",
        "convergence-online", "convergence-early", "mismatch-curves",
    ]  # fmt: skip


def test_the_beginning_is_shown_only_where_methods_are_compared_for_longer(made_up):
    methods = ({"learner": "ROLTR"}, {"learner": "PDGD"})
    assert names(made_up(small(*methods))) == ["g-curves", "g-online"]
    assert names(made_up(small(*methods, impressions=20_000))) == ["g-curves", "g-online", "g-early"]
    rates = ({"learner": "ROLTR", "learning_rate": rate, "label": f"{rate}"} for rate in (0.1, 0.2))
    assert names(made_up(small(*rates, impressions=20_000))) == ["g-curves"]


def test_without_evaluation_there_are_no_curves(made_up):
    assert names(made_up(small({"learner": "ROLTR"}, evaluate_every=0))) == []


@pytest.mark.slow
def test_figures_are_written_twice_and_always_the_same(made_up, tmp_path):
    study = small({"learner": "ROLTR"}, {"learner": "PDGD"})
    for folder in (tmp_path / "a", tmp_path / "b"):
        for figure in figures.figures_for(made_up(study)):
            png, svg = figure.write(folder)
            assert png.read_bytes().startswith(b"\x89PNG")
            assert svg == folder / figure.path
            assert ElementTree.parse(svg).getroot().tag == f"{SVG}svg"
    assert (tmp_path / "a/figures/g-curves.svg").read_bytes() == (tmp_path / "b/figures/g-curves.svg").read_bytes()


def test_grids_with_the_same_letters_get_files_of_their_own(made_up):
    learners = ({"learner": "ROLTR"},)
    grids = (Grid(name="A/b", learners=learners), Grid(name="../a b", learners=learners, impressions=1000))
    study = Study(name="s", grids=grids, impressions=2000, repeats=1, evaluate_every=500, collections=("tiny",))
    made = names(made_up(study))
    assert len(set(made)) == len(made) == 2
    assert not any("/" in name or "." in name for name in made)


def test_captions_tell_what_is_missing(made_up):
    results = made_up(small({"learner": "ROLTR"}, repeats=15), keep=lambda cell: cell.seed <= 3)
    assert "6 of 30 runs finished" in figures.figures_for(results)[0].caption
