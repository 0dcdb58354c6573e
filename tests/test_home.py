"""Where things are kept: RANKLOOP_HOME if it is set, wherever one stands; else the platform's cache folder."""

from pathlib import Path

from rankloop.home import home


def test_the_chosen_folder_is_absolute_and_knows_the_tilde(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKLOOP_HOME", "here")
    assert home() == tmp_path / "here"
    monkeypatch.setenv("RANKLOOP_HOME", "~/there")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / "there"


def test_without_a_choice_it_is_the_cache_folder_of_this_product(monkeypatch, tmp_path):
    monkeypatch.delenv("RANKLOOP_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Path(home()).name == "rankloop"
    assert tmp_path in home().parents
