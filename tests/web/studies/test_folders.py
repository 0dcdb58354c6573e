"""Studies are found below a folder, each has one address, and nothing leads out of a study's folder."""

import pytest

from rankloop.errors import DataError
from rankloop.web.studies import folders
from rankloop.web.studies.folders import address_of, file_of, find_studies, holds_study, require_folder


def make(folder):
    (folder / "runs").mkdir(parents=True)
    (folder / "study.toml").write_text("")
    return folder


def test_studies_are_found_in_the_order_of_their_paths_and_not_below_each_other(tmp_path):
    for place in ("b", "a/deep/er", "b/inner", ".hidden", "c/1/2/3", "d/1/2/3/4"):
        make(tmp_path / place)
    found = find_studies(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in found.values()] == ["a/deep/er", "b", "c/1/2/3"]
    assert list(found)[1] == "b"


def test_links_are_not_followed_and_a_study_may_be_shown_itself(tmp_path):
    study = make(tmp_path / "elsewhere" / "mine")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(study)
    assert find_studies(tmp_path / "root") == {}
    assert find_studies(study) == {"mine": study}


def test_somebodys_whole_home_folder_is_not_searched_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "MOST", 3)
    for number in range(5):
        make(tmp_path / f"f{number}" / "study")
    assert len(find_studies(tmp_path)) == 2


@pytest.mark.parametrize("places", [("a b", "a-b", "a/b", "A-B"), ("ä", "ö", "..")])
def test_different_places_have_different_addresses_that_are_one_word(places):
    addresses = [address_of(place) for place in places]
    assert len(set(addresses)) == len(places)
    assert all(address.replace("-", "").isalnum() for address in addresses)


@pytest.mark.parametrize(
    ("files", "holds"),
    [
        ({"study.toml": b""}, False),
        ({"study.toml": b"", "results.parquet": b""}, True),
        ({"report.md": b"# Mine\n\n## What was run\n"}, True),
        ({"report.md": b"# Notes\n"}, False),
        ({"report.md": b"\xff\xfe# Mine\n\n## What was run\n"}, False),
    ],
)
def test_a_folder_holds_a_study_if_it_has_its_results_or_its_report(tmp_path, files, holds):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert holds_study(tmp_path) is holds


def test_a_link_out_of_the_folder_is_no_file_of_the_study(tmp_path):
    study = make(tmp_path / "study")
    (tmp_path / "secret").write_text("secret")
    (study / "tables.tex").symlink_to(tmp_path / "secret")
    (study / "report.md").symlink_to(study / "study.toml")
    assert file_of(study, "tables.tex") is None
    assert file_of(study, "runs") is None
    assert file_of(study, "report.md") == study / "report.md"


def test_what_is_no_folder_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"no folder .*nowhere; give a results folder"):
        require_folder(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is a file; give the folder that contains it"):
        require_folder(tmp_path / "file")
    assert require_folder(tmp_path) == tmp_path
