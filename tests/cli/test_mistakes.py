"""What people get wrong on the command line is told in one sentence, with exit code 2, and changes nothing."""

import pytest

from rankloop.cli import main


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """Type a command in an empty folder that holds a folder, a text file and nothing else; the sentence it answers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("hello")

    def type_in(*words):
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        said = capsys.readouterr()
        assert left.value.code == 2
        assert said.out == ""
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "text.db"]
        return said.err.strip().splitlines()[-1]

    return type_in


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("serve folder", "folder is a folder; give a file in it"),
        ("serve text.db --port 0", "is it a rankloop log?"),
        ("serve nowhere/log.db --port 0", "nowhere is not a folder"),
        ("serve mysql://root:secret@host/db", "a store is a SQLite file or postgresql://…; got mysql://…"),
        ("serve --port 80000", "--port"),
        ("keys list --store missing.db", "there is no log at missing.db"),
        ("keys rotate me --store missing.db", "there is no log at missing.db"),
        ("keys revoke me --store missing.db", "there is no log at missing.db"),
        ("keys rotate-secret --store missing.db", "there is no log at missing.db"),
        ("keys create me --store folder --scope rank", "folder is a folder"),
        ("report missing --serve", "no folder missing"),
        ("report missing", "study.toml is missing"),
        ("results missing", "study.toml is missing"),
        ("run missing.toml", "cannot read the study missing.toml"),
        ("study new mine.txt", "ends in .toml"),
        ("tune ROLTR --impressions -4", "impressions must be a whole number, at least 1; got -4"),
        ("tune NOPE", "learner must be one of"),
        ("data info missing", "'missing' is neither a known collection nor an existing path"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(told, command, names):
    assert names in told(*command.split())
