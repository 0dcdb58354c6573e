"""How the command line changes a study: other data, other settings, a smaller look."""

from collections import Counter

import pytest

from rankloop.errors import SettingsError
from rankloop.learners import ROLTR
from rankloop.studies import options
from rankloop.studies.specification import Source, cells, load_study, parse, to_toml

from .small_studies import SMALL


def test_settings_change_every_learner_that_has_them_or_one_method():
    study = parse(SMALL, "small")
    rates = lambda changed: {cell.label: cell.learner.learning_rate for cell in cells(changed)}  # noqa: E731
    assert rates(options.with_settings(study, ["learner.learning_rate=0.03"])) == {"ROLTR": 0.03, "PDGD": 0.03}
    assert rates(options.with_settings(study, ["ROLTR.learning_rate=0.03"])) == {"ROLTR": 0.03, "PDGD": 0.1}
    changed = options.with_settings(study, ["ROLTR.reward=naive+"])
    assert cells(changed)[0].learner == ROLTR(reward="naive+")
    for bad in ("discount=0.5", "ROLTR.discount", "SVM.discount=1", "learner.wings=2"):
        with pytest.raises(SettingsError):
            options.with_settings(study, [bad])


def test_fewer_impressions_keep_the_shape_of_a_study():
    study = options.with_numbers(load_study("rq1"), impressions=1000, repeats=2)
    found = {(cell.grid, cell.impressions, cell.evaluate_every) for cell in cells(study)}
    assert found == {("discount", 1000, 10), ("long", 10_000, 100)}


def test_only_takes_words_of_any_kind():
    every = cells(load_study("rq4"))
    few = options.only(every, ["ROLTR", "PDGD", "noisy", "Istella"])
    assert {(cell.label, cell.user.name, cell.source.name) for cell in few} == {
        ("ROLTR", "noisy", "Istella"),
        ("PDGD", "noisy", "Istella"),
    }
    with pytest.raises(SettingsError, match="matches nothing"):
        options.only(every, ["ROLTER"])


def test_real_data_takes_the_place_of_its_stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path / "home"))
    real = tmp_path / "real"
    for fold in (1, 2):
        (real / f"Fold{fold}").mkdir(parents=True)
        for split in ("train", "vali", "test"):
            lines = [f"{d % 5} qid:{d // 10} 1:{d % 7} 2:{d % 3}\n" for d in range(60)]
            (real / f"Fold{fold}" / f"{split}.txt").write_text("".join(lines))
    study = options.with_data(load_study("rq2"), [f"mslr-web10k={real}"])
    source = cells(study)[0].source
    assert (source.data, source.folds, source.is_published) == ("mslr-web10k", (1, 2), True)
    instead = options.with_data(load_study("rq4"), [str(real)])
    assert {cell.source.name for cell in cells(instead)} == {"real"}
    assert {cell.fold for cell in cells(instead)} == {1, 2}
    with pytest.raises(SettingsError, match="nothing stands in for 'mq2008'"):
        options.with_data(load_study("rq2"), [f"mq2008={real}"])


def test_a_study_file_spreads_repeats_over_all_folds_of_a_path(tmp_path):
    for fold in (1, 2, 3):
        (tmp_path / f"Fold{fold}").mkdir()
        for split in ("train", "test"):
            (tmp_path / f"Fold{fold}" / f"{split}.txt").touch()

    def folds(more):
        text = SMALL.replace('{ data = "tiny", folds = [1, 2] }', f"{{ data = '{tmp_path}'{more} }}")
        return {source.folds for source in options._sources(options.with_places(parse(text, "s")))}

    assert folds("") == {(1, 2, 3)}
    assert folds(", folds = [2]") == {(2,)}
    assert options.placed(Source(data="tiny")).folds is None  # a world has folds without number


def test_several_collections_take_the_place_of_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").mkdir()
    for name in ("a", "b/a", "c"):
        (tmp_path / name).touch()
    study = options.with_data(load_study("rq2"), ["a", "c"])
    assert list(dict.fromkeys(cell.source.data for cell in cells(study))) == [str(tmp_path / "a"), str(tmp_path / "c")]
    assert list(dict.fromkeys(cell.source.name for cell in cells(study))) == ["a", "c"]
    with pytest.raises(SettingsError, match="a different name; got a, a"):
        options.with_data(load_study("rq2"), ["a", "b/a"])


def test_a_relative_path_holds_from_anywhere_and_a_name_stays_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "tiny").mkdir()
    assert options.located("mine") == str(tmp_path / "mine")
    assert options.located("tiny") == "tiny"  # a synthetic world
    assert options.located("nowhere") == "nowhere"
    study = parse(SMALL.replace('data = "tiny"', 'data = "./mine"'), "small")
    assert {cell.source.data for cell in cells(options.with_places(study))} == {str(tmp_path / "mine")}
    assert options.with_places(load_study("rq2")) == load_study("rq2")


def test_optional_collections_are_left_out_until_they_are_there(tmp_path):
    study = parse(
        SMALL.replace("folds = [1, 2] }", 'folds = [1, 2] }, { data = "rare", label = "Rare", optional = true }'), "s"
    )
    kept, said = options.without_absent(study)
    assert {cell.source.name for cell in cells(kept)} == {"tiny"}
    assert said == ["Rare is left out: nothing is imported as rare; bring it with --data rare=PATH"]
    lines = [f"{d % 3} qid:{d // 10} 1:{d / 100}\n" for d in range(100)]
    (tmp_path / "train.txt").write_text("".join(lines))
    (tmp_path / "test.txt").write_text("".join(lines))
    brought, said = options.without_absent(options.with_data(study, [f"rare={tmp_path}"]))
    assert {cell.source.name for cell in cells(brought)} == {"tiny", "Rare"}
    assert not said


def test_repeats_are_those_of_all_or_of_one_method():
    counted = lambda study: Counter(cell.label for cell in cells(study) if cell.user.name == "noisy")  # noqa: E731
    study = parse(SMALL, "small")
    assert counted(options.with_repeats(study, ["6"])) == {"ROLTR": 6, "PDGD": 6}
    changed = options.with_repeats(study, ["6", "PDGD=2"])
    assert counted(changed) == {"ROLTR": 6, "PDGD": 2}
    assert {cell.seed for cell in cells(changed) if cell.label == "PDGD"} == {1, 2}  # pairs with the others' first
    assert parse(to_toml(changed), "small") == changed
    for bad in ("many", "PDGD=0", "SVM=3", "PDGD="):
        with pytest.raises(SettingsError):
            options.with_repeats(study, [bad])
