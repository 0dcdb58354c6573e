"""`rankloop report`: written anew from what a results folder holds, or shown as pages."""

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
