"""A study is data: what it expands to, how the command line changes it, and what a broken one is told."""

import pytest

from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS
from rankloop.studies.specification import cells, load_study, names, parse
from rankloop.users import USERS, Cascade

from .small_studies import SMALL


@pytest.mark.thorough
def test_every_study_that_is_shipped_is_valid_and_has_the_papers_size():
    runs = {name: len(cells(load_study(name))) for name in names()}
    assert set(runs) == {
        "quick",
        "rq1",
        "rq2",
        "rq3",
        "rq4",
        "rq5",
        "paper",
        "users",
        "neural",
        "examination",
        "regret",
    }
    assert runs["neural"] == 6 * 2 * 3 * 5
    assert runs["rq2"] == 6 * 2 * 15
    assert runs["rq5"] == 5 * 2 * 15
    assert runs["examination"] == 6 * 2 * 15
    assert runs["rq3"] == runs["rq4"] == 6 * 2 * 3 * 15
    assert runs["paper"] == sum(runs[f"rq{number}"] for number in range(1, 6))


def test_the_study_of_people_has_every_kind_and_every_method_that_learns_from_clicks():
    found = cells(load_study("users"))
    own = {name for name, learner in LEARNERS.items() if learner.__module__.startswith("rankloop.")}
    assert {cell.learner.name for cell in found} == {one for one in own if LEARNERS[one].learns_from == "clicks"}
    assert {cell.user.__struct_config__.tag for cell in found} == {*USERS}
    assert {cell.user.stop for cell in found if isinstance(cell.user, Cascade)} == {"after-click", "anywhere"}


def test_people_share_no_name():
    text = SMALL.replace("repeats = 4", "repeats = 4\nusers = ['noisy', { attraction = 'noisy' }]")
    with pytest.raises(SettingsError, match="every user needs a different name; got noisy, noisy: give one a name = "):
        parse(text, "my.toml")


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
        ("name = 3", "my.toml: name must be text; got a whole number"),
        ("nome = 'x'", "unknown field `nome`"),
        ("repeats = 0", "repeats must be a whole number, at least 1; got 0"),
        ("repeats = 'many'", "my.toml: repeats must be a whole number; got text"),
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
        ("[{ learner = 'ROLTR', discount = 'a' }]", "grid g: ROLTR: discount must be a number; got text"),
        ("[{ learner = 'ROLTR' }, { learner = 'ROLTR' }]", 'got ROLTR, ROLTR: give one a label = "…"'),
        ("[{ learner = 'ROLTR', discont = 0.5 }]", "discont"),
        ("'ROLTR'", r"grids\[0\].learners must be a list; got text"),
    ],
)
def test_a_broken_learner_is_told_too(learners, reason):
    text = SMALL.split("[[grids]]")[0] + f"[[grids]]\nname = 'g'\nlearners = {learners}\n"
    with pytest.raises(SettingsError, match=reason):
        parse(text, "my.toml")


@pytest.mark.parametrize("name", ["", "..", "../escaped", "a/b", "/tmp/x", "a\\\\b", "a\\u0000b"])
def test_a_name_that_no_folder_could_have_is_refused(name):
    with pytest.raises(SettingsError, match="small: name must be one that a folder can have, without / and"):
        parse(SMALL.replace('name = "small"', f'name = "{name}"'), "small")


def test_a_missing_or_unreadable_file_is_told(tmp_path):
    with pytest.raises(SettingsError, match=r"cannot read the study .*nowhere.toml"):
        load_study(str(tmp_path / "nowhere.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        load_study(str(tmp_path / "bytes.toml"))


def test_a_learner_may_be_left_out_of_a_collection():
    text = SMALL.replace('{ learner = "PDGD" }', '{ learner = "PDGD", without = ["tiny"] }')
    assert {cell.label for cell in cells(parse(text, "small"))} == {"ROLTR"}


def test_regret_is_against_a_learner_of_the_first_grid():
    text = SMALL.replace("[[grids]]", '[regret]\nagainst = "NAME"\n\n[[grids]]', 1)
    assert parse(text.replace("NAME", "PDGD"), "small").regret.against == "PDGD"
    with pytest.raises(SettingsError, match="must be a label of the first grid, one of ROLTR, PDGD; got"):
        parse(text.replace("NAME", "DBGD"), "small")
