"""A study is data: what it expands to, how the command line changes it, and what a broken one is told."""

import pytest

from rankloop.errors import SettingsError
from rankloop.learners import ROLTR
from rankloop.studies import options
from rankloop.studies.specification import cells, load_study, names, parse

SMALL = """
name = "small"
impressions = 200
repeats = 4
evaluate_every = 100
collections = [{ data = "tiny", folds = [1, 2] }]

[[grids]]
name = "methods"
learners = [{ learner = "ROLTR" }, { learner = "PDGD" }]
"""


def test_every_study_that_is_shipped_is_valid_and_has_the_papers_size():
    runs = {name: len(cells(load_study(name))) for name in names()}
    assert set(runs) == {"quick", "rq1", "rq2", "rq3", "rq4", "rq5", "paper"}
    assert runs["rq2"] == 6 * 2 * 15
    assert runs["rq5"] == 5 * 2 * 15
    assert runs["rq3"] == runs["rq4"] == 6 * 2 * 3 * 15
    assert runs["paper"] == sum(runs[f"rq{number}"] for number in range(1, 6))


def test_repeats_are_spread_evenly_over_folds_and_methods_share_seeds_and_folds():
    by_label = {}
    for cell in cells(parse(SMALL, "small")):
        by_label.setdefault((cell.label, cell.user.name), []).append((cell.seed, cell.fold))
    assert set(map(tuple, by_label.values())) == {((1, 1), (2, 2), (3, 1), (4, 2))}


def test_a_collections_own_settings_apply_to_its_runs_alone():
    rates = {cell.source.name: cell.learner.learning_rate for cell in cells(load_study("rq3")) if cell.label == "ROLTR"}
    assert rates == {"MSLR10K": 0.01, "Yahoo!": 0.005, "Istella": 0.01}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ('name = "small"', None),
        ("name = 3", r"Expected `str`.*\$\.name"),
        ("nome = 'x'", "unknown field `nome`"),
        ("repeats = 0", "repeats must be a whole number, at least 1; got 0"),
        ("repeats = 'many'", r"Expected `int`.*\$\.repeats"),
        ("impressions = -5", "impressions must be a whole number, at least 1; got -5"),
        ("users = []", "users must not be empty"),
        ("users = ['angelic']", "users must be among perfect, noisy.*got 'angelic'"),
        ("users = [{ attraction = [2.0] }]", "attraction"),
        ("collections = []", "collections must not be empty"),
        ("collections = [{ data = 'tiny', folds = [] }]", "folds of tiny must not be empty"),
        ("collections = [{ dato = 'tiny' }]", "dato|data"),
        ("seed = -1", "seed"),
        ("include = ['rq9']", "no study named 'rq9'"),
        ("name =", "not TOML"),
    ],
)
def test_a_broken_study_is_told_key_value_and_what_is_allowed(change, reason):
    key = change.split(" ")[0]
    head, grids = SMALL.split("[[grids]]")
    kept = [line for line in head.splitlines() if not line.startswith(f"{key} ")]
    text = "\n".join([change, *kept, "[[grids]]", grids])
    if reason is None:
        assert parse(text, "my.toml").name == "small"
        return
    with pytest.raises(SettingsError, match=reason):
        parse(text, "my.toml")


@pytest.mark.parametrize(
    ("learners", "reason"),
    [
        ("[]", "learners must not be empty"),
        ("[{ learner = 'RankSVM' }]", "learner must be one of ROLTR, PDGD.*got 'RankSVM'"),
        ("[{ reward = 'ips+' }]", "learner must be one of"),
        ("[{ learner = 'ROLTR', discount = 2.0 }]", "discount must be a number.*got 2.0"),
        ("[{ learner = 'ROLTR', discont = 0.5 }]", "discont"),
        ("'ROLTR'", "Expected `array`"),
    ],
)
def test_a_broken_learner_is_told_too(learners, reason):
    text = SMALL.split("[[grids]]")[0] + f"[[grids]]\nname = 'g'\nlearners = {learners}\n"
    with pytest.raises(SettingsError, match=reason):
        parse(text, "my.toml")


def test_a_missing_or_unreadable_file_is_told(tmp_path):
    with pytest.raises(SettingsError, match=r"cannot read the study .*nowhere.toml"):
        load_study(str(tmp_path / "nowhere.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        load_study(str(tmp_path / "bytes.toml"))


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
